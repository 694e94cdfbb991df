"""What one run has used so far; read before every paid request."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from agent.budget import Budget
from agent.limits import LimitReached, Limits, Price, first_exceeded, or_infinite
from agent.results import StopReason, Usage

Number = TypeVar("Number", int, float)

CHARS_PER_TOKEN = 4  # only to hold caps on tokens where a server reports no usage
KEPT_BACK_SHARE = 0.25  # of a run's seconds, for the last request that asks for an answer ...
KEPT_BACK_MOST_S = 15.0  # ... and never more than this


class Meter:
    """What one run has used so far, held against its limits and the agent's budget.

    The run goes on ``with`` it: so long the budget's seconds are used. ``reply_tokens`` caps one reply.
    """

    def __init__(
        self,
        limits: Limits,
        price: Price | None = None,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
        reply_tokens: int = 0,
    ) -> None:
        self.limits = limits
        self.usage = Usage(cost_usd=0.0 if price else None)
        self._price = price
        self._budget = budget
        self._tokens = 0
        self._cost_usd = 0.0
        self._clock = clock
        self._reply_tokens = reply_tokens
        self._started = clock()
        self._most_s = or_infinite(limits.max_seconds)
        self._kept_back = min(KEPT_BACK_SHARE * self.seconds_left(last_request=True), KEPT_BACK_MOST_S)

    def __enter__(self) -> Meter:
        if self._budget:
            self._budget.begin_run()
        return self

    def __exit__(self, *_: object) -> None:
        if self._budget:
            self._budget.end_run()

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._started

    def seconds_left(self, *, last_request: bool = False) -> float:
        """Seconds until the run must end; an ordinary step leaves the last request its share."""
        left = self._most_s - self.elapsed_s
        if self._budget:
            left = min(left, self._budget.seconds_left())
        return left if last_request else left - self._kept_back

    def check(self, *, last_request: bool = False) -> None:
        """Raise LimitReached when a limit forbids another request; called before each one."""
        if self.seconds_left(last_request=last_request) <= 0:
            raise LimitReached(StopReason.TIME_LIMIT)
        reason = first_exceeded(self.limits, self._tokens, self._cost_usd, self.elapsed_s)
        reason = reason or (self._budget.exceeded() if self._budget else None)
        if reason:
            raise LimitReached(reason)

    def paying(self, characters: Callable[[], int], timeout_s: float) -> AbstractContextManager[None]:
        """Around a request, and the ``add`` of its reply. Its characters are counted only for a budget.

        Raises LimitReached where the agent's budget has no room for it within ``timeout_s`` seconds.
        """
        if self._budget is None:
            return nullcontext()
        tokens = characters() // CHARS_PER_TOKEN + self._reply_tokens
        cost_usd = self._price.highest(tokens) if self._price else 0.0
        return self._budget.paying(tokens, cost_usd, timeout_s)

    def add_retries(self, retries: int) -> None:
        """Count attempts of a request that never got a reply."""
        self.usage = replace(self.usage, retries=self.usage.retries + retries)

    def add(self, used: Usage, characters: Callable[[], int]) -> Usage:
        """Count one reply. ``characters`` counts those sent and received, where token counts are missing.

        Returns ``used`` with its cost.
        """
        tokens = used.total_tokens
        counted = characters() // CHARS_PER_TOKEN if tokens is None else tokens
        charged = 0.0
        if self._price:
            used = replace(used, cost_usd=self._price.cost(used))
            charged = self._price.highest(counted) if used.cost_usd is None else used.cost_usd
        self._tokens += counted
        self._cost_usd += charged
        self.usage = _sum(self.usage, used)
        if self._budget:
            self._budget.spend(tokens=counted, cost_usd=charged)
        return used


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.requests + other.requests,
        _plus(one.prompt_tokens, other.prompt_tokens),
        _plus(one.completion_tokens, other.completion_tokens),
        one.retries + other.retries,
        _plus(one.cost_usd, other.cost_usd),
    )


def _plus(one: Number | None, other: Number | None) -> Number | None:
    """A sum with a gap is none."""
    return None if one is None or other is None else one + other
