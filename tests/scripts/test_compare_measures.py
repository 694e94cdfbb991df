"""The figures of a comparison, on runs made by hand."""

from __future__ import annotations

import pytest

from scripts.comparing.claims import NOT_HERE, claims
from scripts.comparing.measures import (
    ALL,
    DEVELOPED,
    EXTRAS,
    NEW,
    OUT_OF_REACH,
    figures,
    of_all,
    pair,
    pairs,
    retries_after_error,
    sections,
    wasted_calls,
)
from scripts.contenders import Attempt, covered
from scripts.statistics_exact import mcnemar_exact, wilson
from tests.scripts.compare_rows import ERROR, call, row, task


def test_a_retry_is_a_call_of_a_tool_whose_latest_call_failed() -> None:
    calls = [call("1/0", ERROR), call("Ulm", "7°C", "Weather"), call("1/0", ERROR), call("1/1"), call("2/1")]
    assert retries_after_error(calls) == 2


def test_where_no_tool_failed_there_is_nothing_to_retry() -> None:
    assert retries_after_error([call("1"), call("1")]) is None
    assert retries_after_error([call("1/0", ERROR)]) == 0


@pytest.mark.parametrize("output", [ERROR, "No weather data for Atlantis.", "(raised)"])
def test_a_tool_has_failed_when_it_says_so_or_raises(output: str) -> None:
    assert call("x", output).failed


def test_a_call_is_wasted_when_the_run_has_made_it_before() -> None:
    calls = [call("1+1"), call("1 + 1"), call("1+2"), call("1+1", tool="LocalMath"), call("1+1")]
    assert wasted_calls(calls) == 2


def test_spans_count_once_where_they_overlap_and_only_within_the_run() -> None:
    assert covered([(5.0, 7.0), (1.0, 3.0), (2.0, 4.0), (6.0, 6.5)], (0.0, 6.0)) == pytest.approx(4.0)
    assert covered([], (0.0, 6.0)) == 0


def test_a_runs_seconds_are_split_and_add_up() -> None:
    side_by_side = [call("a", seconds=2.0, started=103.0), call("b", seconds=3.0, started=103.5)]
    attempt = Attempt(
        started=100.0, seconds=10.0, model_spans=[(100.5, 102.5), (106.0, 108.0)], tool_calls=side_by_side
    )
    assert attempt.model_s == pytest.approx(4.0)
    assert attempt.tool_s == pytest.approx(3.0)  # the last half second belongs to the model
    assert attempt.loop_s == pytest.approx(3.0)


def test_the_figures_of_a_contender() -> None:
    rows = [
        row("ours-text", "t1", calls=[call("1/0", ERROR), call("1/0", ERROR)], requests=3),
        row("ours-text", "t2", good=False, calls=[call("1/0", ERROR)], raised=True, answer=None, seconds=3.0),
        row("ours-text", "t3", prompt_tokens=220),
    ]
    seen = figures(rows)
    assert (seen["tasks"], seen["solved"], seen["solved_interval"]) == (3, 2, wilson(2, 3))
    assert (seen["prompt_tokens"], seen["completion_tokens"], seen["mean_tokens"]) == (420, 30, 150)
    assert (seen["tokens_per_solved"], seen["requests"], seen["tool_calls"]) == (225, 5, 3)
    assert (seen["tool_errors"], seen["runs_with_tool_errors"], seen["retries_after_error"]) == (3, 2, 1)
    assert (seen["mean_retries_after_error"], seen["wasted_calls"]) == (0.5, 1)
    assert (seen["raised"], seen["unanswered"], seen["median_s"]) == (1, 1, 1.0)


def test_contenders_are_compared_on_what_all_of_them_have_finished() -> None:
    rows = [row("bare", "t1"), row("bare", "t2"), row("ours-text", "t2"), row("bare", "t2", repeat=1)]
    assert {
        name: own["tasks"] for name, own in of_all(rows, ["bare", "ours-text", "ours-tools"]).items()
    } == {
        "bare": 1,
        "ours-text": 1,
    }


def test_a_pair_names_the_tasks_that_tell_them_apart() -> None:
    one = {"a": True, "b": True, "c": False, "d": True, "e": True}
    other = {"a": True, "b": False, "c": True, "d": False}
    seen = pair("ours-text", "bare", one, other)
    assert (seen["tasks"], seen["only_first"], seen["only_second"]) == (4, ["b", "d"], ["c"])
    assert seen["p"] == mcnemar_exact(2, 1)


def test_ours_are_paired_with_every_other_and_a_repeated_task_counts_by_majority() -> None:
    rows = [row("ours-text", good=good, repeat=number) for number, good in enumerate((True, False, True))]
    rows += [row("bare", good=good, repeat=number) for number, good in enumerate((True, False, False))]
    rows += [row("ours-tools"), row("executor-tools", good=False)]
    seen = {(each["first"], each["second"]): each["only_first"] for each in pairs(rows)}
    assert seen == {
        ("ours-text", "bare"): ["t1"],
        ("ours-text", "ours-tools"): [],
        ("ours-text", "executor-tools"): ["t1"],
        ("ours-tools", "executor-tools"): ["t1"],
    }


def test_tasks_out_of_reach_and_extra_contenders_stand_apart() -> None:
    far = task("r1", reachable=False)
    rows = [row(agent, name) for agent in ("ours-text", "executor-react") for name in ("t1", "t2")]
    rows += [row("ours-text", of=far, good=False), row("executor-default-cap", "t1")]
    seen = {each["title"]: each["contenders"] for each in sections(rows, {"t1"}, {"What is t1?"})}
    assert list(seen) == [ALL, DEVELOPED, NEW, OUT_OF_REACH, EXTRAS]
    assert {name: own["tasks"] for name, own in seen[ALL].items()} == {"ours-text": 2, "executor-react": 2}
    assert {name: own["tasks"] for name, own in seen[NEW].items()} == {"ours-text": 1, "executor-react": 1}
    assert {name: own["solved"] for name, own in seen[OUT_OF_REACH].items()} == {"ours-text": 0}
    assert {name: own["tasks"] for name, own in seen[EXTRAS].items()} == {
        "executor-react": 1,
        "executor-default-cap": 1,
    }
    assert not any(each["only_second"] for each in pairs(rows))


def test_without_extra_contenders_there_is_no_section_of_them() -> None:
    assert [each["title"] for each in sections([row("bare")], {"t1"}, set())] == [ALL, NEW]


def test_each_claim_stands_beside_what_was_measured() -> None:
    rows = [row("bare", good=False, seconds=2.0), row("ours-text", prompt_tokens=1990, requests=2)]
    rows += [row("executor-react", calls=[call("1/0", ERROR), call("1/0", ERROR)])]
    rows += [row("executor-default-cap", prompt_tokens=210)]
    rows += [row("executor-raising", raised=True, answer=None, calls=[call("1/0", ERROR)])]
    success, seconds, tokens, saving, retries = (
        each.measured for each in claims(sections(rows, {"t1"}, set()))
    )
    assert success == "bare 0% (0 of 1; 95 %: 0% to 79%), ours-text 100% (1 of 1; 95 %: 21% to 100%)"
    assert seconds == "bare 2.00 s, ours-text 1.00 s (agent / bare: 0.50)"
    assert tokens == "2,000 tokens and 2.0 requests a question"
    assert saving.startswith(NOT_HERE)
    assert "220 tokens a question by its default cap of 15 and 110 by a cap of 6 (50% saved)" in saving
    assert retries == "executor: executor-raising 0.00 (1 run), executor-react 1.00 (1 run)"


def test_a_claim_whose_contenders_did_not_run_cannot_be_checked() -> None:
    assert all(NOT_HERE in each.measured for each in claims(sections([row("ours-tools")], set(), set())))
