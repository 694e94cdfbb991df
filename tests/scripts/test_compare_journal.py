"""Every finished run is kept, whatever ends the measurement; and two measurements are never mixed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from scripts.comparing.journal import BEFORE, NAME, begin, read, uninterrupted
from tests.scripts.compare_rows import ERROR, call, row

HEADER = {"identity": {"model": "small", "tasks": "few.jsonl 12"}, "began": "2026-12-02"}
RUN = row("ours-text", calls=[call("1/0", ERROR, seconds=0.5, started=7.0)], model_spans=[(1.0, 2.0)])


def test_what_was_added_is_read_again_as_it_was(tmp_path: Path) -> None:
    begin(tmp_path / "new", HEADER).add(RUN)
    kept = read(tmp_path / "new")
    assert kept is not None
    assert (kept.header, kept.rows) == (HEADER, [RUN])


def test_a_rerun_goes_on(tmp_path: Path) -> None:
    begin(tmp_path, HEADER).add(RUN)
    again = begin(tmp_path, HEADER | {"began": "later"})
    assert again.done == {("t1", "ours-text", 0)}
    again.add(row("ours-text", "城市\ud83d"))
    assert begin(tmp_path, HEADER).done == {("t1", "ours-text", 0), ("城市\ud83d", "ours-text", 0)}
    assert again.header["began"] == "2026-12-02"


@pytest.mark.parametrize("torn", ['{"task": {"id": "t2"', "}", '{"agent": "\xe4'])
def test_a_last_line_that_was_cut_off_is_dropped(tmp_path: Path, torn: str) -> None:
    begin(tmp_path, HEADER).add(RUN)
    with (tmp_path / NAME).open("ab") as file:
        file.write(torn.encode("utf-8")[:-1] or b"{")
    again = begin(tmp_path, HEADER)
    assert again.rows == [RUN]
    again.add(row("bare"))
    assert len(begin(tmp_path, HEADER).rows) == 2


def test_a_first_line_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"identity": {"mod', encoding="utf-8")
    begin(tmp_path, HEADER).add(RUN)
    assert begin(tmp_path, HEADER).rows == [RUN]


def test_another_measurement_is_refused_and_the_way_out_named(tmp_path: Path) -> None:
    begin(tmp_path, HEADER).add(RUN)
    other = {"identity": {"model": "large", "tasks": "few.jsonl 12", "code": "ab"}}
    with pytest.raises(ValueError, match=r"model: then small, now large; code: then None, now ab.*--fresh"):
        begin(tmp_path, other)
    assert begin(tmp_path, HEADER).rows == [RUN]


def test_fresh_begins_anew_and_keeps_what_was_there(tmp_path: Path) -> None:
    begin(tmp_path, HEADER).add(RUN)
    before = (tmp_path / NAME).read_bytes()
    assert begin(tmp_path, {"identity": {}}, fresh=True).rows == []
    assert (tmp_path / BEFORE).read_bytes() == before


@pytest.mark.parametrize("content", ["hello\n", "[]\n", '{"identity": {}}\n{"agent": 1}\n', "\xff\n"])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / NAME
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"is no journal of a comparison.*--out.*--fresh"):
        begin(tmp_path, HEADER)
    assert path.read_bytes() == content.encode("latin-1")


@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_waits_until_a_run_is_on_disk(number: signal.Signals, tmp_path: Path) -> None:
    journal, before = begin(tmp_path, HEADER), signal.getsignal(number)

    def keep() -> None:
        with uninterrupted():
            signal.raise_signal(number)
            journal.add(RUN)

    with pytest.raises(KeyboardInterrupt):
        keep()
    assert begin(tmp_path, HEADER).rows == [RUN]
    assert signal.getsignal(number) is before
