"""The second half of run.py, inside .venv: see that there is a model, then be ``python -m agent``."""

from __future__ import annotations

import argparse
import runpy
import sys

from agent.errors import SettingsError
from agent.settings import load_settings
from agent.weights import MODELS, cached_path, fetch


def answer(arguments: list[str]) -> int:
    """Run ``python -m agent`` with ``arguments`` in this process; returns its exit code."""
    try:
        arguments = without_small(arguments)
        name = needed_weights(arguments)
        if name and not cached_path(name):
            fetch(name)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    sys.argv[1:] = arguments
    runpy.run_module("agent", run_name="__main__", alter_sys=True)  # ends in SystemExit
    return 0


def without_small(arguments: list[str]) -> list[str]:
    """Put ``--small`` into the agent's own words. Raises SettingsError beside another --model."""
    options = _before_dashes(arguments)
    if "--small" not in options:
        return arguments
    if _read(arguments).model:
        raise SettingsError("--small is short for --model local-small: give one of the two.")
    rest = [option for option in options if option != "--small"]
    return ["--model", "local-small", *rest, *arguments[len(options) :]]


def needed_weights(arguments: list[str]) -> str | None:
    """The embedded model that this run will load, None if it will load none of ours."""
    chosen = _read(arguments)
    if chosen.replay or {"-h", "--help", "--version"} & set(_before_dashes(arguments)):
        return None
    try:
        settings = load_settings()
    except SettingsError:
        return None  # the agent says it, and no gigabyte should come before that
    name = chosen.model or settings.model
    if not name and not (chosen.base_url or settings.api_key or settings.base_url):
        name = "local"
    own_file = name == "local" and settings.local_model_path
    return name if name in MODELS and not own_file else None


def _read(arguments: list[str]) -> argparse.Namespace:
    """The few options that decide about the model; all others are the agent's business, errors included."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--model", nargs="?")
    parser.add_argument("--base-url", nargs="?")
    parser.add_argument("--replay", nargs="?")
    return parser.parse_known_args(_before_dashes(arguments))[0]


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments
