"""A recorded run as the page shows it: its records become steps, and its end is named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.errors import SettingsError
from agent.observing import clean_output
from agent.recorded import RecordedRun, check_start
from agent.records import Record
from agent.results import call_key
from prompts import render, speaker
from scripts.reporting.amounts import amount_in, count_in, price_in, record_in, told
from scripts.reporting.caps import cap_of
from scripts.reporting.exchanges import Exchanges, Pool
from scripts.reporting.findings import findings_of
from scripts.reporting.views import Call, CallState, Ending, Exchange, RunView, StepState, StepView, sum_known

UNFINISHED = "unfinished"
_STATES: Mapping[str, CallState] = {"tool_raised": "failed", "tool_timed_out": "timed_out"}
_VERSIONS = ("agent", "python", "langchain_core")


def view_of(run: RecordedRun, number: int, file: str, pool: Pool) -> RunView:
    """The run as data for the page. Raises SettingsError where its records do not hold together."""
    try:
        return _view_of(run, number, file, pool)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SettingsError(f"{file}: run {run.name} is not whole ({error!r})") from None


def _view_of(run: RecordedRun, number: int, file: str, pool: Pool) -> RunView:
    check_start(run)
    started, ended = run.started, run.ended
    steps = tuple(_Steps(run, pool).all())
    replied = [each for step in steps for each in step.exchanges if each.reply is not None]
    usage = record_in(ended.get("usage")) if ended else {}
    ending = _ending(ended)
    costs = [each.cost_usd for each in replied]
    known_costs = [cost for cost in costs if cost is not None]
    view = RunView(
        number=number,
        file=file,
        name=run.name,
        question=started["question"],
        language=started["language"],
        protocol=started["protocol"],
        model=started["model"],
        started=str(started.get("time", "")),
        limits=tuple(started["limits"].items()),
        versions=tuple((name, str(started[name])) for name in _VERSIONS if name in started),
        steps=steps,
        ending=ending,
        requests=told(usage, "requests", count_in, len(replied)) or 0,
        tokens=told(usage, "total_tokens", count_in, sum_known([each.tokens for each in replied])),
        cost_usd=told(usage, "cost_usd", amount_in, sum(known_costs) if known_costs else None),
        duration_s=told(ended or {}, "duration_s", amount_in, amount_in(run.records[-1]["t"])),
        tools=len(started["tools"]) if isinstance(started.get("tools"), list) else 0,
        cap=cap_of(started, ending.stop_reason, steps),
    )
    return findings_of(view)


def _ending(ended: Record | None) -> Ending:
    if ended is None:
        return Ending(UNFINISHED)
    names = ("stop_reason", "answer", "forced", "unformatted", "error")
    return Ending(**{name: ended[name] for name in names})


class _Steps:
    """Gathers a run's records until a step ends."""

    def __init__(self, run: RecordedRun, pool: Pool) -> None:
        self._run = run
        self._language = run.started["language"]
        say = speaker(self._language)
        self._exchanges = Exchanges(pool, say, price_in(run.started.get("price")))
        self._begun: list[Record] = []
        self._ended: list[Record] = []
        self._previous: frozenset[str] = frozenset()
        self._made: dict[str, list[int]] = {}
        self._number = 0
        self._is_last_request = False

    def all(self) -> Iterator[StepView]:
        for record in self._run.records:
            self._exchanges.add(record)
            match record["event"]:
                case "step_started":
                    self._number += 1
                case "last_request":
                    self._number += 1
                    self._is_last_request = True
                case "tool_started":
                    self._begun.append(record)
                case "tool_returned" | "tool_raised" | "tool_timed_out":
                    self._ended.append(record)
                case "step":
                    yield self._step(record, self._exchanges.take(record["t"]))
        left = self._exchanges.take(self._run.records[-1]["t"])
        if left or self._begun:
            yield self._step(None, left)

    def _step(self, record: Record | None, exchanges: Sequence[Exchange]) -> StepView:
        calls = tuple(self._calls(record) if record else self._calls_without_end())
        keys = frozenset(call.key for call in calls)
        before = sorted({number for key in keys for number in self._made.get(key, ())})
        for key in keys:
            self._made.setdefault(key, []).append(self._number)
        seconds = [amount_in(each.get("duration_s")) or 0.0 for each in self._ended]
        correction = record["error"] if record else None
        step = StepView(
            number=self._number,
            state=self._state(record, calls) if record else self._state_without_end(exchanges),
            thought=record["thought"] if record else "",
            calls=calls,
            correction=correction,
            exchanges=tuple(exchanges),
            model_s=sum(each.seconds_s or 0.0 for each in exchanges),
            tools_s=max(seconds, default=0.0),  # they run side by side
            seen_before=tuple(before),
            is_last_request=self._is_last_request and record is None,
        )
        self._begun, self._ended = [], []
        self._previous = keys or self._previous  # a bad reply between two calls does not part them
        return step

    def _state_without_end(self, exchanges: Sequence[Exchange]) -> StepState:
        ended = self._run.ended
        if exchanges and exchanges[-1].failure is not None:
            return "no_reply"
        if self._is_last_request and ended is not None:
            return "answer" if ended["answer"] else "bad_reply"
        return "no_end"

    def _state(self, record: Record, calls: Sequence[Call]) -> StepState:
        if record["error"] is not None:
            return "bad_reply"
        if not calls:
            return "answer"
        states = {call.state for call in calls}
        if states == {"ok"}:
            return "ok"
        return "repeated" if states <= {"repeated", "ok"} else "failed"

    def _calls(self, record: Record) -> Iterator[Call]:
        """The step's actions, each with its observation and with what became of its tool."""
        pairs = iter(zip(self._begun, self._ended, strict=True))
        ran: dict[str, tuple[Record, Record]] = {}
        for action, seen in zip(record["actions"], record["observations"], strict=True):
            tool, key = action["tool"], call_key(action["tool"], action["input"])
            begun: Record = {}
            ended: Record = {}
            if seen["ran"]:
                ran[key] = begun, ended = ran.get(key) or next(pairs)
            yield Call(
                key=key,
                tool=tool,
                given=_given(action["input"]),
                state=self._call_state(action, seen, key, ended),
                observation=seen["text"],
                duration_s=amount_in(ended.get("duration_s")),
                timeout_s=amount_in(begun.get("timeout_s")),
                error=ended.get("error"),
                just_switched_off=self._has_just_gone_off(tool, seen),
                is_empty=_is_empty(ended),
            )

    def _calls_without_end(self) -> Iterator[Call]:
        for number, begun in enumerate(self._begun):
            ended = self._ended[number] if number < len(self._ended) else {}
            yield Call(
                key=call_key(begun["tool"], begun["input"]),
                tool=begun["tool"],
                given=_given(begun["input"]),
                state=_STATES.get(ended["event"], "ok") if ended else "no_end",
                observation=ended.get("text", ended.get("error")),
                duration_s=amount_in(ended.get("duration_s")),
                timeout_s=amount_in(begun.get("timeout_s")),
                error=ended.get("error"),
                is_empty=_is_empty(ended),
            )

    def _call_state(self, action: Record, seen: Record, key: str, ended: Record) -> CallState:
        if ended:
            return _STATES.get(ended["event"], "ok" if seen["ok"] else "failed")
        if action["fault"] is not None:
            return "refused"
        if seen["text"] == render("tool_off", self._language, tool=action["tool"]):
            return "switched_off"
        return "repeated" if key in self._previous else "not_run"

    def _has_just_gone_off(self, tool: str, seen: Record) -> bool:
        failures = self._run.started["limits"].get("max_tool_failures")
        note = render("tool_switched_off", self._language, tool=tool, failures=failures)
        return bool(seen["text"].endswith(note))


def _is_empty(ended: Record) -> bool:
    return ended.get("event") == "tool_returned" and not clean_output(ended["text"])


def _given(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=repr)
