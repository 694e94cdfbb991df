"""All that happens in a run, as it happens: what a trace is made of, and what a replay is held against.

``results.Event`` is the part of it that ``on_event`` is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.client import Reply, Request
from agent.limits import LimitReached
from agent.results import Event
from agent.service_errors import ModelFailed
from agent.setup import Setup

Input = str | Mapping[str, object]


@dataclass(frozen=True)
class RunStarted:
    """Nothing has been sent yet; ``setup`` and what comes from outside decide the run.

    ``spent`` is what earlier runs have used of the agent's budget: tokens, US dollars, seconds.
    """

    setup: Setup
    spent: tuple[int, float, float] = (0, 0.0, 0.0)


@dataclass(frozen=True)
class RequestSent:
    request: Request


@dataclass(frozen=True)
class AttemptFailed:
    """An attempt at the request brought no reply; ``error`` says why, without secrets."""

    error: str


@dataclass(frozen=True)
class Replied:
    reply: Reply


@dataclass(frozen=True)
class RequestFailed:
    """The request has been given up."""

    failure: ModelFailed | LimitReached


@dataclass(frozen=True)
class ToolStarted:
    tool: str
    given: Input
    timeout_s: float


@dataclass(frozen=True)
class ToolReturned:
    """``excerpt`` is what the model is told of ``text``, where that is not the whole of it as it is."""

    tool: str
    text: str
    duration_s: float
    excerpt: str = ""


@dataclass(frozen=True)
class ToolRaised:
    """``error`` is the exception's class and words, without secrets."""

    tool: str
    error: str
    duration_s: float


@dataclass(frozen=True)
class ToolTimedOut:
    """The tool was given up at its deadline."""

    tool: str
    duration_s: float


ToolEnded = ToolReturned | ToolRaised | ToolTimedOut
Happening = (
    RunStarted | RequestSent | AttemptFailed | Replied | RequestFailed | ToolStarted | ToolEnded | Event
)
Note = Callable[[Happening], None]
