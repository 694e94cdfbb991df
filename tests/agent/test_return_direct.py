"""A tool whose owner wants what it returns as the answer: LangChain's ``return_direct``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from agent import Agent, Limits, StopReason, replay
from agent.testing import ScriptedModel, assert_replays
from tests.protocols import DIALECTS, Dialect, calling
from tests.scripted import actions, contents, failing, play, probe

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.protocol)
LONG = "so many words " * 500


@each_dialect
def test_what_it_returns_is_the_answer_and_the_model_is_not_asked_again(dialect: Dialect) -> None:
    result, model = dialect.play(dialect.call("tea", tool="Probe"), tools=[probe(return_direct=True)])

    assert (result.answer, result.stop_reason, result.error) == ("TEA", StopReason.FINAL_ANSWER, None)
    assert (len(model.requests), len(result.steps), result.usage.requests) == (1, 1, 1)
    assert result.steps[0].observations[0].text == "TEA"
    assert not any((result.forced, result.unformatted))


def test_no_model_reads_it_so_it_stays_whole_but_for_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-in-the-mine")
    tool = probe(lambda _: f"canary-in-the-mine {LONG}", return_direct=True)
    result, _ = play("Action: Probe[x]", tools=[tool], limits=Limits(max_observation_chars=200))

    assert result.answer == f"*** {LONG}".strip()


def test_an_error_is_no_answer_and_is_told_to_the_model() -> None:
    said = probe(lambda _: "Error: closed", return_direct=True)
    for tool in (failing(ValueError("closed"), return_direct=True), said):
        result, model = play("Action: Probe[x]", "Final Answer: It is closed.", tools=[tool])

        assert result.answer == "It is closed."
        assert "closed" in str(model.requests[-1][-1].content)


def test_other_tools_of_the_run_go_on_as_ever() -> None:
    other = probe(str.lower, name="Other")
    tools = [probe(return_direct=True), other]
    result, model = play(*actions("A", tool="Other"), *actions("tea", tool="Probe"), tools=tools)

    assert [step.observations[0].text for step in result.steps] == ["a", "TEA"]
    assert (result.answer, len(model.requests)) == ("TEA", 2)


def test_among_calls_side_by_side_the_first_that_returns_is_the_answer() -> None:
    calls = calling(*((name, {"tool_input": given}) for name, given in [("Other", "1"), ("Probe", "tea")]))
    result, _ = play(calls, tools=[probe(return_direct=True), probe(name="Other")], protocol="tools")

    assert result.answer == "TEA"
    assert [seen.text for seen in result.steps[0].observations] == ["1", "TEA"]


def test_it_is_remembered_as_any_answer() -> None:
    model = ScriptedModel(replies=[*actions("tea", tool="Probe"), "Final Answer: yes"])
    agent = Agent(llm=model, tools=[probe(return_direct=True)])
    agent.run("What is it?")
    agent.run("Again?")

    assert contents(model.requests[1])[-3:] == ["What is it?", "TEA", "Again?"]


def add(one: int, other: int) -> str:
    """Adds, and tells at length."""
    return f"{one + other} {LONG}"


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        (probe(lambda _: LONG, return_direct=True), "Action: Probe[tea]"),
        (StructuredTool.from_function(add, return_direct=True), 'Action: add[{"one": 1, "other": 2}]'),
    ],
    ids=["a plain tool", "one of two arguments"],
)
def test_a_replay_ends_with_the_same_answer(tool: BaseTool, call: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    result, _ = play(call, tools=[tool], trace=path)

    assert_replays(path)
    assert [again and again.answer for again in replay(path).results] == [result.answer]
    assert len(result.answer or "") > len(LONG) - 2


def test_a_trace_of_a_version_that_did_not_record_it_still_replays(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    play(*actions("tea", tool="Probe"), "Final Answer: TEA", tools=[probe()], trace=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for tool in lines[0]["tools"]:
        del tool["return_direct"]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")

    assert_replays(path)
