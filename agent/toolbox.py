"""The tools of a run: how they are called, what may go wrong, and when one is switched off.

``Toolbox.run`` never raises for what a tool did. A tool that hangs costs its deadline, one that raises costs
a sentence, one that keeps failing is switched off, and a call that was just made is not made again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from langchain_core.tools import BaseTool

from agent.calling import RunningCall
from agent.deadline import DeadlinePassed
from agent.events import Note, ToolEnded, ToolRaised, ToolReturned, ToolStarted, ToolTimedOut
from agent.limits import LimitReached, Limits
from agent.observing import ERROR_PREFIX, clean_output, describe, excerpt, shorten, to_text
from agent.results import Action, CallFault, Observation, StopReason, call_key
from agent.seams import Begin, Begun
from prompts import Say

# An unknown tool cannot fail, and a call past the most of one reply is not the tool's fault.
_NO_STRIKE = frozenset({"unknown_tool", "one_too_many"})


class Toolbox:
    """The tools of one run, with its failures and its last calls. One run, one toolbox."""

    def __init__(
        self,
        tools: Sequence[BaseTool],
        limits: Limits,
        say: Say,
        begin: Begin = RunningCall,
        note: Note = lambda _: None,
    ) -> None:
        self.repeats = 0  # steps in a row that asked only for what had just been asked
        self.answer = ""  # what a tool with return_direct has just returned: it ends the run
        self._tools = {tool.name: tool for tool in tools}
        self._limits = limits
        self._say = say
        self._begin_call = begin
        self._note = note
        self._strikes: Counter[str] = Counter()
        self._previous: dict[str, Observation] = {}

    def run(self, actions: Sequence[Action], seconds_left: Callable[[], float]) -> tuple[Observation, ...]:
        """Run one step's actions side by side and return an observation for each, in order.

        The same call runs once. ``seconds_left`` tells how long a tool may take at most, whatever its own
        deadline.
        """
        keys = [_key(action) for action in actions]
        wanted = dict(zip(keys, actions, strict=True))
        begun = {
            key: self._begin(action, self._previous.get(key), seconds_left())
            for key, action in wanted.items()
        }
        batch = {
            key: call if isinstance(call, Observation) else self._observe(call) for key, call in begun.items()
        }
        self._count_strikes(wanted, batch)
        direct = (seen.text for key, seen in batch.items() if self._is_direct(wanted[key].tool, seen))
        self.answer = next(direct, "")
        again = all(key in self._previous and not seen.ran for key, seen in batch.items())
        self.repeats = self.repeats + 1 if again else 0
        told = tuple(self._told(action, batch[key]) for key, action in zip(keys, actions, strict=True))
        # A call that was not run again is remembered by what it said when it was.
        self._previous = {
            key: seen if seen.ran else self._previous.get(key, seen) for key, seen in batch.items()
        }
        return told

    def check(self) -> None:
        """Raise LimitReached when the same call has come once more than is borne."""
        if self.repeats >= self._limits.max_repeats:
            raise LimitReached(StopReason.REPEATED_ACTION)

    def _begin(self, action: Action, earlier: Observation | None, seconds_left: float) -> Begun | Observation:
        """Set a call to work, or say why it is not made."""
        if action.fault is not None:
            return Observation(self._refusal(action.tool, action.fault), ok=False, ran=False)
        if self._is_off(action.tool):
            return Observation(self._say("tool_off", tool=action.tool), ok=False, ran=False)
        tool = self._tools[action.tool]
        metadata = tool.metadata or {}
        if earlier is not None and not metadata.get("repeatable"):
            text = self._say("repeated_action", observation=earlier.text)
            return Observation(text, ok=earlier.ok, ran=False)
        if seconds_left <= 0:
            return Observation(self._say("no_time_left", tool=action.tool), ok=False, ran=False)
        own = float(metadata.get("timeout_s", self._limits.tool_timeout_s))
        timeout_s = min(own, seconds_left)
        self._note(ToolStarted(tool.name, action.input, timeout_s))
        return self._begin_call(tool, action.input, timeout_s)

    def _observe(self, call: Begun) -> Observation:
        ended = self._ended(call)
        self._note(ended)
        match ended:
            case ToolReturned(name, text, _, told):
                ok = not text.startswith(ERROR_PREFIX)
                text = told or text or self._word("no_output", tool=name, input=to_text(call.given))
            case ToolRaised(name, error):
                ok, text = False, self._word("tool_failed", tool=name, error=error)
            case ToolTimedOut(name):
                ok, text = False, self._word("tool_timeout", tool=name, seconds=f"{call.timeout_s:.3g}")
        return Observation(text, ok, call.duration_s)

    def _ended(self, call: Begun) -> ToolEnded:
        """Wait for a call; whatever the tool raised, a SystemExit too, ends the call and not the run."""
        name = call.tool.name
        try:
            text, told = call.result()
        except KeyboardInterrupt:
            raise
        except DeadlinePassed:
            return ToolTimedOut(name, call.duration_s)
        except BaseException as error:
            return ToolRaised(name, describe(error), call.duration_s)
        told = told or self._for_model(call.tool, text)
        return ToolReturned(name, text, call.duration_s, "" if told == text else told)

    def _for_model(self, tool: BaseTool, text: str) -> str:
        """What there is for the model in a tool's output; what is an answer already is not cut."""
        if tool.return_direct and not text.startswith(ERROR_PREFIX):
            return clean_output(text)
        return excerpt(text, self._limits.max_observation_chars, self._say)

    def _word(self, name: str, **values: object) -> str:
        """A sentence that stands in the place of an output, and is cut as one."""
        return shorten(self._say(name, **values), self._limits.max_observation_chars, self._say)

    def _refusal(self, tool: str, fault: CallFault) -> str:
        """What the model is told of a call that cannot be run: what is wrong, and what would be right."""
        if fault.kind == "unknown_tool":
            return self._say("call_unknown_tool", tools=", ".join(self._tools), **fault.values)
        if fault.kind == "one_too_many":
            return self._say("call_one_too_many", **fault.values)
        problem = self._say(f"problem_{fault.kind}", **fault.values)
        fields = json.dumps(list(self._tools[tool].args), ensure_ascii=False)
        return self._say("call_refused", tool=tool, problem=problem, fields=fields)

    def _count_strikes(self, actions: Mapping[str, Action], batch: Mapping[str, Observation]) -> None:
        """One strike per tool and step, however many of its calls failed; only its own success resets."""
        outcomes: dict[str, list[bool]] = {}
        for key, seen in batch.items():
            if _is_tried(actions[key], seen):
                outcomes.setdefault(actions[key].tool, []).append(seen.ok)
        for tool, oks in outcomes.items():
            self._strikes[tool] = 0 if any(oks) else self._strikes[tool] + 1

    def _is_direct(self, tool: str, seen: Observation) -> bool:
        """Whether an observation is the answer to the question, as the tool's owner wants it."""
        return seen.ok and seen.ran and self._tools[tool].return_direct

    def _is_off(self, tool: str) -> bool:
        return self._strikes[tool] >= self._limits.max_tool_failures

    def _told(self, action: Action, seen: Observation) -> Observation:
        """The observation as the model gets it: with the note that the tool has just been switched off."""
        if not (_is_tried(action, seen) and self._is_off(action.tool)):
            return seen
        note = self._say("tool_switched_off", tool=action.tool, failures=self._limits.max_tool_failures)
        return Observation(f"{seen.text}\n{note}", seen.ok, seen.duration_s, seen.ran)


def _key(action: Action) -> str:
    """Two calls are the same when tool and input are, but for blanks, and both can be run or neither."""
    return call_key(action.tool, action.input) + (action.fault.kind if action.fault else "")


def _is_tried(action: Action, seen: Observation) -> bool:
    """Whether a call counts for or against its tool: it ran, or would have but for its arguments."""
    return seen.ran or (action.fault is not None and action.fault.kind not in _NO_STRIKE)
