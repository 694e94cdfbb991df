"""Everything that decides a run, but for what the model replies and the tools return."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool

from agent.limits import Limits, Price
from prompts import Language


@dataclass(frozen=True)
class Setup:
    """One run before it starts. ``conversation`` is the window of earlier exchanges, as messages.

    ``budget`` are the caps over all runs of the agent, None where there are none. ``reply_tokens`` is what
    one reply may have at most.
    """

    question: str
    language: Language
    protocol: str
    model: str
    limits: Limits
    tools: tuple[BaseTool, ...]
    conversation: tuple[BaseMessage, ...] = ()
    instructions: str = ""
    examples: bool = False
    grammar: bool = False
    price: Price | None = None
    budget: Limits | None = None
    reply_tokens: int = 512
