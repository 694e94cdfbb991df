"""The contenders: each with its own way to ask, and all with the same tools, model and cap of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scripts.contenders import (
    MAX_ITERATIONS,
    REACT_PROMPT,
    Attempt,
    ask_bare,
    run_executor,
    run_ours,
    says_failed,
)

DEFAULT_ITERATIONS = 15  # of AgentExecutor
FIRST_TASKS = 30  # of a file: those that the extra arms run
TWO_LINES = "Action: the tool to use, one of [{tool_names}]\nAction Input: what goes into the tool"
ONE_LINE = "Action: Name[what goes into the tool], where Name is one of {tool_names}"
BRACKET_PROMPT = REACT_PROMPT.replace(TWO_LINES, ONE_LINE).replace("Action, Action Input and", "Action and")
TOOLS_PROMPT = "Answer the question as well as you can. Use the tools wherever one of them can help."


@dataclass(frozen=True)
class Asked:
    """What a contender is handed for one run. The model is asked at most ``max_iterations`` times."""

    attempt: Attempt
    question: str
    llm: Any
    tools: list[Any]
    max_iterations: int


@dataclass(frozen=True)
class Arm:
    """A contender; ``raising``: its tools raise where those of the others return a text that says so."""

    name: str
    what: str
    ask: Callable[[Asked], None]
    max_iterations: int = MAX_ITERATIONS
    raising: bool = False
    extra: bool = False

    def run(
        self, attempt: Attempt, question: str, llm: Any, tools: list[Any], max_iterations: int = 0
    ) -> None:
        """Fill an attempt; ``max_iterations`` takes the place of the contender's own."""
        given = raising(tools) if self.raising else tools
        self.ask(Asked(attempt, question, llm, given, max_iterations or self.max_iterations))


def raising(tools: list[Any]) -> list[Any]:
    """The same tools, which raise RuntimeError with the text that they would have returned as an error."""
    from langchain_core.tools import Tool

    return [Tool(name=tool.name, description=tool.description, func=_raising(tool.func)) for tool in tools]


def _raising(function: Callable[[str], str]) -> Callable[[str], str]:
    def call(text: str = "") -> str:
        output = function(text)
        if says_failed(output):
            raise RuntimeError(output)
        return output

    return call


def _ours(protocol: str) -> Callable[[Asked], None]:
    def ask(asked: Asked) -> None:
        from agent import Limits

        limits = Limits(max_iterations=asked.max_iterations)
        run_ours(asked.attempt, asked.question, asked.llm, asked.tools, protocol, limits=limits)

    return ask


def _bare(asked: Asked) -> None:
    ask_bare(asked.attempt, asked.question, patient(asked.llm))


def _react(asked: Asked) -> None:
    from langchain.agents import create_react_agent
    from langchain_core.prompts import PromptTemplate

    prompt = PromptTemplate.from_template(REACT_PROMPT)
    _execute(asked, create_react_agent(patient(asked.llm), asked.tools, prompt))


def _bracket(asked: Asked) -> None:
    from langchain.agents import create_react_agent
    from langchain_core.prompts import PromptTemplate

    from scripts.comparing.bracket import bracket_parser

    prompt = PromptTemplate.from_template(BRACKET_PROMPT)
    parser = bracket_parser(asked.tools, asked.question)
    _execute(asked, create_react_agent(patient(asked.llm), asked.tools, prompt, output_parser=parser))


def _tools(asked: Asked) -> None:
    from langchain.agents import create_openai_tools_agent
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages(
        [("system", TOOLS_PROMPT), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    _execute(asked, create_openai_tools_agent(patient(asked.llm), asked.tools, prompt))


def _execute(asked: Asked, agent: Any) -> None:
    run_executor(asked.attempt, asked.question, agent, asked.tools, asked.max_iterations)


def patient(llm: Any) -> Any:
    """A copy of a model whose client tries twice more, as LangChain's own does: our loop counts its attempts.

    ``load_model`` switches the client's retries off, and without them the baseline would not be at its best.
    """
    client: Any = getattr(getattr(llm, "client", None), "_client", None)
    if not hasattr(client, "with_options"):
        return llm
    own = copy.copy(llm)
    own.client = client.with_options(max_retries=2).chat.completions
    return own


ARMS = {
    arm.name: arm
    for arm in (
        Arm("bare", "the question alone, without tools", _bare),
        Arm("ours-text", "run_agent, text protocol", _ours("text")),
        Arm("ours-tools", "run_agent, tools protocol", _ours("tools")),
        Arm("executor-react", "AgentExecutor with create_react_agent and its own two lines", _react),
        Arm("executor-bracket", "AgentExecutor with create_react_agent and our bracket format", _bracket),
        Arm("executor-tools", "AgentExecutor with create_openai_tools_agent", _tools),
        Arm(
            "executor-default-cap",
            f"executor-react with its default of {DEFAULT_ITERATIONS} iterations",
            _react,
            max_iterations=DEFAULT_ITERATIONS,
            extra=True,
        ),
        Arm(
            "ours-raising",
            "ours-text with tools that raise their errors",
            _ours("text"),
            raising=True,
            extra=True,
        ),
        Arm(
            "executor-raising", "executor-react with the same raising tools", _react, raising=True, extra=True
        ),
    )
}
MAIN = tuple(name for name, arm in ARMS.items() if not arm.extra)
EXTRA = tuple(name for name, arm in ARMS.items() if arm.extra)
