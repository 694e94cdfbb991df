"""One turn: an agent runs a task afresh, and the run is scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from agent.redaction import redact
from scripts.changed_rules import changed_tools
from scripts.comparing.outages import REASON, Watched, outage
from scripts.contenders import Attempt, ToolCall, measured_tools
from scripts.figures import Row
from scripts.scoring import Task, solved

Ask = Callable[[Attempt, list[Any]], None]


def load(model: str | None, base_url: str | None) -> Any:
    """The chat model to measure with. Raises ValueError when it cannot be had."""
    # Imported here, although the agents use them: what a process pays once is no part of a run.
    import langchain.agents
    import langchain.memory  # noqa: F401 - to have been imported is all that is wanted

    from agent import load_model

    return load_model(model, base_url=base_url)


def tools_for(task: Task, weather: Mapping[str, float], calls: list[ToolCall]) -> list[Any]:
    """The tools that an agent is given for a task; each call is recorded in ``calls``."""
    return changed_tools(calls) if task.toolset == "changed" else measured_tools(weather, calls)


def play(task: Task, agent: str, weather: Mapping[str, float], ask: Ask, repeat: int = 0) -> Row:
    """Run one task afresh and score it. Whatever an agent raises, but Ctrl-C, is its failure.

    Unless the service failed: the row's ``reason`` begins with ``outages.REASON`` then.
    """
    attempt = Watched()
    tools = tools_for(task, weather, attempt.tool_calls)
    before, attempt.started = datetime.now(), time.perf_counter()
    try:
        ask(attempt, tools)
    except Exception as error:
        attempt.error, attempt.raised = redact(f"{type(error).__name__}: {error}"), True
    attempt.seconds = time.perf_counter() - attempt.started
    failure, attempt.latest = outage(attempt), None  # an exception would keep all its frames
    if failure:
        return Row(task, agent, False, f"{REASON}: {failure}", attempt, repeat)
    names = [call.tool for call in attempt.tool_calls]
    good, reason = solved(task, attempt.answer, names, before, datetime.now())
    return Row(task, agent, good, reason, attempt, repeat)
