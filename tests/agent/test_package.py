"""The package as others see it: its names, what an import costs, and which way imports point."""

from __future__ import annotations

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent

ROOT = Path(agent.__file__).resolve().parent.parent
PACKAGES = ("agent", "tools", "prompts")
EXPORTED = [
    "Action",
    "Agent",
    "AgentError",
    "LastRequest",
    "Limits",
    "Observation",
    "OpenTelemetryHandler",
    "RunFailed",
    "RunResult",
    "SettingsError",
    "Step",
    "StepStarted",
    "StopReason",
    "ToolRegistry",
    "Usage",
    "load_model",
    "replay",
    "run_agent",
]


@functools.cache
def modules() -> dict[str, Path]:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {_name(path.relative_to(ROOT)): path for path in paths}


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports_of(path: Path) -> set[str]:
    """What a module needs at run time, also inside functions; not what only a type checker reads."""
    known = modules()
    found: set[str] = set()
    for node in _at_run_time(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            found |= below or {node.module}
    return found & known.keys()


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _at_run_time(child)


def everything_below(name: str) -> set[str]:
    known, seen, ahead = modules(), set[str](), {name}
    while ahead:
        seen |= (now := ahead)
        ahead = set().union(*(imports_of(known[module]) for module in now)) - seen
    return seen - {name}


def run(code: str) -> str:
    """What a fresh Python writes to stdout; it must not fail."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=100, check=True
    )
    return done.stdout.decode()


def test_all_is_what_is_exported() -> None:
    assert agent.__all__ == EXPORTED
    assert set(EXPORTED) <= set(dir(agent))


@pytest.mark.parametrize("name", EXPORTED)
def test_each_name_resolves_and_is_documented(name: str) -> None:
    assert getattr(agent, name).__doc__
    assert name in dir(agent)


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="module 'agent' has no attribute 'AgentExecutor'"):
        agent.AgentExecutor  # noqa: B018 - the look-up itself must raise


def test_importing_the_package_and_its_light_names_imports_no_langchain() -> None:
    code = (
        "import sys, agent\nfrom agent import Limits, RunResult, SettingsError, StopReason\n"
        "import agent.cli, agent.options, agent.models, tools, prompts\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0].startswith(('lang', 'openai'))))"
    )
    assert run(code).strip() == "[]"


def test_imports_make_no_circle() -> None:
    graph = {name: imports_of(path) - {name} for name, path in modules().items()}

    assert list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("package", ["tools", "prompts"])
def test_tools_and_prompts_know_nothing_of_the_agent(package: str) -> None:
    for name in modules():
        if name.split(".")[0] == package:
            assert {module.split(".")[0] for module in everything_below(name)} <= {package}


RESULTS = {"agent.errors", "agent.notebook", "agent.redaction"}  # what results stand on


@pytest.mark.parametrize(
    ("module", "below"),
    [
        ("agent.errors", {"agent.redaction"}),
        ("agent.results", RESULTS),
        ("agent.limits", {"agent.results", *RESULTS}),
        ("agent.protocols.decisions", {"agent.results", *RESULTS}),
        ("agent.memory", set()),
        ("agent.deadline", set()),
        ("agent.redaction", set()),
    ],
)
def test_a_low_module_knows_only_what_lies_below(module: str, below: set[str]) -> None:
    assert everything_below(module) == below


@pytest.mark.parametrize("module", ["agent.toolbox", "agent.client", "agent.protocols.text"])
def test_a_part_knows_nothing_of_the_loop(module: str) -> None:
    assert not everything_below(module) & {"agent.loop", "agent.agent", "agent.cli", "agent.console"}


def test_the_loop_knows_nothing_of_the_command_line() -> None:
    assert not everything_below("agent.agent") & {"agent.cli", "agent.console", "agent.options"}


def test_importing_leaves_argv_logging_and_stdout_alone() -> None:
    code = (
        "import logging, sys\nbefore = (sys.argv[:], sys.stdout, logging.root.handlers[:])\n"
        "from agent import Agent, run_agent\n"
        "assert before == (sys.argv, sys.stdout, logging.root.handlers)"
    )
    assert run(code) == ""
