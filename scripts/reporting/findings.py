"""What explains a run: why it looped, what failed, what grew. Each finding is told by steps of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from scripts.reporting.amounts import count_in
from scripts.reporting.views import Call, Finding, RunView, Severity, StepView

MANY_TIMES = 3  # steps with the same call, not in a row, that are worth a word
GROWN = 2.0  # times the tokens of the first request that the last one had
SLOW_S = 1.0  # a run that is shorter is not slow, whatever its tools' part in it
SHOWN_CHARS = 160
NEVER_RAN = ("repeated", "switched_off", "refused", "not_run")  # states of calls
_ORDER: dict[Severity, int] = {"bad": 0, "warn": 1, "note": 2}


def findings_of(run: RunView) -> RunView:
    """The run with its findings, the gravest first. A run without an answer of its own has one at least."""
    found = [each for look in _LOOKS for each in look(run)]
    if run.ending.stop_reason != "final_answer" and all(each.severity == "note" for each in found):
        found += _nothing_odd(run)
    return replace(run, findings=tuple(sorted(found, key=lambda each: _ORDER[each.severity])))


def brief(text: str, most: int = SHOWN_CHARS) -> str:
    """A text as one line of so many characters at most."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _where_it_ends(run: RunView) -> Iterator[Finding]:
    """A trace without an end, or a run that was interrupted: in the midst of what."""
    if run.ending.stop_reason not in ("unfinished", "interrupted"):
        return
    last = run.steps[-1] if run.steps else None
    steps = (last.number,) if last else ()
    waiting = [call for call in last.calls if call.state == "no_end"] if last else []
    if waiting:
        yield _finding("bad", "ended_in_tool", steps, call=brief(_shown(waiting[0])))
    elif last and any(each.reply is None and each.failure is None for each in last.exchanges):
        yield _finding("bad", "ended_in_request", steps)
    else:
        yield _finding("bad", "ended_between", steps)


def _repeats(run: RunView) -> Iterator[Finding]:
    made: dict[str, list[tuple[StepView, Call]]] = defaultdict(list)
    for step in run.steps:
        for key, call in {call.key: call for call in step.calls}.items():
            made[key].append((step, call))
    at_the_end = _repeated_at_the_end(run)
    for key, calls in made.items():
        was_shown_again = any(call.state == "repeated" for _, call in calls)
        in_a_row = was_shown_again or key in at_the_end
        if in_a_row or len(calls) >= MANY_TIMES:
            severity: Severity = "bad" if key in at_the_end else "warn"
            numbers = tuple(step.number for step, _ in calls)
            in_words = "repeated_in_a_row" if was_shown_again else "refused_in_a_row"
            name = in_words if in_a_row else "repeated"
            yield _finding(severity, name, numbers, call=brief(_shown(calls[0][1])), count=len(calls))


def _repeated_at_the_end(run: RunView) -> frozenset[str]:
    """The calls that a run was stopped for; one that was refused each time has no state that says so."""
    asked = [{call.key for call in step.calls} for step in run.steps if step.calls]
    is_stopped = run.ending.stop_reason == "repeated_action" and len(asked) > 1
    return frozenset(asked[-1] & asked[-2]) if is_stopped else frozenset()


def _failed_tools(run: RunView) -> Iterator[Finding]:
    failed: dict[tuple[str, str], list[tuple[StepView, Call]]] = defaultdict(list)
    for step in run.steps:
        for call in step.calls:
            if call.state in ("failed", "timed_out", "refused"):
                failed[call.tool, call.state].append((step, call))
            if call.just_switched_off:
                most = count_in(dict(run.limits).get("max_tool_failures"))
                values = {"tool": call.tool, "said": _said(call), "count": "?" if most is None else most}
                yield _finding("bad", "tool_switched_off", (step.number,), **values)
    for (tool, state), calls in failed.items():
        call = calls[-1][1]
        # A failure that the run got over is worth less than one at which it ended.
        severity: Severity = "note" if run.ending.stop_reason == "final_answer" else "warn"
        numbers = tuple(dict.fromkeys(step.number for step, _ in calls))
        why = {"seconds": call.timeout_s} if state == "timed_out" else {"said": _said(call)}
        yield _finding(severity, f"tool_{state}", numbers, tool=tool, count=len(calls), **why)


def _unused_tools(run: RunView) -> Iterator[Finding]:
    """An answer out of the model's own head, though there were tools: a fact, and no fault."""
    calls = [call for step in run.steps for call in step.calls]
    is_told = run.ending.stop_reason == "final_answer" and run.steps and run.tools
    if is_told and all(call.state in NEVER_RAN for call in calls):
        yield _finding("note", "no_tool_ran" if calls else "no_tool_called", (), count=run.tools)


def _emptiness(run: RunView) -> Iterator[Finding]:
    steps = tuple(step.number for step in run.steps if step.calls)
    calls = [call for step in run.steps for call in step.calls if call.duration_s is not None]
    if calls and all(call.is_empty for call in calls):
        severity: Severity = "note" if run.ending.stop_reason == "final_answer" else "warn"
        yield _finding(severity, "all_empty", steps, count=len(calls))


def _bad_replies(run: RunView) -> Iterator[Finding]:
    bad = [step for step in run.steps if step.correction is not None]
    if bad:
        severity: Severity = "bad" if run.ending.stop_reason == "parse_errors" else "warn"
        numbers = tuple(step.number for step in bad)
        said = brief(bad[-1].correction or "", 120)
        yield _finding(severity, "bad_replies", numbers, count=len(bad), said=said)
    cut = [
        step.number for step in run.steps if any(each.finish_reason == "length" for each in step.exchanges)
    ]
    if cut:
        yield _finding("warn", "cut_replies", tuple(dict.fromkeys(cut)), count=len(cut))


def _attempts(run: RunView) -> Iterator[Finding]:
    troubled = [(step, each) for step in run.steps for each in step.exchanges if each.retries or each.failure]
    if troubled:
        errors = [error for _, each in troubled for error in each.attempts]
        failures = [each.failure for _, each in troubled if each.failure]
        said = brief((errors or failures or [""])[-1])
        severity: Severity = "bad" if run.ending.stop_reason == "model_error" else "warn"
        numbers = tuple(dict.fromkeys(step.number for step, _ in troubled))
        count = sum(max(each.retries, len(each.attempts)) for _, each in troubled)
        yield _finding(severity, "attempts_failed", numbers, count=count, said=said)


def _growth(run: RunView) -> Iterator[Finding]:
    sizes = [(step.number, step.prompt_tokens) for step in run.steps]
    known = [(number, size) for number, size in sizes if size is not None]
    was_too_much = run.ending.stop_reason in ("token_limit", "cost_limit")
    fewest = 2 if was_too_much else 3  # two steps that went well are no growth, unless the run ended by it
    if len(known) < fewest or known[-1][1] < GROWN * known[0][1]:
        return
    jumps = [(later[1] - sooner[1], sooner[0]) for sooner, later in pairwise(known)]
    most, after = max(jumps)
    first, last = known[0][1], known[-1][1]
    severity: Severity = "warn" if was_too_much else "note"
    yield _finding(severity, "tokens_grew", (after,), first=first, last=last, most=most)


def _slowness(run: RunView) -> Iterator[Finding]:
    is_late = run.ending.stop_reason == "time_limit"
    whole = run.duration_s
    if not run.steps or whole is None or (whole < SLOW_S and not is_late):
        return
    slowest = max(run.steps, key=lambda step: step.model_s + step.tools_s)
    severity: Severity = "warn" if is_late else "note"
    name = "slow_tools" if run.tools_s > run.model_s else "slow_model"
    spent = max(run.tools_s, run.model_s)
    if is_late or name == "slow_tools":
        yield _finding(severity, name, (slowest.number,), seconds=spent, whole=whole)


def _nothing_odd(run: RunView) -> Iterator[Finding]:
    """Steps that all went well and came to no end: then it is their number that tells."""
    calls = {call.key for step in run.steps for call in step.calls}
    if calls:
        numbers = tuple(step.number for step in run.steps if step.calls)
        yield _finding("warn", "no_answer_came", numbers, count=len(calls))
    else:
        yield _finding("warn", "nothing_was_done", ())


def _said(call: Call) -> str:
    return brief(call.error or (call.observation or "").split("\n")[0])


def _shown(call: Call) -> str:
    return f"{call.tool}[{call.given}]"


def _finding(severity: Severity, name: str, steps: tuple[int, ...], **values: object) -> Finding:
    return Finding(severity, name, tuple(values.items()), steps)


_LOOKS = (
    _where_it_ends,
    _repeats,
    _failed_tools,
    _unused_tools,
    _emptiness,
    _bad_replies,
    _attempts,
    _growth,
    _slowness,
)
