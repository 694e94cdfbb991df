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

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
# Qwen and Hermes, Mistral, Llama: whatever stands behind such a mark is meant as a call.
_MARK = re.compile(
    r"<\|?(?:tool_calls?|tools|function_calls?|function)\|?>|<function=(?P<name>[\w.-]{1,64})>"
    r"|\[TOOL_CALLS\]|<\|python_tag\|>"
)
_BETWEEN = re.compile(r"(?:[\s,;]|```\w*|</?\|?\w+\|?>|<function=[\w.-]+>|\[TOOL_CALLS\])*")
_OBJECT_START = re.compile(r"^[ \t]*(?:```\w*[ \t]*\n\s*)?(?=[\[{])", re.MULTILINE)
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

    In a mark any name is a call; a plain JSON object is one only when it names one of our tools.
    """
    mark = _MARK.search(text)
    if mark is not None:
        values = _values(text, mark.end())
        calls = [RawCall(mark["name"], value) for value in values] if mark["name"] else list(_calls(values))
        return WrittenCalls(tuple(calls), text[: mark.start()].strip())
    for _, start in zip(range(MOST_STARTS), _OBJECT_START.finditer(text), strict=False):
        ours = [call for call in _calls(_values(text, start.end())) if resolve(call.name, tools) is not None]
        if ours:
            return WrittenCalls(tuple(ours), text[: start.start()].strip())
    return None


def _values(text: str, at: int) -> Iterator[object]:
    """The JSON values that stand at ``at``, one after the other, whatever marks are between them."""
    while True:
        between = _BETWEEN.match(text, at)
        try:
            value, at = _DECODER.raw_decode(text, between.end() if between else at)
        except (ValueError, RecursionError):
            return
        yield value


def _calls(values: Iterator[object]) -> Iterator[RawCall]:
    for value in values:
        inside = value.get("tool_calls", value) if isinstance(value, dict) else value
        for each in inside if isinstance(inside, list) else [inside]:
            call = _call(each)
            if call is not None:
                yield call


def _call(value: object) -> RawCall | None:
    """``{"name": ..., "arguments": ...}``, also inside ``{"function": {...}}``."""
    if not isinstance(value, dict):
        return None
    inside = value.get("function")
    call: dict[str, object] = inside if isinstance(inside, dict) else value
    name = next((call[key] for key in _NAME_KEYS if key in call), None)
    given = [call[key] for key in _ARGUMENT_KEYS if key in call]
    return RawCall(name, given[0]) if isinstance(name, str) and given else None
