"""A run step by step: nothing is sent before the next step is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory

from agent import Agent, Limits, SettingsError
from agent.testing import ScriptedModel
from tests.protocols import DIALECTS, Dialect
from tests.scripted import contents, probe

pytestmark = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


def make(dialect: Dialect, *replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies=list(replies))
    return Agent(llm=model, tools=[probe()], protocol=dialect.protocol, **options), model


def three(dialect: Dialect) -> list[Any]:
    return [*dialect.calls("a", "b", tool="Probe"), dialect.answer("c")]


def last_record(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    return record


def test_steps_come_one_by_one_and_each_costs_its_own_request(dialect: Dialect) -> None:
    agent, model = make(dialect, *three(dialect))
    steps = agent.iter("?")
    assert len(model.requests) == 0
    sent = []
    for step in steps:
        sent.append((step.number, len(model.requests)))
        assert steps.result is None

    assert sent == [(1, 1), (2, 2), (3, 3)]
    assert steps.result is not None
    assert (steps.result.answer, len(steps.result.steps)) == ("c", 3)
    assert list(steps) == []
    assert steps.result.answer == "c"


def test_it_gives_what_run_gives(dialect: Dialect) -> None:
    one, other = make(dialect, *three(dialect))[0], make(dialect, *three(dialect))[0]
    steps = one.iter("?")
    taken = list(steps)
    result = other.run("?")

    assert steps.result is not None
    assert steps.result.steps == tuple(taken)
    assert (steps.result.answer, steps.result.stop_reason) == (result.answer, result.stop_reason)
    assert steps.result.usage == result.usage


def test_the_rest_can_be_taken_at_once(dialect: Dialect) -> None:
    agent, model = make(dialect, *three(dialect))
    steps = agent.iter("?")
    assert next(steps).number == 1
    assert steps.to_the_end().answer == "c"
    model.assert_done()


def test_a_limit_ends_the_steps_and_the_answer_is_asked_for_when_the_next_is_wanted(dialect: Dialect) -> None:
    agent, model = make(dialect, *three(dialect)[::2], limits=Limits(max_iterations=1))
    steps = agent.iter("?")
    next(steps)
    assert len(model.requests) == 1
    with pytest.raises(StopIteration):
        next(steps)

    assert len(model.requests) == 2
    assert steps.result is not None
    assert (steps.result.answer, steps.result.forced, len(steps.result.steps)) == ("c", True, 1)


def test_closing_early_remembers_nothing_and_sends_nothing_more(dialect: Dialect, tmp_path: Path) -> None:
    path, memory = tmp_path / "t.jsonl", ConversationBufferWindowMemory(return_messages=True)
    memory.save_context({"input": "before"}, {"output": "yes"})
    agent, model = make(dialect, *three(dialect), memory=memory, trace=path)
    steps = agent.iter("?")
    next(steps)
    steps.close()

    assert list(steps) == []
    assert steps.result is None
    with pytest.raises(SettingsError, match="closed before its end"):
        steps.to_the_end()
    assert len(model.requests) == 1
    assert contents(memory.chat_memory.messages) == ["before", "yes"]
    last = last_record(path)
    assert (last["event"], last["stop_reason"], last["usage"]["requests"]) == ("run_ended", "interrupted", 1)


def test_one_that_is_left_behind_ends_as_interrupted_too(dialect: Dialect, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    agent, model = make(dialect, *three(dialect), trace=path)
    for _ in agent.iter("?"):
        break

    assert len(model.requests) == 1
    assert last_record(path)["stop_reason"] == "interrupted"


def test_one_that_was_never_begun_leaves_nothing(dialect: Dialect, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    agent, model = make(dialect, trace=path)
    agent.iter("?").close()

    assert model.requests == []
    assert path.read_bytes() == b""


def test_a_run_that_is_closed_uses_no_more_of_the_budgets_seconds(dialect: Dialect) -> None:
    agent, _ = make(dialect, *three(dialect), dialect.answer("d"), budget=Limits(max_seconds=60.0))
    steps = agent.iter("?")
    next(steps)
    steps.close()
    assert agent._budget is not None
    before = agent._budget.spent

    assert agent._budget.spent == before


def test_two_at_once_do_not_meet(dialect: Dialect) -> None:
    agent, _ = make(dialect, *[reply for reply in three(dialect) for _ in range(2)])
    one, other = agent.iter("1"), agent.iter("2")
    for _ in range(3):
        next(one), next(other)

    assert (one.to_the_end().question, other.to_the_end().question) == ("1", "2")
    assert (one.to_the_end().answer, other.to_the_end().answer) == ("c", "c")


def test_mistakes_are_said_before_the_first_step(dialect: Dialect) -> None:
    agent, _ = make(dialect)
    with pytest.raises(SettingsError, match="the question is empty"):
        agent.iter(" ")


def test_an_interruption_goes_through_and_ends_it(dialect: Dialect, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    agent, _ = make(dialect, three(dialect)[0], KeyboardInterrupt(), trace=path)
    steps = agent.iter("?")
    next(steps)
    with pytest.raises(KeyboardInterrupt):
        next(steps)

    assert list(steps) == []
    assert last_record(path)["stop_reason"] == "interrupted"
