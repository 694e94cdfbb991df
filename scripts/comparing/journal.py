"""Every finished run, on disk at once: JSON Lines, the settings of the measurement in the first one.

A rerun goes on where the file ends; of a turn that was tried more than once the last line counts. A line
that was cut off at the end (a full disk, a power cut) is dropped.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripts.comparing.outages import failed
from scripts.contenders import Attempt, ToolCall
from scripts.figures import Row
from scripts.scoring import Task

NAME = "journal.jsonl"
BEFORE = "journal.before.jsonl"
TOLD = "llama.cpp"  # the part of an identity that the service itself has to tell
ENDING = (signal.SIGINT, signal.SIGTERM)
Key = tuple[str, str, int]


@dataclass
class Journal:
    """The runs that are kept, one of each turn: the latest.

    ``header`` is the first line; its ``identity`` may not change in a file. Once a service that was not
    there has told what it is, a second header says so.
    """

    path: Path
    header: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    @property
    def finished(self) -> list[Row]:
        """The runs that are results: the service failed none of them."""
        return [row for row in self.rows if not failed(row)]

    @property
    def done(self) -> set[Key]:
        return {key_of(row) for row in self.finished}

    def add(self, row: Row) -> None:
        """Keep a run; when this returns, it is on disk. Raises OSError."""
        _append(self.path, asdict(row))
        self.rows = _latest([*self.rows, row])


def key_of(row: Row) -> Key:
    return row.task.id, row.agent, row.repeat


def _latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of each turn, where its first one stood."""
    return list({key_of(row): row for row in rows}.values())


def begin(folder: Path, header: Mapping[str, Any], *, fresh: bool = False) -> Journal:
    """Go on with the folder's journal, or begin one.

    ``fresh`` begins anew; the journal that was there stays beside it as journal.before.jsonl. Raises
    ValueError where the journal is of another measurement, or is none; OSError.
    """
    path = folder / NAME
    folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and fresh:
        path.replace(folder / BEFORE)
    kept = read(folder) if path.exists() else None
    if kept is None:
        path.unlink(missing_ok=True)  # its very first line was cut off
        _append(path, header)
        return Journal(path, dict(header))
    _demand_same(kept.header["identity"], header["identity"], path)
    _cut_off_torn_line(path)
    if kept.header["identity"].get(TOLD, "") is None and header["identity"].get(TOLD) is not None:
        kept.header = dict(header)
        _append(path, header)
    return kept


def read(folder: Path) -> Journal | None:
    """The folder's journal as it stands; None for one that is empty. Raises ValueError, OSError."""
    path = folder / NAME
    *lines, _torn = path.read_bytes().split(b"\n")
    if not lines:
        return None
    try:
        header, *others = map(json.loads, lines)
        headers = [header, *(raw for raw in others if "identity" in raw)]
        rows = [_row(raw) for raw in others if "identity" not in raw]
        return Journal(path, [_header(raw) for raw in headers][-1], _latest(rows))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no journal of a comparison ({type(error).__name__}: {error}): take another --out, "
            "or begin anew with --fresh"
        ) from error


def _header(raw: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(raw["identity"], dict):
        raise TypeError("its first line names no identity")
    return raw


def _row(raw: Mapping[str, Any]) -> Row:
    task = Task(**{**raw["task"], "tools": tuple(raw["task"]["tools"])})
    attempt = Attempt(**raw["attempt"])
    attempt.tool_calls = [ToolCall(**call) for call in raw["attempt"]["tool_calls"]]
    attempt.model_spans = [(start, end) for start, end in raw["attempt"]["model_spans"]]
    return Row(**{**raw, "task": task, "attempt": attempt})


def _demand_same(kept: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    changed = [name for name in {**kept, **wanted} if kept.get(name) != wanted.get(name)]
    if None in (kept.get(TOLD, ""), wanted.get(TOLD, "")):  # it was not, or is not, there to be asked
        changed = [name for name in changed if name != TOLD]
    if changed:
        raise ValueError(
            f"{path} was measured with other settings ("
            + "; ".join(f"{name}: then {kept.get(name)}, now {wanted.get(name)}" for name in changed)
            + "), and what differs is not mixed: take another --out, or begin anew with --fresh"
        )


def _cut_off_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def _append(path: Path, content: Mapping[str, Any]) -> None:
    line = json.dumps(content, ensure_ascii=False, default=str) + "\n"
    with path.open("ab") as file:
        # A lone half of a character, which a model may write, is no UTF-8.
        file.write(line.encode("utf-8", errors="backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM are raised when the block has ended: what is being written is finished first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda got, _: came.append(got)) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            raise KeyboardInterrupt
