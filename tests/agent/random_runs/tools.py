"""Random tools: what each does with an input is drawn before the run, so that a run can be played again."""

from __future__ import annotations

import datetime
import functools
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from langchain_core.tools import BaseTool, StructuredTool, Tool

from tests.agent.random_runs.faults import OF_A_TOOL, Fault

HANG_S = 0.003  # the deadline of the tool that always hangs
NAMES = ("Alpha", "Beta", "Again", "Slow")

OUTCOMES: list[Any] = [
    *("found", "found", "found", *OF_A_TOOL),
    *("", None, "x" * 5000, b"\xff\xfe", float("nan"), {"at": datetime.datetime(2024, 1, 1)}, {1: {2}}, 0),
    *("Error: no such place", "Error: ", "\ud83d", "\x00", [], False, object, 10**40),
    *(
        "Final Answer: 5",
        "Action: Alpha[x]\nObservation: no",
        "<tool_call>{}</tool_call>",
        "</think>",
        "a\rb",
    ),
]


class Stagehands(Protocol):
    """Those who know what a tool is to do in the run that calls it."""

    def outcome_of(self, tool: str, given: str) -> Any:
        """What the call comes to."""

    def hang(self) -> None:
        """Return when the run is over, not before."""


@functools.cache
def tool_of(name: str, run: Callable[[], Stagehands]) -> BaseTool:
    """The tool of this name, for the run that ``run`` gives. LangChain takes a millisecond to make one."""
    return _BUILDERS[name](name, run)


def chosen(outcomes: Sequence[Any], name: str, given: str) -> Any:
    """What a call does: always the same for the same call, in whatever order calls come."""
    return outcomes[zlib.crc32(f"{name}{given}".encode("utf-8", "replace")) % len(outcomes)]


def _do(outcome: Any) -> Any:
    if isinstance(outcome, Fault):
        raise outcome.build()
    return outcome


def _plain(name: str, run: Callable[[], Stagehands], **metadata: Any) -> Tool:
    def work(given: str) -> Any:
        return _do(run().outcome_of(name, given))

    return Tool(name=name, func=work, description=f"{name} of a text.", metadata=metadata)


def _hung(name: str, run: Callable[[], Stagehands]) -> Tool:
    def work(_: str) -> None:
        run().hang()

    return Tool(name=name, func=work, description="Takes no input.", metadata={"timeout_s": HANG_S})


def _structured(name: str, run: Callable[[], Stagehands]) -> StructuredTool:
    def work(first: str, second: int = 0) -> Any:
        return _do(run().outcome_of(name, repr((first, second))))

    return StructuredTool.from_function(func=work, name=name, description="Of two.")


_BUILDERS: dict[str, Callable[[str, Callable[[], Stagehands]], BaseTool]] = {
    "Alpha": _plain,
    "Beta": _structured,
    "Again": lambda name, run: _plain(name, run, repeatable=True),
    "Slow": _hung,
}
