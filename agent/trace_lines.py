"""The lines of a trace file, and what can be told of those that are no JSON."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path

from agent.errors import SettingsError

_BEGIN = '{"run": "'  # of every line
_NAME = re.compile(r'\{"run": "(\w+)"')


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1 on; but for blank ones, and one cut off at its end.

    A last line that lost its line end alone, in an editor or by pasting, is whole. The mark of UTF-8 before a
    file is none of its text. Raises SettingsError for a file that cannot be read.
    """
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise SettingsError(f"{path} is a folder: name one of the traces in it") from None
    except (OSError, ValueError) as error:  # the latter for a path that no file can have
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{path} cannot be read ({reason})") from None
    *lines, last = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for number, line in enumerate([*lines, last] if _is_json(last) else lines, 1):
        if line.strip():
            yield number, line.decode("utf-8", errors="replace")


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def may_be_cut_off(line: str) -> bool:
    """Whether a line that is no JSON begins like a record, or is the beginning of one."""
    return _BEGIN.startswith(line[: len(_BEGIN)])


def run_named_in(line: str) -> str | None:
    """The name of the run that a line which is no JSON was written by, where that much of it is left."""
    match = _NAME.match(line)
    return match[1] if match else None
