"""One tool call, running in a thread of its own until it returns, raises or is out of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool, Tool

from agent.deadline import Call
from agent.observing import Output, to_text

Input = str | Mapping[str, object]


class RunningCall:
    """A tool at work. Several of them run side by side; each has ``timeout_s`` seconds from its start."""

    def __init__(self, tool: BaseTool, given: Input, timeout_s: float, callbacks: Any = None) -> None:
        self.tool = tool
        self.given = given
        self.timeout_s = timeout_s
        self._callbacks = callbacks
        self._started = time.monotonic()
        self._ended: float | None = None
        self._call = Call(self._work, "agent-tool")

    @property
    def duration_s(self) -> float:
        """Seconds from its start to its end, or until now."""
        return (self._ended or time.monotonic()) - self._started

    def result(self) -> Output:
        """What the tool returned. Raises what it raised, or DeadlinePassed when its time is over."""
        return self._call.result(self._started + self.timeout_s - time.monotonic())

    def _work(self) -> Output:
        try:
            return Output(to_text(_run(self.tool, _as_tool_input(self.tool, self.given), self._callbacks)))
        finally:
            self._ended = time.monotonic()


def _run(tool: BaseTool, tool_input: Any, callbacks: Any) -> Any:
    """Run a tool in this thread, which has no event loop: one that is a coroutine only gets its own."""
    if getattr(tool, "func", True) is None:
        return asyncio.run(tool.arun(tool_input, callbacks=callbacks))
    return tool.run(tool_input, callbacks=callbacks)


def _as_tool_input(tool: BaseTool, given: Input) -> Any:
    """What ``tool.run`` takes: one string for a plain Tool, else the arguments by name."""
    if getattr(tool, "is_single_input", True) and tool.args_schema is None:
        return given if isinstance(given, str) else to_text(given)
    if not isinstance(given, str):
        return dict(given)
    fields = list(tool.args)
    # An empty text leaves a field to its default, where it has one.
    needs_text = isinstance(tool, Tool) or fields[:1] == tool.get_input_schema().schema().get("required")
    return {fields[0]: given} if fields and (given or needs_text) else {}
