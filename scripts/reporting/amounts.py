"""Numbers out of a trace that somebody may have changed: one that no run can have used is not known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from agent.limits import Price

N = TypeVar("N", int, float)

MOST = 10**12  # tokens, seconds or dollars; beyond it a page would be all digits, and no chart can be drawn


def count_in(value: object) -> int | None:
    """The value where it counts something; None for text, truth values, fractions and less than nothing."""
    return value if type(value) is int and 0 <= value <= MOST else None


def amount_in(value: object) -> float | None:
    """The value where it measures something, in whatever unit; None as in ``count_in``, and for nan."""
    return float(value) if type(value) in (int, float) and 0 <= value <= MOST else None  # type: ignore[operator,arg-type]  # a number


def told(
    record: Mapping[str, Any], name: str, read: Callable[[object], N | None], instead: N | None
) -> N | None:
    """What a record tells under a name: None where it says so, and ``instead`` where that cannot be."""
    value = record.get(name, "")
    known = read(value)
    return instead if known is None and value is not None else known


def span(since: object, until: object) -> float | None:
    """Seconds between two times of a trace; None where its clock went backwards or is none."""
    start, end = amount_in(since), amount_in(until)
    return None if start is None or end is None else amount_in(end - start)


def price_in(value: object) -> Price | None:
    """The price of a model, where both of its halves are amounts."""
    halves = value if isinstance(value, Mapping) else {}
    prompt, completion = amount_in(halves.get("prompt")), amount_in(halves.get("completion"))
    return None if prompt is None or completion is None else Price(prompt, completion)


def record_in(value: object) -> Mapping[str, Any]:
    """The value where it is a record; an empty one where it is not."""
    return value if isinstance(value, Mapping) else {}
