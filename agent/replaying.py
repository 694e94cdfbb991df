"""A recorded run again: today's code on the replies and tool results of a trace, compared event by event.

Nothing is sent and no tool runs, so it needs no key and no network.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.assembly import assemble, protocol_of
from agent.budget import Budget
from agent.recorded import RecordedRun, read_trace, setup_of, spent_before
from agent.results import RunResult, Step
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
    ``steps`` are those of each run that went as recorded, whether or not the run ended.
    """

    difference: str | None
    results: tuple[RunResult | None, ...]
    steps: tuple[tuple[Step, ...], ...] = ()

    @property
    def cut_off(self) -> tuple[int, ...]:
        """Which of ``results``, counted from 0, are None because the trace ends before the run did."""
        complete = self.results if self.same else self.results[:-1]
        return tuple(number for number, result in enumerate(complete) if result is None)

    @property
    def same(self) -> bool:
        return self.difference is None

    def __bool__(self) -> bool:
        return self.same


def replay(path: str | os.PathLike[str]) -> Replay:
    """Replay every run of a trace. Raises SettingsError for a file that is none."""
    return replay_runs(read_trace(path))


def replay_runs(runs: Sequence[RecordedRun]) -> Replay:
    """Replay runs up to the first difference. Raises SettingsError for one that cannot be played."""
    difference, results, steps = None, [], []
    for run in runs:
        played: list[Step] = []
        result = None
        try:
            result = _replayed(run, played)
        except Differs as found:
            difference = f"run {run.name}, {found}" if len(runs) > 1 else str(found)
        results.append(result)
        steps.append(tuple(played))
        if difference is not None:
            break
    return Replay(difference, tuple(results), tuple(steps))


def _replayed(run: RecordedRun, played: list[Step]) -> RunResult | None:
    """Replay one run, and add each step that goes as recorded to ``played``."""
    tape, setup = Tape(run), setup_of(run)
    protocol = protocol_of(setup, specs_of(setup.tools))
    world = World(tape.ask, tape.begin, tape.note, tape.clock)
    again = assemble(setup, protocol, world, _budget(run, setup, tape.clock))
    try:
        with again.meter:
            steps = Steps(again.execute())
            for step in steps:
                played.append(step)  # one by one: those before a difference are kept
            result = steps.to_the_end()
        tape.note(_worded_as(run, result))
        return result
    except TapeEnds:  # the trace was cut off, and up to there all was the same
        return None


def _worded_as(run: RecordedRun, result: RunResult) -> RunResult:
    """The result with the recorded error, where both have one.

    It is a sentence for people, which a later version may word better; what it tells of has been compared.
    """
    recorded = run.ended.get("error") if run.ended else None
    return replace(result, error=recorded) if result.error and recorded else result


def _budget(run: RecordedRun, setup: Setup, clock: Callable[[], float]) -> Budget | None:
    """The agent's budget as the run found it; what other runs spent meanwhile is in no trace of this one."""
    return Budget(setup.budget, spent_before(run), clock) if setup.budget else None
