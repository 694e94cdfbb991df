"""scripts/compare.py from its command line to its files, against a model service that solves tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts import compare
from scripts.compare import main
from scripts.comparing import running
from scripts.comparing.arms import ARMS
from scripts.comparing.journal import NAME
from scripts.comparing.running import Turn
from scripts.figures import Row
from tests.scripts.compare_service import Solver

RECORDING = Path(__file__).with_name("compare_recording.jsonl")
RECORDED = ["d04", "d19", "d28", "c13"]
FEW = ["--only", "d04,c13", "--contenders", "ours-text,executor-react,ours-raising"]
KEYS = [
    ("d04", "ours-text"),
    ("d04", "executor-react"),
    ("d04", "ours-raising"),
    ("c13", "executor-react"),
    ("c13", "ours-text"),
]


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Solver]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567")
    monkeypatch.chdir(tmp_path)  # no .env of the user's
    with Solver() as service:
        yield service


def live(service: Solver, out: Path, *more: str) -> list[str]:
    return ["--model", "small", "--base-url", service.url, "--out", str(out), *more]


def kept(out: Path) -> list[tuple[str, str]]:
    _, *lines = (out / NAME).read_text(encoding="utf-8").splitlines()
    return [(row["task"]["id"], row["agent"]) for row in map(json.loads, lines)]


def test_a_live_run_leaves_everything_behind(
    solver: Solver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, recording = tmp_path / "new" / "out", tmp_path / "recording.jsonl"
    assert main(live(solver, out, *FEW, "--record", str(recording))) == 0
    assert kept(out) == KEYS
    content = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    contenders = content["sections"][0]["contenders"]
    assert {name: (own["solved"], own["requests"]) for name, own in contenders.items()} == {
        "ours-text": (2, 4),
        "executor-react": (2, 4),
    }
    assert content["identity"]["host"] == "127.0.0.1"
    assert [pair["second"] for pair in content["pairs"]] == ["executor-react"]
    names = {path.name for path in out.iterdir()}
    assert {"comparison.json", "comparison.md", NAME, "solved.png", "solved.svg", "tokens.png"} <= names
    everything = b"".join(path.read_bytes() for path in [*out.iterdir(), recording])
    assert b"sk-canary" not in everything
    assert solver.url.encode() not in everything
    text = capsys.readouterr().out
    assert "d04   ok  ours-text" in text
    assert "All tasks within reach" in text
    # Each of the three beginnings was warmed up, and that was not measured.
    assert sum("Hello!" in str(body["messages"][-1]["content"]) for body in solver.requests) == 5


def test_a_recording_of_a_live_run_plays_to_the_same_end(
    solver: Solver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, recording = tmp_path / "live", tmp_path / "recording.jsonl"
    assert main(live(solver, out, *FEW, "--record", str(recording))) == 0
    assert main(["--scripted", str(recording), "--out", str(tmp_path / "played"), *FEW]) == 0
    before, after = (
        json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["sections"]
        for folder in (out, tmp_path / "played")
    )
    figures = ("solved", "requests", "prompt_tokens", "completion_tokens", "tool_calls")
    for one, other in zip(before, after, strict=True):
        for name, own in one["contenders"].items():
            assert [own[each] for each in figures] == [other["contenders"][name][each] for each in figures]
    assert capsys.readouterr().err == ""


def test_the_committed_recording_still_fits_every_contender(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--scripted", str(RECORDING), "--out", str(tmp_path)]) == 0, capsys.readouterr().err
    extra = {name for name, arm in ARMS.items() if arm.extra}
    assert {(task, name) for task in RECORDED for name in ARMS if name not in extra or task != "c13"} == {
        *kept(tmp_path)
    }
    for said in ((tmp_path / "comparison.md").read_text("utf-8"), capsys.readouterr().out):
        assert "The replies were played from a recording" in said
        assert "agent / bare: 0.63" in said  # what is claimed
        assert said.count("agent / bare") == 1  # and not held against seconds of no model


def test_a_recording_that_no_longer_fits_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "recording.jsonl"
    lines = RECORDING.read_text(encoding="utf-8").splitlines()
    found = next(number for number, line in enumerate(lines) if '"d04"' in line and '"ours-text"' in line)
    line = json.loads(lines[found])
    lines[found] = json.dumps({**line, "replies": [*line["replies"], line["replies"][-1]]})
    recording.write_text("\n".join(lines), encoding="utf-8")
    code = main(["--scripted", str(recording), "--out", str(tmp_path / "out"), *FEW])
    assert code == compare.UNFIT
    asked, has = len(line["replies"]), len(line["replies"]) + 1
    said = f"compare: d04 ours-text 0: {asked} replies asked for, {has} recorded"
    assert said in capsys.readouterr().err


@pytest.fixture
def interrupt_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[tuple[str, str]], None]:
    """Have Ctrl-C come while this task is run by this contender, once."""

    def install(key: tuple[str, str]) -> None:
        play, left = running.play_turn, [key]

        def interrupted(turn: Turn, *rest: object) -> Row:
            if [turn.key[:2]] == left:
                left.clear()
                raise KeyboardInterrupt
            return play(turn, *rest)  # type: ignore[arg-type]  # handed on as they came

        monkeypatch.setattr(running, "play_turn", interrupted)

    return install


def test_a_rerun_goes_on_where_ctrl_c_ended(
    interrupt_at: Callable[[tuple[str, str]], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--scripted", str(RECORDING), "--out", str(tmp_path), *FEW]
    interrupt_at(KEYS[3])
    assert main(command) == 130
    assert kept(tmp_path) == KEYS[:3]
    out, err = capsys.readouterr()
    assert "ours-text" in out
    assert "interrupted" in err
    assert main(command) == 0
    assert kept(tmp_path) == KEYS
    out, err = capsys.readouterr()
    assert "3 runs are kept, 2 are left" in err
    assert "d04   ok" not in out
    assert main(command) == 0
    assert "5 runs are kept, 0 are left" in capsys.readouterr().err


def test_repeats_and_contenders_can_be_added_later(tmp_path: Path) -> None:
    command = ["--scripted", str(RECORDING), "--out", str(tmp_path), "--only", "d04"]
    assert main([*command, "--contenders", "bare"]) == 0
    assert main([*command, "--contenders", "bare,ours-text"]) == 0
    assert kept(tmp_path) == [("d04", "bare"), ("d04", "ours-text")]


def test_a_report_needs_no_model_and_runs_nothing(tmp_path: Path) -> None:
    assert main(["--scripted", str(RECORDING), "--out", str(tmp_path), *FEW]) == 0
    (tmp_path / "comparison.md").unlink()
    before = (tmp_path / NAME).read_bytes()
    assert main(["--report", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "comparison.md").exists()
    assert (tmp_path / NAME).read_bytes() == before


def test_other_tasks_are_not_mixed_into_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--scripted", str(RECORDING), "--out", str(tmp_path), "--only", "d04"]
    assert main(command) == 0
    before = (tmp_path / NAME).read_bytes()
    dev = Path(compare.ROOT) / "scripts" / "tasks" / "dev.jsonl"
    assert main([*command, "--tasks", str(dev)]) == 2
    assert "tasks: then compare.jsonl" in capsys.readouterr().err
    assert (tmp_path / NAME).read_bytes() == before
    assert main([*command, "--tasks", str(dev), "--fresh"]) == 0
