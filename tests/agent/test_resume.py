"""A recorded run goes on live from a given step: what was before is not paid for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory

from agent import Agent, Limits, SettingsError, Step, StepStarted, replay
from agent.testing import ScriptedModel
from tests.protocols import DIALECTS, TEXT, TOOLS, Dialect
from tests.scripted import contents, probe

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def record(path: Path, dialect: Dialect, **options: Any) -> ScriptedModel:
    """A run of three steps: two calls, and the answer."""
    replies = [*dialect.calls("one", "two", tool="Probe"), dialect.answer("first")]
    _, model = dialect.play(*replies, question="Which?", tools=[probe()], trace=path, **options)
    return model


def other(dialect: Dialect, *replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies=list(replies), model_name="other")
    agent = Agent(**{"llm": model, "tools": [probe()], "protocol": dialect.protocol, **options})
    return agent, model


@each_dialect
@pytest.mark.parametrize("step", [1, 2, 3])
def test_from_its_step_on_the_new_model_is_asked_and_not_before(
    path: Path, dialect: Dialect, step: int
) -> None:
    recorded, seen = record(path, dialect), []

    def live(given: str) -> str:
        seen.append(given)
        return f"live {given}"

    tools = [probe(live)]
    agent, model = other(dialect, dialect.call("new", tool="Probe"), dialect.answer("second"), tools=tools)
    result = agent.resume(path, step)

    assert (result.answer, result.model, len(result.steps)) == ("second", "other", step + 1)
    assert len(model.requests) == 2
    assert contents(model.requests[0]) == contents(recorded.requests[step - 1])
    assert seen == ["new"]
    told = [step.observations[0].text for step in result.steps if step.observations]
    assert told == [*["ONE", "TWO"][: step - 1], "live new"]
    assert result.question == "Which?"


@each_dialect
def test_its_listener_is_told_of_all_steps_and_its_own_trace_replays(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    events: list[Any] = []
    again = path.with_name("again.jsonl")
    agent, _ = other(dialect, dialect.answer("second"), on_event=events.append, trace=again)
    result = agent.resume(path, 2)

    kinds = [type(event) for event in events[:-1]]
    assert kinds == [StepStarted, Step, StepStarted, Step]
    assert events[-1] is result
    replayed = replay(again)
    assert replayed.difference is None
    (same,) = replayed.results
    assert same is not None
    assert (same.answer, same.usage) == ("second", result.usage)


@each_dialect
def test_a_run_that_was_cut_off_goes_on_where_it_ended(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    lines = path.read_bytes().splitlines(keepends=True)
    at = max(number for number, line in enumerate(lines) if b'"tool_started"' in line)
    path.write_bytes(b"".join(lines[: at + 1]))
    agent, _ = other(dialect, dialect.answer("second"))

    assert agent.resume(path, 2).answer == "second"
    with pytest.raises(SettingsError, match="the run ends with step 2: none can go on from step 3"):
        agent.resume(path, 3)


@pytest.mark.parametrize("step", [0, -1, 4, 99, True, "2", 1.5, None])
def test_a_step_that_there_is_not_is_said(path: Path, step: Any) -> None:
    record(path, TEXT)
    agent, model = other(TEXT, TEXT.answer())
    with pytest.raises(SettingsError, match=r"the run ends with step 3: none can go on from step "):
        agent.resume(path, step)
    assert model.requests == []


@each_dialect
def test_a_tool_that_is_missing_is_said(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    agent, model = other(dialect, dialect.answer(), tools=[probe(name="Another")])
    with pytest.raises(SettingsError, match=r"the run had the tool 'Probe': hand it in"):
        agent.resume(path, 2)
    assert model.requests == []


@each_dialect
def test_what_went_otherwise_before_is_said_and_nothing_is_sent(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"text": "ONE"', '"text": "UNO"', 1), encoding="utf-8")
    agent, model = other(dialect, dialect.answer())
    with pytest.raises(
        SettingsError, match=r"^it cannot go on from step 3: step 1: step.observations 1.text"
    ):
        agent.resume(path, 3)
    assert model.requests == []


def test_a_file_that_is_no_trace_is_said(path: Path) -> None:
    agent, _ = other(TEXT)
    with pytest.raises(SettingsError, match="cannot be read"):
        agent.resume(path, 1)


@each_dialect
def test_memory_stays_as_it_was_and_the_conversation_is_the_traces(path: Path, dialect: Dialect) -> None:
    earlier = ConversationBufferWindowMemory(return_messages=True)
    earlier.save_context({"input": "An earlier question"}, {"output": "an earlier answer"})
    record(path, dialect, memory=earlier)
    memory = ConversationBufferWindowMemory(return_messages=True)
    memory.save_context({"input": "mine"}, {"output": "yours"})
    agent, model = other(dialect, dialect.answer("second"), memory=memory)
    agent.resume(path, 2)

    assert contents(memory.chat_memory.messages) == ["mine", "yours"]
    sent = "\n".join(contents(model.requests[0]))
    assert "An earlier question" in sent
    assert "mine" not in sent


@each_dialect
def test_limits_are_the_traces_and_count_the_recorded_steps(path: Path, dialect: Dialect) -> None:
    record(path, dialect, limits=Limits(max_iterations=3, at_cap="error"))
    calls = dialect.calls("three", "four", tool="Probe")
    agent, model = other(dialect, *calls, limits=Limits(max_iterations=9))
    result = agent.resume(path, 3)

    assert (result.stop_reason, len(result.steps), len(model.requests)) == ("max_iterations", 3, 1)
    assert result.usage.requests == 3


@each_dialect
def test_tokens_of_the_recorded_steps_count_towards_their_cap(path: Path, dialect: Dialect) -> None:
    used = record(path, dialect)
    cap = sum(len(text) for request in used.requests for text in contents(request)) // 4 + 100
    path.unlink()
    record(path, dialect, limits=Limits(max_total_tokens=cap))
    calls = dialect.calls("three", "four", "five", "six", tool="Probe")
    agent, model = other(dialect, *calls)
    result = agent.resume(path, 3)

    assert result.stop_reason == "token_limit"
    assert 0 < len(model.requests) < 4
    assert (result.usage.total_tokens or 0) >= cap


@each_dialect
@pytest.mark.parametrize(("before", "after"), [("1/2", None), (None, "3/4"), ("1/2", "3/4")])
def test_the_recorded_model_may_have_had_another_price(
    path: Path, dialect: Dialect, before: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_PRICES", f"scripted={before}" if before else "")
    record(path, dialect)
    monkeypatch.setenv("AGENT_PRICES", f"other={after}" if after else "")
    agent, _ = other(dialect, dialect.answer("second"))
    result = agent.resume(path, 3)

    assert result.answer == "second"
    assert (result.usage.cost_usd is None) == (after is None)


def test_the_last_run_of_a_file_is_the_one(path: Path) -> None:
    record(path, TOOLS)
    record(path, TEXT)
    agent, model = other(TEXT, TEXT.answer("second"))

    assert agent.resume(path, 2).protocol == "text"
    assert len(model.requests) == 1
