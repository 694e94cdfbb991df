"""Which cap a run ended at, with its number: what there is to raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.assembly import PROTOCOLS
from agent.records import Record
from scripts.reporting.amounts import amount_in, record_in
from scripts.reporting.views import Cap, StepView

NAMES: Mapping[str, str] = {
    "max_iterations": "max_iterations",
    "repeated_action": "max_repeats",
    "parse_errors": "max_parse_errors",
    "time_limit": "max_seconds",
    "token_limit": "max_total_tokens",
    "cost_limit": "max_cost_usd",
}
_OF_ALL_RUNS = ("max_total_tokens", "max_cost_usd", "max_seconds")  # in the order of what is ``spent``
CUT_REPLIES = 2  # in a row, at which agent.bad_replies ends a run whatever its limits


def cap_of(started: Record, stop_reason: str, steps: Sequence[StepView]) -> Cap | None:
    """The cap behind a stop reason; None for a run that ended at none. What the trace says decides."""
    name = NAMES.get(stop_reason)
    if name is None:
        return None
    if name == "max_parse_errors" and _were_cut(steps):
        return Cap("reply_tokens", amount_in(started.get("reply_tokens")))
    own = amount_in(record_in(started["limits"]).get(name))
    if name == "max_iterations" and own is None:
        own = float(PROTOCOLS[started["protocol"]].max_iterations)
    budget, left = _budget(started, name)
    if budget is not None and (own is None or left < own):
        return Cap(name, budget, of_all_runs=True)
    return Cap(name, own)


def _budget(started: Record, name: str) -> tuple[float | None, float]:
    """The agent's cap on all of its runs, and what was left of it when this one started."""
    if name not in _OF_ALL_RUNS:
        return None, 0.0
    cap = amount_in(record_in(started.get("budget")).get(name))
    spent = started.get("spent")
    is_whole = isinstance(spent, list) and len(spent) == len(_OF_ALL_RUNS)
    used = dict(zip(_OF_ALL_RUNS, spent, strict=True)) if is_whole and spent else {}
    return cap, (cap or 0.0) - (amount_in(used.get(name)) or 0.0)


def _were_cut(steps: Sequence[StepView]) -> bool:
    """Whether the last replies of all were cut at the token limit."""
    last = [step for step in steps if not step.is_last_request][-CUT_REPLIES:]
    return len(last) == CUT_REPLIES and all(map(_was_cut, last))


def _was_cut(step: StepView) -> bool:
    reasons = [each.finish_reason for each in step.exchanges]
    return step.correction is not None and reasons[-1:] == ["length"]
