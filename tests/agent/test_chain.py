"""LangChain's own hooks: a run is one chain, with every request and tool call beneath it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from uuid import UUID

import pytest
from langchain_community.callbacks import get_openai_callback
from langchain_core.callbacks import BaseCallbackHandler

from agent import Agent, Limits, RunFailed, load_model
from agent.testing import ScriptedModel
from tests.protocols import DIALECTS, Dialect
from tests.scripted import failing, probe
from tests.service import Service

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
HOOKS = (
    *("on_chain_start", "on_chain_end", "on_chain_error", "on_chat_model_start", "on_llm_end"),
    *("on_llm_error", "on_tool_start", "on_tool_end", "on_tool_error"),
)


@dataclass(frozen=True)
class Told:
    hook: str
    value: Any
    run: UUID
    parent: UUID | None


class Listener(BaseCallbackHandler):
    """Writes down every hook; those in ``raising`` raise as well."""

    raise_error = True

    def __init__(self, *raising: str) -> None:
        self.told: list[Told] = []
        for hook in HOOKS:
            setattr(self, hook, self._hear(hook, hook in raising))

    def _hear(self, hook: str, raises: bool) -> Any:
        def hear(*given: Any, run_id: UUID, parent_run_id: UUID | None = None, **more: Any) -> None:
            self.told.append(Told(hook, given, run_id, parent_run_id))
            if raises:
                raise ValueError(f"{hook} raises")

        return hear

    @property
    def hooks(self) -> list[str]:
        return [told.hook for told in self.told]

    def of(self, hook: str) -> list[Told]:
        return [told for told in self.told if told.hook == hook]


MODEL = ["on_chat_model_start", "on_llm_end"]
TOOL = ["on_tool_start", "on_tool_end"]


@each_dialect
def test_one_chain_starts_and_ends_around_everything(dialect: Dialect) -> None:
    heard = Listener()
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    dialect.play(*replies, tools=[probe()], callbacks=[heard], question="Which?")

    assert heard.hooks == ["on_chain_start", *MODEL, *TOOL, *MODEL, "on_chain_end"]
    chain, end = heard.told[0], heard.told[-1]
    assert chain.value[1] == {"input": "Which?"}
    assert end.value[0] == {"output": "y"}
    assert (chain.parent, end.run) == (None, chain.run)
    assert {told.parent for told in heard.told[1:-1]} == {chain.run}


@each_dialect
def test_within_a_callers_chain_both_callbacks_are_told_of_everything_once(dialect: Dialect) -> None:
    own, callers, both = Listener(), Listener(), Listener()
    model = ScriptedModel(replies=[dialect.call("x", tool="Probe"), dialect.answer("y")])
    agent = Agent(llm=model, tools=[probe()], protocol=dialect.protocol, callbacks=[own, both])
    chain = itemgetter("input") | agent.as_runnable()

    assert chain.invoke({"input": "Which?"}, config={"callbacks": [callers, both]}).answer == "y"
    run = ["on_chain_start", *MODEL, *TOOL, *MODEL, "on_chain_end"]
    picked = ["on_chain_start", "on_chain_end"]
    assert own.hooks == run
    assert (
        callers.hooks
        == both.hooks
        == [
            "on_chain_start",
            *picked,
            *("on_chain_start", *run, "on_chain_end"),
            "on_chain_end",
        ]
    )
    above = {told.run: told.parent for told in callers.of("on_chain_start")}
    links = [callers.of("on_tool_start")[0].parent]
    while links[-1] is not None:
        links.append(above[links[-1]])
    assert len(links) == 4, "the run, its Runnable, the whole chain, and nothing above"


@each_dialect
def test_each_start_has_one_end_with_calls_side_by_side(dialect: Dialect) -> None:
    heard = Listener()
    tools = [probe(), failing(LookupError("nothing there"), "Fail")]
    replies = [*dialect.calls("a", "b", tool="Probe"), dialect.call("c", tool="Fail"), dialect.answer()]
    dialect.play(*replies, tools=tools, callbacks=[heard])

    started = [told.run for told in heard.of("on_tool_start")]
    ended = [told.run for told in [*heard.of("on_tool_end"), *heard.of("on_tool_error")]]
    assert len(started) == len(set(started)) == 3
    assert sorted(started) == sorted(ended)
    (error,) = heard.of("on_tool_error")
    assert isinstance(error.value[0], LookupError)
    assert error.parent == heard.told[0].run
    assert heard.hooks[-1] == "on_chain_end"


@each_dialect
def test_no_answer_is_an_error_of_the_chain(dialect: Dialect) -> None:
    heard = Listener()
    limits = Limits(max_iterations=1, at_cap="error")
    result, _ = dialect.play(
        dialect.call("x", tool="Probe"), tools=[probe()], callbacks=[heard], limits=limits
    )

    assert heard.hooks == ["on_chain_start", *MODEL, *TOOL, "on_chain_error"]
    (error,) = heard.of("on_chain_error")
    assert isinstance(error.value[0], RunFailed)
    assert error.value[0].result is result
    assert error.run == heard.told[0].run


@each_dialect
def test_a_forced_answer_is_an_end_and_no_error(dialect: Dialect) -> None:
    heard = Listener()
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    dialect.play(*replies, tools=[probe()], callbacks=[heard], limits=Limits(max_iterations=1))

    assert heard.told[-1].value[0] == {"output": "y"}


@each_dialect
def test_a_model_that_fails_is_an_error_of_both(dialect: Dialect) -> None:
    heard = Listener()
    result, _ = dialect.play(ValueError("away"), callbacks=[heard])

    assert result.stop_reason == "model_error"
    assert heard.hooks == ["on_chain_start", "on_chat_model_start", "on_llm_error", "on_chain_error"]
    assert heard.told[2].parent == heard.told[0].run


@each_dialect
def test_ctrl_c_and_a_run_that_is_closed_end_the_chain(dialect: Dialect) -> None:
    heard = Listener()
    replies = [dialect.call("x", tool="Probe"), KeyboardInterrupt()]
    agent = Agent(
        llm=ScriptedModel(replies=replies), tools=[probe()], protocol=dialect.protocol, callbacks=[heard]
    )
    with pytest.raises(KeyboardInterrupt):
        agent.run("?")
    assert isinstance(heard.of("on_chain_error")[0].value[0], KeyboardInterrupt)

    again = Listener()
    model = ScriptedModel(replies=replies)
    steps = Agent(llm=model, tools=[probe()], protocol=dialect.protocol, callbacks=[again]).iter("?")
    next(steps)
    steps.close()
    assert again.hooks == ["on_chain_start", *MODEL, *TOOL, "on_chain_error"]


@each_dialect
@pytest.mark.parametrize("hook", ["on_chain_start", "on_chain_end", "on_tool_end", "on_tool_start"])
def test_a_handler_that_raises_ends_no_run(dialect: Dialect, hook: str) -> None:
    heard = Listener(hook)
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    result, _ = dialect.play(*replies, tools=[probe()], callbacks=[heard])

    assert (result.answer, result.stop_reason) == ("y", "final_answer")
    assert hook in heard.hooks


@each_dialect
@pytest.mark.parametrize("hook", ["on_chat_model_start", "on_llm_end"])
def test_one_that_raises_at_a_request_costs_the_answer_and_no_exception(dialect: Dialect, hook: str) -> None:
    heard = Listener(hook)
    model = ScriptedModel(replies=[dialect.answer("y")] * 3)
    agent = Agent(llm=model, tools=[], protocol=dialect.protocol, callbacks=[heard])
    result = agent.run("?")

    assert result.stop_reason == "model_error"
    assert "raises" in (result.error or "")
    assert heard.hooks[-1] == "on_chain_error"


@each_dialect
def test_get_openai_callback_counts_the_tokens_of_a_run(dialect: Dialect) -> None:
    with get_openai_callback() as counted:
        result, _ = dialect.play(dialect.call("x", tool="Probe"), dialect.answer(), tools=[probe()])

    assert counted.successful_requests == 2
    assert counted.total_tokens == result.usage.total_tokens
    assert counted.prompt_tokens == result.usage.prompt_tokens


def test_get_openai_callback_counts_those_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(["Action: Calculator[2+2]", "Final Answer: 4"]) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.delenv("OPENAI_API_BASE", raising=False)
        agent = Agent(llm=load_model("gpt-4o"))
        with get_openai_callback() as counted:
            result = agent.run("2+2?")

    assert (result.answer, counted.successful_requests) == ("4", 2)
    assert counted.total_tokens == result.usage.total_tokens == 208


@each_dialect
def test_a_handler_of_the_models_own_hears_requests_without_a_chain_above(dialect: Dialect) -> None:
    heard = Listener()
    model = ScriptedModel(replies=[dialect.answer("y")], callbacks=[heard])
    Agent(llm=model, tools=[probe()], protocol=dialect.protocol).run("?")

    assert heard.hooks == MODEL
    assert heard.told[0].parent is None
