"""``--replay FILE``: what was recorded, run again, and the first place where it behaves otherwise."""

from __future__ import annotations

import argparse
from typing import Any

from agent import console
from agent.errors import SettingsError
from agent.options import LIMITS
from agent.results import SCHEMA_VERSION

SAME, DIFFERS = 0, 4


def check(options: argparse.Namespace) -> None:
    """Raise SettingsError for options that do not go together."""
    if options.from_step is not None and not options.replay:
        raise SettingsError("--from-step needs --replay FILE: the run whose first steps are to be taken over")
    if options.replay and options.question:
        raise SettingsError("--replay takes no question: the trace has its own")
    limits = [name for name in LIMITS if getattr(options, name) is not None]
    if options.replay and limits:
        raise SettingsError(
            f"--replay keeps the limits of the trace: leave out --{limits[0].replace('_', '-')}"
        )


def compare(options: argparse.Namespace, out: Any) -> int:
    """Replay every run of the trace and say how that went; returns the exit code."""
    from agent.recorded import read_trace
    from agent.replaying import replay
    from prompts import speaker

    replayed = replay(options.replay)  # first of all: it refuses what is no whole trace
    language = options.language
    say = speaker(read_trace(options.replay)[0].started["language"] if language == "auto" else language)
    shown = console.Console(say, quiet=options.quiet, verbose=options.verbose)
    for result in filter(None, replayed.results):
        for step in result.steps:
            shown.on_event(step)
        shown.end(result)
    if options.json:
        runs = [result and result.to_dict() for result in replayed.results]
        values = {"same": replayed.same, "difference": replayed.difference, "runs": runs}
        console.write(console.as_json({"schema_version": SCHEMA_VERSION, **values}, out), out)
    elif replayed.same:
        console.write(say("cli_replay_same", runs=len(replayed.results)), out)
    else:
        console.write(say("cli_replay_differs", difference=replayed.difference), out)
    return SAME if replayed.same else DIFFERS
