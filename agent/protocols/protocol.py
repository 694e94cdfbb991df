"""What the loop asks of a protocol: how a model is shown tools, how its reply is read, what goes back."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from agent.client import Reply, Request
from agent.protocols.decisions import Act, Decision, Malformed
from agent.results import Observation


class Protocol(typing.Protocol):
    """One run as the model sees it. ``read`` and ``read_last`` are pure; ``add_`` methods write memory."""

    name: str
    max_iterations: int

    @property
    def head(self) -> Request:
        """How every request begins, whatever the question."""

    def request(self, *, shortened: bool = False) -> Request:
        """The next ordinary request; ``shortened`` leaves out what a too small context can do without."""

    def last_request(self) -> Request:
        """The request for an answer at a limit: every step of the run, and no tools."""

    def read(self, reply: Reply) -> Decision:
        """What a reply decides: an answer, actions, or neither."""

    def read_last(self, reply: Reply) -> str:
        """The answer in a reply to ``last_request``; empty when there is none."""

    def add_observations(self, decision: Act, observations: Sequence[Observation]) -> None:
        """Keep a step that acted, with what came back for each of its actions."""

    def add_correction(self, fault: Malformed) -> str:
        """Keep a step that could not be read; returns what the model is told."""
