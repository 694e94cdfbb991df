"""How a scripted model speaks in each protocol, so that what both share is tested once.

def test_something(dialect: Dialect) -> None:
    result, model = play(dialect.call("2+2"), dialect.answer("4"), protocol=dialect.protocol)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolMessage

from agent import RunResult
from agent.testing import ScriptedModel
from tests.scripted import contents, play
from tests.well_formed import assert_well_formed

_FIELDS = {"Calculator": "expression", "Weather": "city", "Time": "zone"}
_ids = itertools.count(1)


@dataclass(frozen=True)
class Dialect:
    """One protocol's way to call a tool, to answer, and to get both wrong."""

    protocol: str
    max_iterations: int

    def call(self, given: object, tool: str = "Calculator") -> AIMessage:
        """A reply that calls a tool with one text input."""
        if self.protocol == "text":
            return AIMessage(content=f"Thought: on\nAction: {tool}[{given}]")
        return calling((tool, {_FIELDS.get(tool, "tool_input"): str(given)}), content="on")

    def calls(self, *inputs: object, tool: str = "Calculator") -> list[AIMessage]:
        return [self.call(given, tool) for given in inputs]

    def answer(self, text: str = "done") -> AIMessage:
        return AIMessage(content=f"Final Answer: {text}" if self.protocol == "text" else text)

    @property
    def unreadable(self) -> AIMessage:
        """A reply that means to call a tool, but cannot be read."""
        text = "Action: Calculator[2+" if self.protocol == "text" else '<tool_call>{"name": "Calcul'
        return AIMessage(content=text)

    def cut(self, given: object = "2+2") -> AIMessage:
        """A reply that calls a tool and is cut before it is whole."""
        reply = self.call(given)
        content = str(reply.content).removesuffix("]")
        return reply.copy(update={"content": content, "response_metadata": {"finish_reason": "length"}})

    def play(self, *replies: Any, **options: Any) -> tuple[RunResult, ScriptedModel]:
        """One run over all of these replies; every request of it would pass a strict service."""
        result, model = play(*replies, protocol=self.protocol, **options)
        for request in model.requests:
            assert_well_formed(request)
        return result, model


def calling(*calls: tuple[str, Any], ids: Sequence[str] = (), content: str = "") -> AIMessage:
    """A reply with native tool calls, each a tool's name and its arguments."""
    own = ids or [f"id{next(_ids)}" for _ in calls]
    return AIMessage(
        content=content,
        tool_calls=[
            {"name": name, "args": arguments, "id": call_id}
            for (name, arguments), call_id in zip(calls, own, strict=True)
        ],
    )


def broken(name: str, arguments: str, call_id: str) -> InvalidToolCall:
    """A native tool call that LangChain could not read."""
    return InvalidToolCall(name=name, args=arguments, id=call_id, error="no JSON")


def results(request: Sequence[BaseMessage]) -> dict[str, str]:
    """The tool messages of a request, by the id that each answers."""
    return {
        message.tool_call_id: str(message.content) for message in request if isinstance(message, ToolMessage)
    }


def told(model: ScriptedModel, request: int = -1) -> str:
    """The last message of a request: what the model has just been told."""
    return contents(model.requests[request])[-1]


TEXT, TOOLS = Dialect("text", 6), Dialect("tools", 8)
DIALECTS = [TEXT, TOOLS]
