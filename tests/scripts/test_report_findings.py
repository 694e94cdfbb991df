"""What explains a run: each cause is found, told with its steps, and not seen where it is not."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from agent import Agent, Limits
from agent.testing import ScriptedModel
from scripts.reporting.findings import findings_of
from scripts.reporting.reading import read_all
from scripts.reporting.texts import texts_in
from scripts.reporting.views import Ending, RunView
from scripts.reporting.wording import cause_of, sentence_of
from tests.scripted import DONE, actions, cut, failing, probe
from tests.scripts.report_traces import cut_after, found, hanging, record, view
from tools import default_tools

BROKEN = failing(ConnectionError("no route"), "Weather")
READ = probe(lambda given: f"{given} " * 400, "Read")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def sentences(run: RunView) -> str:
    return "\n".join(sentence_of(each, texts_in("en")) for each in run.findings)


def test_an_answer_without_trouble_has_nothing_to_explain(path: Path) -> None:
    run = view(path, *actions("2+2"), DONE)

    assert found(run) == {}
    assert cause_of(run, texts_in("en")) == ""


def test_the_same_call_in_a_row_is_the_first_cause(path: Path) -> None:
    run = view(path, *actions("Lima", "Lima", "Lima", tool="Weather"), DONE, tools=[BROKEN])

    assert run.ending.stop_reason == "repeated_action"
    assert next(iter(found(run).items())) == ("repeated_in_a_row", (1, 2, 3))
    assert cause_of(run, texts_in("en")).startswith("Weather[Lima] was asked for 3 times")


def test_a_call_that_keeps_coming_back_is_found_too(path: Path) -> None:
    replies = actions(*"ababab", tool="Probe")
    run = view(path, *replies, DONE, tools=[probe()])

    assert [(each.name, each.steps) for each in run.findings][:2] == [
        ("repeated", (1, 3, 5)),
        ("repeated", (2, 4, 6)),
    ]


def test_different_calls_are_no_repeat(path: Path) -> None:
    run = view(path, *actions(*"abcd", tool="Probe"), DONE, tools=[probe()])

    assert found(run) == {}


def test_a_tool_that_fails_is_named_with_its_error(path: Path) -> None:
    run = view(path, *actions("a", "b", "c", "d", tool="Weather"), DONE, tools=[BROKEN])

    assert (found(run)["tool_switched_off"], found(run)["tool_failed"]) == ((3,), (1, 2, 3))
    assert "Weather failed, 3 times in all. Last: ConnectionError: no route" in sentences(run)


def test_a_tool_that_hangs_is_named_with_its_deadline(path: Path) -> None:
    with hanging() as weather:
        run = view(path, *actions("a", tool="Weather"), DONE, tools=[weather])

    assert "Weather did not finish within its 50 ms: --tool-timeout-s, or timeout_s" in sentences(run)


def test_a_failure_that_was_got_over_weighs_less(path: Path) -> None:
    limits = Limits(max_iterations=1)
    good = view(path, *actions("a", tool="Weather"), DONE, tools=[BROKEN])
    bad = view(path.with_name("u.jsonl"), *actions("a", tool="Weather"), DONE, tools=[BROKEN], limits=limits)

    assert [each.severity for each in good.findings] == ["note"]
    assert [each.severity for each in bad.findings] == ["warn"]


def test_replies_that_could_not_be_used_are_counted(path: Path) -> None:
    run = view(path, *["Action: Calculator[2+"] * 3, DONE)

    assert found(run) == {"bad_replies": (1, 2, 3)}
    assert "3 replies could not be used" in sentences(run)
    assert run.findings[0].severity == "bad"


def test_replies_cut_at_the_token_limit_name_the_way_out(path: Path) -> None:
    run = view(path, cut("Thought: so"), cut("Thought: so"), limits=Limits(at_cap="error"))

    assert "2 replies were cut at the token limit: raise AGENT_MAX_TOKENS" in sentences(run)


def test_a_model_that_fails_is_explained_by_its_own_sentence(path: Path) -> None:
    run = view(path, RuntimeError("the line is dead"))

    assert "attempts_failed" in found(run)
    assert cause_of(run, texts_in("en")) == run.ending.error


def test_prompts_that_grow_are_told_with_the_step_after_which_they_did(path: Path) -> None:
    replies = [*actions("1"), *actions("big", tool="Read"), *actions("2"), DONE]
    run = view(path, *replies, tools=[*default_tools(), READ])
    sizes = [step.prompt_tokens or 0 for step in run.steps]

    assert found(run) == {"tokens_grew": (2,)}
    assert f"from {sizes[0]:,} to {sizes[-1]:,} tokens" in sentences(run)
    assert f"{max(b - a for a, b in itertools.pairwise(sizes)):,}" in sentences(run)


def test_slow_tools_are_told_where_the_time_was_over(path: Path) -> None:
    run = view(path, *actions("a", "b", tool="Probe"), DONE, tools=[probe()])
    one, other, last = (replace(step, model_s=0.5, tools_s=0.1) for step in run.steps)
    steps = (one, replace(other, tools_s=9.0), last)
    late = replace(run, steps=steps, duration_s=10.6, ending=Ending("time_limit"))

    assert found(findings_of(late)) == {"slow_tools": (2,)}
    assert "Tools took 9.2 s of 10.6 s" in sentences(findings_of(late))


def test_steps_that_all_went_well_and_led_nowhere_are_counted(path: Path) -> None:
    limits = Limits(max_iterations=3, at_cap="error")
    run = view(path, *actions(*"abc", tool="Probe"), tools=[probe()], limits=limits)

    assert found(run) == {"no_answer_came": (1, 2, 3)}
    assert sentences(run).startswith("No call failed and none was repeated: 3 different calls")


def test_a_run_that_did_nothing_says_so(path: Path) -> None:
    agent = Agent(llm=ScriptedModel(replies=[DONE]), budget=Limits(max_total_tokens=1), trace=path)
    agent.run("first")
    agent.run("second")
    _, run = read_all([path]).runs

    assert (run.ending.stop_reason, found(run)) == ("token_limit", {"nothing_was_done": ()})


@pytest.mark.parametrize(
    ("event", "name"),
    [("tool_started", "ended_in_tool"), ("request", "ended_in_request"), ("step", "ended_between")],
)
def test_a_trace_that_was_cut_off_says_in_the_midst_of_what(path: Path, event: str, name: str) -> None:
    record(path, *actions("1", "2", tool="Probe"), tools=[probe()], limits=Limits(max_iterations=2))
    (run,) = read_all([cut_after(path, event)]).runs

    assert run.findings[0].name == name
