"""Native tool calls put into words, for a server that cannot take tools and a grammar at once.

llama.cpp refuses a grammar beside ``tools``, and small models fail without one. There a call goes as the JSON
object that the model wrote, and the results of a step come back in one user message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from prompts import Say

MAX_CALL_CHARS = 100  # of a call beside its result


def as_text(messages: Iterable[BaseMessage], say: Say) -> list[BaseMessage]:
    """The same messages without a tool call or a tool message among them."""
    worded: list[BaseMessage] = []
    calls: dict[str, str] = {}
    for is_result, group in groupby(messages, lambda message: isinstance(message, ToolMessage)):
        if is_result:
            worded.append(HumanMessage(content="\n".join(_result(each, calls, say) for each in group)))
            continue
        for message in group:
            asked = message.tool_calls if isinstance(message, AIMessage) else []
            calls |= {str(call["id"]): _short(call) for call in asked}
            worded.append(_asking(message, asked) if asked else message)
    return worded


def _asking(message: BaseMessage, calls: Iterable[Mapping[str, Any]]) -> AIMessage:
    written = [
        json.dumps({"name": call["name"], "arguments": call["args"]}, ensure_ascii=False) for call in calls
    ]
    return AIMessage(content="\n".join(part for part in (str(message.content).strip(), *written) if part))


def _result(message: BaseMessage, calls: Mapping[str, str], say: Say) -> str:
    """A result stands beside its call, so that a small model knows which of two numbers is whose."""
    call = calls.get(getattr(message, "tool_call_id", ""), "")
    return say("observation", text=say("result", call=call, text=message.content))


def _short(call: Mapping[str, Any]) -> str:
    values = list(call["args"].values())
    shown = str(values[0]) if len(values) == 1 else json.dumps(call["args"], ensure_ascii=False)
    return f"{call['name']}[{shown[:MAX_CALL_CHARS] if values else ''}]"
