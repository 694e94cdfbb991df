"""Who is measured: our agent, AgentExecutor and the bare model, with the same tools, each call recorded."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from tools.texts import ERROR_PREFIX

MAX_ITERATIONS = 6  # of AgentExecutor, which is measured by the same cap as our text protocol

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
_GAVE_UP = (
    EXECUTOR_GAVE_UP,
    "Agent stopped due to max iterations.",
)  # the second of agents with native calls
_NO_DATA = "No weather data for "
_RAISED = "(raised)"

Span = tuple[float, float]
"""From when to when, by ``time.perf_counter``."""


@dataclass(frozen=True)
class ToolCall:
    tool: str
    input: str
    output: str
    seconds: float
    started: float = 0.0  # by time.perf_counter

    @property
    def failed(self) -> bool:
        """Whether the tool said that it could not do its work, or raised."""
        return says_failed(self.output)


@dataclass
class Attempt:
    """One agent's run of one task. A step holds at least ``raw_reply`` and ``observations``.

    ``replies`` are what the model wrote, as ``scripts.comparing.recordings`` can play it again; ``raised``
    says that the run ended by an exception.
    """

    answer: str | None = None
    stop_reason: str = ""
    error: str | None = None
    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    seconds: float = 0.0
    started: float = 0.0
    raised: bool = False
    model_spans: list[Span] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def model_s(self) -> float:
        """Seconds in which the model was asked, waits for its service included."""
        return self._covered(self.model_spans)

    @property
    def tool_s(self) -> float:
        """Seconds in which a tool was at work and the model was not; side by side they count once."""
        tools = [(call.started, call.started + call.seconds) for call in self.tool_calls]
        return self._covered([*self.model_spans, *tools]) - self.model_s

    @property
    def loop_s(self) -> float:
        """The rest of the run: what the loop itself took."""
        return self.seconds - self.model_s - self.tool_s

    def _covered(self, spans: Sequence[Span]) -> float:
        return covered(spans, (self.started, self.started + self.seconds))

    @property
    def tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    def count(self, usage: Mapping[str, int] | None) -> None:
        """Add one reply's token counts, or note that the server told none."""
        self.requests += 1
        for name in ("prompt_tokens", "completion_tokens"):
            known, new = getattr(self, name), (usage or {}).get(name)
            setattr(self, name, None if known is None or new is None else known + new)


def says_failed(output: str) -> bool:
    """Whether a measured tool's output is an error."""
    return output.startswith((ERROR_PREFIX, _NO_DATA, _RAISED))


def covered(spans: Iterable[Span], within: Span) -> float:
    """Seconds of ``within`` that lie in at least one of the spans."""
    total, reached = 0.0, within[0]
    for start, end in sorted(spans):
        since, until = max(start, reached), min(end, within[1])
        if until > since:
            total, reached = total + until - since, until
    return total


# --- the measured tools: our own, as a stranger would bring them; each call is kept for the score


def measured_tools(weather: Mapping[str, float], calls: list[ToolCall]) -> list[Any]:
    """LangChain Tools named Calculator, Weather and Time that record each call in ``calls``."""
    from langchain_core.tools import Tool

    from tools import default_tools

    product = {tool.name: tool for tool in default_tools()}
    calculator, clock = product["Calculator"], product["Time"]

    def look_up(city: str) -> str:
        degrees = weather.get(city.strip().casefold())
        return f"{_NO_DATA}{city}." if degrees is None else f"{degrees:g}°C"

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
        output = _RAISED
        try:
            output = str(function(text))
        finally:
            calls.append(ToolCall(name, text, output, time.perf_counter() - start, start))
        return output

    return call


# --- the agents: each fills an attempt, which keeps what was counted even when the agent raises


def ask_ours(attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace) -> None:
    run_ours(attempt, question, llm, tools, args.protocol, language=args.language)


def run_ours(
    attempt: Attempt, question: str, llm: Any, tools: list[Any], protocol: str, **options: Any
) -> None:
    """Ask our agent; ``options`` are those of ``run_agent``."""
    from agent import run_agent
    from scripts.comparing.watch import Watch

    result = run_agent(
        question, llm=llm, tools=tools, protocol=protocol, callbacks=[Watch(attempt)], **options
    )
    attempt.answer, attempt.stop_reason = result.answer, str(result.stop_reason)
    attempt.error = result.error
    attempt.steps = [asdict(step) for step in result.steps]


def ask_bare(attempt: Attempt, question: str, llm: Any, tools: object = (), args: object = None) -> None:
    from scripts.comparing.watch import Watch

    reply = llm.invoke(question, {"callbacks": [Watch(attempt)]})
    attempt.answer = str(reply.content)
    attempt.steps = [{"raw_reply": attempt.answer, "observations": []}]


def ask_executor(
    attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace
) -> None:
    from langchain.agents import create_react_agent
    from langchain_core.prompts import PromptTemplate

    agent = create_react_agent(llm, tools, PromptTemplate.from_template(REACT_PROMPT))
    run_executor(attempt, question, agent, tools, MAX_ITERATIONS)


def run_executor(attempt: Attempt, question: str, agent: Any, tools: list[Any], max_iterations: int) -> None:
    """Ask an agent by AgentExecutor, with those of its options that serve it best."""
    from langchain.agents import AgentExecutor

    from scripts.comparing.watch import Watch

    executor = AgentExecutor(
        agent=agent,
        tools=tools,
        max_iterations=max_iterations,
        handle_parsing_errors=True,
        return_intermediate_steps=True,
        stream_runnable=False,  # streaming loses the token counts
    )
    result = executor.invoke({"input": question}, {"callbacks": [Watch(attempt)]})
    gave_up = result["output"] in _GAVE_UP
    attempt.stop_reason = "max_iterations" if gave_up else "final_answer"
    attempt.answer = None if gave_up else result["output"]
    # A final answer is a reply without an observation.
    seen = [*_observations(result["intermediate_steps"]), []]
    attempt.steps = [
        {"raw_reply": reply["content"], "observations": [{"text": text} for text in texts]}
        for reply, texts in zip(attempt.replies, seen, strict=False)
    ]


def _observations(steps: Sequence[tuple[Any, Any]]) -> Iterator[list[str]]:
    """What the tools returned, reply by reply: native calls of one reply carry the same message."""
    for _, group in groupby(steps, lambda step: id((getattr(step[0], "message_log", None) or step)[0])):
        yield [str(text) for _, text in group]


AGENTS: dict[str, Callable[..., None]] = {"ours": ask_ours, "executor": ask_executor, "bare": ask_bare}
