"""How long a fresh process takes: to its first request, beside importing what the product is made of."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from scripts.benching.measured import Goal, Line, Measured, ratio
from scripts.benching.surroundings import without_settings
from scripts.benching.timing import Contender, alternate
from scripts.services import Service

ROOT = Path(__file__).resolve().parent.parent.parent
AT_MOST = 1.1
NAMED = (
    "import langchain_openai; from langchain.memory import ConversationBufferWindowMemory; "
    "from langchain_core.tools import Tool"
)
READY = "; print('ready', flush=True)"
FIRST = "from agent import run_agent; run_agent('What is 2+2?')"


@dataclass(frozen=True)
class Plan:
    repeats: int


def measure(plan: Plan) -> Measured:
    """Each process starts with a warm file cache: the first round does not count."""
    with tempfile.TemporaryDirectory() as folder, Service(repeat("Final Answer: 4")) as service:
        start = Starter(Path(folder), service)
        first = alternate(
            [
                Contender("run_agent, to its first request", lambda: start.until_request("-c", FIRST)),
                Contender(
                    "python -m agent, to its first request",
                    lambda: start.until_request("-m", "agent", "What is 2+2?"),
                ),
                Contender("import what it names", lambda: start.until_ready("-c", NAMED + READY)),
                Contender(
                    "the same and langchain.agents",
                    lambda: start.until_ready("-c", f"{NAMED}; import langchain.agents{READY}"),
                ),
            ],
            plan.repeats,
        )
        requests = len(service.requests)
        early = alternate(
            [
                Contender("python -m agent --help", lambda: start.until_end("-m", "agent", "--help")),
                Contender("python -c 'import argparse'", lambda: start.until_end("-c", "import argparse")),
            ],
            plan.repeats,
        )
    lines = [
        Line("first request", first, {"requests": requests}),
        Line("help, to the process's end", early, {}),
    ]
    value = ratio(first["run_agent, to its first request"], first["import what it names"])
    goal = Goal("the first request over importing what the product names", value, AT_MOST)
    return Measured("startup", "time from the start of a process", lines, [goal])


class Starter:
    """Starts Python in an empty folder, without the user's settings; the service is its model."""

    def __init__(self, folder: Path, service: Service) -> None:
        self._folder = folder
        self._service = service
        own = {"OPENAI_BASE_URL": service.url, "PYTHONPATH": str(ROOT)}
        self._environment = without_settings(os.environ) | own

    def until_request(self, *arguments: str) -> float:
        """Seconds until the next request is at the service."""
        number = len(self._service.requests) + 1
        return self._until(lambda _: self._service.wait_for_request(number), *arguments)

    def until_ready(self, *arguments: str) -> float:
        """Seconds until it has written a line to stdout."""
        return self._until(lambda process: process.stdout.readline(), *arguments)

    def until_end(self, *arguments: str) -> float:
        return self._until(lambda process: process.communicate(), *arguments)

    def _until(self, wait: Callable[[Any], object], *arguments: str) -> float:
        """Raises CalledProcessError where the process fails."""
        started = time.perf_counter()
        with self._running(arguments) as process:
            wait(process)
            return time.perf_counter() - started

    @contextmanager
    def _running(self, arguments: tuple[str, ...]) -> Iterator[Any]:
        with subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            yield process
            process.wait()  # what it still writes fits into the pipe
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
