"""A service that fails is no result of anybody: what it failed is kept, said, left out and tried again."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.testing import ScriptedModel
from scripts.compare import main
from scripts.comparing.arms import ARMS
from scripts.comparing.journal import BEFORE, NAME, Journal, begin, read
from scripts.comparing.measuring import run_all
from scripts.comparing.outages import REASON, failed
from scripts.comparing.running import Turn, is_dead, warm_up
from scripts.comparing.sources import Source
from scripts.services import Reply, status
from tests.scripts.compare_rows import row, task
from tests.scripts.compare_service import Solver

NAMES = ["bare", "ours-text", "executor-react"]
FEW = ["--only", "d04", "--contenders", ",".join(NAMES)]
AWAY = status(503, {"error": {"message": "Loading model"}}, {"Retry-After": "0"})


class Moody(Solver):
    """Solves tasks, but for the questions that it is ``ill`` of."""

    def __init__(self) -> None:
        super().__init__()
        self.ill: dict[str, Reply] = {}

    def record(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply:
        reply = super().record(body, headers)
        return next((ill for words, ill in self.ill.items() if words in str(body["messages"])), reply)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Moody]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567")
    monkeypatch.chdir(tmp_path)  # no .env of the user's
    monkeypatch.setattr("agent.client.BACKOFF_S", 0.0)
    monkeypatch.setattr("openai._base_client.BaseClient._calculate_retry_timeout", lambda *_: 0.0)
    with Moody() as moody:
        yield moody


def live(url: str, out: Path, *more: str) -> list[str]:
    return ["--model", "small", "--base-url", url, "--out", str(out), *more]


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / NAME).read_text(encoding="utf-8").splitlines()]


def content(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "comparison.json").read_text(encoding="utf-8")))


@pytest.fixture
def dead_url() -> Iterator[str]:
    with socket.socket() as taken:  # bound and not listening: nobody else gets it, and nothing answers
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.mark.parametrize("owner", ["tests", "llamacpp"])
def test_runs_at_a_dead_port_are_tried_again_once_the_service_is_there(
    owner: str, service: Moody, dead_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(live(dead_url, out, *FEW)) == 1
    shown, said = capsys.readouterr()
    assert (
        "compare: the service failed 3 runs (the first, d04 bare: the model service cannot be reached" in said
    )
    assert "Connection refused" in said
    assert "3 of 3 are not finished: the same command tries them again" in said
    assert " NO " not in shown
    assert "All tasks within reach" not in shown
    assert {path.name for path in out.iterdir()} == {NAME}

    service.models[0]["owned_by"] = owner
    assert main(live(service.url, out, *FEW)) == 0
    shown, said = capsys.readouterr()
    assert said == ""
    assert {name: own["solved"] for name, own in content(out)["sections"][0]["contenders"].items()} == {
        "bare": 0,
        "ours-text": 1,
        "executor-react": 1,
    }
    assert content(out)["failed_by_service"] == {}
    assert content(out)["identity"]["llama.cpp"] is (owner == "llamacpp")
    of_runs = [line for line in lines(out) if "task" in line]
    assert [line["agent"] for line in of_runs] == NAMES * 2
    assert ["the service failed" in line["reason"] for line in of_runs] == [True] * 3 + [False] * 3
    assert not (out / BEFORE).exists()

    assert main(live(service.url, out, *FEW)) == 0
    assert "3 runs are kept, 0 are left" in capsys.readouterr().err


def test_what_was_measured_is_kept_while_the_service_is_dead(
    service: Moody, dead_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    service.models[0]["owned_by"] = "llamacpp"
    assert main(live(service.url, out, *FEW)) == 0
    before = content(out)
    assert main(live(dead_url, out, "--only", "d04,c13", "--contenders", ",".join(NAMES))) == 1
    assert "3 runs are kept, 3 are left" in capsys.readouterr().err
    assert content(out)["sections"] == before["sections"]
    assert content(out)["identity"] == before["identity"]


@pytest.mark.parametrize("code", [503, 401])
def test_some_runs_that_failed_are_in_no_figure_and_said_beside_the_tables(
    code: int, service: Moody, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, more = tmp_path / "out", ["--only", "d04,c13", "--contenders", "bare,ours-text"]
    service.ill["keys does a piano have"] = status(
        code, {"error": {"message": "not today"}}, {"Retry-After": "0"}
    )
    assert main(live(service.url, out, *more)) == 1
    shown, said = capsys.readouterr()
    assert "the service failed 2 runs (the first, c13 ours-text: " in said
    assert f"status {code}: not today" in said
    note = "Not in any figure: 2 runs that the service failed (ours-text 1, bare 1)."
    assert note in shown
    assert note in (out / "comparison.md").read_text(encoding="utf-8")
    assert content(out)["runs"] == 2
    assert {own["tasks"] for own in content(out)["sections"][0]["contenders"].values()} == {1}
    assert main(["--report", "--out", str(out)]) == 0
    assert note in capsys.readouterr().out

    service.ill.clear()
    assert main(live(service.url, out, *more)) == 0
    shown, said = capsys.readouterr()
    assert "2 runs are kept, 2 are left" in said
    assert "Not in any figure" not in shown
    assert {own["tasks"] for own in content(out)["sections"][0]["contenders"].values()} == {2}


def test_a_service_that_fails_everybody_is_not_asked_500_times(
    service: Moody, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.ill[""] = status(401)
    assert main(live(service.url, tmp_path / "out", "--contenders", ",".join(NAMES), "--fresh")) == 1
    said = capsys.readouterr().err
    assert "the service failed 3 runs" in said
    assert "216 of 216 are not finished: the same command without --fresh tries them again" in said
    assert len(service.requests) == 6  # three to warm up, three that count


def test_a_report_of_failed_runs_alone_says_that_nothing_is_finished(
    service: Moody, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.ill[""] = status(401)
    assert main(live(service.url, tmp_path / "out", *FEW)) == 1
    assert main(["--report", "--out", str(tmp_path / "out")]) == 2
    assert "--report: no finished run is in the journal" in capsys.readouterr().err


def test_a_failed_run_is_not_recorded(service: Moody, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    service.ill["piano"] = AWAY
    more = ["--only", "d04,c13", "--contenders", "bare", "--record", str(recording)]
    assert main(live(service.url, tmp_path / "out", *more)) == 1
    _, *recorded = map(json.loads, recording.read_text(encoding="utf-8").splitlines())
    assert [line["task"] for line in recorded] == ["d04"]


def test_contenders_that_share_no_finished_task_make_a_page_without_tables(
    service: Moody, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(live(service.url, out, "--only", "d04", "--contenders", "bare")) == 0
    assert main(live(service.url, out, "--only", "d19", "--contenders", "ours-text")) == 0
    assert "No task has been finished by all of its contenders yet." in capsys.readouterr().out
    assert "No task has been finished" in (out / "comparison.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("failures", "is_over"),
    [
        (["bare", "ours-text", "bare"], False),  # executor-react may fare otherwise
        (["bare", "ours-text", "executor-react"], True),
        (["bare", "ours-text"], False),
        ([], False),
    ],
)
def test_the_service_is_dead_once_it_has_failed_every_contender(failures: list[str], is_over: bool) -> None:
    assert is_dead(failures, [Turn(task("t1"), ARMS[name], 0) for name in NAMES]) is is_over


def test_one_contender_alone_is_tried_three_times() -> None:
    left = [Turn(task(name), ARMS["bare"], 0) for name in ("t1", "t2", "t3", "t4")]
    assert [is_dead(["bare"] * number, left) for number in (1, 2, 3)] == [False, False, True]


def test_a_dead_service_is_not_warmed_up_for_long() -> None:
    left = [
        Turn(task("t1"), ARMS[name], 0)
        for name in ("bare", "executor-react", "executor-bracket", "ours-text")
    ]
    away = ScriptedModel(replies=[ConnectionError("gone")] * 20)
    assert len(list(warm_up(away, left, {}))) == 3


def test_a_service_that_tells_what_it_is_only_later_is_not_measured_meanwhile(tmp_path: Path) -> None:
    header = {"identity": {"model": "small", "llama.cpp": None}}
    model = ScriptedModel(replies=["1"] * 9)
    kept = begin(tmp_path, header)
    source = Source(lambda _: model, model, header["identity"])
    assert run_all([Turn(task("t1"), ARMS["bare"], 0)], source, {}, kept) == []
    assert kept.rows == []


def test_of_a_turn_the_last_line_counts(tmp_path: Path) -> None:
    first, other = row("bare", good=False), row("ours-text")
    lost = type(first)(first.task, "bare", False, f"{REASON}: away", first.attempt)
    kept = begin(tmp_path, {"identity": {}})
    for each in (lost, other, lost):
        kept.add(each)
    assert kept.done == {("t1", "ours-text", 0)}
    kept.add(row("bare"))
    again = read(tmp_path)
    assert again is not None
    for journal in (kept, again):
        assert_kept(journal)
    assert len(lines(tmp_path)) == 5


def assert_kept(journal: Journal) -> None:
    assert [(each.agent, each.solved) for each in journal.rows] == [("bare", True), ("ours-text", True)]
    assert not any(map(failed, journal.rows))
