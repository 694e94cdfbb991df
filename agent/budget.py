"""Caps over all runs of an agent, that hold when many threads run at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent.limits import LimitReached, Limits, first_exceeded, or_infinite
from agent.results import StopReason

Spent = tuple[int, float, float]
"""Tokens, US dollars and seconds."""

WAIT_S = 0.25  # at a time: on Windows a wait cannot be interrupted by Ctrl-C before it ends


class Budget:
    """A cap on tokens, cost and seconds over many runs; safe to share between threads.

    A request sets aside what it may use before it is paid. Where that might use up the rest, the next one
    waits to see what was really used: threads together go past the cap by one request, not by one each.
    """

    def __init__(
        self, limits: Limits, spent: Spent = (0, 0.0, 0.0), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self._changed = threading.Condition()
        self._tokens, self._cost_usd, self._seconds = spent
        self._tokens_set_aside = 0
        self._usd_set_aside = 0.0
        self._running = 0
        self._clock = clock
        self._since = clock()

    @property
    def spent(self) -> Spent:
        """What has been used so far; runs that go on count with their seconds up to now."""
        with self._changed:
            self._count_seconds()
            return self._tokens, self._cost_usd, self._seconds

    def spend(self, tokens: int, cost_usd: float) -> None:
        with self._changed:
            self._tokens += tokens
            self._cost_usd += cost_usd

    def exceeded(self) -> StopReason | None:
        with self._changed:
            return self._exceeded()

    def seconds_left(self) -> float:
        """Seconds until the budget is used up, if as many runs go on as now."""
        with self._changed:
            self._count_seconds()
            return (or_infinite(self.limits.max_seconds) - self._seconds) / max(self._running, 1)

    def begin_run(self) -> None:
        """From now on a run uses seconds; ``end_run`` ends that."""
        with self._changed:
            self._count_seconds()
            self._running += 1

    def end_run(self) -> None:
        with self._changed:
            self._count_seconds()
            self._running -= 1

    @contextmanager
    def paying(self, tokens: int, cost_usd: float, timeout_s: float) -> Iterator[None]:
        """Around a request that may use so much, and the ``spend`` of what it did use.

        Raises LimitReached where the budget is used up, or has no room for ``timeout_s`` seconds.
        """
        self._set_aside(tokens, cost_usd, timeout_s)
        try:
            yield
        finally:
            self._give_back(tokens, cost_usd)

    def _set_aside(self, tokens: int, cost_usd: float, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        with self._changed:
            while self._is_full() and not self._exceeded():
                left = end - time.monotonic()
                if left <= 0:
                    raise LimitReached(StopReason.TIME_LIMIT)
                self._changed.wait(min(left, WAIT_S))
            if reason := self._exceeded():
                raise LimitReached(reason)
            self._tokens_set_aside += tokens
            self._usd_set_aside += cost_usd

    def _give_back(self, tokens: int, cost_usd: float) -> None:
        with self._changed:
            self._tokens_set_aside -= tokens
            # Of floats that were added in one order and are taken off in another, something may be left.
            self._usd_set_aside = self._usd_set_aside - cost_usd if self._tokens_set_aside else 0.0
            self._changed.notify_all()

    def _count_seconds(self) -> None:
        now = self._clock()
        self._seconds += self._running * (now - self._since)
        self._since = now

    def _exceeded(self) -> StopReason | None:
        self._count_seconds()
        return first_exceeded(self.limits, self._tokens, self._cost_usd, self._seconds)

    def _is_full(self) -> bool:
        tokens, cost_usd = self._tokens + self._tokens_set_aside, self._cost_usd + self._usd_set_aside
        return first_exceeded(self.limits, tokens, cost_usd, 0.0) is not None
