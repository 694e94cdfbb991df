"""Which files a report reads, and that nothing among them holds it up or costs the others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts import report
from scripts.reporting import reading
from scripts.reporting.reading import Reading, read_all
from tests.command import LONGEST_S
from tests.scripted import DONE
from tests.scripts.report_traces import record

needs_pipes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two runs in one file."""
    for question in ("first?", "second?"):
        record(tmp_path / "good.jsonl", DONE, question=question)
    return tmp_path


def questions(found: Reading) -> list[str]:
    return [run.question for run in found.runs]


def test_one_bad_line_in_a_shared_file_costs_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = folder / "good.jsonl"
    first, *others = good.read_bytes().splitlines(keepends=True)
    good.write_bytes(b"".join((first, b"oops\n", *others)))
    monkeypatch.chdir(folder)

    assert report.main(["good.jsonl"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "report: good.jsonl: line 2 is no record of a trace",
        "report.html: 2 runs",
    ]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "2 runs from 1 file" in page
    assert "good.jsonl: line 2 is no record of a trace" in page


def test_a_file_in_which_no_run_is_whole_is_no_file_that_was_read(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("oops\n", encoding="utf-8")

    found = read_all([folder])
    assert (found.files, len(found.not_read), questions(found)) == (1, 1, ["first?", "second?"])


@needs_pipes
@pytest.mark.timeout(LONGEST_S)  # a pipe that is opened is waited for, for ever
def test_a_pipe_in_a_folder_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "a.jsonl")
    (folder / "b.jsonl").symlink_to("a.jsonl")

    found = read_all([folder])
    assert questions(found) == ["first?", "second?"]
    assert found.not_read == tuple(
        f"{folder / name} is no file but a pipe or a device: to read it, name it"
        for name in ("a.jsonl", "b.jsonl")
    )


@needs_pipes
@pytest.mark.timeout(LONGEST_S)
def test_a_pipe_that_is_named_is_read(folder: Path) -> None:
    reading_end, writing_end = os.pipe()
    os.write(writing_end, (folder / "good.jsonl").read_bytes())  # less than a pipe holds
    os.close(writing_end)
    try:
        found = read_all([Path(f"/dev/fd/{reading_end}")])
    finally:
        os.close(reading_end)

    assert (questions(found), found.not_read) == (["first?", "second?"], ())


def test_a_folder_in_a_folder_is_named(folder: Path) -> None:
    (folder / "x.jsonl").mkdir()

    found = read_all([folder])
    assert questions(found) == ["first?", "second?"]
    assert found.not_read == (
        f"{folder / 'x.jsonl'} is no file but a folder in a folder: to read it, name it",
    )


def test_a_link_that_leads_nowhere_is_named(folder: Path) -> None:
    (folder / "x.jsonl").symlink_to("nothing")

    found = read_all([folder])
    assert questions(found) == ["first?", "second?"]
    assert found.not_read == (f"{folder / 'x.jsonl'} cannot be read (No such file or directory)",)


def test_a_file_that_is_gone_when_its_turn_comes_costs_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(folder / "a.jsonl", DONE, question="gone?")
    real = reading.read_runs

    def read(path: Path) -> object:
        (folder / "a.jsonl").unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(reading, "read_runs", read)
    found = read_all([folder])
    assert questions(found) == ["first?", "second?"]
    assert found.not_read == (f"{folder / 'a.jsonl'} cannot be read (No such file or directory)",)


def test_a_link_to_a_trace_in_a_folder_is_read_once(folder: Path) -> None:
    (folder / "link.jsonl").symlink_to("good.jsonl")

    found = read_all([folder, folder / "good.jsonl"])
    assert (questions(found), found.not_read) == (["first?", "second?"], ())


def test_a_later_version_in_one_run_of_a_shared_file_leaves_the_other_shown(folder: Path) -> None:
    good = folder / "good.jsonl"
    good.write_bytes(good.read_bytes().replace(b'"version": 1', b'"version": 99', 1))

    found = read_all([good])
    assert questions(found) == ["second?"]
    assert "was written by a later version where it holds run " in found.not_read[0]
