"""What a soak has measured, and what is demanded of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

FLAT_BYTES = 12_000_000  # that memory may grow between its second and its last tenth
FLAT_SHARE = 0.05  # or this share of it, if that is more


@dataclass(frozen=True)
class Spent:
    """What 32 threads made of one agent's budget: ``cap``, what was ``spent``, and one request of each."""

    what: str
    cap: float
    spent: float
    in_flight: float


@dataclass(frozen=True)
class Measured:
    """One soak. ``memory`` are bytes over time; ``files`` are None where the system does not tell."""

    runs: int
    requests: int
    seconds: float
    crossed_results: int
    crossed_requests: int
    unanswered: int
    untrimmed: int
    memory: Sequence[int]
    threads_before: int
    threads_most: int
    threads_after: int
    files_before: int | None
    files_after: int | None
    budgets: Sequence[Spent] = ()
    complaints: Sequence[str] = ()

    @property
    def early_bytes(self) -> float:
        """The median of the second tenth: the first one still fills caches."""
        return median(self.memory[len(self.memory) // 10 : max(len(self.memory) // 5, 1)] or self.memory)

    @property
    def late_bytes(self) -> float:
        return median(self.memory[-max(len(self.memory) // 10, 1) :])


def _is_flat(seen: Measured) -> bool:
    return seen.late_bytes - seen.early_bytes <= max(FLAT_BYTES, FLAT_SHARE * seen.early_bytes)


def _has_closed_files(seen: Measured) -> bool:
    return seen.files_before is None or seen.files_after is None or seen.files_after <= seen.files_before


def _holds(budget: Spent) -> bool:
    """Reached, or nothing was shown; and passed by no more than what was under way."""
    return budget.cap <= budget.spent <= budget.cap + budget.in_flight


DEMANDS: dict[str, Callable[[Measured], bool]] = {
    "runs were made": lambda seen: seen.runs > 0,
    "every run ends with its own answer": lambda seen: seen.unanswered == 0,
    "no word of another run is in a result": lambda seen: seen.crossed_results == 0,
    "no word of another run is in a request": lambda seen: seen.crossed_requests == 0,
    "the conversation stays trimmed": lambda seen: seen.untrimmed == 0,
    "memory is flat": _is_flat,
    "threads end": lambda seen: seen.threads_after <= seen.threads_before,
    "files are closed": _has_closed_files,
    "a budget holds": lambda seen: all(map(_holds, seen.budgets)),
}


def broken_demands(seen: Measured) -> list[str]:
    """The names of the demands that do not hold."""
    return [name for name, holds in DEMANDS.items() if not holds(seen)]


def table(seen: Measured) -> str:
    """All that was measured, a line each."""
    rows = [
        ("runs", f"{seen.runs:,}"),
        ("requests", f"{seen.requests:,}"),
        ("seconds", f"{seen.seconds:,.0f}"),
        ("memory, second tenth", f"{seen.early_bytes / 1e6:,.1f} MB"),
        ("memory, last tenth", f"{seen.late_bytes / 1e6:,.1f} MB"),
        ("threads before, most, after", f"{seen.threads_before}, {seen.threads_most}, {seen.threads_after}"),
        ("open files before, after", f"{seen.files_before}, {seen.files_after}"),
        ("crossed results", str(seen.crossed_results)),
        ("crossed requests", str(seen.crossed_requests)),
        ("runs without their answer", str(seen.unanswered)),
        ("conversations not trimmed", str(seen.untrimmed)),
        *((f"budget, {each.what}", f"{each.spent:,.6g} of {each.cap:,.6g}") for each in seen.budgets),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
