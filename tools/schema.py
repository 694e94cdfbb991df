"""How a tool with one text tells native tool calls what that text is."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.pydantic_v1 import BaseModel


@cache  # a class for each agent would take longer to make than all else of an agent, and be slow to go
def one_text(name: str, description: str, *, optional: bool = False) -> type[BaseModel]:
    """An ``args_schema`` with one string named ``name``; an optional one is empty by default."""
    from langchain_core.pydantic_v1 import Field, create_model

    fields = {name: (str, Field("" if optional else ..., description=description))}
    return create_model("Input", **fields)
