"""A run's requests out of its records, each message of the page kept once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.limits import LimitReached, Price
from agent.records import Record, failure_from, reply_from
from prompts import Say
from scripts.reporting.amounts import count_in, span
from scripts.reporting.views import Exchange, Message


class Pool:
    """The messages of a page. A page would grow with the square of its steps if each were in it again."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def message(self, role: str, text: str) -> Message:
        known = len(self._numbers)
        number = self._numbers.setdefault((role, text), known + 1)
        return Message(number, role, text, first=number > known)

    def __len__(self) -> int:
        return len(self._numbers)

    def forget(self, length: int) -> None:
        """Go back to so many messages: those after them will not be in the page."""
        while len(self._numbers) > length:
            self._numbers.popitem()


@dataclass
class Exchanges:
    """Takes in a run's records of requests in order; ``take`` hands out those that have ended since."""

    pool: Pool
    say: Say
    price: Price | None
    _sent: Sequence[Record] = ()
    _count: int = 0
    _open: Record | None = None
    _attempts: list[str] = field(default_factory=list)
    _done: list[Exchange] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Any record; those that are of no request are passed over."""
        match record["event"]:
            case "request":
                self._open, self._attempts = record, []
            case "attempt_failed":
                self._attempts.append(record["error"])
            case "reply" | "request_failed":
                self._end(record)

    def take(self, now: float) -> tuple[Exchange, ...]:
        """The requests since the last call; one without an end is among them, and lasted until ``now``."""
        if self._open is not None:
            self._end({"event": "none", "t": now})
        done, self._done = tuple(self._done), []
        return done

    def _end(self, outcome: Record) -> None:
        request = self._open
        if request is None:
            raise ValueError("a reply without a request")
        messages = request["messages"]
        keep = _same(self._sent, messages)
        self._count += 1
        retries = count_in(outcome.get("retries")) or 0
        self._done.append(
            Exchange(
                number=self._count,
                before=self._count - 1,
                keep=keep,
                messages=tuple(self.pool.message(each["type"], _words(each)) for each in messages[keep:]),
                length=len(messages),
                extras=tuple(self._extras(request)),
                attempts=tuple(self._attempts),
                retries=retries,
                seconds_s=span(request["t"], outcome["t"]),
                **self._outcome({**outcome, "retries": retries}),
            )
        )
        self._sent, self._open, self._attempts = messages, None, []

    def _extras(self, request: Record) -> Iterable[tuple[str, Message]]:
        if request["stop"]:
            yield "stop", self.pool.message("stop", _json(request["stop"]))
        if request["tools"]:
            yield "tools", self.pool.message("tools", "\n".join(map(_json, request["tools"])))
        if request["grammar"]:
            yield "grammar", self.pool.message("grammar", request["grammar"])

    def _outcome(self, record: Record) -> dict[str, Any]:
        values = dict.fromkeys(("reply", "failure", "prompt_tokens", "completion_tokens", "cost_usd"))
        if record["event"] != "reply":
            failure = self._sentence(record) if record["event"] == "request_failed" else None
            return {**values, "finish_reason": "", "failure": failure}
        reply = reply_from(record)
        counts = count_in(reply.usage.prompt_tokens), count_in(reply.usage.completion_tokens)
        return {
            "reply": reply.raw,
            "failure": None,
            "finish_reason": reply.finish_reason,
            "prompt_tokens": counts[0],
            "completion_tokens": counts[1],
            "cost_usd": self.price.cost(reply.usage) if self.price and None not in counts else None,
        }

    def _sentence(self, record: Record) -> str:
        failure = failure_from(record)
        if isinstance(failure, LimitReached):
            return self.say(f"stopped_{failure.reason}")
        return failure.sentence(self.say)


def _same(before: Sequence[Record], now: Sequence[Record]) -> int:
    """How many messages two requests have in common; those that were kept are the same objects."""
    pairs = enumerate(zip(before, now, strict=False))
    return next((i for i, (one, other) in pairs if one is not other), min(len(before), len(now)))


def _words(message: Record) -> str:
    """All that a message says: its text, its tool calls, and whatever else it was sent with."""
    content = message["content"]
    others = {name: part for name, part in message.items() if name not in ("type", "content")}
    parts = [content if isinstance(content, str) else _json(content)]
    parts += [f"{name}: {_json(part)}" for name, part in others.items()]
    return "\n".join(part for part in parts if part)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
