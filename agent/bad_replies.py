"""Bad replies in a row: how many are borne, and the two kinds that end otherwise."""

from __future__ import annotations

from agent.limits import LimitReached
from agent.protocols.decisions import Decision, Finish, Malformed
from agent.results import StopReason


class BadReplies:
    """Judges each decision by the ones just before it. One run, one judge."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_a_row: list[str] = []

    def judge(self, decision: Decision) -> Decision:
        """Return the decision to act on: prose for the second time in a row is the answer, as it stands."""
        if not isinstance(decision, Malformed):
            self._in_a_row.clear()
            return decision
        if decision.fault == "no_label" and self._in_a_row[-1:] == ["no_label"]:
            return Finish(decision.detail, decision.thought, decision.kept, unformatted=True)
        self._in_a_row.append(decision.fault)
        return decision

    def check(self) -> None:
        """Raise LimitReached after the second cut reply in a row, or too many bad ones."""
        if self._in_a_row[-2:] == ["cut", "cut"]:
            raise LimitReached(StopReason.PARSE_ERRORS, "stopped_cut_replies")
        if len(self._in_a_row) >= self._most:
            raise LimitReached(StopReason.PARSE_ERRORS)
