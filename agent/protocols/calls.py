"""From a written call to a decision: whose name is it, and does the argument fit?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from agent.protocols.arguments import Argument, argument_from, read_argument, signature, unquoted
from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.labels import WORDS
from agent.results import Action

_DRESS = " \t\n\u3000*_`\"'“”.。:：<>"
_DRESS_AND_BRACKETS = _DRESS + "[]()"
_FILLER = re.compile(r"^(?:use[ \t]|使用|调用)?[ \t]*(?:the[ \t])?|[ \t]tool$|工具$", re.IGNORECASE)
_LONGEST_NAME = 200
_QUOTED_NAME = 60
_ANSWERS = {word.replace(" ", "") for kind in ("final", "finish") for word in WORDS[kind]}
_NO_CALL = {
    "",
    "none",
    "none needed",
    "no action",
    "no action needed",
    "nothing",
    "n/a",
    "无",
    "无需",
    "不需要",
}

_NAME_KEYS = ("action", "name", "tool", "tool_name")
_ARGUMENT_KEYS = ("action_input", "arguments", "parameters", "args", "input", "tool_input")
_DECODER = json.JSONDecoder(strict=False)


def says_nothing(name: str) -> bool:
    """`Action: None` asks for no tool; it leaves the decision to a later label."""
    return name.strip(_DRESS_AND_BRACKETS).lower() in _NO_CALL


def resolve(name: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool meant by ``name``: exact, then in any case, without a leading use/the or trailing tool."""
    if len(name) > _LONGEST_NAME:
        return None
    for spelling in _spellings(name):
        exact = [tool for tool in tools if tool.name == spelling]
        alike = exact or [tool for tool in tools if tool.name.lower() == spelling.lower()]
        if len(alike) == 1:
            return alike[0]
    return None


def _spellings(name: str) -> Iterator[str]:
    yield name.strip()
    bare = name.strip(_DRESS)
    yield bare
    yield _FILLER.sub("", bare).strip(_DRESS)


def is_answer(name: str) -> bool:
    """`Finish[x]` and `Final Answer[x]` answer (where no tool has that name)."""
    return re.sub("[ _-]", "", name[:_LONGEST_NAME].strip(_DRESS).lower()) in _ANSWERS


def decide(name: str, raw: str, tools: Sequence[ToolSpec]) -> Decision:
    """The decision of a whole call: ``name`` and the text of its argument."""
    tool = resolve(name, tools)
    if tool is not None:
        return _act(tool, read_argument(raw, tool))
    answer = unquoted(raw)
    if is_answer(name):
        return Finish(answer) if answer else Malformed("bad_call", name.strip(_DRESS))
    return unknown(name, tools)


def unknown(name: str, tools: Sequence[ToolSpec]) -> Malformed:
    """A call in another form than ours where one of our names leads, an unknown tool otherwise."""
    bare = name.strip(_DRESS)
    for tool in tools:
        if re.match(rf"{re.escape(tool.name)}(?!\w)", bare, re.IGNORECASE):
            return Malformed("misfit", signature(tool))
    return Malformed("unknown_tool", bare[:_QUOTED_NAME]) if bare else Malformed("bad_call")


def json_call(text: str, tools: Sequence[ToolSpec]) -> tuple[Decision, int] | None:
    """The call in the JSON object that ``text`` starts with, and where the object ends; None for no call."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):  # no JSON, so no call
        return None
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAME_KEYS if key in value), None)
    given = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    if not isinstance(name, str) or len(value) > 2:
        return None
    if isinstance(given, str) or is_answer(name):
        return decide(name, str(given or ""), tools), end
    tool = resolve(name, tools)
    return (_act(tool, argument_from(given, tool)) if tool else unknown(name, tools)), end


def _act(tool: ToolSpec, argument: Argument | Malformed) -> Decision:
    return argument if isinstance(argument, Malformed) else Act((Action(tool.name, argument),))
