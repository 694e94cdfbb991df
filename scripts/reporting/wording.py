"""What explains a run, in words: its findings as sentences, and the cap that it ended at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scripts.reporting.findings import brief
from scripts.reporting.formats import seconds, whole
from scripts.reporting.texts import Texts, groups_of
from scripts.reporting.views import Cap, Finding, RunView

_TELL_NOTHING = ("no_answer_came", "nothing_was_done")  # findings beside which the cap says more
_UNITS: Mapping[str, Callable[[float, Texts], str]] = {
    "max_seconds": seconds,
    "max_cost_usd": lambda value, _: "$" + f"{value:,.9f}".rstrip("0").rstrip("."),
}


def sentence_of(finding: Finding, texts: Texts) -> str:
    """A finding in words, without its steps."""
    values = {name: _value(name, value, texts) for name, value in finding.values}
    return texts.say(finding.name, **values)


def sentence_with_steps(finding: Finding, texts: Texts) -> str:
    steps = ", ".join(step_name(label, texts) for label, _ in groups_of(finding.steps))
    return f"{sentence_of(finding, texts)} ({steps})" if steps else sentence_of(finding, texts)


def step_name(label: str, texts: Texts) -> str:
    """What a step, or several in a row ("3–5"), are called."""
    return texts.say("step" if label.isdecimal() else "step_range", number=label)


def why_of(run: RunView, texts: Texts) -> str:
    """Why a run ended: at a cap, that with its number and what to raise."""
    if run.cap:
        return _sentence_of_cap(run.cap, texts)
    name = f"why_{run.ending.stop_reason}"
    return texts.say(name if texts.knows(name) else "why_unknown")


def cause_of(run: RunView, texts: Texts) -> str:
    """What explains a run, in one sentence; empty where nothing was out of order."""
    if run.ending.stop_reason == "model_error" and run.ending.error:
        return brief(run.ending.error)
    grave = [finding for finding in run.findings if finding.severity != "note"]
    if run.cap and (not grave or grave[0].name in _TELL_NOTHING):
        return why_of(run, texts)
    return sentence_of(grave[0], texts) if grave else ""


def remark_of(run: RunView, texts: Texts) -> str:
    """What its row says of a run: its cause, or else what is worth knowing of it."""
    notes = [sentence_of(finding, texts) for finding in run.findings[:1]]
    return cause_of(run, texts) or "".join(notes)


def words_of(run: RunView, texts: Texts) -> str:
    """What a run is found by, besides its row: the row has room for one cause alone, and for no long path."""
    found = (sentence_of(each, texts) for each in run.findings)
    return "\n".join([*found, why_of(run, texts), brief(run.ending.error or ""), run.name, run.file])


def _sentence_of_cap(cap: Cap, texts: Texts) -> str:
    name = f"cap_of_all_runs_{cap.name}" if cap.of_all_runs else f"cap_{cap.name}"
    if cap.name in _UNITS:
        return texts.say(name, value="?" if cap.value is None else _UNITS[cap.name](cap.value, texts))
    return texts.say(name, count="?" if cap.value is None else int(cap.value))


def _value(name: str, value: object, texts: Texts) -> object:
    if value is None:
        return "?"
    if isinstance(value, float):
        return seconds(value, texts)
    return whole(value) if name != "count" and isinstance(value, int) else value
