"""test.py runs every check, says how each went, and never passes over the end-to-end tests in silence."""

import os
from pathlib import Path

import pytest

from agent.errors import SettingsError
from scripts import checks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ran(monkeypatch):
    """What was run instead of the real checks; every lint fails, pytest passes."""
    commands = []

    def module(*command):
        commands.append(" ".join(command))
        return 1

    def main(arguments, plugins=()):
        commands.append(["pytest", *arguments, *(type(plugin).__name__ for plugin in plugins)])
        return 0

    monkeypatch.setattr(checks, "_module", module)
    monkeypatch.setattr(checks.pytest, "main", main)
    monkeypatch.setattr(checks, "fetch", lambda name: commands.append(f"fetch {name}"))
    monkeypatch.setattr(checks.chromium, "fetch", lambda: commands.append("fetch chromium"))
    monkeypatch.delenv("CI", raising=False)
    return commands


FETCHED = ["fetch local-small", "fetch chromium"]


def unreachable(*_):
    raise SettingsError("no network")


def test_all_checks_run_though_the_first_fails(ran, capsys):
    assert checks.run_checks([]) == 1
    assert ran == ["ruff check .", "ruff format --check .", "mypy", *FETCHED, ["pytest"]]
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert [line.split()[:2] for line in lines] == [
        ["failed", "lint"],
        ["failed", "format"],
        ["failed", "types"],
        ["passed", "tests"],
    ]


def test_arguments_mean_pytest_alone(ran):
    assert checks.run_checks(["tests/tools", "-k", "calc"]) == 0
    assert ran == [*FETCHED, ["pytest", "tests/tools", "-k", "calc"]]


def test_without_the_model_its_tests_are_skipped_loudly(ran, monkeypatch, capsys):
    monkeypatch.setattr(checks, "fetch", unreachable)
    assert checks.run_tests([]) == 0
    assert ran == ["fetch chromium", ["pytest", "-rs", "SkipEmbedded"]]
    assert "SKIPPING the end-to-end tests: no network" in capsys.readouterr().err


def test_without_the_model_ci_fails(ran, monkeypatch, capsys):
    monkeypatch.setattr(checks, "fetch", unreachable)
    monkeypatch.setenv("CI", "true")
    assert checks.run_tests([]) == 1
    assert ran == ["fetch chromium"]
    assert "The end-to-end tests cannot run: no network" in capsys.readouterr().err


def test_without_a_browser_its_tests_are_skipped_loudly(ran, monkeypatch, capsys):
    monkeypatch.setattr(checks.chromium, "fetch", unreachable)
    assert checks.run_tests([]) == 0
    assert ran == ["fetch local-small", ["pytest", "-rs"]]
    assert "SKIPPING the browser tests: no network" in capsys.readouterr().err


def test_without_a_browser_ci_fails(ran, monkeypatch, capsys):
    monkeypatch.setattr(checks.chromium, "fetch", unreachable)
    monkeypatch.setenv("CI", "true")
    assert checks.run_tests([]) == 1
    assert ran == ["fetch local-small"]
    assert "The browser tests cannot run: no network" in capsys.readouterr().err


def test_what_is_missing_is_said_all_at_once(ran, monkeypatch, capsys):
    monkeypatch.setattr(checks, "fetch", unreachable)
    monkeypatch.setattr(checks.chromium, "fetch", unreachable)
    assert checks.run_tests(["-x"]) == 0
    assert ran == [["pytest", "-x", "-rs", "SkipEmbedded"]]
    assert capsys.readouterr().err.count("SKIPPING") == 2


def test_only_tests_on_the_embedded_model_are_skipped(request):
    class Item:
        def __init__(self, *marks):
            self.marks, self.added = marks, []

        def get_closest_marker(self, name):
            return name in self.marks

        def add_marker(self, mark):
            self.added.append(mark.name)

    embedded, plain = Item("embedded"), Item()
    checks.SkipEmbedded().pytest_collection_modifyitems([embedded, plain])
    assert (embedded.added, plain.added) == (["skip"], [])


def test_ci_runs_this_script():
    path = ROOT / ".ci" / "run"
    assert "python3 scripts/test.py" in path.read_text(encoding="utf-8")
    assert os.name == "nt" or os.access(path, os.X_OK)
