"""Runs whose model replies by script: how they are made, and what the model was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import Tool

from agent import RunResult, run_agent
from agent.testing import ScriptedModel

DONE = "Final Answer: done"


def play(*replies: Any, question: str = "What is it?", **options: Any) -> tuple[RunResult, ScriptedModel]:
    """One run over all of these replies; asking for more or less of them is an AssertionError."""
    model = ScriptedModel(replies=list(replies))
    result = run_agent(question, llm=model, **options)
    model.assert_done()
    return result, model


def probe(function: Callable[..., Any] = str.upper, name: str = "Probe", **more: Any) -> Tool:
    """A LangChain Tool that does what ``function`` does with its input."""
    return Tool(name=name, func=function, description=f"Does what a test wants of {name}.", **more)


def failing(error: BaseException, name: str = "Probe", **more: Any) -> Tool:
    """A LangChain Tool that raises ``error``."""

    def fail(_: str) -> str:
        raise error

    return probe(fail, name, **more)


def actions(*inputs: object, tool: str = "Calculator") -> list[str]:
    """A reply with an action for each input."""
    return [f"Thought: on\nAction: {tool}[{given}]" for given in inputs]


def cut(text: str) -> AIMessage:
    """A reply that the service ended at its limit of tokens."""
    return AIMessage(content=text, response_metadata={"finish_reason": "length"})


def uncounted(text: str) -> AIMessage:
    """A reply of a service that tells no usage."""
    return AIMessage(content=text, response_metadata={"token_usage": {}})


def kinds(request: Sequence[BaseMessage]) -> list[str]:
    return [message.type for message in request]


def contents(request: Sequence[BaseMessage]) -> list[str]:
    return [str(message.content) for message in request]
