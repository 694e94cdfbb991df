"""The second half of test.py, inside .venv: the checks one after the other, and how each went."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from agent.errors import SettingsError
from agent.weights import fetch
from scripts import chromium

Check = tuple[str, Callable[[], int]]
"""A name, and what runs the check and returns its exit code."""


def run_checks(arguments: list[str]) -> int:
    """Run every check even if one fails, then say how each went. With ``arguments``: pytest alone."""
    lint: list[Check] = [
        ("lint", lambda: _module("ruff", "check", ".")),
        ("format", lambda: _module("ruff", "format", "--check", ".")),
        ("types", lambda: _module("mypy")),
    ]
    checks = [*([] if arguments else lint), ("tests", lambda: run_tests(arguments))]
    outcomes = [_timed(check) for check in checks]
    for name, code, seconds in outcomes:
        print(f"{'failed' if code else 'passed'}  {name:<6}  {seconds:6.1f} s", flush=True)
    return int(any(code for _, code, _ in outcomes))


def run_tests(arguments: list[str]) -> int:
    """Run pytest with ``arguments``; returns its exit code, or 1 if CI lacks what some tests need."""
    missing = dict(_missing())
    must_have_all = os.environ.get("CI", "").lower() in ("true", "1")
    for name, error in missing.items():
        words = f"The {name} tests cannot run" if must_have_all else f"SKIPPING the {name} tests"
        print(f"{words}: {error}", file=sys.stderr, flush=True)
    if missing and must_have_all:
        return 1
    if not missing:
        return int(pytest.main(arguments))
    plugins = [SkipEmbedded()] if "end-to-end" in missing else []  # without a browser, its fixture skips
    return int(pytest.main([*arguments, "-rs"], plugins=plugins))


def _missing() -> Iterator[tuple[str, SettingsError]]:
    """The kinds of tests for which something cannot be had, each with the reason."""
    try:
        fetch("local-small")
    except SettingsError as error:
        yield "end-to-end", error
    try:
        chromium.fetch()
    except SettingsError as error:
        yield "browser", error


class SkipEmbedded:
    """A pytest plugin: tests on the embedded model are reported as skipped."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("embedded"):
                item.add_marker(pytest.mark.skip(reason="the embedded model could not be fetched"))


def _module(*command: str) -> int:
    return subprocess.call([sys.executable, "-m", *command])


def _timed(check: Check) -> tuple[str, int, float]:
    name, run = check
    print(f"== {name}", flush=True)
    start = time.monotonic()
    return name, run(), time.monotonic() - start
