"""A recorded run while it is played: the world that the run met, and the yardstick for what it does now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from agent.client import Reply, Request
from agent.deadline import DeadlinePassed
from agent.differences import difference
from agent.events import Happening, Input
from agent.observing import Output
from agent.recorded import RecordedRun, told_by
from agent.records import TIMES, Record, cleaned_record, failure_from, record_of, reply_from
from agent.results import StopReason
from agent.tool_records import tool_names

REPLIES = frozenset({"reply", "request_failed"})
RETURNS = frozenset({"tool_returned", "tool_raised", "tool_timed_out"})
_PASSED_OVER = frozenset({"attempt_failed"})  # a run does not depend on it


class TapeEnds(Exception):
    """The trace ends here: its run was interrupted, or its process killed."""


class Differs(Exception):
    """The run does something else than what was recorded; the text says where and what."""


class Tape:
    """Plays what came back from model and tools, and compares what the run does with what it did.

    ``ask``, ``begin``, ``note`` and ``clock`` are a run's World.
    """

    def __init__(self, run: RecordedRun) -> None:
        self._records = [record for record in run.records if record["event"] not in _PASSED_OVER]
        self._at = 1  # the first one is the setup
        self._step = 0
        self._leave: TapeEnds | Differs | None = None  # for note to raise: nobody else lets it pass

    def clock(self) -> float:
        """Seconds on the recorded run's clock, as it stood at what comes next."""
        return float(self._records[min(self._at, len(self._records) - 1)]["t"])

    def ask(self, request: Request, seconds_left: Callable[[], float]) -> Reply:
        record = self._take(REPLIES)
        if record["event"] == "reply":
            return told_by(record, reply_from)
        raise told_by(record, failure_from)

    def begin(self, tool: BaseTool, given: Input, timeout_s: float) -> PlayedCall:
        started = self._records[self._at - 1]  # just compared
        return PlayedCall(self, tool, given, told_by(started, lambda record: float(record["timeout_s"])))

    def note(self, event: Happening) -> None:
        """Raise Differs where ``event`` is not what was recorded, TapeEnds where no more was."""
        if self._leave:
            raise self._leave
        now = record_of(event)
        if now["event"] in REPLIES | RETURNS:
            return  # it has just been played
        self._step = now["number"] if now["event"] == "step_started" else self._step
        recorded = self._take()
        one, other = _timeless(recorded), _timeless(now)
        if one == other:
            return
        tools = told_by(self._records[0], tool_names)
        one, other = cleaned_record(one, tools), cleaned_record(other, tools)  # not before: it takes long
        if one != other:
            raise Differs(f"step {self._step}: {difference(one, other)}")

    def returned(self) -> Record | None:
        """How the tool call ended whose turn it is; None where the trace does not say."""
        try:
            return self._take(RETURNS)
        except (TapeEnds, Differs) as leave:
            self._leave = leave
            return None

    def _take(self, kinds: frozenset[str] = frozenset()) -> Record:
        if self._at == len(self._records) or _is_interruption(self._records[self._at]):
            raise TapeEnds
        record = self._records[self._at]
        if kinds and record["event"] not in kinds:
            raise Differs(f"step {self._step}: recorded is {record['event']}, and now a reply is waited for")
        self._at += 1
        return record


@dataclass(frozen=True)
class PlayedCall:
    """A tool call whose outcome is on the tape."""

    tape: Tape
    tool: BaseTool
    given: Input
    timeout_s: float

    @property
    def duration_s(self) -> float:
        return 0.0

    def result(self) -> Output:
        record = self.tape.returned() or {"event": "tool_timed_out"}
        if record["event"] == "tool_returned":
            return Output(str(record["text"]), str(record.get("excerpt", "")))  # earlier versions had none
        if record["event"] == "tool_timed_out":
            raise DeadlinePassed
        name, _, words = str(record["error"]).partition(": ")
        raise type(name, (Exception,), {})(words)


def _is_interruption(record: Record) -> bool:
    return record["event"] == "run_ended" and record.get("stop_reason") == StopReason.INTERRUPTED


def _timeless(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in TIMES}
