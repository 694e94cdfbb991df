"""A tool's argument, as a model writes it: where it ends, and what it says.

Everything here is pure and linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from agent.call_arguments import read_arguments
from agent.protocols.decisions import Malformed, ToolSpec
from agent.results import CallFault

Argument = str | Mapping[str, object]

CLOSER_OF = {"[": "]", "［": "]", "【": "]", "(": ")", "（": ")", "{": "}"}
_WIDTH = str.maketrans("［］【】（）", "[][]()")
_QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "‘": "’",
    "「": "」",
    "『": "』",
    "«": "»",
    "＂": "＂",
    "＇": "＇",
}
# ’ and ‘ are apostrophes too often to hide brackets.
_SHELTERS = {opener: closer for opener, closer in _QUOTES.items() if opener not in "‘＇«"}
_SIGNS = re.compile(r"[\[\]［］【】()（）{}\\" + re.escape("".join({*_SHELTERS, *_SHELTERS.values()})) + "]")

_BARE = {"string", "number", "integer"}  # types of a field whose value is written without more ado
_NOTHING = {"", "{}", "None", "none", "null"}
_FENCED = re.compile(r"\A(`{3,}|~{3,})[\w-]*[ \t]*\n(?P<inside>.*)\n[ \t]*\1\Z", re.DOTALL)
# Python's way of writing an object differs from JSON's in its quotes and in three words. An escape outside
# of a string is a token as well: so a quote that is never closed is looked for once.
_PYTHON = re.compile(
    r"""'(?P<inside>[^'\\]*(?:\\.[^'\\]*)*)'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.|\b(?:True|False|None)\b""",
    re.DOTALL,
)
_ESCAPE_OR_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
_IN_JSON = {"True": "true", "False": "false", "None": "null", "\\'": "'", '"': '\\"'}
_WRAPPED_LINES = 3
_BREAK = re.compile(r"[ \t]*\n\s*")


def closing(text: str, start: int, end: int) -> int | None:
    """The index of the bracket that closes the one at ``start``, before ``end``; None when it stays open.

    Brackets in quotes do not count, unless that leaves the bracket open: then the quotes were none.
    """
    quoted = _match(text, start, end, heed_quotes=True)
    return quoted if quoted is not None else _match(text, start, end, heed_quotes=False)


def closes_for_sure(text: str, start: int, close: int) -> bool:
    """Whether the bracket at ``close`` would close the one at ``start`` however the text went on.

    Not where it counts only because a quote was never closed: the text's end may have cut that off.
    """
    return _match(text, start, close + 1, heed_quotes=True) == close


def _match(text: str, start: int, end: int, *, heed_quotes: bool) -> int | None:
    opener = text[start].translate(_WIDTH)
    closer, depth, quote, skip = CLOSER_OF[opener], 0, "", -1
    for sign in _SIGNS.finditer(text, start, end):
        at, char = sign.start(), sign[0].translate(_WIDTH)
        if quote:
            if char == "\\" and at != skip:
                skip = at + 1
            elif char == quote and at != skip:
                quote = ""
        elif heed_quotes and char in _SHELTERS and not _in_word(text, at):
            quote = _SHELTERS[char]
        elif char == opener:
            depth += 1
        elif char == closer:
            depth -= 1
            if depth == 0:
                return at
    return None


def _in_word(text: str, at: int) -> bool:
    """A quote right after a letter or digit is an apostrophe, or inches: Martha's, 5"."""
    return text[at - 1].isalnum()


def read_argument(raw: str, tool: ToolSpec) -> Argument | Malformed:
    """What the model meant by ``raw`` as the input of ``tool``, or why it cannot be that.

    Surrounding blanks, a code fence and one pair of quotes go. An argument wrapped over two or three lines
    becomes one line; a longer or a fenced one is a text with lines of its own, and keeps them.
    """
    text = raw.strip()
    if text in _NOTHING:
        return argument_from(None, tool)
    fenced = _FENCED.match(text)
    text = unquoted(fenced["inside"] if fenced else text)
    values = _json_object(text)
    if values is not None:
        return argument_from(values, tool)
    is_wrapped = not fenced and text.count("\n") < _WRAPPED_LINES
    return argument_from(_BREAK.sub(" ", text) if is_wrapped else text, tool)


def unquoted(text: str) -> str:
    """Without one outer pair of quotes, if the two ends belong together."""
    text = text.strip()
    inner = text[1:-1]
    closer = _QUOTES.get(text[:1])
    if closer is None or len(text) < 2 or text[-1] != closer or text[0] in inner or closer in inner:
        return text
    return inner.strip()


def _json_object(text: str) -> dict[str, object] | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    for spelling in (text, _PYTHON.sub(_as_json, text)):
        try:
            value = json.loads(spelling, strict=False)
        except (ValueError, RecursionError):  # no JSON in this spelling
            continue
        return value if isinstance(value, dict) else None
    return None


def _as_json(token: re.Match[str]) -> str:
    """A string, a truth value or nothing as JSON writes it."""
    if token["inside"] is None:
        return _IN_JSON.get(token[0], token[0])
    inside = _ESCAPE_OR_QUOTE.sub(lambda sign: _IN_JSON.get(sign[0], sign[0]), token["inside"])
    return f'"{inside}"'


def argument_from(value: object, tool: ToolSpec) -> Argument | Malformed:
    """Fit a value (text, an object, or None for an empty argument) to the fields of ``tool``."""
    if value in (None, "", {}):
        return _empty(tool)
    if len(tool.fields) != 1:
        return _sound(_as_fields(value, tool), tool)
    return _sound(_as_text(value, tool) if tool.takes in _BARE else _as_value(value, tool), tool)


def _sound(argument: Argument | Malformed, tool: ToolSpec) -> Argument | Malformed:
    """An argument that can be written as JSON again: Python's reader takes NaN and half a character too."""
    if isinstance(argument, str):
        return argument.encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(argument, Malformed):
        return argument
    given = read_arguments(dict(argument))
    return _misfit(tool) if isinstance(given, CallFault) else given


def _empty(tool: ToolSpec) -> Argument | Malformed:
    if tool.fields and (tool.input_required or tool.required):
        return _misfit(tool)
    return "" if len(tool.fields) == 1 and tool.takes in _BARE else {}


def _as_text(value: object, tool: ToolSpec) -> Argument | Malformed:
    """A one-key object holds the text, whatever its key: models guess `input`, `query`, `expression`."""
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
        if value in (None, ""):
            return _empty(tool)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return _misfit(tool)
    return str(value)


def _as_value(value: object, tool: ToolSpec) -> Argument:
    """A list, an object or a truth value for the only field, by its name or alone."""
    (field,) = tool.fields
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):  # no JSON: the text itself is meant
            value = json.loads(value, strict=False)
    return value if isinstance(value, dict) and set(value) == {field} else {field: value}


def _as_fields(value: object, tool: ToolSpec) -> Argument | Malformed:
    if isinstance(value, str) and len(tool.required) == 1:
        return {tool.required[0]: value}
    fits = isinstance(value, dict) and set(tool.required) <= set(value) <= set(tool.fields)
    return value if fits and isinstance(value, dict) else _misfit(tool)


def _misfit(tool: ToolSpec) -> Malformed:
    return Malformed("misfit", signature(tool))


def signature(tool: ToolSpec) -> str:
    """The call's form, free of any language: ``Weather[city]``, ``Convert[{"amount": ..., "unit": ...}]``."""
    if len(tool.fields) < 2:
        return f"{tool.name}[{''.join(tool.fields)}]"
    fields = ", ".join(f"{json.dumps(field, ensure_ascii=False)}: ..." for field in tool.fields)
    return f"{tool.name}[{{{fields}}}]"
