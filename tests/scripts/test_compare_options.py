"""What cannot be meant is said in a sentence that names its option and the way out, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.compare import main
from scripts.comparing.journal import NAME

RECORDING = Path(__file__).with_name("compare_recording.jsonl")


def ended(*options: str) -> int:
    """The exit code, whichever way it comes out."""
    try:
        return main(options)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "--fresh"], "--report runs nothing, so --fresh"),
        (["--report", "--scripted", str(RECORDING)], "so --scripted"),
        (["--report", "--base-url", "http://127.0.0.1:9/v1"], "so --base-url"),
        (["--report", "--only", "d01"], "so --only"),
        (["--report", "--repeat", "1"], "so --repeat"),
        (["--scripted", str(RECORDING), "--model", "local"], "--scripted asks no model, so --model"),
        (["--scripted", str(RECORDING), "--base-url", "http://127.0.0.1:9/v1"], "so --base-url"),
        (["--base-url", "http://127.0.0.1:9/v1"], "local runs in this process"),
        (
            ["--base-url", "http://127.0.0.1:9/v1", "--model", "local-small"],
            "local-small runs in this process",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert ended(*options, "--out", str(out)) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("compare: error: ")
    assert said in last
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--contenders", "ours"], "--contenders: 'ours': choose from bare, ours-text"),
        (["--repeat", "0"], "--repeat: '0' is no whole number from 1"),
        (["--repeat", "many"], "--repeat: 'many' is no whole number from 1"),
        (["--only", ""], "--only: '' names no task: give ids"),
        (["--only", " , "], "--only: ' , ' names no task: give ids"),
        (["--out", ""], "--out: it is empty: name a folder"),
        (["--tasks", ""], "--tasks: it is empty: name a file"),
        (["--record", ""], "--record: it is empty: name a file"),
    ],
)
def test_a_value_that_cannot_be_meant_is_a_usage_error(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*options) == 2
    assert f"compare: error: argument {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "d04,x9"], "--only: no task is named x9: the ids are those of"),
        (["--only", "d01"], "nothing is left to run"),
        (
            ["--record", "/no/such/folder/x.jsonl"],
            "--record /no/such/folder/x.jsonl: there is no such folder",
        ),
        (["--record", "FOLDER"], "--record FOLDER is a folder: name a file in it"),
        (
            ["--tasks", "/no/such/file"],
            "--tasks /no/such/file cannot be used (No such file or directory): name",
        ),
        (["--tasks", "EMPTY"], "--tasks EMPTY: there is no task in it: name a file of tasks"),
        (["--tasks", "TEXT"], "--tasks TEXT, line 1: "),
        (
            ["--weather", "/no/such/file"],
            "--weather /no/such/file cannot be used (No such file or directory): ",
        ),
        (["--weather", "TEXT"], "--weather TEXT: "),
        (
            ["--scripted", "/no/such/file"],
            "--scripted /no/such/file cannot be used (No such file or directory)",
        ),
        (
            ["--scripted", "FOLDER"],
            "--scripted FOLDER cannot be used (Is a directory): name a file that --record",
        ),
        (["--scripted", "TEXT"], "--scripted TEXT is no recording"),
        (["--out", "TEXT"], "--out TEXT cannot be used (File exists): name a folder that can be written"),
    ],
)
def test_a_mistake_names_its_own_option_and_the_way_out(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {name: str(tmp_path / name) for name in ("FOLDER", "EMPTY", "TEXT")}
    Path(there["FOLDER"]).mkdir()
    Path(there["EMPTY"]).write_text("", encoding="utf-8")
    Path(there["TEXT"]).write_text("hello\n", encoding="utf-8")
    given = [there.get(option, option) for option in options]
    assert ended("--scripted", str(RECORDING), "--out", str(tmp_path / "out"), *given) == 2
    err = capsys.readouterr().err
    for name, path in there.items():
        err = err.replace(path, name)
    assert err.startswith(f"compare: {said}")
    assert err.count("\n") == 1


def test_a_weather_table_that_tasks_of_ones_own_lack_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = tmp_path / "own.jsonl"
    tasks.write_text(
        '{"id": "a", "kind": "time", "lang": "en", "question": "?", "tools": [], "check": {"any": ["1"]}}',
        encoding="utf-8",
    )
    assert ended("--scripted", str(RECORDING), "--out", str(tmp_path / "out"), "--tasks", str(tasks)) == 2
    err = capsys.readouterr().err
    assert f"--weather {tmp_path / 'weather.json'} cannot be used" in err
    assert "put weather.json beside --tasks" in err


@pytest.mark.parametrize("is_there", [True, False])
def test_a_report_on_a_folder_without_a_measurement_says_what_to_do(
    is_there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path if is_there else tmp_path / "none"
    assert ended("--report", "--out", str(folder)) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"compare: --report: there is no {NAME} in {folder}: measure first")
    assert not (tmp_path / "none").exists()


def test_ids_may_stand_apart(tmp_path: Path) -> None:
    command = ["--scripted", str(RECORDING), "--out", str(tmp_path), "--contenders", "bare"]
    assert ended(*command, "--only", "d04, c13,") == 0
