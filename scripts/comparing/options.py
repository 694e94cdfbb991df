"""The options of ``compare``, and which of them contradict each other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.comparing.arms import ARMS
from scripts.figures import ROOT

MODEL = "local"
TASKS = ROOT / "scripts" / "tasks" / "compare.jsonl"
OUT = ROOT / "scripts" / "results" / "comparison"
# What a report is not asked: it says again what is measured, with the settings that were measured.
_OF_MEASURING = ("fresh", "scripted", "model", "base_url", "tasks", "weather", "only", "contenders", "repeat")
_OF_LIVE = ("model", "base_url")
_DEFAULTS = {"model": MODEL, "tasks": TASKS, "contenders": list(ARMS), "repeat": 1}


def parse(prog: str, description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options with their defaults. Raises SystemExit, code 2, for what cannot be meant."""
    own = parser(prog, description)
    args = own.parse_args(argv)
    if complaint := contradiction(args):
        own.error(complaint)
    for name, value in _DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def contradiction(args: argparse.Namespace) -> str:
    """What two options, as they were given, say against each other; empty where nothing."""
    if args.report and (other := _first_given(args, _OF_MEASURING)):
        return f"--report runs nothing, so {other} says nothing beside it: leave one of them out"
    if args.scripted and (other := _first_given(args, _OF_LIVE)):
        return f"--scripted asks no model, so {other} says nothing beside it: leave one of them out"
    if args.base_url and (args.model or MODEL) in ("local", "local-small"):
        return (
            f"--base-url names a service, and {args.model or MODEL} runs in this process: name the service's "
            "model with --model"
        )
    return ""


def _first_given(args: argparse.Namespace, names: Sequence[str]) -> str:
    given = (name for name in names if getattr(args, name) not in (None, False))
    return next((f"--{name.replace('_', '-')}" for name in given), "")


def parser(prog: str, description: str) -> argparse.ArgumentParser:
    """Without the defaults, so that it can be told what was given."""
    own = argparse.ArgumentParser(prog=prog, description=description)
    file = _path("a file")
    own.add_argument("--model", help="local (default), local-small, or a service's name")
    own.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service")
    own.add_argument("--scripted", type=file, metavar="FILE", help="recorded replies in place of a model")
    own.add_argument("--record", type=file, metavar="FILE", help="write the replies for --scripted")
    own.add_argument(
        "--out",
        type=_path("a folder"),
        default=OUT,
        metavar="DIR",
        help="default: scripts/results/comparison",
    )
    own.add_argument("--fresh", action="store_true", help="begin anew, whatever --out holds")
    own.add_argument("--report", action="store_true", help="run nothing: write what --out holds once more")
    own.add_argument("--tasks", type=file, metavar="FILE", help="default: compare.jsonl")
    own.add_argument("--weather", type=file, metavar="FILE", help="default: the table beside the tasks")
    own.add_argument("--only", type=_tasks, metavar="ID,ID", help="these tasks")
    own.add_argument("--contenders", type=_contenders, metavar="A,B", help=f"of {', '.join(ARMS)}")
    own.add_argument("--repeat", type=_positive, metavar="N", help="for services that vary")
    return own


def _tasks(text: str) -> list[str]:
    names = [name for name in map(str.strip, text.split(",")) if name]
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names no task: give ids of the tasks, such as d01,c13")
    return names


def _contenders(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(ARMS):
        raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(ARMS)}")
    return list(dict.fromkeys(names))


def _path(what: str) -> Callable[[str], Path]:
    def path(text: str) -> Path:
        if not text:
            raise argparse.ArgumentTypeError(f"it is empty: name {what}")  # Path takes it for the working one
        return Path(text)

    return path


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)
