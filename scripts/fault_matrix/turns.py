"""What a model says in one reply, written in the form that each contender asks its model for.

Forms: "text" is our text protocol, "react" AgentExecutor's, "native" an assistant message with tool calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scripts import services
from scripts.services import CHARS_PER_TOKEN

# A text or a message is sent as it is; an exception is raised; a function is handed the HTTP connection.
# Everything else has a method ``written(form, number)`` that makes one of these of it.
Turn = Any


@dataclass(frozen=True)
class Call:
    """Asks for a tool."""

    given: str = "2+2"
    tool: str = "Calculator"

    def written(self, form: str, number: int) -> Any:
        if form == "native":
            return _message("", [native_call(self.tool, self.given, f"call_{number}")])
        return f"Thought: I ask.\n{_action(self.tool, self.given, form)}"


@dataclass(frozen=True)
class Calls:
    """Asks for the tool several times in one reply."""

    given: Sequence[str]
    ids: Sequence[str] = ()

    def written(self, form: str, number: int) -> Any:
        if form != "native":
            return "\n".join(_action("Calculator", given, form) for given in self.given)
        ids = self.ids or [f"call_{number}_{place}" for place in range(len(self.given))]
        pairs = zip(self.given, ids, strict=True)
        return _message("", [native_call("Calculator", given, call_id) for given, call_id in pairs])


@dataclass(frozen=True)
class Answer:
    """Gives the answer."""

    text: str = "4"

    def written(self, form: str, number: int) -> Any:
        return self.text if form == "native" else f"Thought: I know it.\nFinal Answer: {self.text}"


@dataclass(frozen=True)
class In:
    """Something that is written in another way in each form; an empty one is the text's."""

    text: Turn = ""
    react: Turn = ""
    native: Turn = ""

    def written(self, form: str, number: int) -> Any:
        return written(getattr(self, form) or self.text, form, number)


@dataclass(frozen=True)
class Each:
    """Another turn each time; ``of`` takes the number of the reply, from 1."""

    of: Callable[[int], Turn]

    def written(self, form: str, number: int) -> Any:
        return written(self.of(number), form, number)


@dataclass(frozen=True)
class Cut:
    """A turn that the service ended at its limit of tokens."""

    turn: Turn

    def written(self, form: str, number: int) -> Any:
        reply = written(self.turn, form, number)
        message = _message(reply) if isinstance(reply, str) else reply
        return message.copy(update={"response_metadata": {"finish_reason": "length"}})


@dataclass(frozen=True)
class Refusing:
    """A service that refuses a parameter, and gives its turn once it is left out."""

    parameter: str
    turn: Turn

    def written(self, form: str, number: int) -> services.Reply:
        otherwise = served(self.turn, form, number)

        def reply(connection: services.Connection) -> None:
            refuses = self.parameter in connection.server.service.requests[-1]
            (services.refusal(self.parameter) if refuses else otherwise)(connection)

        return reply


@dataclass(frozen=True)
class Uncounted:
    """A turn of a service that tells no usage."""

    turn: Turn

    def written(self, form: str, number: int) -> services.Reply:
        return served(self.turn, form, number, usage=False)


CALLS_ON = Each(lambda number: Call(f"{number}+{number}"))  # always something new, and never an answer


def written(turn: Turn, form: str, number: int) -> Any:
    """What a scripted model replies for this turn: a text, a message or an exception."""
    return turn.written(form, number) if hasattr(turn, "written") else turn


def served(turn: Turn, form: str, number: int, *, usage: bool = True) -> services.Reply:
    """What an HTTP service replies for this turn."""
    reply = written(turn, form, number)
    if callable(reply):
        return reply
    message = _message(reply) if isinstance(reply, str) else reply
    calls = [_as_sent(call) for call in message.tool_calls]
    return choice(message.content, calls, message.response_metadata.get("finish_reason", ""), usage=usage)


def choice(
    content: object, calls: Sequence[Any] = (), finish_reason: str = "", *, usage: bool = True
) -> services.Reply:
    """A completion with these tool calls, whatever they look like."""
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    reason = finish_reason or ("tool_calls" if calls else "stop")
    counted = (len(str(content or "")) + len(str(calls or ""))) // CHARS_PER_TOKEN
    told = {"prompt_tokens": 100, "completion_tokens": counted, "total_tokens": 100 + counted}
    return services.raw_completion(
        [{"index": 0, "finish_reason": reason, "message": message}], usage=told if usage else None
    )


def with_arguments(arguments: object) -> services.Reply:
    """A completion with one tool call whose arguments are these, whatever their type."""
    return services.tool_calls(services.wire_call(arguments))


def native_call(name: str, expression: str, call_id: str) -> dict[str, Any]:
    """A tool call as LangChain's messages hold it."""
    return {"name": name, "args": {"expression": expression}, "id": call_id}


def _as_sent(call: Any) -> dict[str, Any]:
    return services.wire_call(json.dumps(call["args"]), call["name"], call["id"])


def _action(tool: str, given: str, form: str) -> str:
    return f"Action: {tool}\nAction Input: {given}" if form == "react" else f"Action: {tool}[{given}]"


def _message(content: str, calls: Sequence[Any] = ()) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage(content=content, tool_calls=list(calls))
