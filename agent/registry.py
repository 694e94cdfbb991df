"""A registry of tools for native tool calls: register, look up, and list their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_core.tools import BaseTool, Tool
from langchain_core.utils.function_calling import convert_to_openai_function

from agent.errors import SettingsError
from agent.protocols.decisions import ToolSpec
from agent.redaction import shown
from agent.toolspecs import specs_of

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what OpenAI's API takes as a function's name


class ToolRegistry:
    """Tools by name, in the order in which they were registered.

    It is what ``tools=`` takes, and may be shared by any number of agents.

    Raises:
        SettingsError: for something that is no LangChain tool, a name that is taken (case does not
            count), and a name that no service would accept.
    """

    def __init__(self, tools: Iterable[BaseTool] = ()) -> None:
        self._tools: list[BaseTool] = []
        for tool in tools:
            self.register(tool)

    def register(self, tool: BaseTool) -> BaseTool:
        """Add a tool and return it."""
        specs_of([*self._tools, tool])
        if not _LEGAL_NAME.fullmatch(tool.name):
            raise SettingsError(
                f"a tool's name is made of up to 64 letters, digits, _ and - for native tool calls,"
                f" so {shown(tool.name)} must be renamed"
            )
        self._tools.append(tool)
        return tool

    def get(self, name: str) -> BaseTool | None:
        """The tool of exactly this name, or None."""
        return next((tool for tool in self._tools if tool.name == name), None)

    def schemas(self) -> list[dict[str, Any]]:
        """All tools as OpenAI function schemas."""
        return [schema_of(tool, spec) for tool, spec in zip(self._tools, specs_of(self._tools), strict=True)]

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def schema_of(tool: BaseTool, spec: ToolSpec) -> dict[str, Any]:
    """One tool as an OpenAI function schema, with the names and types that its calls are held against.

    ``spec`` is what ``specs_of`` knows of it.
    """
    if tool.args_schema is None and isinstance(tool, Tool):
        parameters = _one_text(spec)
    else:
        schema: Any = tool.get_input_schema()
        parameters = convert_to_openai_function(schema)["parameters"]
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _one_text(spec: ToolSpec) -> dict[str, Any]:
    """A plain Tool takes one text, under LangChain's name for it."""
    required = list(spec.fields) if spec.input_required else []
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in spec.fields},
        "required": required,
    }


def check_native(llm: Any, tools: Iterable[BaseTool]) -> None:
    """Raise SettingsError for tools or a model that native tool calls are not possible with."""
    ToolRegistry(tools)
    try:
        llm.bind_tools([]).kwargs  # noqa: B018 - that it can be had is the question
    except (AttributeError, NotImplementedError):
        raise SettingsError(f'{type(llm).__name__} has no native tool calls: use protocol="text"') from None
