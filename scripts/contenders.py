"""Who is measured: our agent, AgentExecutor and the bare model, with the same tools, each call recorded."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

# The usual ReAct prompt for AgentExecutor: its slots and labels are LangChain's, the words are ours.
REACT_PROMPT = """Answer the question below as well as you can. These tools are at your disposal:

{tools}

Keep to this format:

Question: the question that has to be answered
Thought: think about what to do next
Action: the tool to use, one of [{tool_names}]
Action Input: what goes into the tool
Observation: what the tool returned
... (Thought, Action, Action Input and Observation may come as often as needed)
Thought: I know the final answer now
Final Answer: the answer to the question

Begin!

Question: {input}
Thought:{agent_scratchpad}"""
EXECUTOR_GAVE_UP = "Agent stopped due to iteration limit or time limit."


@dataclass(frozen=True)
class ToolCall:
    tool: str
    input: str
    output: str
    seconds: float


@dataclass
class Attempt:
    """One agent's run of one task. A step holds at least ``raw_reply`` and ``observations``."""

    answer: str | None = None
    stop_reason: str = ""
    error: str | None = None
    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    def count(self, usage: Mapping[str, int] | None) -> None:
        """Add one reply's token counts, or note that the server told none."""
        self.requests += 1
        for name in ("prompt_tokens", "completion_tokens"):
            known, new = getattr(self, name), (usage or {}).get(name)
            setattr(self, name, None if known is None or new is None else known + new)


# --- the measured tools: our own, as a stranger would bring them; each call is kept for the score


def measured_tools(weather: Mapping[str, float], calls: list[ToolCall]) -> list[Any]:
    """LangChain Tools named Calculator, Weather and Time that record each call in ``calls``."""
    from langchain_core.tools import Tool

    from tools import default_tools

    product = {tool.name: tool for tool in default_tools()}
    calculator, clock = product["Calculator"], product["Time"]

    def look_up(city: str) -> str:
        degrees = weather.get(city.strip().casefold())
        return f"No weather data for {city}." if degrees is None else f"{degrees:g}°C"

    return [
        Tool(name=name, description=description, func=recorded(name, function, calls))
        for name, description, function in (
            ("Calculator", "Works out an arithmetic expression, such as 7*(3+1).", calculator.run),
            ("Weather", "Current temperature in a city, in °C. The input is the city's name.", look_up),
            ("Time", "The local date and time at this moment. Takes no input.", lambda _: clock.run("")),
        )
    ]


def recorded(name: str, function: Callable[[str], Any], calls: list[ToolCall]) -> Callable[[str], str]:
    def call(text: str = "") -> str:
        start = time.perf_counter()
        output = "(raised)"
        try:
            output = str(function(text))
        finally:
            calls.append(ToolCall(name, text, output, time.perf_counter() - start))
        return output

    return call


# --- the agents: each fills an attempt, which keeps what was counted even when the agent raises


def ask_ours(attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace) -> None:
    from agent import run_agent

    result = run_agent(question, llm=llm, tools=tools, protocol=args.protocol, language=args.language)
    attempt.answer, attempt.stop_reason = result.answer, str(result.stop_reason)
    attempt.error = result.error
    attempt.requests = result.usage.requests
    attempt.prompt_tokens = result.usage.prompt_tokens
    attempt.completion_tokens = result.usage.completion_tokens
    attempt.steps = [asdict(step) for step in result.steps]


def ask_bare(attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace) -> None:
    reply = llm.invoke(question)
    attempt.count(reply.response_metadata.get("token_usage"))
    attempt.answer = str(reply.content)
    attempt.steps = [{"raw_reply": attempt.answer, "observations": []}]


def ask_executor(
    attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace
) -> None:
    from langchain.agents import AgentExecutor, create_react_agent
    from langchain_core.prompts import PromptTemplate

    executor = AgentExecutor(
        agent=create_react_agent(llm, tools, PromptTemplate.from_template(REACT_PROMPT)),
        tools=tools,
        max_iterations=6,
        handle_parsing_errors=True,
        return_intermediate_steps=True,
        stream_runnable=False,  # streaming loses the token counts
    )
    replies: list[str] = []
    result = executor.invoke({"input": question}, {"callbacks": [_counter(attempt, replies)]})
    gave_up = result["output"] == EXECUTOR_GAVE_UP
    attempt.stop_reason = "max_iterations" if gave_up else "final_answer"
    attempt.answer = None if gave_up else result["output"]
    texts = [str(text) for _, text in result["intermediate_steps"]]
    # A final answer is a reply without an observation.
    attempt.steps = [
        {"raw_reply": reply, "observations": [] if text is None else [{"text": text}]}
        for reply, text in zip_longest(replies, texts)
    ]


def _counter(attempt: Attempt, replies: list[str]) -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            attempt.count((response.llm_output or {}).get("token_usage"))
            replies.append(response.generations[0][0].text)

    return Counter()


AGENTS: dict[str, Callable[..., None]] = {"ours": ask_ours, "executor": ask_executor, "bare": ask_bare}
