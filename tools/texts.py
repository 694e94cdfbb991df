"""How tools word a failure, and how they quote what they were given.

A tool answers a bad input with text, so that the model can put it right; it does not raise. So that a
loop can still tell a failure from a result, every such text starts with ``ERROR_PREFIX``.
"""

from __future__ import annotations

import re

ERROR_PREFIX = "Error: "
MAX_QUOTED_CHARS = 60

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

# Spellings of "no argument" that models write where a tool needs none.
_NOTHING = frozenset({"", "{}", "[]", "()", "none", "null", "nil", "n/a", "undefined"})
_QUOTE_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}


def error_text(sentence: str) -> str:
    """``sentence`` as the text of a failed call, on one line."""
    return ERROR_PREFIX + one_line(sentence)


def one_line(text: str) -> str:
    """``text`` with runs of blanks folded, control characters as blanks, and lone surrogates as ``?``."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(_CONTROL.sub(" ", encodable).split())


def shorten(text: str, limit: int = MAX_QUOTED_CHARS) -> str:
    """``text`` on one line, in at most ``limit`` characters."""
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 3] + "..."


def unquote(text: str) -> str:
    """``text`` without blanks around it and without one outer pair of quotes that is not used inside."""
    inner = text.strip()
    opening, middle, closing = inner[:1], inner[1:-1], inner[1:][-1:]
    is_pair = bool(closing) and _QUOTE_PAIRS.get(opening) == closing
    return middle.strip() if is_pair and opening not in middle and closing not in middle else inner


def is_nothing(text: str) -> bool:
    """Whether ``text`` is one of the ways in which a model writes an empty argument."""
    return unquote(text).lower() in _NOTHING
