"""Contenders that take turns, and what their seconds come to."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice

from agent.observing import describe

Clock = Callable[[], float]


@dataclass(frozen=True)
class Contender:
    """``run`` does the work once and returns the seconds that it took; they are spread over ``per`` parts."""

    name: str
    run: Callable[[], float]
    per: int = 1


@dataclass(frozen=True)
class Spread:
    """Seconds of one part of the work: median and quartiles of so many runs."""

    low: float
    median: float
    high: float
    runs: int


def timed(
    work: Callable[[], object], prepare: Callable[[], object] = lambda: None, clock: Clock = time.perf_counter
) -> Callable[[], float]:
    """``work`` with its seconds as result; those of ``prepare``, which runs before it, do not count."""

    def run() -> float:
        prepare()
        started = clock()
        work()
        return clock() - started

    return run


def alternate(
    contenders: Sequence[Contender], repeats: int, warm_up: int = 1, failures: list[str] | None = None
) -> dict[str, Spread]:
    """Let the contenders take turns, so that a machine's moods fall on all of them alike.

    Each round has another order: what one leaves behind for the next, such as the processor's caches, is not
    always the same one's burden. The ``warm_up`` rounds before do not count. What a run raises is raised,
    unless there are ``failures`` to put it into: then that run does not count, and a contender without any
    has no spread.
    """
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number, order in enumerate(islice(cycle(orders(len(contenders))), warm_up + repeats)):
        for contender in (contenders[place] for place in order):
            took = _seconds(contender, failures)
            if took is not None and number >= warm_up:
                seconds[contender.name].append(took)
    return {name: spread(each) for name, each in seconds.items() if each}


def orders(many: int) -> list[list[int]]:
    """Orders of so many contenders: over all of them, each comes right after each other equally often.

    A Williams design (E. J. Williams, 1949), as trials are laid out whose treatments leave something behind:
    ``many`` orders, or twice as many where that is an odd number.
    """
    first = [(step + 1) // 2 if step % 2 else -step // 2 for step in range(many)]  # 0, 1, -1, 2, -2, ...
    rows = [[(start + step) % many for step in first] for start in range(many)]
    return rows if many % 2 == 0 else rows + [row[::-1] for row in rows]


def _seconds(contender: Contender, failures: list[str] | None) -> float | None:
    """Seconds of one part of its work; None where it failed, and ``failures`` says why."""
    try:
        return contender.run() / contender.per
    except Exception as error:
        if failures is None:
            raise
        failures.append(f"{contender.name}: {' <- '.join(map(describe, _with_causes(error)))}")
        return None


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it: a client's own says no more than that the connection failed."""
    while error is not None:
        yield error
        error = error.__cause__


def spread(seconds: Sequence[float]) -> Spread:
    """Quartiles include the ends, so that a single run is its own median and quartiles."""
    if len(seconds) == 1:
        return Spread(seconds[0], seconds[0], seconds[0], runs=1)
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return Spread(low, median, high, len(seconds))


@contextmanager
def one_processor(wanted: bool = True) -> Iterator[None]:
    """Keep this process on one processor, where the system knows how.

    Python threads take turns anyway, and on a busy machine handing over to another processor takes longer
    than all that is measured. All contenders are kept alike.
    """
    if not (wanted and hasattr(os, "sched_setaffinity")):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
