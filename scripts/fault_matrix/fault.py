"""What a fault is, what came of playing it, and the contract that this is held against."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.limits import Limits
from scripts.fault_matrix.turns import Answer, Turn
from tools.calculator import calculate

OURS = ("text", "tools")  # our two protocols
CONTENDERS = (*OURS, "executor")

SHORT_S = 1.5  # a timeout of one request, where it is the fault that nothing comes
MODEL_TIMEOUT_S = 20.0  # elsewhere; for every contender
GIVEN_UP_S = 9.0  # a contender that has not come back by then hangs
SLACK_S = 10.0  # on top of what a contract expects: a busy machine starts a thread late
LIMITS = Limits(max_iterations=6, max_seconds=30.0, tool_timeout_s=5.0)
QUICK = Limits(max_iterations=6, max_seconds=30.0, tool_timeout_s=0.3)  # where a tool hangs

CANARY = "canary-4f9d-77c2"  # a secret of the environment, which must not get out
KEY = "sk-canary-0b8e51d3"  # the model service's key


@dataclass(frozen=True)
class Use:
    """One use of the tool under test: its input, which use it is (from 1), and when to stop hanging."""

    given: str
    number: int
    released: threading.Event


@dataclass
class Played:
    """What came of one fault with one contender, as seen from outside it."""

    outcome: str = ""
    answer: str = ""
    error: str = ""
    requests: int = 0  # that reached the model, attempts that brought no reply included
    tokens: int | None = None
    seconds: float = 0.0
    sent: Sequence[str] = ()  # the messages of each request
    shown: str = ""  # everything that a caller can see of the result
    tool_runs: int = 0
    memory_before: Sequence[str] = ()
    memory_after: Sequence[str] = ()

    @property
    def came_back(self) -> bool:
        return not self.outcome.startswith(("raised", "hung"))


@dataclass(frozen=True)
class Demand:
    """Something that must hold beside the outcome; ``otherwise`` says in a few words that it does not.

    of_all: it is asked of AgentExecutor too, because it is about what is done, not about how it is worded.
    always: even of one that raised or hung.
    """

    otherwise: str
    holds: Callable[[Played], bool]
    of_all: bool = True
    always: bool = False

    def broken_by(self, played: Played) -> str:
        """How it is broken; empty when it holds."""
        return "" if self.holds(played) else self.otherwise.format(played=played)


@dataclass(frozen=True)
class Contract:
    """What we promise for a fault: one of these outcomes, and no more than this of each."""

    outcomes: Sequence[str]
    most_requests: int
    expected_s: float = 0.0  # that the fault itself takes: deadlines and waits
    demands: Sequence[Demand] = ()

    @property
    def most_seconds(self) -> float:
        return self.expected_s + SLACK_S

    def broken_by(self, played: Played) -> list[str]:
        """In which ways ``played`` falls short; empty when the contract is kept."""
        broken = []
        if played.outcome not in self.outcomes:
            broken.append(f"the outcome is not {' or '.join(self.outcomes)}")
        if played.requests > self.most_requests:
            broken.append(f"more than {self.most_requests} requests")
        if played.seconds > self.most_seconds:
            broken.append(f"longer than {self.most_seconds:g} s")
        return broken + [words for demand in self.demands if (words := demand.broken_by(played))]


@dataclass(frozen=True)
class Fault:
    """One fault and how it is set up.

    first: what the model says, turn by turn; then: what it says ever after. over_http: a local HTTP
    service plays the model, not a scripted one. tool: what the tool Calculator does. skips: contenders that
    it does not apply to, and why. executor: which AgentExecutor, "react" or "calls" (native tool calls).
    waits: most of its time is waiting, so it may be played beside others. process: what is done to a
    whole process in place of a call in this one.
    """

    name: str
    group: str
    contract: Contract
    first: Sequence[Turn] = ()
    then: Turn = field(default_factory=Answer)
    over_http: bool = False
    tool: Callable[[Use], object] = lambda use: calculate(use.given)
    question: str = "What is 2+2?"
    limits: Limits = LIMITS
    budget: Limits | None = None
    memory: Callable[[], Any] | None = None
    runs: int = 1
    model_timeout_s: float = MODEL_TIMEOUT_S
    waits: bool = False
    executor: str = "react"
    skips: Mapping[str, str] = field(default_factory=dict)
    process: str = ""
