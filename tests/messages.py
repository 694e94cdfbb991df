"""Assistant messages of the tools protocol, and what the reader makes of them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from agent.client import text_of
from agent.protocols.decisions import Act, Decision, Malformed
from agent.protocols.native_calls import read_message
from agent.results import Action
from scripts.fuzzing.calls import TOOLS  # the readers are tested, and fuzzed, with the same

SUM = '{"expression": "2+2"}'
CALL = f'{{"name": "Calculator", "arguments": {SUM}}}'
"""The same call, as a model writes it into its text."""


def raw(arguments: Any = SUM, name: Any = "Calculator", call_id: Any = "a1") -> dict[str, Any]:
    """A call as it is on the wire."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def message(*calls: Any, content: Any = "") -> AIMessage:
    """A message with these calls, as our model class makes one: as they came."""
    bare = AIMessage(content=content)
    return bare.copy(update={"additional_kwargs": {"tool_calls": list(calls)}}) if calls else bare


def read(reply: AIMessage | str, **more: Any) -> Decision:
    reply = AIMessage(content=reply) if isinstance(reply, str) else reply
    return read_message(reply, TOOLS, text=text_of(reply.content), **more)


def act(reply: AIMessage | str, **more: Any) -> Act:
    decision = read(reply, **more)
    assert isinstance(decision, Act), decision
    return decision


def one(reply: AIMessage | str) -> Action:
    (action,) = act(reply).actions
    return action


def malformed(reply: AIMessage | str, **more: Any) -> Malformed:
    decision = read(reply, **more)
    assert isinstance(decision, Malformed), decision
    return decision
