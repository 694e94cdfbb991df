"""``--replay FILE``: what was recorded, run again, and the first place where it behaves otherwise."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import console
from agent.errors import SettingsError
from agent.options import LIMITS
from agent.results import SCHEMA_VERSION

if TYPE_CHECKING:
    from agent.recorded import RecordedRun
    from agent.replaying import Replay
    from prompts import Say

SAME, DIFFERS = 0, 4
MOST_PLACES = 5  # of runs that were cut off, in one sentence


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
    if options.replay and Path(options.replay).is_dir():
        raise SettingsError(
            f"{options.replay} is a folder, and --replay takes a file: {_advice(options.replay)}"
        )


def _advice(folder: str) -> str:
    """Which file of a folder to replay, or where such a file would come from."""
    newest = None
    with suppress(OSError):  # a folder that may not be listed is as one without a trace
        files = [path for path in Path(folder).glob("*.jsonl") if path.is_file()]
        newest = max(files, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        return "there is no *.jsonl in it; --trace FILE and AGENT_TRACE_DIR write traces"
    return f"name one in it, as {newest} (the newest)"


def compare(options: argparse.Namespace, out: Any) -> int:
    """Replay every run of the trace and say how that went; returns the exit code."""
    from agent.recorded import read_trace
    from agent.replaying import replay_runs
    from prompts import speaker

    runs = read_trace(options.replay)
    replayed = replay_runs(runs)  # before a run is asked for its language: it refuses what is not whole
    say = speaker(runs[0].started["language"] if options.language == "auto" else options.language)
    _show(runs, replayed, say, console.Console(say, quiet=options.quiet, verbose=options.verbose))
    text = console.as_json(_values(replayed), out) if options.json else _sentence(runs, replayed, say)
    console.write(text, out)
    return SAME if replayed.same else DIFFERS


def _show(runs: Sequence[RecordedRun], replayed: Replay, say: Say, shown: console.Console) -> None:
    """What went as recorded, run by run."""
    for number, (run, steps, result) in enumerate(zip(runs, replayed.steps, replayed.results, strict=False)):
        if len(runs) > 1:
            question = " ".join(console.clean(run.started["question"]).split())
            shown.heading(_fitted(say("cli_replay_run", name=run.name, question=question), _columns()))
        for step in steps:
            shown.on_event(step)
        if result:
            shown.end(result)
        elif number in replayed.cut_off:
            shown.note("cli_cut_off")


def _sentence(runs: Sequence[RecordedRun], replayed: Replay, say: Say) -> str:
    """How the replay went: where it differs, or how much of it there was to compare."""
    if not replayed.same:
        return say("cli_replay_differs", difference=replayed.difference)
    total, cut = len(replayed.results), len(replayed.cut_off)
    counted = console.counted(say, "run", total)
    if not cut:
        return say("cli_replay_same", runs=counted)
    places = [
        _place(runs, number, len(replayed.steps[number]), say) for number in replayed.cut_off[:MOST_PLACES]
    ]
    where = ", ".join([*places, "..."] if cut > MOST_PLACES else places)
    return say("cli_replay_cut_off", runs=counted, ended=total - cut, cut=cut, where=where)


def _place(runs: Sequence[RecordedRun], number: int, steps: int, say: Say) -> str:
    where = say("cli_cut_after", step=steps) if steps else say("cli_cut_before")
    return say("cli_cut_of_run", name=runs[number].name, where=where) if len(runs) > 1 else where


def _values(replayed: Replay) -> dict[str, object]:
    """What ``--json`` prints. A run that did not end is null; its steps are counted all the same."""
    return {
        "schema_version": SCHEMA_VERSION,
        "same": replayed.same,
        "difference": replayed.difference,
        "runs": [result and result.to_dict() for result in replayed.results],
        "steps_as_recorded": [len(steps) for steps in replayed.steps],
        "cut_off": [number in replayed.cut_off for number in range(len(replayed.results))],
    }


def _columns() -> int:
    """How wide stderr is: a terminal's columns, and elsewhere what the other lines are cut to."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or console.LINE_CHARS
    except (AttributeError, OSError, ValueError):  # closed, or no terminal
        return console.LINE_CHARS


def _fitted(line: str, columns: int) -> str:
    """A line as far as it fits; a Chinese character takes two columns."""
    wide = (unicodedata.east_asian_width(char) in ("W", "F") for char in line)
    ends = list(itertools.accumulate(2 if each else 1 for each in wide))
    if ends[-1] <= columns:
        return line
    return line[: bisect_right(ends, columns - len("..."))] + "..."
