"""What explains a run, in the cases where it is not on the surface: refused repeats, one jump, no results."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from agent import Limits
from scripts.reporting.texts import texts_in
from scripts.reporting.views import RunView
from scripts.reporting.wording import cause_of, sentence_of
from tests.protocols import calling
from tests.scripted import DONE, actions, failing, probe
from tests.scripts.report_traces import found, view

EMPTY = probe(lambda _: "", "Empty")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def cause(run: RunView) -> str:
    return cause_of(run, texts_in("en"))


def test_a_call_that_was_refused_each_time_is_said_to_have_come_in_a_row(path: Path) -> None:
    wrong = calling(("Probe", {"no such field": "x"}))
    run = view(path, wrong, wrong, wrong, AIMessage(content="no"), protocol="tools", tools=[probe()])

    assert (run.ending.stop_reason, run.steps[1].calls[0].state) == ("repeated_action", "refused")
    assert next(iter(found(run).items())) == ("refused_in_a_row", (1, 2, 3))
    assert "was asked for 3 times, in a row too, and was not run" in cause(run)


def test_the_repeat_that_ended_a_run_comes_before_an_earlier_one(path: Path) -> None:
    run = view(path, *actions("a", "a", "b", "b", "b", tool="Probe"), DONE, tools=[probe()])

    assert run.ending.stop_reason == "repeated_action"
    assert [(each.severity, each.steps) for each in run.findings][:2] == [
        ("bad", (3, 4, 5)),
        ("warn", (1, 2)),
    ]
    assert cause(run).startswith("Probe[b]")


def test_a_repeat_comes_before_the_tool_that_went_off_at_it(path: Path) -> None:
    broken = failing(ValueError("boom"), "Bad", metadata={"repeatable": True})
    run = view(path, *actions(*"xxxxxx", tool="Bad"), DONE, tools=[broken])

    assert run.ending.stop_reason == "repeated_action"
    assert [each.severity for each in run.findings][:2] == ["bad", "bad"]
    assert cause(run).startswith("Bad[x] was asked for")


def test_a_tool_that_was_switched_off_is_quoted(path: Path) -> None:
    broken = failing(ConnectionError("no route"), "Weather")
    run = view(path, *actions("a", "b", "c", "d", tool="Weather"), DONE, tools=[broken])

    assert cause(run) == (
        "Weather failed in 3 steps (max_tool_failures) and was switched off; --max-tool-failures allows more."
        " It had said last: ConnectionError: no route"
    )


def test_one_observation_that_used_up_the_tokens_is_named(path: Path) -> None:
    read = probe(lambda _: "word " * 1000, "Read")
    limits = Limits(max_total_tokens=600, at_cap="error")
    run = view(path, *actions("a", "b", tool="Read"), DONE, tools=[read], limits=limits)

    assert run.ending.stop_reason == "token_limit"
    assert found(run)["tokens_grew"] == (1,)
    assert cause(run).startswith("Prompts grew from")


def test_one_jump_is_no_growth_where_the_run_had_its_answer(path: Path) -> None:
    read = probe(lambda _: "word " * 1000, "Read")
    run = view(path, *actions("a", tool="Read"), DONE, tools=[read])

    assert found(run) == {}


def test_a_run_to_which_no_tool_said_anything_says_so(path: Path) -> None:
    limits = Limits(max_iterations=2, at_cap="error")
    run = view(path, *actions(*"ab", tool="Empty"), tools=[EMPTY], limits=limits)

    assert found(run) == {"all_empty": (1, 2)}
    assert cause(run) == "All 2 calls came back empty: the tools had nothing to say."


def test_one_result_among_empty_ones_is_a_result(path: Path) -> None:
    replies = [*actions("a", tool="Empty"), *actions("a", tool="Probe")]
    run = view(path, *replies, DONE, tools=[EMPTY, probe()])

    assert found(run) == {}


def test_an_empty_result_that_was_answered_from_is_worth_a_note(path: Path) -> None:
    run = view(path, *actions("a", tool="Empty"), DONE, tools=[EMPTY])

    assert [(each.severity, sentence_of(each, texts_in("zh"))) for each in run.findings] == [
        ("note", "唯一一次调用返回空结果：工具没有给出任何内容。")
    ]
