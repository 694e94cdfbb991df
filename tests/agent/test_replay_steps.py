"""What a replay keeps of each run: the steps that went as recorded, and whether its trace was cut off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import Limits, replay
from agent.replaying import Replay
from tests.protocols import DIALECTS, Dialect

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def record(path: Path, dialect: Dialect, **options: Any) -> None:
    """A run of three steps: two calls, and the answer."""
    dialect.play(*dialect.calls("1+1", "2+2"), dialect.answer("4"), trace=path, **options)


def change_last(path: Path, event: str, change: Callable[[dict[str, Any]], Any]) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(next(each for each in reversed(records) if each["event"] == event))
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")


def cut_in_step(path: Path, number: int) -> None:
    """Leave of a trace what a process had written that was killed in a step of its last run."""
    lines = path.read_bytes().splitlines(keepends=True)
    begins = max(
        at for at, line in enumerate(lines) if f'"step_started", "number": {number}'.encode() in line
    )
    path.write_bytes(b"".join(lines[: begins + 1]) + lines[begins + 1][:-9])


def told(replayed: Replay) -> list[list[str]]:
    return [[seen.text for step in steps for seen in step.observations] for steps in replayed.steps]


@each_dialect
def test_the_steps_before_a_difference_are_kept(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    change_last(path, "tool_returned", lambda record: record.update(text="5"))

    replayed = replay(path)
    assert (replayed.difference or "").startswith("step 2: ")
    assert (replayed.results, told(replayed), replayed.cut_off) == ((None,), [["2"]], ())


@each_dialect
def test_the_steps_of_runs_that_ended_are_those_of_their_results(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    record(path, dialect)

    replayed = replay(path)
    assert replayed.steps == tuple(result.steps for result in replayed.results if result)
    assert told(replayed) == [["2", "4"]] * 2
    assert replayed.cut_off == ()


@each_dialect
@pytest.mark.parametrize(("step", "kept"), [(1, []), (2, ["2"]), (3, ["2", "4"])])
def test_a_run_that_was_cut_off_is_told_apart_from_one_that_ended(
    path: Path, dialect: Dialect, step: int, kept: list[str]
) -> None:
    record(path, dialect)
    record(path, dialect)
    cut_in_step(path, step)

    replayed = replay(path)
    assert (replayed.same, replayed.cut_off) == (True, (1,))
    assert told(replayed) == [["2", "4"], kept]


@each_dialect
def test_runs_behind_a_difference_are_not_played(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    change_last(path, "run_ended", lambda record: record.update(answer="5"))
    record(path, dialect)

    replayed = replay(path)
    assert (len(replayed.results), len(replayed.steps), len(replayed.steps[0])) == (1, 1, 3)
    assert replayed.cut_off == ()


AT_CAP = Limits(max_iterations=2, at_cap="error")


@each_dialect
def test_an_error_that_was_worded_otherwise_is_no_difference(path: Path, dialect: Dialect) -> None:
    dialect.play(*dialect.calls("1+1", "2+2"), limits=AT_CAP, trace=path)
    change_last(path, "run_ended", lambda record: record.update(error="stopped after 2 steps"))

    replayed = replay(path)
    assert replayed.difference is None
    (result,) = replayed.results
    assert "max_iterations=2" in ((result and result.error) or "")


@each_dialect
@pytest.mark.parametrize("recorded", [None, ""])
def test_an_error_that_there_was_not_is_a_difference(
    path: Path, dialect: Dialect, recorded: str | None
) -> None:
    dialect.play(*dialect.calls("1+1", "2+2"), limits=AT_CAP, trace=path)
    change_last(path, "run_ended", lambda record: record.update(error=recorded))

    assert "run_ended.error" in (replay(path).difference or "")


@each_dialect
def test_an_answer_without_the_error_that_was_recorded_is_a_difference(path: Path, dialect: Dialect) -> None:
    record(path, dialect)
    change_last(path, "run_ended", lambda record: record.update(error="it went wrong"))

    assert "run_ended.error" in (replay(path).difference or "")


def test_what_is_made_without_steps_still_can_be() -> None:
    assert Replay(None, (None,)).steps == ()
    assert Replay(None, (None,)).cut_off == (0,)
    assert Replay("step 1: ...", (None,)).cut_off == ()
