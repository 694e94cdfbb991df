"""Reading an assistant message of the tools protocol: which tools does it call, and with what?

    message -> raw calls (native, unreadable, or written as text) -> actions, each runnable or at fault

``read_message`` is pure and total. What goes back to the model (``kept``) is the message as it came, unless
a strict service would refuse to see it again: arguments that are no JSON object become an empty one, and
missing or repeated ids get new ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from langchain_core.messages import AIMessage, ToolCall

from agent.protocols.calls import resolve
from agent.protocols.calls_in_text import RawCall, calls_in_text
from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.labels import visible
from agent.results import Action, CallFault

MAX_CALLS = 32  # that are run for one reply: each takes a thread
MAX_QUOTED_CHARS = 300
_NO_NAME = "unknown"
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def read_message(
    message: AIMessage,
    tools: Sequence[ToolSpec],
    *,
    text: str,
    cut: bool = False,
    used_ids: Set[str] = frozenset(),
) -> Decision:
    """Read what a message decides, given the tools that the model may call.

    ``text`` is its content as text. ``cut``: the token limit ended the reply, so nothing in it is run.
    ``used_ids`` are those of earlier calls in the run; a new call never gets one of them.
    """
    shown = visible(text).strip()
    calls = list(native_calls(message))
    if not calls and (written := calls_in_text(shown, tools)) is not None:
        calls, shown = list(written.calls), written.before
        if not calls:
            return Malformed("bad_call", kept=AIMessage(content=text[:MAX_QUOTED_CHARS]))
    if not calls:
        return _answer(shown, cut=cut)
    actions = tuple(_actions(_with_own_ids(calls, used_ids), tools))
    kept = _kept(message, shown, calls, actions)
    if cut:
        return Malformed("cut", thought=shown, kept=kept)
    if all(action.fault and action.fault.kind == "unknown_tool" for action in actions):
        return Malformed("unknown_tool", actions[0].tool, thought=shown, kept=kept)
    return Act(actions, thought=shown, kept=kept)


def _answer(shown: str, *, cut: bool) -> Decision:
    if cut:
        return Malformed("cut", kept=AIMessage(content=shown[:MAX_QUOTED_CHARS]))
    return (
        Finish(shown, kept=AIMessage(content=shown))
        if shown
        else Malformed("empty", kept=AIMessage(content=""))
    )


def native_calls(message: AIMessage) -> Iterator[RawCall]:
    """Every call of a message, in the order in which they came, also those that LangChain cannot read."""
    read = [*message.tool_calls, *message.invalid_tool_calls]
    raw = message.additional_kwargs.get("tool_calls")
    if isinstance(raw, list) and len(raw) >= len(read):
        # LangChain keeps the two kinds apart, and so loses their order.
        yield from (_raw_call(call) for call in raw)
    else:
        yield from (RawCall(str(call["name"] or ""), call["args"], call["id"] or "") for call in read)


def _raw_call(call: Any) -> RawCall:
    call = call if isinstance(call, Mapping) else {}
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return RawCall(str(function.get("name") or ""), function.get("arguments"), str(call.get("id") or ""))


def _with_own_ids(calls: Sequence[RawCall], used_ids: Set[str]) -> Iterator[RawCall]:
    """Give an id to each call that has none, or one that stands for another call."""
    taken = Counter(call.call_id for call in calls)
    given: set[str] = set()
    number = len(used_ids)
    for call in calls:
        call_id = call.call_id
        while not call_id or call_id in used_ids or call_id in given:
            number += 1
            call_id = f"call_{number}" if f"call_{number}" not in taken else ""
        given.add(call_id)
        yield RawCall(call.name, call.arguments, call_id)


def _actions(calls: Iterator[RawCall], tools: Sequence[ToolSpec]) -> Iterator[Action]:
    for number, call in enumerate(calls):
        tool = resolve(call.name, tools)
        given = _parsed(call.arguments)
        if tool is None:
            fault = CallFault("unknown_tool", {"name": call.name[:MAX_QUOTED_CHARS]})
            yield Action(call.name, _shown(call.arguments), call.call_id, fault)
        elif number >= MAX_CALLS:
            yield Action(
                tool.name,
                _shown(call.arguments),
                call.call_id,
                CallFault("one_too_many", {"most": str(MAX_CALLS)}),
            )
        elif isinstance(given, CallFault):
            yield Action(tool.name, _shown(call.arguments), call.call_id, given)
        else:
            yield _action(tool, given, call.call_id)


def _action(tool: ToolSpec, arguments: Mapping[str, object], call_id: str) -> Action:
    given = {name: value for name, value in arguments.items() if value is not None}  # null: not given
    fault = _misfit(tool, given)
    if fault is not None or len(tool.fields) != 1 or tool.takes != "string":
        return Action(tool.name, given, call_id, fault)
    (value,) = given.values() or ("",)
    return Action(tool.name, str(value), call_id)


def _parsed(arguments: object) -> dict[str, object] | CallFault:
    """The arguments by name. Nothing, an empty text and null all mean that there are none."""
    value = arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments, strict=False) if arguments.strip() else None
        except (ValueError, RecursionError) as error:
            return CallFault("not_json", {"detail": str(error)[:MAX_QUOTED_CHARS]})
    if value is None:
        return {}
    if not isinstance(value, dict):
        return CallFault("not_an_object", {"detail": _shown(value)[:MAX_QUOTED_CHARS]})
    return value


def _misfit(tool: ToolSpec, given: Mapping[str, object]) -> CallFault | None:
    """What is wrong with the arguments, by the tool's own schema; what lies deeper, the tool will say."""
    required = tool.required or (tool.fields if tool.input_required else ())
    for name in given:
        if name not in tool.fields:
            return CallFault("unknown_field", {"detail": name[:MAX_QUOTED_CHARS]})
    for name in required:
        if name not in given:
            return CallFault("missing_field", {"detail": name})
    for name, value in given.items():
        if not _has_type(value, tool.types.get(name, "")):
            return CallFault("wrong_type", {"detail": name, "type": tool.types[name]})
    return None


def _has_type(value: object, wanted: str) -> bool:
    if wanted not in _TYPES:
        return True
    if isinstance(value, bool):
        return wanted == "boolean"
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[wanted])


def _kept(message: AIMessage, shown: str, calls: Sequence[RawCall], actions: Sequence[Action]) -> AIMessage:
    """The message as it may go back: itself, if all of it is sound."""
    stored: list[ToolCall] = [
        ToolCall(name=_legal(action.tool), args=_object(call.arguments), id=action.call_id)
        for call, action in zip(calls, actions, strict=True)
    ]
    if message.tool_calls == stored and message.content == shown and not message.invalid_tool_calls:
        return message
    rest = {
        key: value
        for key, value in message.additional_kwargs.items()
        if key not in ("tool_calls", "function_call")
    }
    return AIMessage(content=shown, tool_calls=stored, additional_kwargs=rest)


def _object(arguments: object) -> dict[str, object]:
    parsed = _parsed(arguments)
    return {} if isinstance(parsed, CallFault) else parsed


def _legal(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:64].strip("_") or _NO_NAME


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
