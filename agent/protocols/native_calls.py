"""Reading an assistant message of the tools protocol: which tools does it call, and with what?

    message -> raw calls (native, unreadable, or written as text) -> actions, each runnable or at fault

``read_message`` is pure and total. What goes back to the model (``kept``) is the message as it came, unless
a strict service would refuse to see it again: arguments that are no JSON object become an empty one, and
missing or repeated ids get new ones.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from langchain_core.messages import AIMessage, ToolCall

from agent.call_arguments import MAX_QUOTED_CHARS, read_arguments, written
from agent.protocols.calls import resolve
from agent.protocols.calls_in_text import RawCall, calls_in_text
from agent.protocols.decisions import Act, Decision, Fault, Finish, Malformed, ToolSpec
from agent.protocols.labels import visible
from agent.protocols.reply import read_reply
from agent.results import Action, CallFault

MAX_CALLS = 32  # that are run for one reply: each takes a thread
MAX_NAME_CHARS = 60  # of a tool that there is not
_NO_NAME = "unknown"
_THOUGHT = re.compile(r"(?:Thought|思考)[ \t]{0,3}[:：]([^\n]*)")
_ANSWER_LABEL = re.compile(r"\A(?:Final Answer|最终答案)[ \t]{0,3}[:：]\s*")
_ACTION_LINE = re.compile(
    r"^[ \t*_`]{0,9}(?:Action|行动)[*_`]{0,3}[ \t]{0,3}[:：][ \t*_`]{0,6}[\w-]{1,64}[\[［]", re.M
)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
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
    if not calls and (found := calls_in_text(shown, tools)) is not None:
        if not found.calls:
            fault: Fault = "cut" if cut else "bad_call"
            return Malformed(fault, thought=found.before, kept=_words(shown[:MAX_QUOTED_CHARS]))
        calls, shown = list(found.calls), found.before
    if not calls:
        return _answer(shown, tools, cut=cut)
    calls = list(_with_own_ids(calls, used_ids))
    actions = tuple(_actions(calls, tools))
    kept = _kept(message, shown, calls, actions)
    thought = "\n".join(part for part in _thought_and_words(shown) if part)
    if cut:
        return Malformed("cut", thought=thought, kept=kept)
    if all(action.fault and action.fault.kind == "unknown_tool" for action in actions):
        return Malformed("unknown_tool", actions[0].tool, thought=thought, kept=kept)
    return Act(actions, thought=thought, kept=kept)


def _answer(shown: str, tools: Sequence[ToolSpec], *, cut: bool) -> Decision:
    if cut:
        return Malformed("cut", kept=_words(shown[:MAX_QUOTED_CHARS]))
    thought, words = _thought_and_words(shown)
    if not words:
        return Malformed("empty", thought=thought, kept=_words(shown))
    if _is_call_in_words(words, tools):
        return Malformed("bad_call", thought=thought, kept=_words(shown[:MAX_QUOTED_CHARS]))
    return Finish(words, thought=thought, kept=_words(shown))


def _is_call_in_words(words: str, tools: Sequence[ToolSpec]) -> bool:
    """``Action: Name[...]``, as the text protocol writes a call: a model that knows no better means one."""
    if _ACTION_LINE.search(_FENCED.sub("", words)):
        return True
    decision = read_reply(words, tools)
    return isinstance(decision, Act) or (
        isinstance(decision, Malformed) and decision.fault in ("unclosed", "trailing")
    )


def _thought_and_words(shown: str) -> tuple[str, str]:
    """A thought in a first line of its own, under its label, is no part of an answer; nor is the answer's."""
    labelled = _THOUGHT.match(shown)
    thought, words = (labelled[1].strip(), shown[labelled.end() :].strip()) if labelled else ("", shown)
    return thought, _ANSWER_LABEL.sub("", words, count=1)


def _words(text: str) -> AIMessage:
    return AIMessage(content=text)


def native_calls(message: AIMessage) -> Iterator[RawCall]:
    """Every call of a message, in the order in which they came, also those that LangChain cannot read."""
    read = [*message.tool_calls, *message.invalid_tool_calls]
    raw = message.additional_kwargs.get("tool_calls")
    if isinstance(raw, list) and len(raw) >= len(read) and any(map(_function, raw)):
        # LangChain keeps the two kinds apart, and so loses their order.
        for call in raw:
            given = _function(call)
            yield _raw_call(given.get("name"), given.get("arguments"), _members(call).get("id"))
    else:
        for each in read:
            yield _raw_call(each["name"], each["args"], each["id"])


def _function(call: object) -> Mapping[str, object]:
    return _members(_members(call).get("function"))


def _members(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _raw_call(name: object, arguments: object, call_id: object) -> RawCall:
    return RawCall(written(name or ""), arguments, written(call_id or "").strip())


def _with_own_ids(calls: Sequence[RawCall], used_ids: Set[str]) -> Iterator[RawCall]:
    """Give an id to each call that has none, or one that stands for another call."""
    taken = {*used_ids, *(call.call_id for call in calls)}
    # Nine letters and digits: the one form that every service takes, Mistral's included.
    own_ids = (each for number in itertools.count(1) if (each := f"call{number:05}") not in taken)
    given = set(used_ids)
    for call in calls:
        call_id = call.call_id if call.call_id and call.call_id not in given else next(own_ids)
        given.add(call_id)
        yield call if call_id == call.call_id else replace(call, call_id=call_id)


def _actions(calls: Sequence[RawCall], tools: Sequence[ToolSpec]) -> Iterator[Action]:
    for number, call in enumerate(calls):
        tool = resolve(call.name, tools)
        given = read_arguments(call.arguments)
        if tool is None:
            name = call.name[:MAX_NAME_CHARS]
            fault = CallFault("unknown_tool", {"name": name})
            yield Action(name, written(call.arguments), call.call_id, fault)
        elif number >= MAX_CALLS:
            fault = CallFault("one_too_many", {"most": str(MAX_CALLS)})
            yield Action(tool.name, written(call.arguments), call.call_id, fault)
        elif isinstance(given, CallFault):
            yield Action(tool.name, written(call.arguments), call.call_id, given)
        else:
            yield _action(tool, given, call.call_id)


def _action(tool: ToolSpec, arguments: Mapping[str, object], call_id: str) -> Action:
    given = {name: value for name, value in arguments.items() if value is not None}  # null: not given
    fault = _misfit(tool, given)
    if fault is not None or len(tool.fields) != 1 or tool.takes != "string":
        return Action(tool.name, given, call_id, fault)
    (value,) = given.values() or ("",)
    return Action(tool.name, str(value), call_id)


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
    calls_as_they_came = ("tool_calls", "function_call")
    rest = {
        name: value for name, value in message.additional_kwargs.items() if name not in calls_as_they_came
    }
    return AIMessage(content=shown, tool_calls=stored, additional_kwargs=rest)


def _object(arguments: object) -> dict[str, object]:
    given = read_arguments(arguments)
    return {} if isinstance(given, CallFault) else given


def _legal(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:64].strip("_") or _NO_NAME
