"""A trace that somebody changed: what is whole in it is found, and the rest is named, in few words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import SettingsError, replay
from agent.recorded import Found, read_runs, read_trace
from agent.trace import VERSION
from tests.scripted import DONE, actions, play

Lines = list[bytes]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three runs in one file."""
    path = tmp_path / "t.jsonl"
    for number in range(3):
        play(*actions(f"{number}+1"), DONE, question=f"run {number}", trace=path)
    return path


def names(path: Path) -> list[str]:
    return [run.name for run in read_trace(path)]


def lines_of(path: Path) -> Lines:
    return path.read_bytes().splitlines(keepends=True)


def line_of(path: Path, run: str, event: str) -> int:
    """The first line of an event of a run, from 0 on."""
    records = [json.loads(line) for line in lines_of(path)]
    return next(n for n, each in enumerate(records) if (each["run"], each.get("event")) == (run, event))


def change(path: Path, number: int, how: Callable[[dict[str, Any]], Any]) -> None:
    lines = lines_of(path)
    record = json.loads(lines[number])
    how(record)
    lines[number] = json.dumps(record).encode() + b"\n"
    path.write_bytes(b"".join(lines))


def put(path: Path, number: int, *new: bytes, instead: bool = False) -> None:
    lines = lines_of(path)
    lines[number : number + instead] = new
    path.write_bytes(b"".join(lines))


def shown(found: Found) -> list[str]:
    return [run.name for run in found.runs]


def questions(found: Found) -> list[str]:
    return [run.started["question"] for run in found.runs]


def test_a_file_that_nobody_changed_is_read_alike_and_without_complaint(path: Path) -> None:
    assert read_runs(path) == Found(tuple(read_trace(path)), ())


BAD_LINES = {
    "text": b"what is this?\n",
    "a list": b"[1]\n",
    "another object": b'{"a": 1}\n',
    "a number for a run": b'{"run": 7, "t": 0, "event": "step_started", "number": 1}\n',
    "a list for a run": b'{"run": ["a"], "t": 0, "event": "step_started", "number": 1}\n',
    "bottomless": b"[" * 100_000 + b"\n",
    "bytes": bytes(byte for byte in range(256) if byte != 10) + b"\n",
    "endless digits": b"1" * 10_000 + b"\n",
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_line_that_names_no_run_costs_none(path: Path, kind: str) -> None:
    whole = names(path)
    put(path, 3, BAD_LINES[kind])

    found = read_runs(path)
    assert shown(found) == whole
    assert found.complaints == (f"{path}: line 4 is no record of a trace",)
    with pytest.raises(SettingsError, match=r": line 4 is no record of a trace$"):
        replay(path)


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no event": lambda record: record.pop("event"),
    "an event that is no text": lambda record: record.update(event=["step_started"]),
    "no time": lambda record: record.pop("t"),
    "a text that was never written": lambda record: record.update(more={"$text": 999}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_record_costs_the_run_that_it_names_and_no_other(path: Path, wrong: str) -> None:
    first, second, third = names(path)
    at = line_of(path, second, "step_started")
    change(path, at, WRONG[wrong])

    found = read_runs(path)
    assert shown(found) == [first, third]
    assert found.complaints == (
        f"{path}: left out for lines that are no records of a trace: run {second} (line {at + 1})",
    )
    with pytest.raises(SettingsError, match=rf": line {at + 1} is no record of a trace$"):
        read_trace(path)


@pytest.mark.parametrize("event", ["run_started", "text", "request", "run_ended"])
def test_whatever_line_of_a_run_is_wrong_the_others_are_whole(path: Path, event: str) -> None:
    first, second, third = names(path)
    change(path, line_of(path, second, event), lambda record: record.pop("event"))

    found = read_runs(path)
    assert shown(found) == [first, third]
    (complaint,) = found.complaints
    assert f"run {second} (line" in complaint


def test_a_line_that_was_damaged_and_not_cut_off_costs_its_run(path: Path) -> None:
    first, second, third = names(path)
    at = line_of(path, second, "step_started")
    put(path, at, lines_of(path)[at][:-5] + b"\n", instead=True)

    found = read_runs(path)
    assert shown(found) == [first, third]
    assert f"run {second} (line {at + 1})" in found.complaints[0]
    with pytest.raises(SettingsError, match=rf": line {at + 1} is no record of a trace$"):
        read_trace(path)


def test_a_record_too_deep_to_be_read_costs_the_run_that_it_names(path: Path) -> None:
    first, second, third = names(path)
    at = line_of(path, second, "run_ended")
    put(path, at, f'{{"run": "{second}", "x": '.encode() + b"[" * 100_000 + b"\n", instead=True)

    found = read_runs(path)
    assert shown(found) == [first, third]
    assert f"run {second} (line {at + 1})" in found.complaints[0]


def test_a_run_that_was_cut_off_in_a_line_is_still_shown(path: Path) -> None:
    whole = names(path)
    at = line_of(path, whole[1], "run_ended")
    put(path, at, lines_of(path)[at][:-5] + b"\n", instead=True)

    found = read_runs(path)
    assert (shown(found), found.complaints) == (whole, ())
    assert found.runs[1].ended is None


def test_the_same_run_again_is_whole_after_one_that_is_not(path: Path) -> None:
    whole = path.read_bytes()
    second = names(path)[1]
    change(path, line_of(path, second, "run_started"), lambda record: record.pop("question"))
    change(path, line_of(path, second, "request"), lambda record: record.pop("keep"))
    path.write_bytes(path.read_bytes() + whole)

    found = read_runs(path)
    assert questions(found) == ["run 0", "run 2", "run 0", "run 1", "run 2"]
    assert len(found.complaints) == 1


def test_the_same_run_again_is_whole_after_a_beginning_that_is_not(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    play(DONE, tools=[], trace=path)
    whole = path.read_bytes()
    assert (
        json.loads(lines_of(path)[0])["event"] == "run_started"
    )  # and no text that would tell the two apart
    change(path, 0, lambda record: record.update(question={"$text": 999}))
    path.write_bytes(path.read_bytes() + whole)

    found = read_runs(path)
    assert questions(found) == ["What is it?"]
    assert len(found.complaints) == 1


def test_a_run_of_a_later_version_leaves_the_others_shown(path: Path) -> None:
    first, second, third = names(path)
    change(path, line_of(path, second, "run_started"), lambda each: each.update(version=VERSION + 1))
    change(path, line_of(path, second, "request"), lambda record: record.pop("keep"))

    found = read_runs(path)
    assert shown(found) == [first, third]
    assert found.complaints == (
        f"{path} was written by a later version where it holds run {second} (trace version {VERSION + 1}):"
        " update",
    )
    with pytest.raises(SettingsError, match="was written by a later version"):
        read_trace(path)


@pytest.mark.parametrize(("at", "said"), [(0, "line 1 is no record"), (-1, "was written by a later version")])
def test_the_first_trouble_is_the_one_that_is_raised(path: Path, at: int, said: str) -> None:
    second = names(path)[1]
    change(path, line_of(path, second, "run_started"), lambda each: each.update(version=VERSION + 1))
    put(path, at % (len(lines_of(path)) + 1), b"evidence\n")

    with pytest.raises(SettingsError, match=said):
        read_trace(path)


def test_a_run_whose_beginning_is_missing_is_named(path: Path) -> None:
    first, second, third = names(path)
    put(path, line_of(path, first, "run_started"), instead=True)

    found = read_runs(path)
    assert shown(found) == [second, third]
    assert found.complaints == (f"{path}: left out because the beginning is missing: run {first}",)


def test_each_trouble_has_its_sentence_and_a_run_stands_in_one_of_them(path: Path) -> None:
    first, second, third = names(path)
    change(path, line_of(path, first, "run_started"), lambda each: each.update(version=VERSION + 1))
    change(path, line_of(path, second, "request"), lambda record: record.pop("event"))
    put(path, line_of(path, third, "run_started"), b"evidence\n", instead=True)

    found = read_runs(path)
    assert len(found.complaints) == 4
    assert [sum(name in each for each in found.complaints) for name in (first, second, third)] == [1, 1, 1]
    assert not found.runs


@pytest.mark.parametrize(
    "line", [b"\x00\xff\n", b'{"run": "%d", "t": 0}\n', b'{"run": "%d", "t": 0, "event": "x"}\n']
)
def test_a_hundred_thousand_bad_lines_are_few_words(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.jsonl"
    numbered = b"%d" in line
    path.write_bytes(b"".join(line % n if numbered else line for n in range(100_000)))

    found = read_runs(path)
    assert not found.runs
    assert len(found.complaints) == 1
    assert "and 9999" in found.complaints[0]
    assert len(found.complaints[0]) < len(str(path)) + 300


def test_what_a_changed_file_calls_its_runs_is_cut_and_on_one_line(path: Path) -> None:
    name = "a\nb\x1b[2J" * 1000
    put(path, 0, json.dumps({"run": name, "t": 0}).encode() + b"\n")

    (complaint,) = read_runs(path).complaints
    assert "\n" not in complaint
    assert "\x1b" not in complaint
    assert len(complaint) < len(str(path)) + 200


@pytest.mark.parametrize("content", [b"", b"\n\n", b'{"run": "a", "t": 0, "ev'])
def test_a_file_without_a_run_says_who_writes_them(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    assert read_runs(path) == Found(
        (), (f"{path} holds no run: --trace FILE or AGENT_TRACE_DIR write traces",)
    )


@pytest.mark.parametrize("name", ["missing.jsonl", "nul\0.jsonl"])
def test_a_path_that_cannot_be_read_is_said(tmp_path: Path, name: str) -> None:
    for read in (read_runs, read_trace):
        with pytest.raises(SettingsError, match=r"cannot be read \("):
            read(tmp_path / name)
