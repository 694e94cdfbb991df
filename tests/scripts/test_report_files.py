"""The report between what it reads and where it writes: nothing is lost, and no terminal is driven."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from scripts import report
from tests.command import LONGEST_S, ROOT
from tests.scripted import DONE
from tests.scripts.report_traces import record


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_TRACE_DIR", raising=False)
    record(tmp_path / "good.jsonl", DONE)
    return tmp_path


def test_a_trace_that_cannot_be_read_is_not_written_over(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = here / "bad.jsonl"
    bad.write_text("evidence\nof something\n", encoding="utf-8")

    assert report.main(["good.jsonl", "bad.jsonl", "-o", "bad.jsonl"]) == 2
    assert bad.read_text(encoding="utf-8") == "evidence\nof something\n"
    assert "bad.jsonl is one of the traces" in capsys.readouterr().err


def test_a_link_is_followed(here: Path) -> None:
    (here / "target.html").touch()
    (here / "link.html").symlink_to("target.html")

    assert report.main(["good.jsonl", "-o", "link.html"]) == 0
    assert (here / "link.html").is_symlink()
    assert "<html" in (here / "target.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_written_to_and_stays_a_pipe(here: Path) -> None:
    os.mkfifo(here / "pipe")
    read: list[str] = []
    reader = threading.Thread(
        target=lambda: read.append((here / "pipe").read_text(encoding="utf-8")), daemon=True
    )
    reader.start()

    assert report.main(["good.jsonl", "-o", "pipe"]) == 0
    reader.join(10)
    assert "<html" in read[0]
    assert (here / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("old", "new"), [('"language": "en"', '"language": "fr"'), ('"What is it?"', "7")], ids=["fr", "7"]
)
def test_a_run_that_somebody_changed_costs_nobody_elses_report(
    here: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    text = (here / "good.jsonl").read_text(encoding="utf-8")
    assert old in text
    (here / "odd.jsonl").write_text(text.replace(old, new), encoding="utf-8")

    assert report.main(["odd.jsonl", "good.jsonl"]) == 2
    assert "odd.jsonl" in capsys.readouterr().err
    assert "1 run from" in (here / "report.html").read_text(encoding="utf-8")


def test_what_a_trace_holds_does_not_drive_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(here / "t.jsonl", RuntimeError("\x1b[2Jall fine\u202e"), question="\x1b]0;pwned\x07 why?")

    report.main(["t.jsonl"])
    err = capsys.readouterr().err
    assert "all fine" in err
    assert not {"\x1b", "\x07", "\u202e"} & set(err)


def test_the_trace_folder_may_begin_with_a_tilde(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(here))
    monkeypatch.setenv("AGENT_TRACE_DIR", "~")

    assert report.main(["-o", "page.html"]) == 0
    assert "1 run from 1 file" in (here / "page.html").read_text(encoding="utf-8")


def test_a_trace_without_its_last_line_end_is_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (here / "good.jsonl").read_bytes()
    (here / "good.jsonl").write_bytes(b"\xef\xbb\xbf" + whole.rstrip(b"\n"))

    assert report.main(["good.jsonl"]) == 0
    assert capsys.readouterr().err.splitlines() == ["report.html: 1 run"]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (r'"answer": "done"', '"answer": {"no": "text"}', "answer is {'no': 'text'}"),
        (r'"thought": "[^"]*"', '"thought": 3', "thought is 3"),
        (r'"model": "[^"]*"', '"model": null', "model is None"),
    ],
)
def test_a_value_of_another_kind_is_named_with_its_field(
    here: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, named: str
) -> None:
    text, count = re.subn(old, new, (here / "good.jsonl").read_text(encoding="utf-8"))
    assert count
    (here / "odd.jsonl").write_text(text, encoding="utf-8")

    assert report.main(["odd.jsonl", "good.jsonl"]) == 2
    sentence = capsys.readouterr().err.splitlines()[0]
    assert named in sentence
    assert "Traceback" not in sentence
    page = (here / "report.html").read_text(encoding="utf-8")
    assert "1 run from" in page
    assert "Not in this report" in page


def test_a_link_that_leads_to_itself_costs_nobody_elses_report(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "loop.jsonl").symlink_to("loop.jsonl")

    assert report.main(["loop.jsonl", "good.jsonl"]) == 2
    assert report.main(["."]) == 2
    assert capsys.readouterr().err.count("loop.jsonl cannot be read") == 2
    assert "1 run from" in (here / "report.html").read_text(encoding="utf-8")


def test_an_unreadable_trace_is_not_written_over_through_a_link(here: Path) -> None:
    (here / "bad.jsonl").write_text("evidence\n", encoding="utf-8")
    (here / "link").symlink_to("bad.jsonl")

    assert report.main([".", "-o", "link"]) == 2
    assert (here / "bad.jsonl").read_text(encoding="utf-8") == "evidence\n"


def test_arguments_may_begin_with_a_tilde(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(here))

    assert report.main(["~/good.jsonl"]) == 0
    capsys.readouterr()
    assert report.main(["~nobody-of-this-name/x.jsonl", "good.jsonl"]) == 2
    assert "~nobody-of-this-name/x.jsonl cannot be read" in capsys.readouterr().err


def test_traces_in_subfolders_alone_are_pointed_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "all" / "monday").mkdir(parents=True)
    record(here / "all" / "monday" / "t.jsonl", DONE)

    assert report.main(["all"]) == 2
    assert f"subfolders are not searched, name {Path('all', 'monday')}" in capsys.readouterr().err


def test_no_name_is_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["good.jsonl", "-o", ""]) == 2
    assert capsys.readouterr().err == "report: -o needs the name of a file, or - for stdout\n"


def run_to(
    stdout: IO[bytes] | int, folder: Path, output: str, *more: str, stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(ROOT / "scripts" / "report.py"), "good.jsonl", *more, "-o", output]
    return subprocess.run(command, cwd=folder, stdout=stdout, stderr=stderr, timeout=LONGEST_S, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_stdout_that_fails_is_one_sentence_without_a_way_out_that_is_none(here: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_to(full, here, "-")

    assert done.returncode == 2
    assert done.stderr.decode() == "report: stdout cannot be written (No space left on device)\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells a closed pipe by another error")
def test_a_reader_that_has_enough_is_no_mistake(here: Path) -> None:
    record(here / "failed.jsonl", RuntimeError("dead"))
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_to(writing, here, "-", "failed.jsonl")
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells a closed pipe by another error")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_in_the_midst_of_the_page_is_no_mistake(here: Path, unbuffered: str) -> None:
    record(here / "long.jsonl", RuntimeError("dead"), question="What is it? " * 30_000)
    command = [sys.executable, str(ROOT / "scripts" / "report.py"), "long.jsonl", "-o", "-"]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=here, env=env, stdout=pipe, stderr=pipe) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(9) == b"<!doctype"
        running.stdout.close()
        told = running.stderr.read()

    assert (running.returncode, told) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells a closed pipe by another error")
def test_a_stderr_that_nobody_reads_costs_no_report(here: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_to(subprocess.DEVNULL, here, "page.html", stderr=writing)
    finally:
        os.close(writing)

    assert done.returncode == 0
    assert "<html" in (here / "page.html").read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="Windows has no name for stdout")
def test_the_name_of_stdout_means_stdout(here: Path) -> None:
    assert b"<html" in run_to(subprocess.PIPE, here, "/dev/stdout").stdout

    (here / "log").write_bytes(b"before\n")
    with (here / "log").open("ab") as log:
        run_to(log, here, "/dev/stdout")
    assert (here / "log").read_bytes().startswith(b"before\n<!doctype html>")
