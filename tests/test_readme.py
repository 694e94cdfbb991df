"""Every command and code block of the READMEs works as pasted."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import LONGEST_S, ROOT, Command
from tests.service import Service

README = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = list(dict.fromkeys(line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()))
PROGRAMS = [text for kind, text in BLOCKS if kind == "python"]


@pytest.mark.parametrize("line", [line for line in COMMANDS if "scripts/test.py" not in line])
def test_a_command_answers_as_pasted(line: str, tmp_path: Path) -> None:
    with Service(itertools.repeat("Thought: easy\nFinal Answer: 1081")) as service:
        command = Command(tmp_path, service)
        finished = subprocess.run(
            [sys.executable, *shlex.split(line)[1:]],
            cwd=ROOT,
            env=command.env(AGENT_MODEL="gpt-4o"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert finished.returncode == 0, finished.stderr.decode("utf-8", "replace")
    if "agent" in line or "run.py" in line:
        assert "1081" in finished.stdout.decode("utf-8")


def test_the_command_for_the_tests_is_what_ci_runs() -> None:
    assert any("scripts/test.py" in line for line in COMMANDS)
    assert "scripts/test.py" in (ROOT / ".ci/run").read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_as_pasted(program: str, tmp_path: Path) -> None:
    with Service(itertools.repeat("Thought: known\nFinal Answer: forty-two")) as service:
        command = Command(tmp_path, service)
        finished = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=command.env(),
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert finished.returncode == 0, finished.stderr.decode("utf-8", "replace")
    assert "forty-two" in finished.stdout.decode("utf-8")


def test_the_files_that_the_readme_links_to_are_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target


def test_every_limit_and_stop_reason_has_its_place_in_the_readme() -> None:
    from dataclasses import fields

    from agent import Limits, StopReason

    for name in [*(field.name for field in fields(Limits)), *(reason.value for reason in StopReason)]:
        assert f"`{name}`" in README or f"({name}" in README or name in README, name


def test_every_parameter_of_agent_executor_is_in_the_migration_table() -> None:
    from langchain.agents import AgentExecutor

    own = (ROOT / "README.md").read_text(encoding="utf-8")
    table = own.partition("## Coming from AgentExecutor")[2].partition("\n## ")[0]
    for name in AgentExecutor.__fields__:
        assert f"`{name}`" in table or f"{name}=" in table, name
