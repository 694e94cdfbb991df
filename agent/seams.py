"""The two places where a run meets the world: requests to a model, and calls of tools.

The loop knows them as ``Ask`` and ``Begin``. A live run asks a client and starts threads; a replay takes what
came back from a trace.
"""

from __future__ import annotations

import time
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from agent.calling import RunningCall
from agent.client import Client, Reply, Request
from agent.events import AttemptFailed, Input, Note, Replied, RequestFailed, RequestSent
from agent.limits import LimitReached
from agent.observing import Output
from agent.service_errors import ModelFailed


class Begun(typing.Protocol):
    """A tool call that has been started."""

    @property
    def tool(self) -> BaseTool: ...

    @property
    def given(self) -> Input: ...

    @property
    def timeout_s(self) -> float: ...

    @property
    def duration_s(self) -> float:
        """Seconds that it took, or has taken so far."""

    def result(self) -> Output:
        """What the tool returned. Raises what it raised, or DeadlinePassed."""


class Ask(typing.Protocol):
    """Sends one request. Raises ModelFailed, ContextTooLong or LimitReached where no reply is to be had."""

    def __call__(self, request: Request, seconds_left: Callable[[], float]) -> Reply: ...


Begin = Callable[[BaseTool, Input, float], Begun]  # tool, input, seconds at most


@dataclass(frozen=True)
class World:
    """All that a run has to do with outside itself; ``clock`` tells seconds."""

    ask: Ask
    begin: Begin
    note: Note
    clock: Callable[[], float] = time.monotonic


def live_ask(client: Client, callbacks: Any, note: Note) -> Ask:
    """Requests go to a client; each attempt that fails is noted."""

    def ask(request: Request, seconds_left: Callable[[], float]) -> Reply:
        return client.ask(request, seconds_left, callbacks, lambda error: note(AttemptFailed(error)))

    return ask


def live_begin(callbacks: Any) -> Begin:
    """Tools run in threads of this process."""

    def begin(tool: BaseTool, given: Input, timeout_s: float) -> Begun:
        return RunningCall(tool, given, timeout_s, callbacks)

    return begin


def noted_ask(ask: Ask, note: Note) -> Ask:
    """The same, with request and outcome noted."""

    def noted(request: Request, seconds_left: Callable[[], float]) -> Reply:
        note(RequestSent(request))
        try:
            reply = ask(request, seconds_left)
        except (ModelFailed, LimitReached) as failure:
            note(RequestFailed(failure))
            raise
        note(Replied(reply))
        return reply

    return noted
