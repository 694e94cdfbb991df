"""Tool calls that a model wrote into its text, because its service knows no better.

Small and open models answer with ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, the same in
other marks, or a JSON object, bare or fenced. Such a call is a call; its markup is never an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.protocols.calls import resolve
from agent.protocols.decisions import ToolSpec

MOST_STARTS = 64  # places where an object may begin that are tried, so that no text is read over and over
MOST_VALUES = 256  # that are read from there on: no reply means so many calls

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
# Qwen and Hermes, Mistral, Llama: whatever stands behind such a mark is meant as a call.
CALL_MARK = re.compile(
    r"<\|?(?:tool_calls?|tools|function_calls?|function)\|?>|<function=[\w.-]{1,64}>"
    r"|\[TOOL_CALLS\]|<\|python_tag\|>"
)
# The end of a call whose beginning is missing: a half of one, and no part of an answer.
_CLOSING_MARK = re.compile(r"</(?:tool_calls?|function_calls?)>")
# What may stand between two calls; the last name in a mark is that of the arguments behind it.
_BETWEEN = re.compile(r"(?:[\s,;]|```\w*|</?\|?\w+\|?>|<function=(?P<name>[\w.-]{1,64})>|\[TOOL_CALLS\])*")
_OBJECT_START = re.compile(r"^[ \t]*(?:```\w*[ \t]*\n\s*)?(?=[\[{])", re.MULTILINE)
_NAMED = re.compile(rf'\[?\s*\{{\s*"(?:{"|".join(_NAME_KEYS)})"\s*:\s*"(?P<name>[^"\n]{{1,64}})"')
_FENCE_OPENED = re.compile(r"```\w{0,20}\Z")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class RawCall:
    """A call as it was written: ``arguments`` is an object, a JSON text, or whatever else came."""

    name: str
    arguments: object
    call_id: str = ""


@dataclass(frozen=True)
class WrittenCalls:
    """The calls in a text, and the words before them. No calls: there is markup, but it cannot be read."""

    calls: tuple[RawCall, ...]
    before: str


def calls_in_text(text: str, tools: Sequence[ToolSpec]) -> WrittenCalls | None:
    """Find the calls in ``text``; None when it holds none and is an answer.

    In a mark any name is a call; in plain JSON one of our tools has to be named, unless the text is
    nothing but calls.
    """
    mark = CALL_MARK.search(text)
    if mark is not None:
        values, _ = _values(text, mark.start())
        return WrittenCalls(tuple(_calls(values)), _words_before(text, mark.start()))
    found = _plain_calls(text, tools)
    stray = _CLOSING_MARK.search(text) if found is None else None
    return WrittenCalls((), _words_before(text, stray.start())) if stray else found


def _plain_calls(text: str, tools: Sequence[ToolSpec]) -> WrittenCalls | None:
    at = 0
    for _ in range(MOST_STARTS):
        start = _OBJECT_START.search(text, at)
        if start is None:
            return None
        values, at = _values(text, start.end())
        calls = tuple(_calls(values))
        before = _words_before(text, start.start())
        if any(resolve(call.name, tools) for call in calls):
            return WrittenCalls(calls, before)
        if calls and not before and _is_end(text, at) and all(map(_has_arguments, calls)):
            return WrittenCalls(calls, "")
        half = None if values else _NAMED.match(text, start.end())
        if half is not None and resolve(half["name"], tools) is not None:
            return WrittenCalls((), before)
        at = max(at, start.end() + 1)
    return None


def _words_before(text: str, at: int) -> str:
    """What was said before the calls, without the code fence that was opened for them."""
    return _FENCE_OPENED.sub("", text[:at].rstrip()).strip()


def _is_end(text: str, at: int) -> bool:
    between = _BETWEEN.match(text, at)
    return between is not None and between.end() == len(text)


def _has_arguments(call: RawCall) -> bool:
    """By name, as in a call: ``{"name": "Lima"}`` alone may be what was asked for."""
    return isinstance(call.arguments, dict)


def _values(text: str, at: int) -> tuple[list[tuple[str, object]], int]:
    """The JSON values from ``at`` on, whatever marks are between them, and where the last of them ends.

    Each comes with the name that ``<function=Name>`` gave it, or an empty one.
    """
    values: list[tuple[str, object]] = []
    while len(values) < MOST_VALUES and (between := _BETWEEN.match(text, at)):
        try:
            value, end = _DECODER.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            break
        values.append((between["name"] or "", value))
        at = end
    return values, at


def _calls(values: Sequence[tuple[str, object]]) -> Iterator[RawCall]:
    for name, value in values:
        if name:
            yield RawCall(name, value)
            continue
        inside = value.get("tool_calls", value) if isinstance(value, dict) else value
        for each in inside if isinstance(inside, list) else [inside]:
            call = _call(each)
            if call is not None:
                yield call


def _call(value: object) -> RawCall | None:
    """``{"name": ..., "arguments": ...}``, also inside ``{"function": {...}}``, or nothing but a name."""
    if not isinstance(value, dict):
        return None
    inside = value.get("function")
    call: dict[str, object] = inside if isinstance(inside, dict) else value
    name = next((call[key] for key in _NAME_KEYS if key in call), None)
    given = [call[key] for key in _ARGUMENT_KEYS if key in call] or ([None] if len(call) == 1 else [])
    return RawCall(name, given[0]) if isinstance(name, str) and given else None
