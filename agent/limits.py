"""What a run may use, what that costs, and how a run is told that it has used it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from agent.errors import SettingsError
from agent.results import StopReason, Usage


class _OfOneRun(float):
    """A default that is meant for one run, and would be wrong over many."""


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
    max_seconds: float | None = _OfOneRun(120.0)
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


def over_all_runs(limits: Limits) -> Limits:
    """The same as a budget: its seconds are capped only where the caller said so."""
    return replace(limits, max_seconds=None) if isinstance(limits.max_seconds, _OfOneRun) else limits


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


def first_exceeded(limits: Limits, tokens: int, cost_usd: float, seconds: float) -> StopReason | None:
    """Which cap has been reached, if any."""
    if seconds >= or_infinite(limits.max_seconds):
        return StopReason.TIME_LIMIT
    if tokens >= or_infinite(limits.max_total_tokens):
        return StopReason.TOKEN_LIMIT
    if cost_usd >= or_infinite(limits.max_cost_usd):
        return StopReason.COST_LIMIT
    return None


def or_infinite(cap: float | None) -> float:
    """None is no cap."""
    return float("inf") if cap is None else cap
