"""Reading traces: the runs in a file, each with its records whole again."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterator
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
from prompts import LANGUAGES

T = TypeVar("T")

_BEGIN = '{"run": "'  # of every line


@dataclass
class RecordedRun:
    """One run out of a trace. ``records`` begin with ``run_started`` and, unless it was cut off, end with
    ``run_ended``. Texts and requests are whole in them; ``t`` is seconds since the start.
    """

    name: str
    records: list[Record] = field(default_factory=list)
    _texts: dict[int, str] = field(default_factory=dict, repr=False)
    _sent: list[Any] = field(default_factory=list, repr=False)

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
        return record["event"] == "run_started" and bool(self.records)

    def add(self, record: Record) -> None:
        """Take in the next line of this run. Raises KeyError, TypeError for one that does not fit."""
        if record["event"] == "text":
            self._texts[record["id"]] = record["text"]
            return
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


def read_trace(path: str | os.PathLike[str]) -> list[RecordedRun]:
    """The runs in a trace, in the order in which they started.

    A line that was cut off (a process that was killed, a full disk) is left out. Raises SettingsError
    for a file that cannot be read, holds no run, or is of a later version than this one knows.
    """
    runs: list[RecordedRun] = []
    latest: dict[str, RecordedRun] = {}
    for number, line in enumerate(_lines(Path(path)), 1):
        try:
            record = json.loads(line)
            name = record.pop("run")
            if record["event"] == "run_started" and record["version"] > VERSION:
                raise SettingsError(
                    f"{path} was written by a later version (trace version {record['version']},"
                    f" this one reads {VERSION}): update"
                )
            if name not in latest or latest[name].begins_again(record):
                latest[name] = RecordedRun(name)
                runs.append(latest[name])
            latest[name].add(record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, SettingsError):
                raise
            if isinstance(error, json.JSONDecodeError) and _BEGIN.startswith(line[: len(_BEGIN)]):
                continue  # cut off, and another run has begun after it
            raise SettingsError(f"{path}: line {number} is no record of a trace") from None
    whole = [run for run in runs if run.records and run.started["event"] == "run_started"]
    if not whole:
        raise SettingsError(f"{path} holds no run: --trace FILE or AGENT_TRACE_DIR write traces")
    return whole


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file but for one that was cut off at its end.

    A last line that lost its line end alone, in an editor or by pasting, is whole. The mark of UTF-8 before a
    file is none of its text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror})") from None
    *lines, last = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for line in [*lines, last] if _is_json(last) else lines:
        if line.strip():
            yield line.decode("utf-8", errors="replace")


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


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
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(
            f"the trace is not whole: its {record['event']} says too little ({_lack(error)})"
        ) from None


def _lack(error: Exception) -> str:
    if isinstance(error, SettingsError):
        return str(error)
    return f"no {shown(error.args[0])}" if isinstance(error, KeyError) else "a value is of the wrong kind"
