"""The reader of the tools protocol: every message gives a decision that is safe to act on and to send again.

An input is a message: its ``content``, its native ``calls`` as they came over the wire, and whether the
token limit ``cut`` it. With a ``unit``, many of them follow the content, and time is compared.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from langchain_core.messages import AIMessage

from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.native_calls import read_message
from agent.results import Action
from scripts.fuzzing.growth import grows_too_fast
from scripts.fuzzing.messages import CALL, USED_ID, messages
from scripts.fuzzing.target import SECRET, Input, Target, hold

TOOLS = (
    ToolSpec("Calculator", ("expression",), types={"expression": "string"}),
    ToolSpec("Time", ("zone",), input_required=False, types={"zone": "string"}),
    ToolSpec(
        "Convert",
        ("amount", "unit", "exact"),
        required=("amount",),
        types={"amount": "number", "unit": "string", "exact": "boolean"},
    ),
    ToolSpec("Repeat", ("times",), takes="integer", types={"times": "integer"}),
    ToolSpec("Ping", (), input_required=False),
)
_MARKS = (
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=Time>",
    "<function_call>",
)
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "integer": (int,),
}


def check(given: Input) -> None:
    """Hold everything that is promised of a message against one message."""
    content, cut = given["content"], given.get("cut", False)
    if given.get("unit"):
        slow = grows_too_fast(
            lambda text: _read(_message(text)), content, given["unit"], given.get("tail", "")
        )
        hold(not slow, "reading takes time linear in the message's length", content + given["unit"])
        return
    message = _message(content, given.get("calls", ()))
    decision = _read(message, cut=cut)
    hold(isinstance(decision, Act | Finish | Malformed), "every message gives a decision", decision)
    hold(decision == _read(message, cut=cut), "reading is pure", decision)
    _check_kept(decision.kept)
    if isinstance(decision, Finish):
        _check_answer(decision)
    if isinstance(decision, Act):
        hold(not cut, "nothing of a cut message is run", decision)
        _check_actions(decision, message)
    if "half" in given:
        hold(isinstance(decision, Malformed), "half a call is neither run nor an answer", decision)
    _check_thinking(message, decision, cut=cut)


def read(given: Input) -> Decision:
    """What the reader makes of an input."""
    return _read(_message(given["content"], given.get("calls", ())), cut=given.get("cut", False))


def _message(content: str, calls: Any = ()) -> AIMessage:
    bare = AIMessage(content=content)
    return bare.copy(update={"additional_kwargs": {"tool_calls": list(calls)}}) if calls else bare


def _read(message: AIMessage, *, cut: bool = False) -> Decision:
    return read_message(message, TOOLS, text=str(message.content), cut=cut, used_ids={USED_ID})


def _check_kept(kept: AIMessage) -> None:
    """A strict service takes it again."""
    ids = [call["id"] for call in kept.tool_calls]
    hold(
        len({*ids, USED_ID}) == len(ids) + 1 and all(ids), "each call that is kept has an id of its own", ids
    )
    hold(not kept.invalid_tool_calls, "no call is kept that cannot be read", kept)
    for call in kept.tool_calls:
        hold(call["name"], "each call that is kept has a name", call)
        json.dumps(call["args"], allow_nan=False, ensure_ascii=False).encode("utf-8")


def _check_answer(decision: Finish) -> None:
    hold(decision.answer.strip(), "an answer says something", decision)
    hold(not any(mark in decision.answer for mark in _MARKS), "an answer holds no call markup", decision)
    hold("<think>" not in decision.answer, "an answer holds no thinking", decision)
    with suppress(ValueError, RecursionError):  # no JSON, so no call either
        value = json.loads(decision.answer)
        named = isinstance(value, dict) and value.get("name") == "Calculator" and "arguments" in value
        hold(not named, "an answer is no call of our tools", decision)


def _check_actions(decision: Act, message: AIMessage) -> None:
    ids = [call["id"] for call in decision.kept.tool_calls]
    hold(
        [action.call_id for action in decision.actions] == ids, "each action answers a call that is kept", ids
    )
    for action in decision.actions:
        if action.fault is None:
            _check_fits(action)
    for call, action in zip(message.additional_kwargs.get("tool_calls", ()), decision.actions, strict=False):
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            _check_whole(call["function"].get("arguments"), action)
    again = _read(AIMessage(content=decision.kept.content, tool_calls=decision.kept.tool_calls))
    runnable = [action for action in decision.actions if action.fault is None]
    said = [action for action in getattr(again, "actions", ()) if action in runnable]
    hold(said == runnable, "reading what a decision wrote is stable", (decision, again))


def _check_fits(action: Action) -> None:
    tool = next(tool for tool in TOOLS if tool.name == action.tool)
    if isinstance(action.input, str):
        hold(len(tool.fields) == 1, "a text is the input of a tool with one field", action)
        return
    hold(
        {*tool.required} <= {*action.input} <= {*tool.fields},
        "arguments by name are those of the tool",
        action,
    )
    for name, value in action.input.items():
        fits = isinstance(value, _KINDS[tool.types[name]]) or (
            isinstance(value, float) and value.is_integer()
        )
        hold(fits, "arguments have the types of the tool's schema", action)


def _check_whole(arguments: object, action: Action) -> None:
    """A text that is no whole JSON is never run."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            hold(action.fault is not None, "arguments that are no JSON are not run", (arguments, action))


def _check_thinking(message: AIMessage, decision: Decision, *, cut: bool) -> None:
    thinking = f"<think>{SECRET}<tool_call>{CALL}</think>{message.content}"
    behind = _read(message.copy(update={"content": thinking}), cut=cut)
    same = type(behind) is type(decision) and getattr(behind, "answer", "") == getattr(decision, "answer", "")
    hold(same, "thinking changes nothing", (decision, behind))
    hold(SECRET not in f"{behind.thought}{behind.kept.content}", "thinking is not kept", behind)


TARGET = Target("calls", check, messages)
