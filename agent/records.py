"""What happens in a run as JSON-ready dicts, and the way back.

A record names its kind under "event". But for TIMES, the records of a run and of its replay are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, messages_from_dict

from agent import events
from agent import record_shapes as shapes
from agent.client import Reply, Request, read_reply
from agent.limits import LimitReached, Limits, Price
from agent.record_shapes import OUTSIDE, REFERENCE, SCHEMA, TOOL, Named, Shape
from agent.redaction import redact_output, shown
from agent.results import LastRequest, RunResult, Step, StepStarted, StopReason
from agent.service_errors import ContextTooLong, ModelFailed
from agent.setup import Setup
from agent.tool_records import of_tool, stand_in

Record = dict[str, Any]
TIMES = frozenset({"t", "duration_s", "timeout_s"})
_METADATA_OF_REPLIES = ("finish_reason", "token_usage")  # the rest says nothing that a run depends on
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


def cleaned_record(record: Record, tools: Set[str] = frozenset()) -> Record:
    """Like ``cleaned``, but the words of the format itself stay, and the names of ``tools`` where they stand
    as names: without them it could not be read again. The rest comes from outside.
    """
    clean: Record = _cleaned_as(SHAPES.get(record["event"], OUTSIDE), record, tools)
    return clean


def _cleaned_as(shape: Shape, value: Any, tools: Set[str]) -> Any:
    if shape is OUTSIDE:
        return cleaned(value)
    if isinstance(shape, dict) and isinstance(value, Mapping):
        return {
            key if key in shape else redact_output(str(key)): _cleaned_as(
                shape.get(key, OUTSIDE), each, tools
            )
            for key, each in value.items()
        }
    if isinstance(shape, list) and isinstance(value, (list, tuple)):
        return [_cleaned_as(shape[0], each, tools) for each in value]
    if isinstance(shape, Named) and isinstance(value, Mapping):
        return {redact_output(str(key)): _cleaned_as(shape.of, each, tools) for key, each in value.items()}
    if shape is REFERENCE and isinstance(value, str):
        return "/".join(part if part in SCHEMA else redact_output(part) for part in value.split("/"))
    own = tools if shape is TOOL else shape if isinstance(shape, frozenset) else ()
    return value if isinstance(value, str) and value in own else cleaned(value)


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
        "tools": [of_tool(tool) for tool in setup.tools],
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
        tools=tuple(map(stand_in, record["tools"])),
        conversation=tuple(map(message_from, record["conversation"])),
        reply_tokens=record["reply_tokens"],
        instructions=record["instructions"],
        examples=record["examples"],
        grammar=record["grammar"],
        price=Price(**price) if price else None,
        budget=Limits(**budget) if budget else None,
    )


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


class _Kind(NamedTuple):
    name: str
    contents: Callable[[Any], Record]
    shape: shapes.Fields


_KINDS: dict[type, _Kind] = {
    events.RunStarted: _Kind(
        "run_started",
        lambda event: {**_of_setup(event.setup), "spent": list(event.spent)},
        shapes.RUN_STARTED,
    ),
    events.RequestSent: _Kind("request", lambda event: _of_request(event.request), shapes.REQUEST),
    events.AttemptFailed: _Kind("attempt_failed", asdict, shapes.ATTEMPT_FAILED),
    events.Replied: _Kind("reply", lambda event: _of_reply(event.reply), shapes.REPLY),
    events.RequestFailed: _Kind(
        "request_failed", lambda event: _of_failure(event.failure), shapes.REQUEST_FAILED
    ),
    events.ToolStarted: _Kind(
        "tool_started",
        lambda event: {"tool": event.tool, "input": event.given, "timeout_s": event.timeout_s},
        shapes.TOOL_STARTED,
    ),
    events.ToolReturned: _Kind("tool_returned", asdict, shapes.TOOL_RETURNED),
    events.ToolRaised: _Kind("tool_raised", asdict, shapes.TOOL_RAISED),
    events.ToolTimedOut: _Kind("tool_timed_out", asdict, shapes.TOOL_TIMED_OUT),
    StepStarted: _Kind("step_started", asdict, shapes.STEP_STARTED),
    Step: _Kind("step", _of_step, shapes.STEP),
    LastRequest: _Kind("last_request", lambda event: {"reason": event.reason.value}, shapes.LAST_REQUEST),
    RunResult: _Kind("run_ended", _of_result, shapes.RUN_ENDED),
}
SHAPES: Mapping[str, shapes.Fields] = {
    kind.name: {"event": frozenset({kind.name}), **kind.shape} for kind in _KINDS.values()
}


def record_of(event: events.Happening) -> Record:
    """One event as a record; ``cleaned_record`` takes the secrets out of it."""
    kind = _KINDS[type(event)]
    return {"event": kind.name, **kind.contents(event)}
