"""Worked examples: real chat turns that show a small model how a run goes, in either protocol.

They are written in the text protocol, in ``prompts/<language>/examples.txt``: blocks parted by a line of
dashes, turns that begin with ``user:`` or ``assistant:``. An example is used only when each tool that it
calls was handed in, as a tool with one input; with other tools there are other examples, or none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from agent.protocols.decisions import Act, Finish, ToolSpec
from agent.protocols.reply import read_reply
from prompts import Language, load

_TURN = re.compile(r"^(user|assistant):[ \n]", re.MULTILINE)
_CALLED = re.compile(r"^(?:assistant: )?Action: (\w+)\[", re.MULTILINE)


def worked_examples(specs: Sequence[ToolSpec], language: Language) -> tuple[BaseMessage, ...]:
    """The turns of every example that fits these tools.

    A small model follows the last example most. The file's order is for all of its tools; where some are
    missing, those with a single call come last, or it would call again where nothing is left to combine.
    """
    usable = {spec.name for spec in specs if len(spec.fields) == 1}
    blocks = [block for block in _blocks(language) if set(_CALLED.findall(block)) <= usable]
    if len(blocks) < len(_blocks(language)):
        blocks.sort(key=lambda block: len(_CALLED.findall(block)) == 1)
    return tuple(message for block in blocks for message in _turns(block))


def worked_calls(
    specs: Sequence[ToolSpec], language: Language, *, in_words: bool = False
) -> tuple[BaseMessage, ...]:
    """The same examples with native tool calls: an action becomes a call, its observation a tool message.

    ``in_words``: calls will be put into words, and then an answer needs its label beside them.
    """
    label = "Final Answer: " if in_words else ""
    fields = {spec.name: spec.fields[0] for spec in specs if len(spec.fields) == 1}
    messages: list[BaseMessage] = []
    for turn in worked_examples(specs, language):
        text = str(turn.content)
        decision = read_reply(text, specs) if isinstance(turn, AIMessage) else None
        if isinstance(decision, Act):
            (action,) = decision.actions
            arguments = {fields[action.tool]: action.input} if action.input else {}
            call = ToolCall(name=action.tool, args=arguments, id=f"example{len(messages):02}")
            messages.append(AIMessage(content=_thought(decision), tool_calls=[call]))
        elif isinstance(decision, Finish):
            messages.append(AIMessage(content=f"{_thought(decision)}{label}{decision.answer}"))
        elif isinstance(messages[-1:] and messages[-1], AIMessage) and messages[-1].tool_calls:
            result = text.partition(" = ")[2]
            messages.append(ToolMessage(content=result, tool_call_id=str(messages[-1].tool_calls[0]["id"])))
        else:
            messages.append(turn)
    return tuple(messages)


def _thought(decision: Act | Finish) -> str:
    return f"Thought: {decision.thought}\n" if decision.thought else ""


@functools.cache
def _blocks(language: Language) -> tuple[str, ...]:
    return tuple(
        block.strip() for block in re.split(r"^---+$", load("examples", language), flags=re.MULTILINE)
    )


def _turns(block: str) -> list[BaseMessage]:
    parts = _TURN.split(block)[1:]
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return [kinds[role](content=text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]
