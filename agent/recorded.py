"""Reading traces: the runs in a file, each with its records whole again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from agent.assembly import PROTOCOLS
from agent.budget import Spent
from agent.errors import SettingsError
from agent.records import NotJson, Record, setup_from
from agent.redaction import shown
from agent.setup import Setup
from agent.trace import RAW, SHOWN, TEXT, VERSION
from agent.trace_lines import lines_of, may_be_cut_off, run_named_in
from agent.trace_troubles import NO_RUN, Later, Troubles
from prompts import LANGUAGES

T = TypeVar("T")

UNFIT = (
    ArithmeticError,
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
)  # from a record that somebody changed


@dataclass
class RecordedRun:
    """One run out of a trace. ``records`` begin with ``run_started`` and, unless it was cut off, end with
    ``run_ended``. Texts and requests are whole in them; ``t`` is seconds since the start.
    """

    name: str
    records: list[Record] = field(default_factory=list)
    _texts: dict[int, str] = field(default_factory=dict, repr=False)
    _sent: list[Any] = field(default_factory=list, repr=False)
    _has_begun: bool = field(default=False, repr=False)

    @property
    def started(self) -> Record:
        return self.records[0]

    @property
    def ended(self) -> Record | None:
        last = self.records[-1]
        return last if last["event"] == "run_ended" else None

    def begins_again(self, record: Record) -> bool:
        """Whether a line of this name is of another run: the same trace twice in a file. Raises KeyError."""
        if record["event"] == "text":
            return record["id"] in self._texts
        return record["event"] == "run_started" and self._has_begun

    def add(self, record: Record) -> None:
        """Take in the next line of this run. Raises KeyError, TypeError for one that does not fit."""
        if not isinstance(record["event"], str):
            raise TypeError("the name of an event is a text")
        if record["event"] == "text":
            self._texts[record["id"]] = record["text"]
            return
        self._has_begun |= record["event"] == "run_started"
        record = self._whole(record)
        record["t"] = float(record["t"])
        if record["event"] == "request":
            self._sent = [*self._sent[: record.pop("keep")], *record.pop("add")]
            record["messages"] = self._sent
        self.records.append(record)

    def _whole(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._whole(each) for each in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {TEXT}:
            return self._texts[value[TEXT]]
        if value.keys() == {SHOWN}:
            text = value[SHOWN]
            return float(text) if text in ("nan", "inf", "-inf") else NotJson(text)
        inner = value[RAW] if value.keys() == {RAW} else value
        return {key: self._whole(each) for key, each in inner.items()}


@dataclass(frozen=True)
class Found:
    """The runs of a file that are whole, and a sentence for each kind of trouble with it."""

    runs: tuple[RecordedRun, ...]
    complaints: tuple[str, ...]


def read_trace(path: str | os.PathLike[str]) -> list[RecordedRun]:
    """The runs in a trace, in the order in which they started.

    A line that was cut off (a process that was killed, a full disk) is left out. Raises SettingsError
    for a file that cannot be read, holds no run, has a line that is no record of a trace, or is of a later
    version than this one knows.
    """
    lines = _Sorted.lines_of(path)
    runs, trouble = lines.whole(), lines.troubles().first()
    if trouble or not runs:
        raise SettingsError(f"{path}{trouble or NO_RUN}")
    return runs


def read_runs(path: str | os.PathLike[str]) -> Found:
    """The runs in a file that somebody may have changed: those that are whole, and complaints about the rest.

    A line that is no record costs the run that it names; one that names none is passed over. Raises
    SettingsError for a file that cannot be read.
    """
    lines = _Sorted.lines_of(path)
    runs, troubles = tuple(lines.whole()), tuple(lines.troubles().all())
    return Found(runs, tuple(f"{path}{each}" for each in troubles or (() if runs else (NO_RUN,))))


@dataclass
class _Part:
    """What a file holds of one run: ``bad`` are the numbers of its lines that are no records."""

    run: RecordedRun
    bad: list[int] = field(default_factory=list)
    cut_at: int = 0
    later: Later | None = None

    def add(self, number: int, record: Record) -> None:
        if record["event"] == "run_started" and record["version"] > VERSION:
            self.later = Later(self.run.name, number, record["version"])
        if self.cut_at:  # it went on, so the line was not cut off but damaged
            self.bad.append(self.cut_at)
            self.cut_at = 0
        self.run.add(record)

    @property
    def is_whole(self) -> bool:
        return self.has_start and not (self.bad or self.later)

    @property
    def has_start(self) -> bool:
        return bool(self.run.records) and self.run.started["event"] == "run_started"


class _Sorted:
    """The lines of a file, sorted by the runs that they are of."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._latest: dict[str, _Part] = {}
        self._nobodys: list[int] = []

    @classmethod
    def lines_of(cls, path: str | os.PathLike[str]) -> _Sorted:
        own = cls()
        for number, line in lines_of(Path(path)):
            own._take(number, line)
        return own

    def _take(self, number: int, line: str) -> None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._take_no_json(number, line, isinstance(error, json.JSONDecodeError))
            return
        name = record.pop("run", None) if isinstance(record, dict) else None
        if isinstance(name, str):
            self._take_record(number, name, record)
        else:
            self._nobodys.append(number)

    def _take_no_json(self, number: int, line: str, is_broken: bool) -> None:
        part = self._latest.get(run_named_in(line) or "")
        if is_broken and may_be_cut_off(line):  # and another run has begun after it
            if part:
                part.cut_at = number
        else:
            (part.bad if part else self._nobodys).append(number)

    def _take_record(self, number: int, name: str, record: Record) -> None:
        part = self._latest.get(name)
        try:
            if part is None or part.run.begins_again(record):
                part = self._begin(name)
            part.add(number, record)
        except (*UNFIT, RecursionError):
            (part or self._begin(name)).bad.append(number)

    def _begin(self, name: str) -> _Part:
        self._latest[name] = part = _Part(RecordedRun(name))
        self._parts.append(part)
        return part

    def whole(self) -> list[RecordedRun]:
        return [part.run for part in self._parts if part.is_whole]

    def troubles(self) -> Troubles:
        """What is wrong with the file; a run is named under one kind of it."""
        found = Troubles(self._nobodys)
        for part in self._parts:
            if part.later:
                found.later.append(part.later)
            elif part.bad:
                found.changed.append((part.run.name, part.bad))
            elif part.run.records and not part.has_start:
                found.headless.append(part.run.name)
        return found


def setup_of(run: RecordedRun) -> Setup:
    """What the run started with. Raises SettingsError where the trace does not hold all of it."""
    check_start(run)
    return told_by(run.started, setup_from)


def check_start(run: RecordedRun) -> None:
    """Raises SettingsError where a run's question, language, protocol or instructions cannot be played."""
    names = "question", "language", "protocol", "instructions"
    question, language, protocol, instructions = told_by(run.started, itemgetter(*names))
    known = {
        "question": (question, isinstance(question, str)),
        "language": (language, language in LANGUAGES),
        "protocol": (protocol, protocol in tuple(PROTOCOLS)),
        "instructions": (instructions, isinstance(instructions, str)),
    }
    for name, (value, fits) in known.items():
        if not fits:
            raise SettingsError(f"this version cannot play run {run.name}: its {name} is {shown(value)}")


def spent_before(run: RecordedRun) -> Spent:
    """What of the agent's budget was used before the run. Raises SettingsError where that is not told."""
    return told_by(run.started, _spent)


def _spent(record: Record) -> Spent:
    tokens, cost_usd, seconds = record["spent"]
    return int(tokens), float(cost_usd), float(seconds)


def told_by(record: Record, read: Callable[[Record], T]) -> T:
    """What ``read`` makes of a record. Raises SettingsError where the record does not hold it."""
    try:
        return read(record)
    except UNFIT as error:
        raise SettingsError(
            f"the trace is not whole: its {record['event']} says too little ({_lack(error)})"
        ) from None


def _lack(error: Exception) -> str:
    if isinstance(error, SettingsError):
        return str(error)
    return f"no {shown(error.args[0])}" if isinstance(error, KeyError) else "a value is of the wrong kind"
