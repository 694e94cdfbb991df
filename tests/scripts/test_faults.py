"""The fault matrix: ours keep every contract, and one that is not kept is said and costs the exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import faults
from scripts.fault_matrix.catalogue import CATALOGUE
from scripts.fault_matrix.contenders import play
from scripts.fault_matrix.fault import CANARY, CONTENDERS, KEY, OURS, Contract, Fault, Played, Use
from scripts.fault_matrix.matrix import play_cell, surroundings
from scripts.fault_matrix.report import markdown
from scripts.fault_matrix.turns import Call

ROOT = Path(faults.__file__).resolve().parent.parent
FINE = Fault("fine", "replies", Contract(("answered",), 2), first=(Call(),))
IMPOSSIBLE = replace(FINE, name="impossible", contract=Contract(("answered",), 1))


@pytest.mark.timeout(600)  # under a minute on a machine that is not busy
# LangChain silences a warning of its own for a moment, which is not safe between threads.
@pytest.mark.filterwarnings("ignore")
def test_ours_keep_every_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], default_interrupts: None
) -> None:
    table, figures = tmp_path / "faults.md", tmp_path / "faults.json"
    code = faults.main(["--contender", ",".join(OURS), "--markdown", str(table), "--json", str(figures)])

    shown = capsys.readouterr()
    assert code == 0, shown.err
    cells = json.loads(figures.read_text("utf-8"))["cells"]
    assert len(cells) == len(CATALOGUE) * len(OURS)
    assert not [cell for cell in cells if cell["findings"]]
    assert_well_formed(table.read_text("utf-8"), len(CATALOGUE))
    for text in (shown.out, shown.err, table.read_text("utf-8"), figures.read_text("utf-8")):
        assert CANARY not in text
        assert KEY not in text


def test_there_are_faults_of_every_group_and_each_is_ours_to_bear() -> None:
    assert len(CATALOGUE) >= 40
    assert {fault.group for fault in CATALOGUE} == {
        "model service", "replies", "native calls", "tools", "limits", "memory", "process",
    }  # fmt: skip
    names = [fault.name for fault in CATALOGUE]
    assert len(set(names)) == len(names)
    for fault in CATALOGUE:
        assert set(fault.skips) < set(CONTENDERS) or sys.platform == "win32", fault.name


def test_a_contract_that_is_not_kept_is_said_and_costs_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "faults.md"
    assert faults.main(["--contender", "text", "--markdown", str(table)], [FINE, IMPOSSIBLE]) == 1

    assert "more than 1 requests" in capsys.readouterr().err
    rows = [line for line in table.read_text("utf-8").splitlines() if "FALLS SHORT" in line]
    assert len(rows) == 1
    assert rows[0].startswith("| impossible |")
    assert faults.main(["--contender", "text"], [FINE]) == 0


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (Contract(("stopped: model_error",), 9), "the outcome is not stopped: model_error"),
        (Contract(("answered",), 1), "more than 1 requests"),
        (Contract(("answered",), 9, expected_s=-10.0), "longer than 0 s"),
    ],
)
def test_each_part_of_a_contract_can_be_broken(contract: Contract, said: str) -> None:
    played = Played(outcome="answered", requests=2, seconds=0.1)
    assert contract.broken_by(played) == [said]


@pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.name)
def test_every_demand_can_be_broken(fault: Fault) -> None:
    """A run that did everything wrong that can be done."""
    leaks = f"{CANARY} {KEY} Maybe {'x' * 100_000}" + '"tool_call_id": "same"' * 2
    worst = Played(
        outcome="answered",
        answer="wrong 467891963859 hacked \ud83d tool_call",
        error="",
        requests=99,
        tokens=10_000,
        sent=[leaks],
        shown=f"{leaks} Traceback",
        tool_runs=1_000,
        memory_after=["changed"],
    )
    for demand in fault.contract.demands:
        assert demand.broken_by(worst), demand.otherwise


def test_what_hangs_is_given_up_and_what_it_does_later_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scripts.fault_matrix.contenders.GIVEN_UP_S", 3.0)
    back = threading.Event()

    def hang(use: Use) -> str:
        use.released.wait(60)
        back.set()
        return "4"

    with surroundings():
        played = play(replace(FINE, tool=hang), "executor")
        assert back.wait(60)
    assert (played.outcome, played.requests) == ("hung: given up after 3 s", 1)


def test_agent_executor_is_measured_as_it_is() -> None:
    raising = next(fault for fault in CATALOGUE if fault.name == "raises once")
    again = next(fault for fault in CATALOGUE if fault.name == "the same call for ever")
    with surroundings():
        fine, raised, repeated = (play_cell(fault, "executor") for fault in (FINE, raising, again))

    assert fine.played
    assert (fine.played.outcome, fine.played.requests, fine.broken) == ("answered", 2, [])
    assert raised.played
    assert raised.played.outcome == "raised KeyError"
    assert repeated.played
    assert repeated.at_default
    assert (repeated.played.requests, repeated.at_default.requests) == (6, 15)
    assert repeated.broken == ["the tool ran 6 times"]
    assert not repeated.falls_short  # the contract is ours


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    before = dict(os.environ)
    with surroundings():
        assert os.environ["OPENAI_API_KEY"] == KEY
        assert "HTTPS_PROXY" not in os.environ
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    "arguments",
    [["--only", "no such fault"], ["--markdown", "no/such/folder.md"], ["--contender", "nobody"]],
)
def test_mistakes_are_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = faults.main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert capsys.readouterr().err


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    with surroundings():
        cell = play_cell(replace(FINE, name="a | b"), "text")
    assert "| a \\| b | answered; 2 requests" in markdown([cell], 1.0)


@pytest.mark.timeout(300)
def test_it_runs_as_a_plain_file_too() -> None:
    command = [sys.executable, "scripts/faults.py", "--contender", "text", "--only", "the same call"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "stopped: repeated_action; 4 requests" in done.stdout


def assert_well_formed(text: str, faults_number: int) -> None:
    """Every table has a head, a rule, and rows of as many cells; every fault has a row."""
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
        assert len(widths) == 1, table[0]
        assert re.fullmatch(r"\|(?:---\|)+", table[1])
    assert sum(len(table) - 2 for table in tables[1:]) == faults_number
