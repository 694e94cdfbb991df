"""The report between what it reads and where it writes: nothing is lost, and no terminal is driven."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from scripts import report
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
