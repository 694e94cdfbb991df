"""From paths to runs: which files are meant, and which of them can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from agent.errors import SettingsError
from agent.recorded import RecordedRun, read_runs
from scripts.reporting.exchanges import Pool
from scripts.reporting.findings import brief
from scripts.reporting.shapes import fitting
from scripts.reporting.timeline import view_of
from scripts.reporting.views import RunView

PATTERN = "*.jsonl"


@dataclass(frozen=True)
class Reading:
    """All runs in the order of their files; ``files`` are those that hold any.

    ``not_read`` has sentences on what could not be read: files, lines, runs. ``looked_at`` are the real paths
    of all files that were meant, read or not.
    """

    runs: tuple[RunView, ...]
    files: int
    not_read: tuple[str, ...]
    looked_at: frozenset[str]


def read_all(paths: Iterable[Path]) -> Reading:
    """Read every trace; a folder stands for the ``*.jsonl`` in it, by name, which is by time."""
    pool = Pool()
    runs: list[RunView] = []
    not_read: list[str] = []
    files = 0
    meant = list(_files(paths, not_read))
    for path in meant:
        try:
            found = read_runs(path)
        except SettingsError as error:
            not_read.append(str(error))
            continue
        not_read += found.complaints
        files += bool(found.runs)
        for run in found.runs:
            known = len(pool)
            try:
                runs.append(fitting(view_of(run, len(runs) + 1, str(path), pool)))
            except Exception as error:  # a trace that somebody changed: the other runs are still shown
                pool.forget(known)
                not_read.append(str(error) if isinstance(error, SettingsError) else _odd(path, run, error))
    return Reading(tuple(runs), files, tuple(not_read), frozenset(map(os.path.realpath, meant)))


def _odd(path: Path, run: RecordedRun, error: Exception) -> str:
    reason = brief(f"{type(error).__name__}: {error}")
    return f"{path}: run {run.name} holds what no run of this version writes ({reason})"


def _files(paths: Iterable[Path], not_read: list[str]) -> Iterator[Path]:
    seen: set[str] = set()
    for path in paths:
        try:
            inside = _meant(path.expanduser(), not_read)
        except (OSError, RuntimeError) as error:  # a folder that is not ours, ~ of a user who is not known
            not_read.append(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})")
            continue
        for each in inside:
            real = os.path.realpath(each)
            if real not in seen:
                seen.add(real)
                yield each


def _meant(path: Path, not_read: list[str]) -> list[Path]:
    """The file itself, or the traces in a folder. Raises OSError."""
    if not path.is_dir():
        return [path]
    names = sorted(os.listdir(path))  # glob() would take a folder that may not be read for an empty one
    inside = [path / name for name in names if fnmatch(name, PATTERN)]
    if not inside:
        deeper = sorted({each.parent.name for each in path.glob(f"*/{PATTERN}")})
        way_out = (
            f"subfolders are not searched, name {path / deeper[0]}"
            if deeper
            else f"AGENT_TRACE_DIR={path} writes them there"
        )
        not_read.append(f"{path} holds no trace ({PATTERN}): {way_out}")
    return [each for each in inside if _is_to_be_read(each, not_read)]


def _is_to_be_read(path: Path, not_read: list[str]) -> bool:
    """Whether something in a folder is a file: to open a named pipe is to wait until somebody writes."""
    try:
        mode = path.stat().st_mode
    except OSError:  # a link that leads nowhere: reading says what is wrong
        return True
    if not stat.S_ISREG(mode):
        kind = "a folder in a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        not_read.append(f"{path} is no file but {kind}: to read it, name it")
    return stat.S_ISREG(mode)
