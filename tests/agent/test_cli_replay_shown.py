"""What ``--replay`` shows of each run: its heading, the steps that went as recorded, and how that ended."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent import cli
from agent.cli_replay import _fitted
from agent.options import parse
from agent.recorded import read_trace
from tests.agent.test_replay_steps import change_last, cut_in_step, record
from tests.protocols import DIALECTS, TEXT, Dialect

QUESTIONS = {"en": "What is 2+2?", "zh": "2+2 是多少？"}

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
each_language = pytest.mark.parametrize("language", QUESTIONS)


class Screen:
    """The command line in this process, in a folder of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = cli.main(parse(arguments))
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.chdir(tmp_path)
    return Screen(capsys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def names(path: Path) -> list[str]:
    return [run.name for run in read_trace(path)]


# --- a difference ------------------------------------------------------------------------------------


@each_dialect
def test_the_steps_before_a_difference_are_shown_and_no_others(
    command: Screen, path: Path, dialect: Dialect
) -> None:
    record(path, dialect)
    change_last(path, "tool_returned", lambda record: record.update(text="5"))

    code, out, err = command("--replay", "t.jsonl")
    assert (code, out.count("\n")) == (4, 1)
    assert out.startswith("otherwise than recorded: step 2: step.observations 1.text")
    assert ("Step 1" in err, "[1+1]" in err or '{"expression": "1+1"}' in err) == (True, True)
    assert ("Step 2" in err, "-> 2" in err, "-> 5" in err) == (False, True, False)
    assert command("-q", "--replay", "t.jsonl") == (4, out, "")


def test_json_stays_one_document_and_counts_the_steps(command: Screen, path: Path) -> None:
    record(path, TEXT)
    record(path, TEXT)
    change_last(path, "tool_returned", lambda record: record.update(text="5"))

    code, out, _ = command("--replay", "t.jsonl", "--json")
    values = json.loads(out)
    assert (code, values["same"], values["steps_as_recorded"]) == (4, False, [3, 1])
    assert (values["runs"][0]["answer"], values["runs"][1]) == ("4", None)
    assert values["cut_off"] == [False, False]


# --- a trace that was cut off ------------------------------------------------------------------------


CUT = {
    (
        "en",
        1,
    ): "the same as recorded, as far as the trace goes: 1 run; ended: 0, cut off: 1 (before step 1 was over)",
    ("en", 3): "the same as recorded, as far as the trace goes: 1 run; ended: 0, cut off: 1 (after step 2)",
    ("zh", 1): "在记录所及的范围内与记录一致：1 次运行；完整结束：0，记录中断：1（在第 1 步完成之前）",
    ("zh", 3): "在记录所及的范围内与记录一致：1 次运行；完整结束：0，记录中断：1（在第 2 步之后）",
}


@each_dialect
@pytest.mark.parametrize(("language", "step"), CUT)
def test_a_run_that_was_cut_off_is_said_to_be(
    command: Screen, path: Path, dialect: Dialect, language: str, step: int
) -> None:
    record(path, dialect, question=QUESTIONS[language])
    cut_in_step(path, step)

    code, out, err = command("--replay", "t.jsonl")
    assert (code, out) == (0, f"{CUT[language, step]}\n")
    assert {"en": "the trace of this run ends here", "zh": "这次运行的记录到此为止"}[
        language
    ] in err.splitlines()[-1]
    assert ("-> 4" in err) is (step == 3)
    assert command("-q", "--replay", "t.jsonl") == (0, out, "")
    values = json.loads(command("--replay", "t.jsonl", "--json")[1])
    assert (values["cut_off"], values["steps_as_recorded"], values["runs"]) == ([True], [step - 1], [None])


def test_of_several_runs_those_that_ended_and_those_that_did_not_are_counted(
    command: Screen, path: Path
) -> None:
    for step in (None, 3, None, 1):
        record(path, TEXT)
        if step:
            cut_in_step(path, step)
    one, two, three, four = names(path)

    _, out, err = command("--replay", "t.jsonl")
    assert out == (
        "the same as recorded, as far as the trace goes: 4 runs; ended: 2, cut off: 2"
        f" (run {two} after step 2, run {four} before step 1 was over)\n"
    )
    assert [line.split(":")[0] for line in err.splitlines() if line.startswith("Run ")] == [
        f"Run {name}" for name in (one, two, three, four)
    ]
    assert err.count("the trace of this run ends here") == 2


def test_many_that_were_cut_off_do_not_fill_the_screen(command: Screen, path: Path) -> None:
    for _ in range(7):
        record(path, TEXT)
        cut_in_step(path, 2)

    _, out, _ = command("--replay", "t.jsonl")
    assert "7 runs; ended: 0, cut off: 7 (run " in out
    assert (out.count("after step 1"), out.endswith(", ...)\n")) == (5, True)


# --- several runs ------------------------------------------------------------------------------------


@each_language
def test_several_runs_have_a_heading_each_and_one_has_none(
    command: Screen, path: Path, language: str
) -> None:
    record(path, TEXT, question=QUESTIONS[language])
    heading = {"en": "Run ", "zh": "运行 "}[language]
    assert heading not in command("--replay", "t.jsonl")[2]
    record(path, TEXT, question="And\nthe \x1b[31mother?")

    code, out, err = command("--replay", "t.jsonl")
    one, two = names(path)
    assert code == 0
    assert out == {"en": "the same as recorded: 2 runs\n", "zh": "与记录一致：2 次运行全部相同\n"}[language]
    colon = {"en": ": ", "zh": "："}[language]
    headings = [line for line in err.splitlines() if line.startswith(heading)]
    assert headings == [
        f"{heading}{one}{colon}{QUESTIONS[language]}",
        f"{heading}{two}{colon}And the other?",
    ]
    assert err.splitlines()[0] == headings[0]
    assert command("-q", "--replay", "t.jsonl")[2] == ""


def test_a_heading_is_as_wide_as_the_terminal_at_most(
    command: Screen, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        record(path, TEXT, question="why " * 100)
    heading = command("--replay", "t.jsonl")[2].splitlines()[0]
    assert (len(heading), heading[-3:]) == (200, "...")  # no terminal: as the other lines
    monkeypatch.setattr("agent.cli_replay._columns", lambda: 40)
    heading = command("--replay", "t.jsonl")[2].splitlines()[0]
    assert (len(heading), heading[-3:]) == (40, "...")


@pytest.mark.parametrize(
    ("line", "columns", "fits"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("北京几度", 8, "北京几度"),
        ("北京几度？", 8, "北京..."),
        ("a北京几度？", 8, "a北京..."),
        ("a", 1, "a"),
    ],
)
def test_a_line_is_cut_to_columns_not_to_characters(line: str, columns: int, fits: str) -> None:
    assert _fitted(line, columns) == fits


# --- a folder ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--from-step", "1")])
def test_of_a_folder_its_newest_trace_is_named(
    command: Screen, tmp_path: Path, more: tuple[str, ...]
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for age, name in enumerate(("b.jsonl", "a.jsonl", "notes.txt")):
        (folder / name).touch()
        os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))
    (folder / "folder.jsonl").mkdir()

    code, out, err = command("--replay", "traces", *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: traces is a folder, and --replay takes a file: name one in it, as ")
    assert str(Path("traces") / "b.jsonl") in err


def test_of_a_folder_without_traces_it_is_said_what_writes_them(command: Screen, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    code, out, err = command("--replay", "empty")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no *.jsonl in it; --trace FILE and AGENT_TRACE_DIR write traces" in err
