"""The bench's command: what it prints, writes and ends with. No test looks at how long anything took."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from scripts import bench
from scripts.benching import startup, steps
from scripts.benching.measured import Goal, Line, Measured, ratio, table
from scripts.benching.surroundings import own_surroundings, without_settings
from scripts.benching.timing import Contender, Spread, alternate, orders, spread, timed

FINE = Goal("a step", 1.2, 1.3)
MISSED = Goal("a start", 1.4, 1.1)


def measured(*goals: Goal) -> Measured:
    spreads = {"ours": Spread(0.001, 0.002, 0.003, 5), "bare sum": Spread(0.001, 0.001, 0.001, 5)}
    return Measured("steps", "time of a step", [Line("a run", spreads, {"requests": 1_000})], goals)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> list[Measured]:
    """What is measured in place of everything."""
    seen: list[Measured] = []
    monkeypatch.setattr(bench, "measure", lambda args: iter(seen))
    return seen


def test_contenders_take_turns_and_each_round_is_in_another_order() -> None:
    order: list[str] = []

    def contender(name: str, seconds: float, per: int = 1) -> Contender:
        return Contender(name, lambda: (order.append(name), seconds)[1], per)

    spreads = alternate([contender("a", 1.0), contender("b", 6.0, per=3)], repeats=3)
    assert "".join(order) == "abbaabba"
    assert spreads == {"a": Spread(1.0, 1.0, 1.0, 3), "b": Spread(2.0, 2.0, 2.0, 3)}, "the first counts too"


@pytest.mark.parametrize("many", range(1, 10))
def test_over_all_orders_each_contender_comes_right_after_each_other_equally_often(many: int) -> None:
    rows = orders(many)
    assert all(sorted(row) == list(range(many)) for row in rows)
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(follows) == many * (many - 1)
    assert len(set(follows.values())) <= 1
    assert set(Counter(row[0] for row in rows).values()) == {len(rows) // many}


def test_a_run_that_fails_does_not_count_where_failures_are_noted() -> None:
    outcomes = iter([1.0, ValueError("the port"), 3.0])

    def run() -> float:
        outcome = next(outcomes)
        if isinstance(outcome, ValueError):
            raise ConnectionError("no connection") from outcome
        return outcome

    failures: list[str] = []
    spreads = alternate([Contender("a", run)], repeats=2, failures=failures)
    assert spreads == {"a": Spread(3.0, 3.0, 3.0, 1)}, "the first was to warm up, the second failed"
    assert failures == ["a: ConnectionError: no connection <- ValueError: the port"]


def test_a_run_that_fails_is_raised_where_nobody_notes_failures() -> None:
    def run() -> float:
        raise ConnectionError("no connection")

    with pytest.raises(ConnectionError):
        alternate([Contender("a", run)], repeats=1)


def test_a_table_tells_of_runs_that_failed_and_of_a_goal_that_could_not_be_measured() -> None:
    line = Line("512 at once", {}, {}, ["bare, text: ConnectionError"])
    shown = list(table(Measured("crowd", "time", [line], [Goal("text", None, 1.2)])))
    assert shown[-2:] == [
        "    failed: bare, text: ConnectionError",
        "  MISSED  text: not measured, at most 1.2",
    ]


def test_a_spread_is_median_and_quartiles() -> None:
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(2.0, 3.0, 4.0, 5)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0, 1)
    assert ratio(Spread(1, 3, 9, 5), Spread(1, 2, 9, 5)) == 1.5


def test_what_is_prepared_comes_before_what_is_timed() -> None:
    done: list[str] = []
    assert timed(lambda: done.append("work"), lambda: done.append("prepare"))() >= 0
    assert done == ["prepare", "work"]


def test_a_table_has_milliseconds_counts_and_each_goal_beside_what_was_measured() -> None:
    shown = list(table(measured(FINE, MISSED)))
    assert shown[1] == "  a run (1,000 requests)"
    assert shown[2].split() == ["ours", "2.00", "ms", "[1.00", "..", "3.00]", "5", "runs"]
    assert shown[-2:] == [
        "  ok      a step: 1.20, at most 1.3",
        "  MISSED  a start: 1.40, at most 1.1",
    ]


@pytest.mark.parametrize(
    ("goals", "arguments", "code"),
    [((FINE,), ["--check"], 0), ((FINE, MISSED), [], 0), ((FINE, MISSED), ["--check"], bench.MISSED)],
)
def test_a_missed_goal_is_said_and_costs_the_exit_code_only_where_that_was_asked_for(
    goals: tuple[Goal, ...],
    arguments: list[str],
    code: int,
    only: list[Measured],
    capsys: pytest.CaptureFixture[str],
) -> None:
    only.append(measured(*goals))
    assert bench.main(arguments) == code
    assert ("MISSED" in capsys.readouterr().err) == (MISSED in goals)


def test_the_json_has_seconds_goals_machine_and_versions(only: list[Measured], tmp_path: Path) -> None:
    only.append(measured(FINE))
    assert bench.main(["--only", "step", "--json", str(tmp_path / "bench.json")]) == 0
    content = json.loads((tmp_path / "bench.json").read_text("utf-8"))
    assert content["measured"][0]["lines"][0]["spreads"]["ours"]["median"] == 0.002
    assert content["measured"][0]["goals"] == [
        {"what": "a step", "value": 1.2, "at_most": 1.3, "ok": True},
    ]
    assert content["settings"]["only"] == ["step"]
    assert content["machine"]["cpus"] == os.cpu_count()
    assert content["versions"]["langchain"]
    assert not content["interrupted"]


def test_ctrl_c_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> Iterator[Measured]:
        yield measured(FINE)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "measure", interrupted)
    assert bench.main(["--json", str(tmp_path / "bench.json")]) == 130
    content = json.loads((tmp_path / "bench.json").read_text("utf-8"))
    assert content["interrupted"]
    assert len(content["measured"]) == 1
    assert "interrupted" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_said_before_anything_is_measured(
    only: list[Measured], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["--json", str(tmp_path / "nowhere" / "bench.json")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_an_unknown_section_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        bench.main(["--only", "step,weather"])
    assert end.value.code == 2
    assert "choose from step, growth, crowd, startup" in capsys.readouterr().err


def test_only_what_was_asked_for_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "measure", lambda plan: ("steps", plan.repeats))
    monkeypatch.setattr(startup, "measure", lambda plan: ("startup", plan.repeats))
    args = bench.parser().parse_args(["--only", "startup,step", "--quick"])
    assert list(bench.measure(args)) == [("steps", 20), ("startup", 2)]


def test_nothing_of_the_users_settings_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-users-own-1")
    monkeypatch.setenv("AGENT_TRACE_DIR", str(tmp_path))
    (tmp_path / ".env").write_text("AGENT_EXAMPLES=on\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with own_surroundings():
        assert "AGENT_TRACE_DIR" not in os.environ
        assert os.environ["OPENAI_API_KEY"] == "none"
        assert os.listdir() == []
    assert (os.environ["OPENAI_API_KEY"], Path.cwd()) == ("sk-users-own-1", tmp_path)
    assert "PATH" in without_settings({"PATH": "/bin", "LANGCHAIN_TRACING_V2": "true"})
