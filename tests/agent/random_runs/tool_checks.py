"""What must hold of the tools of a run: nothing twice in a row, and nothing that is switched off."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from agent import Step
from agent.results import Action, Observation
from tests.agent.random_runs.stage import Ran, Record

Calls = dict[tuple[str, str], Observation]
_NO_STRIKE = ("unknown_tool", "one_too_many")
_ALWAYS_NOTED = ("Alpha", "Again")  # LangChain lets no call of the others through whose arguments do not fit


def check_tools(record: Record, steps: Sequence[Step]) -> None:
    """Fail unless the tools ran as the steps tell, and as they may."""
    assert_truly_told(record, steps)
    strikes: Counter[str] = Counter()
    previous: Calls = {}
    for step in (step for step in steps if step.actions):
        assert not any(action.tool == "Slow" and seen.ok for action, seen in _pairs(step))
        calls = _calls(step)
        for tool, given in (key for key, seen in calls.items() if seen.ran):
            assert strikes[tool] < record.scene.limits.max_tool_failures, "it was switched off"
            assert tool == "Again" or (tool, given) not in previous, "it had just been called"
        _count(strikes, step)
        previous = calls


def assert_truly_told(record: Record, steps: Sequence[Step]) -> None:
    """Fail unless the tools that ran are those that the steps tell of, each as often."""
    ran = Counter(entry.tool for entry in record.log if isinstance(entry, Ran))
    told = Counter(tool for step in steps for (tool, _), seen in _calls(step).items() if seen.ran)
    assert ran.keys() <= set(record.scene.tools)
    if record.raised or record.scene.is_timed:
        return
    assert ran <= told
    assert all(ran[tool] == told[tool] for tool in _ALWAYS_NOTED)


def _pairs(step: Step) -> list[tuple[Action, Observation]]:
    return list(zip(step.actions, step.observations, strict=True))


def _calls(step: Step) -> Calls:
    """What came of each call of a step that could be run; the same call runs once."""
    return {
        (action.tool, _in_pieces(action.input)): seen for action, seen in _pairs(step) if action.fault is None
    }


def _in_pieces(given: object) -> str:
    """Without the blanks that part no words."""
    text = given if isinstance(given, str) else json.dumps(given, sort_keys=True, ensure_ascii=False)
    words = [word for word in re.split(r"\s+|(?=[^\w\s])|(?<=[^\w\s])", text) if word]
    return "\n".join(words)


def _count(strikes: Counter[str], step: Step) -> None:
    """A strike for each tool whose every attempt in this step failed."""
    oks: dict[str, list[bool]] = {}
    for action, seen in _pairs(step):
        if seen.ran or (action.fault and action.fault.kind not in _NO_STRIKE):
            oks.setdefault(action.tool, []).append(seen.ok)
    for tool, came_off in oks.items():
        strikes[tool] = 0 if any(came_off) else strikes[tool] + 1
