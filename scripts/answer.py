"""The second half of run.py, inside .venv: see that there is a model, then be ``python -m agent``."""

from __future__ import annotations

import argparse
import runpy
import sys

from agent.errors import SettingsError
from agent.options import parse
from agent.settings import load_settings
from agent.weights import MODELS, cached_path, fetch


def answer(arguments: list[str]) -> int:
    """Run ``python -m agent`` with ``arguments`` in this process; returns its exit code.

    Raises:
        SystemExit: the agent's own end; also of --help, and of a mistake in the arguments, which is
            told before anything is fetched.
    """
    try:
        arguments = without_small(arguments)
        name = needed_weights(parse(arguments))
        if name and not cached_path(name):
            fetch(name)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.argv[1:] = arguments
    runpy.run_module("agent", run_name="__main__", alter_sys=True)
    return 0


def without_small(arguments: list[str]) -> list[str]:
    """Put ``--small`` into the agent's own words. Raises SettingsError beside another --model."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = arguments[:end]
    if "--small" not in options:
        return arguments
    if any(option.split("=")[0] == "--model" for option in options):
        raise SettingsError("--small is short for --model local-small: give one of the two.")
    rest = [option for option in options if option != "--small"]
    return ["--model", "local-small", *rest, *arguments[end:]]


def needed_weights(options: argparse.Namespace) -> str | None:
    """The embedded model that a run with the agent's ``options`` will load; None if none of ours."""
    if getattr(options, "replay", None):
        return None
    try:
        settings = load_settings()
    except SettingsError:
        return None  # the agent says it, and no gigabyte should come before that
    name = options.model or settings.model
    if not name and not (options.base_url or settings.api_key or settings.base_url):
        name = "local"
    own_file = name == "local" and settings.local_model_path
    return name if name in MODELS and not own_file else None
