"""What a contender imports when it is first used is no part of its first run, whatever answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import LONGEST_S, Command
from tests.scripts.compare_service import Solver

ROOT = Path(__file__).resolve().parents[2]
RECORDING = Path(__file__).with_name("compare_recording.jsonl")
# Runs compare, and says on stdout which modules were imported while turns were played.
SPY = """
import json, sys
from scripts.compare import main
from scripts.comparing import running
play, late = running.play_turn, {}
def spied(turn, *rest):
    before = set(sys.modules)
    row = play(turn, *rest)
    if more := sorted(set(sys.modules) - before):
        late[" ".join(map(str, turn.key))] = more
    return row
running.play_turn = spied
code = main(sys.argv[1:])
print(json.dumps([code, late]))
"""


@pytest.mark.parametrize("mode", ["scripted", "live"])
def test_no_module_is_imported_while_a_run_is_timed(mode: str, tmp_path: Path) -> None:
    with Solver() as service:
        source = ["--scripted", str(RECORDING)] if mode == "scripted" else ["--model", "small"]
        env = Command(tmp_path, service if mode == "live" else None).env()
        run = subprocess.run(
            [sys.executable, "-c", SPY, *source, "--only", "d04,d19,d28,c13", "--out", str(tmp_path / "out")],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            encoding="utf-8",
            timeout=LONGEST_S,
            check=False,
        )
    assert run.stdout, run.stderr
    code, late = json.loads(run.stdout.splitlines()[-1])
    assert (code, late) == (0, {})
