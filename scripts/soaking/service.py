"""An OpenAI-compatible service that answers each request from that request alone, and looks through it.

It knows a run by the marker in its question, and an agent by the one in its system message, so it sees what
an agent cannot: whether a request carries words of a run that has no business there.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scripts.services import CHARS_PER_TOKEN, Reply, Service, raw_completion, status, wire_call
from scripts.soaking.marks import Mark, marks_in
from scripts.soaking.tools import tool_for

WINDOW = 10  # messages of earlier exchanges: five questions, five answers
BACKLOG = 256  # with few places in the queue, a connection of many at once is lost, and waits for a minute
MOST_REMEMBERED = 1000  # runs that have been told once to come back later
MOST_COMPLAINTS = 20  # that are kept word for word
PROMPT_TOKENS = 100  # of each request
AGENT_SAYS = "You are agent"

Message = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request, cut into its parts. ``number`` is that of the agent in the system message."""

    number: int
    earlier: Sequence[Message]
    mark: Mark
    steps: Sequence[Message]
    with_tools: bool

    @property
    def results(self) -> int:
        """How many steps have come back."""
        return sum(message["role"] == "assistant" for message in self.steps)


class SoakService(Service):
    """A Service that needs no script. ``crossed`` counts requests with another run's words in them."""

    def __init__(self) -> None:
        super().__init__()
        self._server.socket.listen(BACKLOG)
        self.asked = self.crossed = self.tokens = 0
        self.most_tokens = 0  # of one request
        self.complaints: list[str] = []
        self._lock = threading.Lock()
        self._put_off: OrderedDict[Mark, None] = OrderedDict()

    def __enter__(self) -> SoakService:
        super().__enter__()
        return self

    def record(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply:
        asked = read_request(body)
        fault = fault_of(asked)
        with self._lock:
            self.asked += 1
            if fault:
                self.crossed += 1
                self.complaints += [fault] if len(self.complaints) < MOST_COMPLAINTS else []
            if asked.mark.kind == "busy" and self._is_first(asked.mark):
                return status(429, headers={"Retry-After": "0"})
        return self._billed(reply_to(asked))

    def _is_first(self, mark: Mark) -> bool:
        if mark in self._put_off:
            return False
        self._put_off[mark] = None
        if len(self._put_off) > MOST_REMEMBERED:
            self._put_off.popitem(last=False)
        return True

    def _billed(self, said: str | dict[str, Any]) -> Reply:
        """The reply as it goes out, with the tokens that it costs."""
        called = isinstance(said, dict)
        message: Message = {"role": "assistant", "content": None if called else said}
        message |= {"tool_calls": [said]} if called else {}
        choice = {"index": 0, "finish_reason": "tool_calls" if called else "stop", "message": message}
        written = len(str(said)) // CHARS_PER_TOKEN
        tokens = PROMPT_TOKENS + written
        with self._lock:
            self.tokens += tokens
            self.most_tokens = max(self.most_tokens, tokens)
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": written, "total_tokens": tokens}
        return raw_completion([choice], usage=usage)


def read_request(body: dict[str, Any]) -> Asked:
    """Cut a request into agent, earlier exchanges, question and steps. Raises ValueError for another's."""
    system, *rest = body["messages"]
    # The question is the last message that reads as one: tools and corrections quote it nowhere.
    places = [at for at, message in enumerate(rest) if _is_question(message)]
    if not places:
        raise ValueError("a request without a question")
    at = places[-1]
    (mark,) = marks_in(rest[at]["content"])
    number = int(system["content"].rpartition(AGENT_SAYS)[2].split()[0])
    return Asked(number, rest[:at], mark, rest[at + 1 :], "tools" in body)


def _is_question(message: Message) -> bool:
    marks = list(marks_in(message["content"] or ""))
    return message["role"] == "user" and len(marks) == 1 and message["content"] == marks[0].question


def fault_of(asked: Asked) -> str:
    """What is in a request and should not be; empty when all is well."""
    strangers = {*marks_in(json.dumps(asked.steps))} - {asked.mark}
    if asked.mark.agent != asked.number or strangers:
        return f"a request of {asked.mark} by agent {asked.number} holds {[*map(str, strangers)]}"
    if len(asked.earlier) > WINDOW or len(asked.earlier) % 2:
        return f"the conversation before {asked.mark} has {len(asked.earlier)} messages"
    for question, answer in zip(asked.earlier[::2], asked.earlier[1::2], strict=True):
        told = {*marks_in(question["content"])}
        if len(told) != 1 or told != {*marks_in(answer["content"])}:
            return f"an exchange before {asked.mark} is not of one run"
        if {mark.agent for mark in told} != {asked.number}:
            return f"an exchange before {asked.mark} is of another agent"
    return ""


def reply_to(asked: Asked) -> str | dict[str, Any]:
    """A text, or a native call: what a model would say that does just what the run's kind wants."""
    kind, mark, done = asked.mark.kind, asked.mark, asked.results
    if kind == "bad_reply" and done == 0:
        return "" if asked.with_tools else f"Action: Nobody[{mark}]"
    calls = 2 if kind in ("two_calls", "bad_reply") else 1
    if done >= calls:
        return mark.answer if asked.with_tools else f"Thought: {mark} it is.\nFinal Answer: {mark.answer}"
    given = f"{done} {mark}"
    if asked.with_tools:
        return wire_call(json.dumps({"__arg1": given}), tool_for(kind), f"call{done:05}")
    return f"Thought: {mark} first.\nAction: {tool_for(kind)}[{given}]"
