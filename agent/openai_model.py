"""ChatOpenAI, reading every reply whatever a service wrote for the arguments of its tool calls.

langchain-openai 0.1.3 raises out of ``invoke`` when arguments are a list, a string or an object that is no
JSON text, although the reply is in hand and paid for. Here such a call is one more invalid tool call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.outputs import ChatResult
from langchain_core.pydantic_v1 import Field
from langchain_openai import ChatOpenAI

from agent.call_arguments import read_arguments, written
from agent.redaction import redact
from agent.results import CallFault


class OpenAIModel(ChatOpenAI):
    """A ChatOpenAI whose replies never fail for their tool calls; ``load_model`` returns it."""

    # No part of what callbacks, and LangChain's cache of replies, know a model by.
    http_client: Any = Field(default=None, exclude=True, repr=False)
    http_async_client: Any = Field(default=None, exclude=True, repr=False)

    @property
    def lc_secrets(self) -> dict[str, str]:
        """What LangChain leaves out of the form in which callback handlers and tracers get a model."""
        more = {"openai_proxy": "OPENAI_PROXY", "default_headers": "OPENAI_BASE_URL"}
        return {**super().lc_secrets, **more}

    def __repr_str__(self, join_str: str) -> str:
        """What both ``repr`` and ``str`` show; a proxy's address may hold its password."""
        return redact(super().__repr_str__(join_str))

    def _create_chat_result(self, response: Any) -> ChatResult:
        # A service that sends odd types would be warned of at every reply.
        body = response if isinstance(response, dict) else response.model_dump(warnings=False)
        calls = [_take_calls(choice.get("message")) for choice in body.get("choices") or ()]
        result = super()._create_chat_result(body)
        for generation, raw in zip(result.generations, calls, strict=False):
            if raw and isinstance(generation.message, AIMessage):
                generation.message = _with_calls(generation.message, raw)
        return result

    def _create_message_dicts(
        self, messages: list[BaseMessage], stop: list[str] | None
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        sent, options = super()._create_message_dicts(messages, stop)
        for message, as_sent in zip(messages, sent, strict=True):
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            for call, call_as_sent in zip(calls, as_sent.get("tool_calls", ()), strict=False):
                # As the model wrote it: escapes would turn each Chinese character into several tokens.
                call_as_sent["function"]["arguments"] = json.dumps(call["args"], ensure_ascii=False)
        return sent, options


def _take_calls(message: Any) -> list[Any]:
    """Take the tool calls out of a message, so that LangChain does not stumble over them."""
    calls = message.pop("tool_calls", None) if isinstance(message, dict) else None
    return calls if isinstance(calls, list) else []


def _with_calls(message: AIMessage, raw: Sequence[Any]) -> AIMessage:
    sound: list[ToolCall] = []
    unsound: list[InvalidToolCall] = []
    for call in raw:
        call_id, name, arguments = _parts(call)
        given = read_arguments(arguments)
        if name and not isinstance(given, CallFault):
            sound.append(ToolCall(name=name, args=given, id=call_id))
        else:
            error = "no name" if not name else "the arguments are not a JSON object"
            unsound.append(InvalidToolCall(name=name, args=written(arguments), id=call_id, error=error))
    kwargs = {**message.additional_kwargs, "tool_calls": list(raw)}
    update = {"additional_kwargs": kwargs, "tool_calls": sound, "invalid_tool_calls": unsound}
    return message.copy(update=update)


def _parts(call: Any) -> tuple[str | None, str, Any]:
    call = call if isinstance(call, Mapping) else {}
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    name, call_id = function.get("name"), call.get("id")
    return str(call_id) if call_id else None, name if isinstance(name, str) else "", function.get("arguments")
