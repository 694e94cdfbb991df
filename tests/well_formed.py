"""What a strict service accepts as the messages of one request."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage


def assert_well_formed(messages: Sequence[BaseMessage]) -> None:
    """Fail unless each call has its one result, in order, right behind it, and roles take turns."""
    assert [isinstance(message, SystemMessage) for message in messages].count(True) == 1
    assert isinstance(messages[0], SystemMessage)
    assert isinstance(messages[1], HumanMessage)
    assert isinstance(messages[-1], (HumanMessage, ToolMessage))
    ids = [call["id"] for message in messages for call in _calls(message)]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    waiting: list[str | None] = []
    before: BaseMessage = messages[0]
    for message in messages[1:]:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert not waiting, "a call without its result"
            assert message.type != before.type, "two of one role in a row"
        assert_stored(message)
        assert str(message.content).strip() or _calls(message), "empty content without calls"
        waiting = waiting or [call["id"] for call in _calls(message)]
        before = message
    assert not waiting


def assert_stored(message: BaseMessage) -> None:
    """Fail unless a service takes this message again, but for what comes before and after it."""
    assert isinstance(message.content, str)
    message.content.encode("utf-8")
    for call in _calls(message):
        assert isinstance(call["args"], dict)
        json.dumps(call["args"], allow_nan=False, ensure_ascii=False).encode("utf-8")
        assert call["name"]


def _calls(message: BaseMessage) -> list[dict[str, object]]:
    if not isinstance(message, AIMessage):
        return []
    assert not message.invalid_tool_calls
    return [dict(call) for call in message.tool_calls]
