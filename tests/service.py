"""The model service of the fault matrix, under the name that tests know it by."""

from __future__ import annotations

from scripts.services import (
    CHARS_PER_TOKEN,
    WAIT_S,
    Connection,
    Reply,
    Service,
    body,
    completion,
    context_too_long,
    drip,
    drop,
    error_body,
    html,
    never,
    raw_completion,
    refusal,
    status,
    tool_calls,
    wire_call,
)

__all__ = [
    "CHARS_PER_TOKEN",
    "WAIT_S",
    "Connection",
    "Reply",
    "Service",
    "body",
    "completion",
    "context_too_long",
    "drip",
    "drop",
    "error_body",
    "html",
    "never",
    "raw_completion",
    "refusal",
    "status",
    "tool_calls",
    "wire_call",
]
