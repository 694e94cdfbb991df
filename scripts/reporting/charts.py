"""The geometry of the page's charts, in units of their view boxes; the template draws it as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.reporting.views import RunView, StepView

MOST_BINS = 14
HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT = 320.0, 96.0
STRIP_HEIGHT = 44.0
STRIP_WIDTH = 1000.0
WIDEST_COLUMN = 64.0


@dataclass(frozen=True)
class Bin:
    """So many values from ``low`` to ``high``, both included, and the bar that shows them."""

    low: int
    high: int
    count: int
    x: float
    width: float
    height: float


@dataclass(frozen=True)
class Histogram:
    bins: tuple[Bin, ...]
    unknown: int
    median: int | None

    @property
    def most(self) -> int:
        return max((each.count for each in self.bins), default=0)


def histogram(values: Sequence[int | None]) -> Histogram:
    """How often values occur, in at most MOST_BINS bins of a round width. None counts as unknown."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Histogram((), len(values), None)
    width = _round_width(known[0], known[-1])
    first = known[0] // width
    counts = Counter(value // width - first for value in known)
    number = known[-1] // width - first + 1
    most, each = max(counts.values()), HISTOGRAM_WIDTH / number
    bins = (
        Bin(
            low=(first + i) * width,
            high=(first + i + 1) * width - 1,
            count=counts[i],
            x=round(i * each, 2),
            width=round(each, 2),
            height=round(HISTOGRAM_HEIGHT * counts[i] / most, 2),
        )
        for i in range(number)
    )
    return Histogram(tuple(bins), len(values) - len(known), known[len(known) // 2])


def _round_width(low: int, high: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... with which all from low to high are in MOST_BINS bins."""
    scale = 1
    while True:
        for factor in (1, 2, 5):
            width = factor * scale
            if high // width - low // width < MOST_BINS:
                return width
        scale *= 10


def stop_reasons(runs: Sequence[RunView]) -> list[tuple[str, int, float]]:
    """Each stop reason with the number of its runs, the most frequent first, and its part of that one."""
    counts = Counter(run.ending.stop_reason for run in runs).most_common()
    return [(reason, count, round(count / counts[0][1], 4)) for reason, count in counts]


@dataclass(frozen=True)
class Column:
    """One step in the strip: what its prompt and its reply took in tokens, model and tools in seconds."""

    step: StepView
    x: float
    width: float
    prompt: float
    completion: float
    model: float
    tools: float


def strip(steps: Sequence[StepView]) -> tuple[Column, ...]:
    """A run at a glance: a column a step, tokens above and seconds beneath, each scaled to its highest."""
    tokens = max((step.tokens or 0 for step in steps), default=0) or 1
    seconds = max((step.model_s + step.tools_s for step in steps), default=0) or 1
    each = min(WIDEST_COLUMN, STRIP_WIDTH / len(steps)) if steps else 0
    return tuple(
        Column(
            step,
            round(i * each, 2),
            round(each * 0.86, 2),
            prompt=_part((step.tokens or 0) - _written(step), tokens),
            completion=_part(_written(step), tokens),
            model=_part(step.model_s, seconds),
            tools=_part(step.tools_s, seconds),
        )
        for i, step in enumerate(steps)
    )


def _written(step: StepView) -> int:
    return sum(each.completion_tokens or 0 for each in step.exchanges) if step.tokens else 0


def _part(value: float, whole: float) -> float:
    return round(STRIP_HEIGHT * value / whole, 2)
