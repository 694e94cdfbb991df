"""Hand-made runs, for tests of what is worked out from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scripts.contenders import Attempt, ToolCall
from scripts.figures import Row
from scripts.scoring import Task

ERROR = "Error: division by zero"


def task(name: str, **more: Any) -> Task:
    return Task(name, "arithmetic", "en", f"What is {name}?", ("Calculator",), {"numbers": [1]}, **more)


def call(given: str, output: str = "1", tool: str = "Calculator", **more: Any) -> ToolCall:
    return ToolCall(tool, given, output, more.pop("seconds", 0.0), **more)


def row(
    agent: str,
    name: str = "t1",
    *,
    good: bool = True,
    calls: Sequence[ToolCall] = (),
    repeat: int = 0,
    of: Task | None = None,
    **attempt: Any,
) -> Row:
    """A run of 100 prompt and 10 completion tokens in one request of one second, unless told otherwise."""
    known = {"answer": "1", "requests": 1, "prompt_tokens": 100, "completion_tokens": 10, "seconds": 1.0}
    made = Attempt(**{**known, "tool_calls": list(calls), **attempt})
    return Row(of or task(name), agent, good, "" if good else "1 is missing", made, repeat)
