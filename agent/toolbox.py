"""The tools of a run: how they are called, what may go wrong, and when one is switched off.

``Toolbox.run`` never raises for what a tool did. A tool that hangs costs its deadline, one that raises costs
a sentence, one that keeps failing is switched off, and a call that was just made is not made again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool, Tool

from agent.deadline import DeadlinePassed, run_within
from agent.limits import LimitReached, Limits
from agent.observing import ERROR_PREFIX, clean_output, describe, shorten, to_text
from agent.results import Action, Observation, StopReason
from prompts import Say

Input = str | Mapping[str, object]


class Toolbox:
    """The tools of one run, with its failures and its last calls. One run, one toolbox."""

    def __init__(
        self, tools: Sequence[BaseTool], limits: Limits, say: Say, callbacks: Sequence[Any] = ()
    ) -> None:
        self.repeats = 0  # steps in a row that asked only for what had just been asked
        self._tools = {tool.name: tool for tool in tools}
        self._limits = limits
        self._say = say
        self._callbacks = list(callbacks)
        self._strikes: Counter[str] = Counter()
        self._previous: dict[str, Observation] = {}

    def run(self, actions: Sequence[Action], seconds_left: Callable[[], float]) -> tuple[Observation, ...]:
        """Run one step's actions and return an observation for each, in order; the same call runs once.

        ``seconds_left`` tells how long a tool may take at most, whatever its own deadline.
        """
        batch: dict[str, Observation] = {}
        for action in actions:
            if (key := self._key(action)) not in batch:
                batch[key] = self._observe(action, self._previous.get(key), seconds_left)
        self._count_strikes({self._key(action): action.tool for action in actions}, batch)
        again = all(key in self._previous and not seen.ran for key, seen in batch.items())
        self.repeats = self.repeats + 1 if again else 0
        told = tuple(self._told(action, batch[self._key(action)]) for action in actions)
        self._previous = {key: self._previous[key] if again else seen for key, seen in batch.items()}
        return told

    def check(self) -> None:
        """Raise LimitReached when the same call has come once more than is borne."""
        if self.repeats >= self._limits.max_repeats:
            raise LimitReached(StopReason.REPEATED_ACTION)

    def _key(self, action: Action) -> str:
        """Two calls are the same when tool and input are, but for blanks."""
        text = (
            action.input
            if isinstance(action.input, str)
            else json.dumps(action.input, sort_keys=True, default=str, ensure_ascii=False)
        )
        return f"{action.tool}[{''.join(text.split())}]"

    def _observe(
        self, action: Action, earlier: Observation | None, seconds_left: Callable[[], float]
    ) -> Observation:
        tool = self._tools[action.tool]
        if self._is_off(action.tool):
            return Observation(self._say("tool_off", tool=action.tool), ok=False, ran=False)
        if earlier is not None and not (tool.metadata or {}).get("repeatable"):
            text = self._say("repeated_action", observation=earlier.text)
            return Observation(text, ok=earlier.ok, ran=False)
        return self._call(tool, action.input, seconds_left())

    def _call(self, tool: BaseTool, given: Input, seconds_left: float) -> Observation:
        own = (tool.metadata or {}).get("timeout_s", self._limits.tool_timeout_s)
        timeout_s = max(min(float(own), seconds_left), 0.0)
        started = time.monotonic()
        try:
            text = run_within(
                timeout_s,
                lambda: to_text(_run(tool, _as_tool_input(tool, given), self._callbacks)),
                "agent-tool",
            )
            ok = not text.startswith(ERROR_PREFIX)
            text = clean_output(text) or self._say("no_output", tool=tool.name, input=to_text(given))
        except KeyboardInterrupt:
            raise
        except DeadlinePassed:
            ok, text = False, self._say("tool_timeout", tool=tool.name, seconds=f"{timeout_s:.3g}")
        except BaseException as error:  # SystemExit and its like from a tool end the call, not the run
            ok, text = False, self._say("tool_failed", tool=tool.name, error=describe(error))
        text = shorten(text, self._limits.max_observation_chars, self._say)
        return Observation(text, ok, time.monotonic() - started)

    def _count_strikes(self, tools: Mapping[str, str], batch: Mapping[str, Observation]) -> None:
        """One strike per tool and step, however many of its calls failed; only its own success resets."""
        outcomes: dict[str, list[bool]] = {}
        for key, seen in batch.items():
            if seen.ran:
                outcomes.setdefault(tools[key], []).append(seen.ok)
        for tool, oks in outcomes.items():
            self._strikes[tool] = 0 if any(oks) else self._strikes[tool] + 1

    def _is_off(self, tool: str) -> bool:
        return self._strikes[tool] >= self._limits.max_tool_failures

    def _told(self, action: Action, seen: Observation) -> Observation:
        """The observation as the model gets it: with the note that the tool has just been switched off."""
        if not (seen.ran and self._is_off(action.tool)):
            return seen
        note = self._say("tool_switched_off", tool=action.tool, failures=self._limits.max_tool_failures)
        return Observation(f"{seen.text}\n{note}", seen.ok, seen.duration_s, seen.ran)


def _run(tool: BaseTool, tool_input: Any, callbacks: list[Any]) -> Any:
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
    # An empty text leaves a field to its default; a plain Tool always takes its one text.
    return {fields[0]: given} if fields and (given or isinstance(tool, Tool)) else {}
