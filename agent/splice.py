"""The first steps of a run from its trace, and from a given step on live: with another model, say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.tools import BaseTool

from agent.client import Reply, Request
from agent.errors import SettingsError
from agent.events import Happening, Input
from agent.recorded import RecordedRun, setup_of
from agent.redaction import shown
from agent.results import Step, StepStarted
from agent.seams import Begun, World
from agent.tape import Tape


class Splice:
    """A tape that gives way to the world.

    Raises SettingsError for a step that the recorded run never came to, and for a tool of its that is not
    among ``tools``.
    """

    def __init__(self, run: RecordedRun, from_step: int, tools: Sequence[BaseTool]) -> None:
        begun = sum(record["event"] == "step_started" for record in run.records)
        if type(from_step) is not int or not 1 <= from_step <= begun:
            raise SettingsError(
                f"the run ends with step {begun}: none can go on from step {shown(from_step)}"
            )
        self.setup = setup_of(run)
        self._tools = {tool.name: tool for tool in tools}
        missing = [tool.name for tool in self.setup.tools if tool.name not in self._tools]
        if missing:
            raise SettingsError(
                f"the run had the tool {missing[0]!r}: hand it in, with --tools or tools=[...]"
            )
        self._from_step = from_step
        self._tape = Tape(run)
        self._went_live: tuple[float, float] | None = None  # on the tape's clock, and on ours

    def over(self, live: World) -> World:
        """The world of a run that is played first, and then goes on in ``live``."""
        self._live = live
        return World(self._ask, self._begin, self._note, self._clock)

    def _clock(self) -> float:
        """Seconds of the recorded run, and from where it went live our own on top of them."""
        if self._went_live is None:
            return self._tape.clock()
        recorded, ours = self._went_live
        return recorded + time.monotonic() - ours

    def _note(self, event: Happening) -> None:
        """Raise what the tape raises while it is played; tell everybody else in any case."""
        if isinstance(event, StepStarted) and event.number == self._from_step:
            self._went_live = self._tape.clock(), time.monotonic()
        if self._went_live is None:
            self._tape.note(self._at_its_price(event))
        self._live.note(event)

    def _at_its_price(self, event: Happening) -> Happening:
        """What the tape is told of a step: it cost what the model that was recorded costs."""
        if not isinstance(event, Step):
            return event
        cost_usd = self.setup.price.cost(event.usage) if self.setup.price else None
        return replace(event, usage=replace(event.usage, cost_usd=cost_usd))

    def _ask(self, request: Request, seconds_left: Callable[[], float]) -> Reply:
        return (self._live.ask if self._went_live else self._tape.ask)(request, seconds_left)

    def _begin(self, tool: BaseTool, given: Input, timeout_s: float) -> Begun:
        if self._went_live is None:
            return self._tape.begin(tool, given, timeout_s)
        return self._live.begin(self._tools[tool.name], given, timeout_s)
