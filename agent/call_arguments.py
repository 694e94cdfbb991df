"""The arguments of a native tool call, whatever a service wrote for them, read as one JSON object."""

from __future__ import annotations

import json
import math

from agent.redaction import shown
from agent.results import CallFault

MAX_DEPTH = 32  # of lists and objects in each other: deeper, and no JSON writer is safe from its recursion
MAX_QUOTED_CHARS = 300

_WRITER = json.JSONEncoder(default=str, ensure_ascii=False)


def read_arguments(given: object) -> dict[str, object] | CallFault:
    """The arguments by name, fit to be sent again. Nothing, an empty text and null are no arguments."""
    value = given
    try:
        if isinstance(given, str):
            value = json.loads(given, strict=False) if given.strip() else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            return CallFault("not_an_object", {"detail": written(value)[:MAX_QUOTED_CHARS]})
        return {_text(name): _plain(each, MAX_DEPTH) for name, each in value.items()}
    except (ValueError, RecursionError) as error:
        return CallFault("not_json", {"detail": str(error)[:MAX_QUOTED_CHARS]})


def written(value: object) -> str:
    """A value as JSON, a text as it is; for showing only."""
    try:
        text = value if isinstance(value, str) else _WRITER.encode(value)
    except (TypeError, ValueError, RecursionError):
        text = f"({type(value).__name__})"
    return _text(text)


def _plain(value: object, depth: int) -> object:
    """``value`` as every JSON reader takes it; Python's own takes NaN and halves of characters too."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (dict, list)) and not depth:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {_text(name): _plain(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, depth - 1) for each in value]
    if value is None or isinstance(value, int):  # of any length: only a float can be no number
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(f"{shown(value)} is no value of JSON's")


def _text(value: object) -> str:
    return str(value).encode("utf-8", errors="replace").decode("utf-8")
