"""scripts/compare.py as a process: Ctrl-C, SIGTERM, and a console that cannot write Chinese."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from scripts.comparing.journal import NAME
from scripts.services import Reply
from tests.command import LONGEST_S, Command
from tests.scripts.compare_service import Solver

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "compare.py"
RECORDING = Path(__file__).with_name("compare_recording.jsonl")


class Stuck(Solver):
    """Holds back its reply to a question until it closes, and says that the question has come."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question
        self.asked = threading.Event()

    def record(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply:
        if self._question in str(body["messages"]):
            self.asked.set()
            self.closing.wait()
        return super().record(body, headers)


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("contender", ["ours-text", "executor-react"])
def test_ctrl_c_while_the_model_is_asked_keeps_what_was_finished(
    number: signal.Signals, contender: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with Stuck("keys does a piano have") as service:
        options = ["--model", "small", "--out", str(out), "--only", "d04,c13", "--contenders", contender]
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *options],
            cwd=tmp_path,
            env=Command(tmp_path, service).env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            while not service.asked.wait(0.2):
                assert process.poll() is None, process.communicate()
            process.send_signal(number)
            shown, said = process.communicate(timeout=LONGEST_S)
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "interrupted" in said
    assert f"d04   ok  {contender}" in shown
    lines = (out / NAME).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["task"]["id"] for line in lines[1:]] == ["d04"]


def test_a_console_that_knows_no_chinese_shows_it_all_the_same(tmp_path: Path) -> None:
    options = ["--out", str(tmp_path / "out"), "--only", "d19,d28", "--contenders", "bare,ours-text"]
    run = subprocess.run(
        [sys.executable, "-m", "scripts.compare", "--scripted", str(RECORDING), *options],
        cwd=ROOT,
        env=Command(tmp_path).env(PYTHONIOENCODING="cp1252"),
        capture_output=True,
        encoding="cp1252",
        timeout=LONGEST_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "\\u" in run.stdout  # of the bare model's answer to a Chinese question
    assert "Claims of the original design" in run.stdout
