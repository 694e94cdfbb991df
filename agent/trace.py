"""The trace of a run: a file of JSON lines that holds all that decided it, complete up to its last event.

    {"run": "5f2c...", "t": 0.0, "event": "run_started", "version": 1, "question": ..., "limits": ..., ...}
    {"run": "5f2c...", "t": 0.01, "event": "request", "keep": 0, "add": [...], ...}

``t`` counts seconds since the run started. A request lists only the messages in which it differs from the
one before: it keeps the first ``keep`` of those and adds the rest. A text of some length is written once, as
``{"run": ..., "event": "text", "id": 7, "text": ...}``, and from then on ``{"$text": 7}`` stands for it; for
a value that JSON has no word for stands ``{"$shown": "nan"}``. Each
line is one write to the end of the file, so several runs, threads and processes may share a file, and what
was written survives a ``kill -9``. No known secret is in it (agent.redaction), but where the format itself
has the same word (agent.record_shapes).
"""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

import agent
from agent.errors import SettingsError
from agent.events import Happening, RequestSent
from agent.observing import describe
from agent.records import NotJson, Record, cleaned_record, record_of
from agent.redaction import shown
from agent.results import RunResult
from agent.tool_records import tool_names

VERSION = 1
SHORT_CHARS = 64  # of a text that is written wherever it occurs
TEXT, SHOWN, RAW = "$text", "$shown", "$raw"  # the last around what only looks like one of them

_log = logging.getLogger("agent")


class Trace:
    """Where the traces of an agent's runs go: a file that they share, or a folder with a file for each.

    Args:
        path: a folder (it exists, or its name ends with a separator), or a file, which is added to.

    Raises:
        SettingsError: nothing can be written there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._path = _expanded(path)
            self._is_folder = self._path.is_dir() or os.fspath(path).endswith(("/", os.sep))
            (self._path if self._is_folder else self._path.parent).mkdir(parents=True, exist_ok=True)
            if self._is_folder:
                tempfile.TemporaryFile(dir=self._path).close()
            else:
                os.close(_open(self._path))
        except (OSError, ValueError, RuntimeError) as error:  # the last for ~ of a user who is not known
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"no trace can be written to {shown(os.fspath(path))} ({reason})") from None

    def begin(self) -> RunTrace:
        """The trace of one run."""
        run = secrets.token_hex(6)
        name = f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{run}.jsonl"
        return RunTrace(self._path / name if self._is_folder else self._path, run)


def _expanded(path: str | os.PathLike[str]) -> Path:
    if not os.fspath(path):
        raise ValueError("the path is empty")  # which Path takes for the working folder
    return Path(path).expanduser()


def _open(path: Path) -> int:
    """For adding at the end. A trace may hold what is nobody else's business, so it is the user's alone."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def _is_cut_off(path: Path) -> bool:
    """Whether the last line of a file has no end: whoever wrote it was killed, or the disk was full."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


class RunTrace:
    """Writes down one run. A disk that fails costs the trace, with a warning, and never the run."""

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self._run = run
        self._started = time.monotonic()
        self._texts: dict[str, int] = {}
        self._sent: Sequence[BaseMessage] = ()
        self._tools: frozenset[str] = frozenset()
        self._file: int | None = None
        try:
            self._file = _open(path)
            if _is_cut_off(path):
                self._put(b"\n")
        except OSError as error:
            self._give_up(error)

    def write(self, event: Happening) -> None:
        """Add one event; a RunResult is the last."""
        if self._file is None:
            return
        try:
            self._add(event)
        except Exception as error:  # not the disk alone: the values of a user's own model are what they are
            self._close()
            self._give_up(error)
        if isinstance(event, RunResult):
            self._close()

    def _add(self, event: Happening) -> None:
        record = record_of(event)
        if isinstance(event, RequestSent):
            record = self._with_difference(record, event.request.messages)
        if record["event"] == "run_started":
            self._tools = tool_names(record)
            record |= {"version": VERSION, "time": datetime.now(timezone.utc).isoformat(), **_versions()}
        lines: list[Record] = []
        record = self._shared(cleaned_record(record, self._tools), lines)
        for each in (*lines, {"t": round(time.monotonic() - self._started, 6), **record}):
            line = json.dumps({"run": self._run, **each}, ensure_ascii=False) + "\n"
            self._put(line.encode("utf-8", errors="replace"))

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _with_difference(self, record: Record, messages: Sequence[BaseMessage]) -> Record:
        keep = _same(self._sent, messages)
        self._sent = messages
        added = record.pop("messages")[keep:]
        return {**record, "keep": keep, "add": added}

    def _shared(self, value: Any, lines: list[Record]) -> Any:
        """``value`` with references in place of long texts; those that are new are added to ``lines``."""
        if isinstance(value, str) and len(value) > SHORT_CHARS:
            if value not in self._texts:
                self._texts[value] = len(self._texts)
                lines.append({"event": "text", "id": self._texts[value], "text": value})
            return {TEXT: self._texts[value]}
        if isinstance(value, dict):
            shared = {key: self._shared(each, lines) for key, each in value.items()}
            return {RAW: shared} if value.keys() <= {TEXT, SHOWN, RAW} and value else shared
        if isinstance(value, NotJson):
            return {SHOWN: value.text}
        return [self._shared(each, lines) for each in value] if isinstance(value, list) else value

    def _put(self, data: bytes) -> None:
        while data and self._file is not None:
            data = data[os.write(self._file, data) :]

    def _give_up(self, error: Exception) -> None:
        _log.warning("the run goes on, and its trace does not: %s", describe(error))


def _same(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> int:
    """How many messages two requests have in common, from the first on."""
    pairs = enumerate(zip(before, now, strict=False))
    differ = (number for number, (one, other) in pairs if one is not other and one != other)
    return next(differ, min(len(before), len(now)))


def _versions() -> Record:
    return {
        "agent": agent.__version__,
        "python": platform.python_version(),
        "langchain_core": version("langchain-core"),
    }
