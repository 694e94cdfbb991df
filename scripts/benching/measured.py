"""What a measurement comes to: lines of a table, and goals with what was measured of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scripts.benching.timing import Spread


@dataclass(frozen=True)
class Line:
    """One line: what was done, and the spread of each contender's seconds.

    ``counts`` are what the figures rest on: requests, messages, most connections at once. ``failures`` says
    of each run that failed whose it was and why; the figures are those of the others.
    """

    what: str
    spreads: Mapping[str, Spread]
    counts: Mapping[str, int]
    failures: Sequence[str] = ()


@dataclass(frozen=True)
class Goal:
    """A ratio of two medians, and how high it may be; None where one of them could not be measured."""

    what: str
    value: float | None
    at_most: float

    @property
    def ok(self) -> bool:
        return self.value is not None and self.value <= self.at_most


@dataclass(frozen=True)
class Measured:
    title: str
    about: str
    lines: Sequence[Line]
    goals: Sequence[Goal] = ()

    def as_record(self) -> dict[str, Any]:
        """For JSON; seconds stay seconds."""
        goals = [{**asdict(goal), "ok": goal.ok} for goal in self.goals]
        return {"title": self.title, "about": self.about, "lines": [*map(asdict, self.lines)], "goals": goals}


def ratio(one: Spread, other: Spread) -> float:
    """How much the one costs of the other: their medians, over each other."""
    return one.median / other.median


def table(measured: Measured) -> Iterator[str]:
    """One measurement as text: milliseconds, median and in brackets the quartiles."""
    yield f"{measured.title}: {measured.about}"
    for line in measured.lines:
        counted = ", ".join(f"{count:,} {name}" for name, count in line.counts.items())
        yield f"  {line.what}{f' ({counted})' if counted else ''}"
        width = max(map(len, line.spreads), default=0)
        for name, each in line.spreads.items():
            quartiles = f"[{each.low * 1e3:.2f} .. {each.high * 1e3:.2f}]"
            yield f"    {name:<{width}} {each.median * 1e3:>10.2f} ms  {quartiles:<22} {each.runs} runs"
        yield from (f"    failed: {failure}" for failure in line.failures)
    yield from map(goal_line, measured.goals)


def goal_line(goal: Goal) -> str:
    value = "not measured" if goal.value is None else f"{goal.value:.2f}"
    return f"  {'ok' if goal.ok else 'MISSED':<7} {goal.what}: {value}, at most {goal.at_most:g}"
