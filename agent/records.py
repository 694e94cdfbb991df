"""What happens in a run as JSON-ready dicts, and the way back.

A record names its kind under "event". But for TIMES, the records of a run and of its replay are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from langchain_core.messages import BaseMessage, messages_from_dict
from langchain_core.pydantic_v1 import BaseModel
from langchain_core.tools import BaseTool, StructuredTool, Tool

from agent import events
from agent.client import Reply, Request, read_reply
from agent.limits import LimitReached, Limits, Price
from agent.redaction import redact_output, shown
from agent.results import LastRequest, RunResult, Step, StepStarted, StopReason
from agent.service_errors import ContextTooLong, ModelFailed
from agent.setup import Setup
from agent.toolspecs import specs_of

Record = dict[str, Any]
TIMES = frozenset({"t", "duration_s", "timeout_s"})
_METADATA_OF_REPLIES = ("finish_reason", "token_usage")  # the rest says nothing that a run depends on
_METADATA_OF_TOOLS = ("timeout_s", "repeatable")
_PARTS_OF_MESSAGES = ("tool_calls", "invalid_tool_calls", "tool_call_id", "name", "role", "additional_kwargs")


@dataclass(frozen=True)
class NotJson:
    """Stands for a value that JSON has no word for; it shows itself as that value was shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


def cleaned(value: Any) -> Any:
    """A copy of ``value`` with every known secret masked, in keys too: JSON-ready, but for NotJson."""
    if isinstance(value, str):
        return redact_output(value)
    if isinstance(value, Mapping):
        return {redact_output(str(key)): cleaned(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(each) for each in value]
    is_number = isinstance(value, int) or (isinstance(value, float) and isfinite(value))
    return value if value is None or is_number or isinstance(value, NotJson) else NotJson(shown(value))


def _of_setup(setup: Setup) -> Record:
    return {
        "question": setup.question,
        "language": setup.language,
        "protocol": setup.protocol,
        "model": setup.model,
        "limits": asdict(setup.limits),
        "budget": asdict(setup.budget) if setup.budget else None,
        "price": asdict(setup.price) if setup.price else None,
        "reply_tokens": setup.reply_tokens,
        "instructions": setup.instructions,
        "examples": setup.examples,
        "grammar": setup.grammar,
        "conversation": [_of_message(message) for message in setup.conversation],
        "tools": [_of_tool(tool) for tool in setup.tools],
    }


def setup_from(record: Record) -> Setup:
    """The setup in a ``run_started`` record, with stand-ins for its tools.

    Raises KeyError, TypeError or ValueError where it is not whole.
    """
    budget, price = record["budget"], record["price"]
    return Setup(
        question=record["question"],
        language=record["language"],
        protocol=record["protocol"],
        model=record["model"],
        limits=Limits(**record["limits"]),
        tools=tuple(map(_stand_in, record["tools"])),
        conversation=tuple(map(message_from, record["conversation"])),
        reply_tokens=record["reply_tokens"],
        instructions=record["instructions"],
        examples=record["examples"],
        grammar=record["grammar"],
        price=Price(**price) if price else None,
        budget=Limits(**budget) if budget else None,
    )


def _of_tool(tool: BaseTool) -> Record:
    (spec,) = specs_of([tool])
    takes_one_text = tool.args_schema is None and isinstance(tool, Tool)
    metadata = tool.metadata or {}
    return {
        "name": tool.name,
        "description": tool.description,
        "metadata": {name: metadata[name] for name in _METADATA_OF_TOOLS if name in metadata},
        "input_required": spec.input_required,
        "schema": None if takes_one_text else tool.get_input_schema().schema(),
    }


def _stand_in(record: Record) -> BaseTool:
    """A tool that looks to the model like the one that was recorded, and is never run."""
    name, description, metadata = record["name"], record["description"], record["metadata"]
    schema: Any = record["schema"]
    if schema is None:
        metadata = {**metadata, "input_required": record["input_required"]}
        return Tool(name=name, description=description, metadata=metadata, func=_never)

    class Recorded(BaseModel):
        @classmethod
        def schema(cls, *_: Any, **__: Any) -> Record:
            return deepcopy(schema)

    return StructuredTool(
        name=name, description=description, metadata=metadata, func=_never, args_schema=Recorded
    )


def _never(*_: Any, **__: Any) -> str:
    raise NotImplementedError("a stand-in for a recorded tool")


def _of_message(message: BaseMessage) -> Record:
    parts = {name: getattr(message, name, None) for name in _PARTS_OF_MESSAGES}
    given = {name: part for name, part in parts.items() if part}
    return {"type": message.type, "content": message.content, **given}


def message_from(record: Record) -> BaseMessage:
    """The message in a record. Raises KeyError, TypeError or ValueError for something else."""
    parts = {name: part for name, part in record.items() if name != "type"}
    needed = {name: parts[name] for name in ("tool_call_id", "role") if name in parts}
    bare: Record = {"type": record["type"], "data": {"content": "", **needed}}
    (message,) = messages_from_dict([bare])
    return message.copy(update=parts)  # past the checks of LangChain's classes, as some models' replies come


def _of_request(request: Request) -> Record:
    return {
        "messages": [_of_message(message) for message in request.messages],
        "stop": list(request.stop),
        "grammar": request.grammar,
        "tools": list(request.tools),
    }


def _of_reply(reply: Reply) -> Record:
    metadata = reply.message.response_metadata or {} if reply.message else {}
    kept = {name: metadata[name] for name in _METADATA_OF_REPLIES if name in metadata}
    message = _of_message(reply.message) if reply.message else {"type": "ai", "content": reply.text}
    return {"message": message, "metadata": kept, "retries": reply.usage.retries}


def reply_from(record: Record) -> Reply:
    """The reply in a ``reply`` record."""
    message = message_from({**record["message"], "response_metadata": record["metadata"]})
    return read_reply(message, record["retries"])


def _of_failure(failure: ModelFailed | LimitReached) -> Record:
    if isinstance(failure, LimitReached):
        return {"kind": "limit", "reason": failure.reason.value, "retries": failure.retries}
    kind = "too_long" if isinstance(failure, ContextTooLong) else "model"
    return {"kind": kind, "name": failure.name, "values": failure.values, "retries": failure.retries}


def failure_from(record: Record) -> ModelFailed | LimitReached:
    """The failure in a ``request_failed`` record."""
    if record["kind"] == "limit":
        return LimitReached(StopReason(record["reason"]), retries=record["retries"])
    kind = ContextTooLong if record["kind"] == "too_long" else ModelFailed
    failure = kind(record["name"], **record["values"])
    failure.retries = record["retries"]
    return failure


def _of_step(step: Step) -> Record:
    return {
        "number": step.number,
        "thought": step.thought,
        "actions": [asdict(action) for action in step.actions],
        "observations": [{"text": seen.text, "ok": seen.ok, "ran": seen.ran} for seen in step.observations],
        "error": step.error,
        "usage": step.usage.to_dict(),
        "duration_s": step.duration_s,
    }


def _of_result(result: RunResult) -> Record:
    return {
        "answer": result.answer,
        "stop_reason": result.stop_reason.value,
        "forced": result.forced,
        "unformatted": result.unformatted,
        "error": result.error,
        "usage": result.usage.to_dict(),
        "duration_s": result.duration_s,
    }


_KINDS: dict[type, tuple[str, Callable[[Any], Record]]] = {
    events.RunStarted: (
        "run_started",
        lambda event: {**_of_setup(event.setup), "spent": list(event.spent)},
    ),
    events.RequestSent: ("request", lambda event: _of_request(event.request)),
    events.AttemptFailed: ("attempt_failed", asdict),
    events.Replied: ("reply", lambda event: _of_reply(event.reply)),
    events.RequestFailed: ("request_failed", lambda event: _of_failure(event.failure)),
    events.ToolStarted: (
        "tool_started",
        lambda event: {"tool": event.tool, "input": event.given, "timeout_s": event.timeout_s},
    ),
    events.ToolReturned: ("tool_returned", asdict),
    events.ToolRaised: ("tool_raised", asdict),
    events.ToolTimedOut: ("tool_timed_out", asdict),
    StepStarted: ("step_started", asdict),
    Step: ("step", _of_step),
    LastRequest: ("last_request", asdict),
    RunResult: ("run_ended", _of_result),
}


def record_of(event: events.Happening) -> Record:
    """One event as a record; ``cleaned`` takes the secrets out of it."""
    name, contents = _KINDS[type(event)]
    return {"event": name, **contents(event)}
