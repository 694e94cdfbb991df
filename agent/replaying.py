"""A recorded run again: today's code on the replies and tool results of a trace, compared event by event.

Nothing is sent and no tool runs, so it needs no key and no network.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from agent.assembly import assemble, protocol_of
from agent.budget import Budget
from agent.recorded import RecordedRun, read_trace, setup_of, spent_before
from agent.results import RunResult
from agent.seams import World
from agent.setup import Setup
from agent.steps import Steps
from agent.tape import Differs, Tape, TapeEnds
from agent.toolspecs import specs_of


@dataclass(frozen=True)
class Replay:
    """How the runs of a trace went the second time.

    ``difference`` is the first place at which one behaves otherwise, in a sentence; None where all did the
    same. ``results`` has None for a run that did not end: at a difference, or as its trace was cut off.
    """

    difference: str | None
    results: tuple[RunResult | None, ...]

    @property
    def same(self) -> bool:
        return self.difference is None

    def __bool__(self) -> bool:
        return self.same


def replay(path: str | os.PathLike[str]) -> Replay:
    """Replay every run of a trace. Raises SettingsError for a file that is none."""
    runs = read_trace(path)
    results: list[RunResult | None] = []
    for run in runs:
        try:
            results.append(_replayed(run))
        except Differs as found:
            where = f"run {run.name}, " if len(runs) > 1 else ""
            return Replay(f"{where}{found}", (*results, None))
    return Replay(None, tuple(results))


def _replayed(run: RecordedRun) -> RunResult | None:
    tape, setup = Tape(run), setup_of(run)
    protocol = protocol_of(setup, specs_of(setup.tools))
    world = World(tape.ask, tape.begin, tape.note, tape.clock)
    again = assemble(setup, protocol, world, _budget(run, setup, tape.clock))
    try:
        with again.meter:
            result = Steps(again.execute()).to_the_end()
        tape.note(result)
        return result
    except TapeEnds:  # the trace was cut off, and up to there all was the same
        return None


def _budget(run: RecordedRun, setup: Setup, clock: Callable[[], float]) -> Budget | None:
    """The agent's budget as the run found it; what other runs spent meanwhile is in no trace of this one."""
    return Budget(setup.budget, spent_before(run), clock) if setup.budget else None
