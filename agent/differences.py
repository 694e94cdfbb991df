"""Where two records part, in one sentence that a person can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

AROUND_CHARS = 30  # of a text before the place where two part
SHOWN_CHARS = 90  # of either side from there on
_NOTHING = object()


def difference(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say what differs first: the kind of event, or the place in it. The two must not be equal."""
    kind, other = recorded["event"], now["event"]
    if kind != other:
        return f"recorded is {kind}, now comes {other}"
    path, one, another = _first(recorded, now, kind)
    if isinstance(one, str) and isinstance(another, str):
        at = next((n for n, (a, b) in enumerate(zip_longest(one, another)) if a != b), 0)
        path, one, another = f"{path} from character {at + 1}", _from(one, at), _from(another, at)
    return f"{path}: recorded {_shown(one)}, now {_shown(another)}"


def _first(one: Any, other: Any, path: str) -> tuple[str, Any, Any]:
    """The first place in reading order at which two values part, and what each has there."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        pairs = [
            (f"{path}.{key}", one.get(key, _NOTHING), other.get(key, _NOTHING)) for key in {**one, **other}
        ]
    elif isinstance(one, list) and isinstance(other, list):
        both = enumerate(zip_longest(one, other, fillvalue=_NOTHING), 1)
        pairs = [(f"{path} {number}", mine, yours) for number, (mine, yours) in both]
    else:
        return path, one, other
    where, mine, yours = next(pair for pair in pairs if pair[1] != pair[2])
    return _first(mine, yours, where)


def _from(text: str, at: int) -> str:
    start = max(at - AROUND_CHARS, 0)
    return ("…" if start else "") + text[start:]


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
