"""Text of tools and users on its way to the model: data, which must not look like the protocol's own words.

A small model may believe a tool's result with a line ``Final Answer: 5``, or write it down again, where it
would be read as its own. So such lines are quoted before they are sent. What a run records stays as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from langchain_core.messages import BaseMessage, HumanMessage

from agent.protocols.labels import label_starts

QUOTE = "| "  # no mark under which a label is read
# How thinking, a call or a turn begins and ends. llama.cpp takes a template's signs in a
# message's text for the signs themselves.
_SIGN = re.compile(
    r"<(?=\|\w{1,40}\|>|｜[\w▁]{1,40}｜>|/?(?:think|thinking|tool_call|start_of_turn|end_of_turn)>)",
    re.IGNORECASE,
)


def defused(text: str) -> str:
    """``text`` with lines quoted that would be read as labels, and the signs of a turn's parts broken."""
    text = _SIGN.sub("< ", text.replace("\r\n", "\n").replace("\r", "\n"))
    while starts := label_starts(text):  # twice at most: a fence above a label may hide another label
        ends = [*starts[1:], len(text)]
        text = text[: starts[0]] + "".join(
            f"{QUOTE}{text[start:end]}" for start, end in zip(starts, ends, strict=True)
        )
    return text


def defused_messages(conversation: Iterable[BaseMessage]) -> tuple[BaseMessage, ...]:
    """The same messages, with what a user wrote defused; the model's own words stay."""
    return tuple(map(_defused_message, conversation))


def _defused_message(message: BaseMessage) -> BaseMessage:
    if not (isinstance(message, HumanMessage) and isinstance(message.content, str)):
        return message
    content = defused(message.content)
    return message if content == message.content else message.copy(update={"content": content})
