"""What is known of a tool before it is called: its name, its arguments, and whether it needs any."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Sequence

from langchain_core.tools import BaseTool, Tool

from agent.errors import SettingsError
from agent.protocols.calls import resolve, says_nothing
from agent.protocols.decisions import ToolSpec
from agent.redaction import shown

# How descriptions of foreign tools say that they take nothing.
_TAKES_NOTHING = re.compile(
    r"\b(?:no|without|ignores?|not need)\b.{0,12}\b(?:input|argument|parameter)s?\b"
    r"|无需|不需要|无参|没有参数|不用",
    re.IGNORECASE,
)


def specs_of(tools: Sequence[BaseTool]) -> tuple[ToolSpec, ...]:
    """Describe tools for a protocol, in order.

    Raises SettingsError for something that is no tool, a name that cannot be written in an action, a
    deadline that cannot be meant, a coroutine where a function belongs, or two tools of one name.
    """
    for tool in tools:
        if not isinstance(tool, BaseTool):
            raise SettingsError(
                f"tools takes LangChain tools (Tool, StructuredTool, @tool), not {shown(tool)}"
            )
        if not tool.name.strip() or set("[](){}:：\n") & set(tool.name):
            raise SettingsError(
                f"a tool's name is written before a bracket, so it has none in it: {shown(tool.name)}"
            )
        if says_nothing(tool.name) or resolve(tool.name, [ToolSpec(tool.name)]) is None:
            raise SettingsError(f"no action could name a tool {shown(tool.name)}: rename it")
        _check_deadline(tool)
        _check_function(tool)
    twice = [name for name, count in Counter(tool.name.lower() for tool in tools).items() if count > 1]
    if twice:
        raise SettingsError(f"two tools are named {twice[0]!r} (case does not count): rename one")
    return tuple(_spec(tool) for tool in tools)


def _check_deadline(tool: BaseTool) -> None:
    timeout_s = (tool.metadata or {}).get("timeout_s", 1)
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not timeout_s > 0:
        raise SettingsError(
            f"timeout_s of {tool.name} is a number of seconds above 0, not {shown(timeout_s)}"
        )


def _check_function(tool: BaseTool) -> None:
    """What an async function returns is no result; LangChain has a place of its own for such a function."""
    if any(map(inspect.iscoroutinefunction, (getattr(tool, "func", None), tool._run))):
        raise SettingsError(
            f"the function of {tool.name} is async: hand it in as coroutine=..., with func=None,"
            " or make it a plain function"
        )


def _spec(tool: BaseTool) -> ToolSpec:
    fields = tuple(tool.args)
    if tool.args_schema is None and isinstance(tool, Tool):
        types = dict.fromkeys(fields, "string")
        return ToolSpec(tool.name, fields, input_required=_needs_input(tool), types=types)
    schema = tool.get_input_schema().schema()
    required = tuple(schema.get("required", ()))
    types = {name: schema["properties"][name].get("type", "") for name in fields}
    takes = types[fields[0]] if len(fields) == 1 else "string"
    return ToolSpec(tool.name, fields, bool(required), required, takes, types)


def _needs_input(tool: Tool) -> bool:
    """A plain Tool's schema says nothing of an empty input; its metadata, function or description may."""
    said = (tool.metadata or {}).get("input_required")
    if said is not None:
        return bool(said)
    return (
        tool.name.lower() != "time" and not _has_default(tool) and not _TAKES_NOTHING.search(tool.description)
    )


def _has_default(tool: Tool) -> bool:
    try:
        parameters = list(inspect.signature(tool.func).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    return bool(parameters) and parameters[0].default is not inspect.Parameter.empty
