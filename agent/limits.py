"""What a run may use, and the meter that is read before every paid request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeVar

from agent.errors import SettingsError
from agent.results import StopReason, Usage

Number = TypeVar("Number", int, float)

CHARS_PER_TOKEN = 4  # only to hold max_total_tokens where a server reports no usage
KEPT_BACK_SHARE = 0.25  # of a run's seconds, for the last request that asks for an answer ...
KEPT_BACK_MOST_S = 15.0  # ... and never more than this


@dataclass(frozen=True)
class Limits:
    """The caps of one run. None means no cap, but for ``max_iterations``: there it means the protocol's own
    (6 for text, 8 for tools).

    max_iterations: paid steps; one more request may ask for the answer. max_seconds: the whole run.
    max_total_tokens, max_cost_usd: what all its requests use. tool_timeout_s: one tool call, unless
    the tool's ``metadata["timeout_s"]`` says otherwise. max_tool_failures: failed steps after which a tool is
    switched off. max_repeats: identical calls in a row that are tolerated. max_parse_errors: bad
    replies in a row. max_observation_chars: what a tool may say. at_cap: "answer" asks once more for
    an answer at a limit, "error" ends without.

    Raises SettingsError for a value that cannot be meant.
    """

    max_iterations: int | None = None
    max_seconds: float | None = 120.0
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    tool_timeout_s: float = 10.0
    max_tool_failures: int = 3
    max_repeats: int = 2
    max_parse_errors: int = 3
    max_observation_chars: int = 2000
    at_cap: Literal["answer", "error"] = "answer"

    def __post_init__(self) -> None:
        if self.at_cap not in ("answer", "error"):
            raise SettingsError(f'at_cap is "answer" or "error", not {self.at_cap!r}')
        optional = ("max_iterations", "max_seconds", "max_total_tokens", "max_cost_usd")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "at_cap" or (value is None and field.name in optional):
                continue
            _check(field.name, value, whole="int" in str(field.type))


def _check(name: str, value: object, *, whole: bool) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < float("inf"):
        raise SettingsError(f"{name} is a {'whole ' if whole else ''}number above 0, not {value!r}")


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, as services list them; set by AGENT_PRICES, never guessed."""

    prompt: float
    completion: float

    def cost(self, usage: Usage) -> float | None:
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6

    def highest(self, tokens: int) -> float:
        """What so many tokens cost at most: what a cap counts where a server reports no usage."""
        return tokens * max(self.prompt, self.completion) / 1e6


class LimitReached(Exception):
    """Leaves the loop. ``sentence`` names another sentence than the reason's own.

    ``retries`` counts the attempts of a last request that brought no reply.
    """

    def __init__(self, reason: StopReason, sentence: str = "", retries: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sentence = sentence
        self.retries = retries


class Budget:
    """A cap on tokens, cost and seconds over many runs; safe to share between threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._tokens = 0
        self._cost_usd = 0.0
        self._seconds = 0.0

    def spend(self, tokens: int = 0, cost_usd: float = 0.0, seconds: float = 0.0) -> None:
        with self._lock:
            self._tokens += tokens
            self._cost_usd += cost_usd
            self._seconds += seconds

    @property
    def spent(self) -> tuple[int, float, float]:
        """Tokens, US dollars and seconds so far."""
        with self._lock:
            return self._tokens, self._cost_usd, self._seconds

    def exceeded(self) -> StopReason | None:
        with self._lock:
            return _first_exceeded(self.limits, self._tokens, self._cost_usd, self._seconds)

    def seconds_left(self) -> float:
        with self._lock:
            return _or_infinite(self.limits.max_seconds) - self._seconds


def _first_exceeded(limits: Limits, tokens: int, cost_usd: float, seconds: float) -> StopReason | None:
    if seconds >= _or_infinite(limits.max_seconds):
        return StopReason.TIME_LIMIT
    if tokens >= _or_infinite(limits.max_total_tokens):
        return StopReason.TOKEN_LIMIT
    if cost_usd >= _or_infinite(limits.max_cost_usd):
        return StopReason.COST_LIMIT
    return None


def _or_infinite(cap: float | None) -> float:
    return float("inf") if cap is None else cap


class Meter:
    """What one run has used so far, held against its limits and the agent's budget."""

    def __init__(
        self,
        limits: Limits,
        price: Price | None = None,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.usage = Usage(cost_usd=0.0 if price else None)
        self._price = price
        self._budget = budget
        self._tokens = 0
        self._cost_usd = 0.0
        self._clock = clock
        self._started = clock()
        self._kept_back = min(KEPT_BACK_SHARE * self.seconds_left(last_request=True), KEPT_BACK_MOST_S)

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._started

    def seconds_left(self, *, last_request: bool = False) -> float:
        """Seconds until the run must end; an ordinary step leaves the last request its share."""
        left = _or_infinite(self.limits.max_seconds) - self.elapsed_s
        if self._budget:
            left = min(left, self._budget.seconds_left() - self.elapsed_s)
        return left if last_request else left - self._kept_back

    def check(self, *, last_request: bool = False) -> None:
        """Raise LimitReached when a limit forbids another request; called before each one."""
        if self.seconds_left(last_request=last_request) <= 0:
            raise LimitReached(StopReason.TIME_LIMIT)
        reason = _first_exceeded(self.limits, self._tokens, self._cost_usd, self.elapsed_s)
        reason = reason or (self._budget.exceeded() if self._budget else None)
        if reason:
            raise LimitReached(reason)

    def add_retries(self, retries: int) -> None:
        """Count attempts of a request that never got a reply."""
        self.usage = replace(self.usage, retries=self.usage.retries + retries)

    def add(self, used: Usage, characters: int) -> Usage:
        """Count one reply. ``characters`` (sent and received) stand in for missing token counts.

        Returns ``used`` with its cost.
        """
        cost = self._price.cost(used) if self._price else None
        used = replace(used, cost_usd=cost)
        tokens = used.total_tokens
        counted = characters // CHARS_PER_TOKEN if tokens is None else tokens
        charged = 0.0 if self._price is None else self._price.highest(counted) if cost is None else cost
        self._tokens += counted
        self._cost_usd += charged
        self.usage = _sum(self.usage, used)
        if self._budget:
            self._budget.spend(tokens=counted, cost_usd=charged)
        return used

    def settle(self) -> None:
        """Charge the run's seconds to the agent's budget; called once, when the run ends."""
        if self._budget:
            self._budget.spend(seconds=self.elapsed_s)


def _sum(one: Usage, other: Usage) -> Usage:
    def plus(a: Number | None, b: Number | None) -> Number | None:
        return None if a is None or b is None else a + b

    return Usage(
        one.requests + other.requests,
        plus(one.prompt_tokens, other.prompt_tokens),
        plus(one.completion_tokens, other.completion_tokens),
        one.retries + other.retries,
        plus(one.cost_usd, other.cost_usd),
    )
