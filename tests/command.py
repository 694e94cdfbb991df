"""``python -m agent`` as users start it: a process of its own, in an empty folder and a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service import Service

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-canary-7f3a9b"  # must never be seen
LONGEST_S = 100.0  # a busy machine takes half a minute to import LangChain
_NOT_INHERITED = ("OPENAI_", "AGENT_", "LOCAL_", "WEATHER_", "LANG", "LC_", "PYTHON", "NO_COLOR", "TERM")


@dataclass(frozen=True)
class Finished:
    """How a command ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass
class Command:
    """The command, to be called with its arguments. ``service``, if any, is the model that it asks."""

    folder: Path
    service: Service | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Finished:
        return _ended(self.start(*arguments, stdin=subprocess.PIPE, **environment), stdin)

    def of_script(self, script: Path, **environment: str) -> Finished:
        """Run a user's own script in place of the command."""
        return _ended(self._start([str(script)], subprocess.PIPE, environment))

    def start(self, *arguments: str, stdin: Any = subprocess.DEVNULL, **environment: str) -> Any:
        """Start it and return the Popen; stdout and stderr are pipes."""
        return self._start(["-m", "agent", *arguments], stdin, environment)

    def _start(self, arguments: list[str], stdin: Any, environment: dict[str, str]) -> Any:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.env(**environment),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def env(self, **more: str) -> dict[str, str]:
        """The environment of the process: nothing of this machine's settings, no embedded model, no proxy."""
        env = {name: value for name, value in os.environ.items() if not _is_setting(name)}
        env |= {"PYTHONPATH": str(ROOT), "AGENT_CACHE_DIR": str(self.folder / "no-models"), "NO_PROXY": "*"}
        if self.service:
            env |= {"OPENAI_BASE_URL": self.service.url, "OPENAI_API_KEY": KEY}
        return env | {"PYTHONIOENCODING": "utf-8"} | self.environment | more


def _ended(process: Any, stdin: bytes = b"") -> Finished:
    out, err = finish(process, stdin)
    return Finished(process.returncode, _text(out), _text(err))


def finish(process: Any, stdin: bytes | None = None) -> tuple[bytes, bytes]:
    """Wait for a process and return what it wrote. One that does not end is killed, and the test fails."""
    try:
        return process.communicate(stdin, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def _is_setting(name: str) -> bool:
    return name.upper().startswith(_NOT_INHERITED) or name.upper().endswith("_PROXY")


def _text(data: bytes) -> str:
    return data.decode("utf-8").replace("\r\n", "\n")
