"""What the page shows, as plain data: runs, their steps, calls and requests. Seconds end in ``_s``.

Token counts and dollars are None where a server told none, or where there is no price; these and seconds are
None too where a trace that somebody changed holds what cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CallState = Literal["ok", "failed", "timed_out", "repeated", "switched_off", "refused", "not_run", "no_end"]
StepState = Literal["ok", "answer", "failed", "repeated", "bad_reply", "no_reply", "no_end"]
Severity = Literal["bad", "warn", "note"]


@dataclass(frozen=True)
class Message:
    """One message of a request. Equal ones share a ``number``; only the ``first`` in the page is whole."""

    number: int
    role: str
    text: str
    first: bool


@dataclass(frozen=True)
class Exchange:
    """One request and what came of it: a reply, a failure, or neither where the trace ends.

    The messages are the first ``keep`` of the request before it in the run (``before`` is its number), and
    then ``messages``; ``length`` is how many that makes. ``extras`` is what else was sent, by name.
    ``retries`` counts the attempts that brought no reply; those of a silent service are not in ``attempts``.
    """

    number: int
    before: int
    keep: int
    messages: tuple[Message, ...]
    length: int
    extras: tuple[tuple[str, Message], ...]
    attempts: tuple[str, ...]
    retries: int
    reply: str | None
    finish_reason: str
    failure: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    seconds_s: float | None

    @property
    def tokens(self) -> int | None:
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Call:
    """One action with its observation; ``observation`` is None where the trace ends before it.

    ``key`` is alike for calls that the agent takes for the same. ``error`` is what the tool raised.
    ``is_empty`` is a tool that returned nothing; the observation then says so in words.
    """

    key: str
    tool: str
    given: str
    state: CallState
    observation: str | None
    duration_s: float | None
    timeout_s: float | None
    error: str | None = None
    just_switched_off: bool = False
    is_empty: bool = False


@dataclass(frozen=True)
class StepView:
    """One step; the last request for an answer is one with ``is_last_request``, and has no number of its own.

    A step is ``no_reply`` where its request failed. ``correction`` is what the model was told after a bad
    reply. ``seen_before`` are the numbers of the
    earlier steps that made a call of this one.
    """

    number: int
    state: StepState
    thought: str
    calls: tuple[Call, ...]
    correction: str | None
    exchanges: tuple[Exchange, ...]
    model_s: float
    tools_s: float
    seen_before: tuple[int, ...] = ()
    is_last_request: bool = False

    @property
    def tokens(self) -> int | None:
        return sum_known([each.tokens for each in self.exchanges if each.reply is not None])

    @property
    def prompt_tokens(self) -> int | None:
        return next((each.prompt_tokens for each in reversed(self.exchanges) if each.reply is not None), None)

    @property
    def cost_usd(self) -> float | None:
        replied = [each.cost_usd for each in self.exchanges if each.reply is not None]
        known = [cost for cost in replied if cost is not None]
        return sum(known) if replied and len(known) == len(replied) else None


@dataclass(frozen=True)
class Finding:
    """One thing that explains a run: a sentence by its name in texts/, its values, and the steps it is of."""

    severity: Severity
    name: str
    values: tuple[tuple[str, object], ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ending:
    """How a run ended; ``stop_reason`` is a StopReason's value, or "unfinished" where the trace ends."""

    stop_reason: str
    answer: str | None = None
    forced: bool = False
    unformatted: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Cap:
    """What a run ended at: a name of ``Limits`` (or ``reply_tokens``) and its number, None where not told.

    ``of_all_runs`` is a cap of the agent's budget.
    """

    name: str
    value: float | None
    of_all_runs: bool = False


@dataclass(frozen=True)
class RunView:
    """One run. ``started`` is an ISO time of the trace, ``question`` and all else as recorded.

    ``tools`` is how many the model could call. ``cap`` is the one that the run ended at, if any.
    """

    number: int
    file: str
    name: str
    question: str
    language: str
    protocol: str
    model: str
    started: str
    limits: tuple[tuple[str, object], ...]
    versions: tuple[tuple[str, str], ...]
    steps: tuple[StepView, ...]
    ending: Ending
    requests: int
    tokens: int | None
    cost_usd: float | None
    duration_s: float | None
    tools: int = 0
    cap: Cap | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def step_count(self) -> int:
        return sum(not step.is_last_request for step in self.steps)

    @property
    def model_s(self) -> float:
        return sum(step.model_s for step in self.steps)

    @property
    def tools_s(self) -> float:
        return sum(step.tools_s for step in self.steps)


def sum_known(counts: list[int | None]) -> int | None:
    """The sum, or None where a part of it is not known; None for nothing at all."""
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None
