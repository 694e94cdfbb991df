"""The report at the command line: what is written where, and what is said of what cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import report
from tests.command import LONGEST_S, ROOT
from tests.scripted import DONE, actions, failing
from tests.scripts.report_traces import record, record_all

BROKEN = failing(ConnectionError("no route"), "Weather")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_TRACE_DIR", raising=False)
    return tmp_path


def test_one_command_shows_why_a_run_failed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(here / "t.jsonl", *actions("Lima", "Lima", "Lima", tool="Weather"), DONE, tools=[BROKEN])

    assert report.main(["t.jsonl"]) == 0
    assert "Weather[Lima] was asked for 3 times" in (here / "report.html").read_text(encoding="utf-8")
    out, err = capsys.readouterr()
    assert out == ""
    told, failed = err.splitlines()[:2]
    assert told == "report.html: 1 run"
    assert failed.startswith("1. What is it?: repeated call (t.jsonl, run ")
    assert "Weather[Lima] was asked for 3 times" in err
    assert "(steps 1–3)" in err


def test_a_folder_means_all_its_traces(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "traces").mkdir()
    record_all(here / "traces")
    (here / "traces" / "notes.txt").write_text("no trace", encoding="utf-8")

    assert report.main(["traces", "-o", "one.html"]) == 0
    monkeypatch.setenv("AGENT_TRACE_DIR", "traces")
    assert report.main(["-o", "two.html"]) == 0
    one, two = (here / name for name in ("one.html", "two.html"))
    assert "8 runs from 8 files" in one.read_text(encoding="utf-8")
    assert one.read_bytes() == two.read_bytes()


def test_the_same_file_named_twice_is_read_once(here: Path) -> None:
    record(here / "t.jsonl", DONE)

    assert report.main(["t.jsonl", "./t.jsonl", "."]) == 0
    assert "1 run from 1 file" in (here / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "bad.jsonl cannot be read"),
        ("", "bad.jsonl holds no run: --trace FILE or AGENT_TRACE_DIR write traces"),
        ("hello\nworld\n", "bad.jsonl: line 1 is no record of a trace"),
        ('{"run": "a", "event": "run_started", "version": 99, "t": 0}\n', "bad.jsonl was written by a later"),
        ('{"run": "a", "event": "run_started", "version": 1, "t": 0}\n', "bad.jsonl: run a is not whole"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_shown(
    here: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: str
) -> None:
    record(here / "good.jsonl", DONE)
    if content is not None:
        (here / "bad.jsonl").write_text(content, encoding="utf-8")

    assert report.main(["bad.jsonl", "good.jsonl"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"report: {words}")
    assert "Traceback" not in err
    page = (here / "report.html").read_text(encoding="utf-8")
    assert "bad.jsonl" in page
    assert "done" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a trace or a folder of traces"),
        (["empty"], "empty holds no trace (*.jsonl)"),
        (["t.jsonl", "-o", "t.jsonl"], "t.jsonl is one of the traces"),
        (["t.jsonl", "-o", "nowhere/x.html"], "nowhere/x.html cannot be written (No such file"),
        (["t.jsonl", "-o", "empty"], "empty cannot be written (Is a directory)"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (here / "empty").mkdir()
    trace = record(here / "t.jsonl", DONE).read_bytes()

    assert report.main(arguments) == 2
    assert words in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["empty", "t.jsonl"]
    assert (here / "t.jsonl").read_bytes() == trace


def test_the_language_is_that_of_the_first_run_unless_said(here: Path) -> None:
    record(here / "t.jsonl", DONE, question="天气怎么样？")
    for more, expected in (([], "zh"), (["--language", "en"], "en")):
        assert report.main(["t.jsonl", *more]) == 0
        assert f'<html lang="{expected}">' in (here / "report.html").read_text(encoding="utf-8")


def test_only_the_first_failures_are_told_on_the_console(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(report.MOST_SAID + 2):
        record(here / "t.jsonl", RuntimeError("dead"))

    assert report.main(["t.jsonl"]) == 0
    err = capsys.readouterr().err
    assert err.count("model failed") == report.MOST_SAID
    assert "2 more runs failed" in err


def test_half_a_character_does_not_cost_the_page(here: Path) -> None:
    path = record(here / "t.jsonl", DONE)
    text = path.read_text(encoding="utf-8").replace('"What is it?"', json.dumps("half \ud83d!"))
    path.write_text(text, encoding="utf-8")

    assert report.main(["t.jsonl"]) == 0
    assert "half ?!" in (here / "report.html").read_text(encoding="utf-8")


def test_as_a_plain_file_it_writes_to_stdout_whatever_the_console_speaks(tmp_path: Path) -> None:
    path = record(tmp_path / "t.jsonl", RuntimeError("坏了"), question="几点了？")
    command = [sys.executable, str(ROOT / "scripts" / "report.py"), str(path), "-o", "-"]
    env = {"PATH": "", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=LONGEST_S, check=False)

    assert (done.returncode, done.stderr.isascii()) == (0, True)
    assert "几点了？" in done.stdout.decode("utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]
