"""Which parts of a record are the trace's own words, and which come from outside.

A secret in the environment may happen to be such a word (``DB_PASSWORD=content``); masked, it would make the
trace unreadable. What is listed here is therefore never masked, and all else is. A dict is an object with
these keys; a list is a list of such values; a frozenset are the values that are words of the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import TypeAlias, get_args

from agent.assembly import PROTOCOLS
from agent.limits import Limits, Price
from agent.results import Action, CallFault, CallFaultKind, Observation, StopReason, Usage
from prompts import LANGUAGES, messages


class Leaf(Enum):
    """What stands at the end of a shape in place of a word of the format."""

    OUTSIDE = "any value"
    TOOL = "the name of one of the run's tools, where it is one"
    REFERENCE = "a path through a JSON schema, #/definitions/Name"


@dataclass(frozen=True)
class Named:
    """An object whose keys come from outside, and whose values have one shape."""

    of: Shape


Shape: TypeAlias = "Leaf | frozenset[str] | Mapping[str, Shape] | list[Shape] | Named"
Fields: TypeAlias = dict[str, Shape]

OUTSIDE, TOOL, REFERENCE = Leaf


def _keys(*names: str) -> Fields:
    return dict.fromkeys(names, OUTSIDE)


def _fields(kind: type, *but: str) -> Fields:
    return _keys(*(field.name for field in fields(kind) if field.name not in but))


_REASONS = frozenset(reason.value for reason in StopReason)
_FUNCTION = frozenset({"function"})

_JSON_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
SCHEMA: Fields = {
    **_keys("title", "description", "default", "enum", "const", "format", "required"),
    **_keys("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"),
    **_keys("minLength", "maxLength", "pattern", "minItems", "maxItems"),
    "type": _JSON_TYPES,
    "$ref": REFERENCE,
}  # the words of JSON Schema; names of fields and classes are the user's
SCHEMA |= {name: Named(SCHEMA) for name in ("properties", "definitions", "$defs")}
SCHEMA |= {name: [SCHEMA] for name in ("allOf", "anyOf", "oneOf")}
SCHEMA |= {name: SCHEMA for name in ("items", "additionalProperties")}

_CALL: Fields = {"name": TOOL, **_keys("args", "id", "type", "error")}
_RAW_CALL: Fields = {
    **_keys("id", "index"),
    "type": _FUNCTION,
    "function": {"name": TOOL, "arguments": OUTSIDE},
}
_MESSAGE: Fields = {
    # As langchain_core.messages.messages_from_dict knows them.
    "type": frozenset(
        {"human", "ai", "system", "tool", "chat", "function"}
        | {f"{kind}MessageChunk" for kind in ("AI", "Human", "System", "Tool", "Chat", "Function")}
    ),
    **_keys("content", "tool_call_id", "name", "role"),
    "tool_calls": [_CALL],
    "invalid_tool_calls": [_CALL],
    "additional_kwargs": {"tool_calls": [_RAW_CALL], "function_call": {"name": TOOL, "arguments": OUTSIDE}},
}
_LIMITS: Fields = {**_fields(Limits), "at_cap": frozenset({"answer", "error"})}
_TOOL: Fields = {
    **{"name": TOOL, "description": OUTSIDE, "input_required": OUTSIDE, "schema": SCHEMA},
    **{"return_direct": OUTSIDE, "metadata": _keys("timeout_s", "repeatable")},
}
_USAGE: Fields = {**_fields(Usage), "total_tokens": OUTSIDE}
_ACTION: Fields = {
    **_fields(Action),
    "tool": TOOL,
    "fault": {**_fields(CallFault), "kind": frozenset(get_args(CallFaultKind))},
}

RUN_STARTED: Fields = {
    **_keys("question", "model", "reply_tokens", "instructions", "examples", "grammar", "spent"),
    "language": frozenset(LANGUAGES),
    "protocol": frozenset(PROTOCOLS),
    "limits": _LIMITS,
    "budget": _LIMITS,
    "price": _fields(Price),
    "conversation": [_MESSAGE],
    "tools": [_TOOL],
    **_keys("version", "time", "agent", "python", "langchain_core"),  # of who wrote it
}
REQUEST: Fields = {
    "messages": [_MESSAGE],
    **{"keep": OUTSIDE, "add": [_MESSAGE]},  # what a trace has in their place
    **_keys("stop", "grammar"),
    "tools": [
        {"type": _FUNCTION, "function": {"name": TOOL, "description": OUTSIDE, "parameters": SCHEMA}},
    ],
}
REPLY: Fields = {
    "message": _MESSAGE,
    "metadata": {
        "finish_reason": frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"}),
        "token_usage": _keys("prompt_tokens", "completion_tokens", "total_tokens"),
    },
    "retries": OUTSIDE,
}
REQUEST_FAILED: Fields = {
    "kind": frozenset({"limit", "too_long", "model"}),
    "reason": _REASONS,
    "name": frozenset(name for name in messages("en") if name.startswith("model_")),
    "values": _keys("detail", "seconds"),  # the marks of the sentences that are told of a failed model
    "retries": OUTSIDE,
}
ATTEMPT_FAILED = _keys("error")
TOOL_STARTED: Fields = {"tool": TOOL, **_keys("input", "timeout_s")}
TOOL_RETURNED: Fields = {"tool": TOOL, **_keys("text", "duration_s", "excerpt")}
TOOL_RAISED: Fields = {"tool": TOOL, **_keys("error", "duration_s")}
TOOL_TIMED_OUT: Fields = {"tool": TOOL, **_keys("duration_s")}
STEP_STARTED = _keys("number")
STEP: Fields = {
    **_keys("number", "thought", "error", "duration_s"),
    "actions": [_ACTION],
    "observations": [_fields(Observation, "duration_s")],
    "usage": _USAGE,
}
LAST_REQUEST: Fields = {"reason": _REASONS}
RUN_ENDED: Fields = {
    **_keys("answer", "forced", "unformatted", "error", "duration_s"),
    "stop_reason": _REASONS,
    "usage": _USAGE,
}
