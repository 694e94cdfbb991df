"""Faults of a whole process: it is started, the fault is waited for, and its end is measured.

Seconds count from the fault (the hang, the signal) to the end of the process; its start, which imports
LangChain, is not measured.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.fault_matrix.child import MARKER
from scripts.fault_matrix.fault import GIVEN_UP_S, KEY, OURS, Fault, Played
from scripts.fault_matrix.stage import form_of
from scripts.fault_matrix.turns import Answer, Call, served
from scripts.services import Service, never

ROOT = Path(__file__).resolve().parent.parent.parent
STARTS_WITHIN_S = 90.0  # a busy machine takes half a minute to import LangChain
TOOL_TIMEOUT_S = "0.5"


def play_process(fault: Fault, contender: str) -> Played:
    """Start a process, play the fault and say how the process ended."""
    form = form_of(fault, contender)
    script = [never] if fault.process == "interrupt model" else [Call(), Answer()]
    replies = [served(turn, form, number) for number, turn in enumerate(script, 1)]
    with tempfile.TemporaryDirectory() as folder, Service(replies) as service:
        process = _start(contender, service, Path(folder))
        try:
            played = _meet(fault, process, service, Path(folder))
        finally:
            _end(process)
        played.requests = len(service.requests)
    return played


def _start(contender: str, service: Service, folder: Path) -> Any:
    ours = ["agent", "--protocol", contender, "--tool-timeout-s", TOOL_TIMEOUT_S, "-q"]
    ours += ["--tools", f"{__package__}.child:hanging_tools", "What is 2+2?"]
    command = ours if contender in OURS else [f"{__package__}.child", service.url]
    env = os.environ | {"OPENAI_BASE_URL": service.url, "OPENAI_API_KEY": KEY, "AGENT_MODEL_TIMEOUT_S": "60"}
    env |= {"PYTHONPATH": str(ROOT), MARKER: str(folder / "hangs"), "PYTHONIOENCODING": "utf-8"}
    with open(folder / "stderr", "wb") as stderr, open(folder / "stdout", "wb") as stdout:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )


def _meet(fault: Fault, process: Any, service: Service, folder: Path) -> Played:
    """Wait for the fault, do what it is about, and measure how long the process takes to end."""
    played = Played()

    def has_begun() -> bool:
        return bool(service.requests) if fault.process == "interrupt model" else (folder / "hangs").exists()

    until = time.monotonic() + STARTS_WITHIN_S
    while not has_begun() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    begun = has_begun()
    start = time.perf_counter()
    if begun and fault.process != "exit":
        process.send_signal(signal.SIGINT)
    try:
        code = process.wait(GIVEN_UP_S if begun else 0.1)
        # A process that ends by a signal has the exit code 128 + signal for its shell.
        played.outcome = f"exited {code if code >= 0 else 128 - code}"
    except subprocess.TimeoutExpired:
        played.outcome = f"hung: given up after {GIVEN_UP_S:g} s"
    played.seconds = time.perf_counter() - start
    played.shown = (folder / "stderr").read_text("utf-8", "replace")
    if not begun:
        played.outcome = f"never came so far ({played.outcome})"
        played.error = played.shown[-500:]
    return played


def _end(process: Any) -> None:
    """Let no process outlive its fault; it is killed by its own handle."""
    with suppress(OSError):  # it has ended by itself
        process.kill()
    process.wait()
