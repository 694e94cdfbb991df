"""Models that are handed in as something else than a plain chat model of LangChain's."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ConfigurableField, Runnable

from agent import load_model, run_agent
from agent.testing import ScriptedModel
from tests.service import Service

WRAPPED = {
    "bound": lambda llm: llm.bind(seed=7),
    "with a config": lambda llm: llm.with_config(tags=["x"]),
    "bound twice": lambda llm: llm.bind(seed=7).with_config(tags=["x"]),
    "with retries": lambda llm: llm.with_retry(stop_after_attempt=2),
    "with fallbacks": lambda llm: llm.with_fallbacks([llm]),
    "configurable": lambda llm: llm.configurable_fields(max_tokens=ConfigurableField(id="most")),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_service_is_asked_through_a_wrapper(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with Service(["Action: Calculator[6*7]", "Final Answer: 42"]) as service:
        llm: Runnable[Any, BaseMessage] = WRAPPED[kind](load_model("gpt-4o", service.url))
        result = run_agent("How much?", llm=llm)  # type: ignore[arg-type]  # a Runnable that stands for one
        chats = [request for request in service.requests if "messages" in request]

    assert result.answer == "42"
    assert len(chats) == 2
    assert all(chat.get("seed") == (7 if kind.startswith("bound") else None) for chat in chats)


def test_a_model_with_an_invoke_of_its_own_gets_a_list_of_messages() -> None:
    seen: list[Any] = []

    class Own(ScriptedModel):
        def invoke(self, given: Any, config: Any = None, **options: Any) -> BaseMessage:
            seen.append(given)
            return super().invoke(given, config, **options)

    result = run_agent("Which?", llm=Own(replies=["Final Answer: this"]))

    assert result.answer == "this"
    assert all(isinstance(message, BaseMessage) for given in seen for message in given)
