"""A run's tools in its records, and what stands in for them when the run is played again."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.pydantic_v1 import BaseModel
from langchain_core.tools import BaseTool, StructuredTool, Tool

from agent.redaction import MASK, redact_output
from agent.toolspecs import specs_of

_METADATA = ("timeout_s", "repeatable")


def of_tool(tool: BaseTool) -> dict[str, Any]:
    """All that the model is told of a tool, and what bounds its calls and the run."""
    (spec,) = specs_of([tool])
    takes_one_text = tool.args_schema is None and isinstance(tool, Tool)
    metadata = tool.metadata or {}
    return {
        "name": tool.name,
        "description": tool.description,
        "return_direct": tool.return_direct,
        "metadata": {name: metadata[name] for name in _METADATA if name in metadata},
        "input_required": spec.input_required,
        "schema": None if takes_one_text else tool.get_input_schema().schema(),
    }


def stand_in(record: dict[str, Any]) -> BaseTool:
    """A tool that looks to the model like the one that was recorded, and is never run."""
    schema, metadata = record["schema"], record["metadata"]
    told: dict[str, Any] = {name: record[name] for name in ("name", "description")}
    told["return_direct"] = bool(record.get("return_direct"))  # earlier versions did not record it
    if schema is None:
        metadata = {**metadata, "input_required": record["input_required"]}
        return Tool(**told, metadata=metadata, func=_never)

    class Recorded(BaseModel):
        @classmethod
        def schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return deepcopy(schema)

    return StructuredTool(**told, metadata=metadata, func=_never, args_schema=Recorded)


def _never(*_: Any, **__: Any) -> str:
    raise NotImplementedError("a stand-in for a recorded tool")


def tool_names(started: dict[str, Any]) -> frozenset[str]:
    """The names of a run's tools, out of its ``run_started``, but for those that a secret is only a part of.

    Raises KeyError or TypeError where there are none.
    """
    names = (tool["name"] for tool in started["tools"])
    return frozenset(name for name in names if redact_output(name) in (name, MASK))
