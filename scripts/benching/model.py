"""A chat model that answers at once, and a run of ours on it beside the bare sum of what it asks for.

``agent.testing.ScriptedModel`` would add up the characters of every request to report usage: work of the
model that grows with the messages, and makes whatever stands around it look cheap. This one does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.pydantic_v1 import PrivateAttr
from langchain_core.runnables import Runnable
from langchain_core.tools import Tool

from agent import Agent, Limits
from agent.deadline import run_within
from agent.memory import WINDOW

QUESTION = "What does the tool say?"
ANSWER = "That is all."
TOOL = "Echo"
LONG_S = 600.0  # a deadline that never comes, as each call has one
_TOLD = {
    "token_usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    "finish_reason": "stop",
}


@dataclass(frozen=True)
class Asked:
    """A request as it reached the model."""

    messages: Sequence[BaseMessage]
    options: dict[str, Any]


class Immediate(BaseChatModel):
    """Has its replies ready. ``play`` puts in those of the next run, and forgets the requests before."""

    _replies: Sequence[AIMessage] = PrivateAttr(default=())
    _asked: list[Asked] = PrivateAttr(default_factory=list)

    def play(self, replies: Sequence[AIMessage]) -> None:
        self._replies = replies
        self._asked = []

    @property
    def asked(self) -> list[Asked]:
        """The requests since ``play``."""
        return self._asked

    @property
    def _llm_type(self) -> str:
        return "immediate"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, BaseMessage]:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = self._replies[len(self._asked)]
        self._asked.append(Asked(messages, kwargs | ({"stop": stop} if stop else {})))
        return ChatResult(generations=[ChatGeneration(message=message)], llm_output={})


class Rehearsed:
    """One run, as often as wanted: of our agent, and the bare sum of its requests and tool calls.

    Args:
        protocol: "text" or "tools".
        steps: requests of a run; each but the last asks for one tool call.
        observe: what the tool returns for its input.
    """

    def __init__(self, protocol: str, steps: int, observe: Callable[[str], str] = lambda text: text) -> None:
        self.model, self.steps = Immediate(), steps
        self.given: list[str] = []  # what the tool was given in the last run

        def tell(text: str) -> str:
            self.given.append(text)
            return observe(text)

        self.tool = Tool(name=TOOL, description="Says what it is told.", func=tell)
        self.inputs = [f"word {number}" for number in range(steps - 1)]
        call = _call if protocol == "text" else _native_call
        self.replies = [*map(call, self.inputs), _reply(f"Final Answer: {ANSWER}")]
        self.agent = Agent(
            llm=self.model,
            tools=[self.tool],
            protocol=protocol,
            limits=Limits(max_iterations=steps, max_seconds=None),
        )
        for _ in range(WINDOW + 1):  # until its conversation is the same before every run
            self.run_ours()
        self.requests = self.model.asked

    def run_ours(self) -> None:
        """Raises AssertionError where the run was another than was meant."""
        self._begin()
        result = self.agent.run(QUESTION)
        if result.answer != ANSWER or len(self.model.asked) != self.steps or self.given != self.inputs:
            raise AssertionError(f"the run went otherwise: {result.error or result.stop_reason}")

    def run_bare(self) -> None:
        """The same messages to the model, the same inputs to the tool, each in a worker thread like ours."""
        self._begin()
        for call in self._calls():
            run_within(LONG_S, call)

    def run_without_threads(self) -> None:
        """The same calls, one after the other in the caller's own thread: none of them has a deadline."""
        self._begin()
        for call in self._calls():
            call()

    def _calls(self) -> Iterator[Callable[[], Any]]:
        for request, given in zip_longest(self.requests, self.inputs):
            yield _invocation(self.model, request)
            if given is not None:
                yield _tool_run(self.tool, given)

    def _begin(self) -> None:
        self.model.play(self.replies)
        self.given.clear()


def _invocation(model: Immediate, request: Asked) -> Callable[[], BaseMessage]:
    return lambda: model.invoke(list(request.messages), **request.options)


def _tool_run(tool: Tool, given: str) -> Callable[[], Any]:
    return lambda: tool.run(given)


def _call(given: str) -> AIMessage:
    return _reply(f"Thought: Ask the tool.\nAction: {TOOL}[{given}]")


def _native_call(given: str) -> AIMessage:
    call = {"name": TOOL, "args": {"tool_input": given}, "id": given.replace(" ", "_")}
    return AIMessage(content="", tool_calls=[call], response_metadata=_TOLD)


def react_replies(inputs: Sequence[str]) -> list[AIMessage]:
    """The same run in the words that AgentExecutor's ReAct agent reads."""
    calls = [f"Thought: Ask the tool.\nAction: {TOOL}\nAction Input: {given}" for given in inputs]
    return [*map(_reply, calls), _reply(f"Final Answer: {ANSWER}")]


def _reply(text: str) -> AIMessage:
    return AIMessage(content=text, response_metadata=_TOLD)
