"""A run that ended at a cap: the report names the cap, its number in this run, and what to raise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits
from agent.testing import ScriptedModel
from scripts.reporting.caps import NAMES
from scripts.reporting.reading import read_all
from scripts.reporting.texts import texts_in
from scripts.reporting.views import RunView
from scripts.reporting.wording import cause_of, why_of
from tests.scripted import DONE, actions, cut, probe
from tests.scripts.report_traces import page, view

ENGLISH = texts_in("en")
PRICES = "scripted=2.5/10"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_PRICES", PRICES)
    return tmp_path / "t.jsonl"


def capped(path: Path, *replies: Any, **limits: Any) -> RunView:
    return view(path, *replies, tools=[probe()], limits=Limits(at_cap="error", **limits))


CASES = [
    ("max_iterations", 3, actions(*"abc", tool="Probe"), ("All 3 steps", "--max-iterations")),
    ("max_iterations", 1, actions("a", tool="Probe"), ("The one step", "--max-iterations")),
    ("max_repeats", 3, actions(*"aaaa", tool="Probe"), ("more than the 3 times", "--max-repeats")),
    ("max_parse_errors", 2, ["Action: Probe["] * 2, ("2 replies in a row", "--max-parse-errors")),
    ("max_seconds", 1e-9, [DONE], ("Its time, 0 ms", "--max-seconds")),
    ("max_total_tokens", 12, actions(*"ab", tool="Probe"), ("All 12 tokens", "--max-total-tokens")),
    ("max_cost_usd", 1e-6, actions(*"ab", tool="Probe"), ("Its money, $0.000001", "--max-cost-usd")),
]


@pytest.mark.parametrize(("name", "most", "replies", "words"), CASES)
def test_a_cap_is_named_with_its_number_and_its_option(
    path: Path, name: str, most: Any, replies: list[Any], words: tuple[str, str]
) -> None:
    run = capped(path, *replies, **{name: most})
    sentence = why_of(run, ENGLISH)

    assert (run.cap and run.cap.name, NAMES[run.ending.stop_reason]) == (name, name)
    assert all(word in sentence for word in (*words, name))


def test_the_default_of_the_protocol_is_the_cap_where_no_other_was_set(path: Path) -> None:
    run = view(path, *actions(*"abcdef", tool="Probe"), DONE, tools=[probe()])

    assert "All 6 steps" in why_of(run, ENGLISH)


def test_a_run_of_one_step_is_explained_by_its_cap_alone(path: Path) -> None:
    run = view(path, *actions("a", tool="Probe"), DONE, tools=[probe()], limits=Limits(max_iterations=1))

    assert run.ending.forced
    assert cause_of(run, ENGLISH) == why_of(run, ENGLISH)
    assert "The one step" in page(path)
    assert "允许的 1 步" in page(path, language="zh")


def test_what_went_wrong_is_a_better_cause_than_the_cap(path: Path) -> None:
    run = capped(path, *actions("a", "b", tool="No such tool"), max_iterations=2)

    assert cause_of(run, ENGLISH) != why_of(run, ENGLISH)


def test_replies_that_were_cut_ended_at_the_length_of_one(path: Path) -> None:
    run = capped(path, cut("Thought: so"), cut("Thought: so"))

    assert "cut at the 512 tokens" in why_of(run, ENGLISH)
    assert "AGENT_MAX_TOKENS" in why_of(run, ENGLISH)


def test_a_budget_over_all_runs_is_told_from_the_cap_of_one(path: Path) -> None:
    limits, budget = Limits(max_total_tokens=10_000), Limits(max_total_tokens=7)
    agent = Agent(llm=ScriptedModel(replies=[DONE]), limits=limits, budget=budget, trace=path)
    agent.run("first")
    agent.run("second")
    run = read_all([path]).runs[1]

    assert run.cap is not None
    assert run.cap.of_all_runs
    assert "All 7 tokens of all runs of its agent" in why_of(run, ENGLISH)


def test_a_cap_that_the_trace_does_not_tell_is_no_number(path: Path) -> None:
    capped(path, *actions("a", "b", tool="Probe"), max_total_tokens=12)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub('"max_total_tokens": 12', '"max_total_tokens": "x"', text), encoding="utf-8")
    (run,) = read_all([path]).runs

    assert "All ? tokens" in why_of(run, ENGLISH)
