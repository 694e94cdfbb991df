"""Our text format in AgentExecutor's hands: its ``output_parser`` reads a reply as our loop does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import AgentOutputParser
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.exceptions import OutputParserException
from langchain_core.tools import BaseTool

from agent.protocols.decisions import Act, Finish
from agent.protocols.reply import read_reply
from agent.protocols.text import TextProtocol
from agent.toolspecs import specs_of
from prompts import language_of


class BracketParser(AgentOutputParser):
    """Reads ``Action: Name[input]``; what cannot be read goes back to the model in our own words."""

    tools: Sequence[Any]
    question: str

    def parse(self, text: str) -> AgentAction | AgentFinish:
        specs = specs_of(self.tools)
        decision = read_reply(text, specs)
        if isinstance(decision, Act):
            (action,) = decision.actions
            return AgentAction(action.tool, action.input, decision.kept)
        if isinstance(decision, Finish):
            return AgentFinish({"output": decision.answer}, decision.kept)
        protocol = TextProtocol(self.question, (), self.tools, specs, language_of(self.question))
        raise OutputParserException(
            f"cannot be read: {decision.fault}",
            observation=protocol.add_correction(decision),
            llm_output=decision.kept,
            send_to_llm=True,
        )

    @property
    def _type(self) -> str:
        return "bracket"


def bracket_parser(tools: Sequence[BaseTool], question: str) -> BracketParser:
    """A parser for one run; corrections are in the question's language."""
    return BracketParser(tools=list(tools), question=question)
