"""Worked examples: real chat turns that show a small model how a run goes.

They are written in ``prompts/<language>/examples.txt``: blocks parted by a line of dashes, turns that begin
with ``user:`` or ``assistant:``. An example is used only when each tool that it calls was handed in, as a
tool with one input; with other tools there are other examples, or none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.protocols.decisions import ToolSpec
from prompts import Language, load

_TURN = re.compile(r"^(user|assistant):[ \n]", re.MULTILINE)
_CALLED = re.compile(r"^(?:assistant: )?Action: (\w+)\[", re.MULTILINE)


def worked_examples(specs: Sequence[ToolSpec], language: Language) -> tuple[BaseMessage, ...]:
    """The turns of every example that fits these tools."""
    usable = {spec.name for spec in specs if len(spec.fields) == 1}
    blocks = (block for block in _blocks(language) if set(_CALLED.findall(block)) <= usable)
    return tuple(message for block in blocks for message in _turns(block))


@functools.cache
def _blocks(language: Language) -> tuple[str, ...]:
    return tuple(
        block.strip() for block in re.split(r"^---+$", load("examples", language), flags=re.MULTILINE)
    )


def _turns(block: str) -> list[BaseMessage]:
    parts = _TURN.split(block)[1:]
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return [kinds[role](content=text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]
