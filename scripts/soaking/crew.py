"""The threads of a soak: each asks shared agents and agents of its own, and looks at every result."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain.memory import ConversationBufferWindowMemory
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from agent import Limits, RunResult
from agent.memory import new_window
from scripts.soaking.marks import Mark, Marks, marks_in
from scripts.soaking.service import AGENT_SAYS, MOST_COMPLAINTS, WINDOW

PROTOCOLS = ("text", "tools")
LIFE = 20  # runs of an agent that a thread has for itself
BEING_SAVED = 2  # messages: an exchange is added first, and then what is too old goes

MakeAgent = Callable[..., Any]  # Agent, or whatever takes the same arguments and has its ``run``


@dataclass
class Tally:
    """What the threads have seen so far. Safe to share between them."""

    runs: int = 0
    crossed: int = 0
    unanswered: int = 0
    untrimmed: int = 0
    complaints: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, **faults: str) -> None:
        """Count one run, and each fault that has words."""
        with self._lock:
            self.runs += 1
            for name, words in faults.items():
                setattr(self, name, getattr(self, name) + bool(words))
                if words and len(self.complaints) < MOST_COMPLAINTS:
                    self.complaints.append(words)


@dataclass(frozen=True)
class Asker:
    """An agent with its number and the memory that it was given."""

    agent: Any
    number: int
    memory: ConversationBufferWindowMemory

    def ask(self, marks: Marks, tally: Tally) -> RunResult:
        mark = marks.new_run(self.number)
        result: RunResult = self.agent.run(mark.question)
        kept = len(self.memory.chat_memory.messages)
        tally.count(
            crossed=_crossed(result, mark),
            unanswered="" if result.answer == mark.answer else _unanswered(result, mark),
            untrimmed=f"{mark}: {kept} messages are kept" if kept > WINDOW + BEING_SAVED else "",
        )
        return result


def _crossed(result: RunResult, mark: Mark) -> str:
    strangers = {*marks_in(json.dumps(result.to_dict(), default=str))} - {mark}
    return f"{mark} ({mark.kind}): its result holds {[*map(str, strangers)]}" if strangers else ""


def _unanswered(result: RunResult, mark: Mark) -> str:
    return f"{mark} ({mark.kind}) ended with {result.stop_reason}: {result.answer or result.error!r:.200}"


@dataclass(frozen=True)
class Crew:
    """Makes askers and sends threads of them to work."""

    make_agent: MakeAgent
    llm: BaseChatModel
    tools: Sequence[BaseTool]
    marks: Marks
    tally: Tally

    def asker(self, protocol: str, budget: Limits | None = None) -> Asker:
        number, memory = self.marks.new_agent(), new_window()
        agent = self.make_agent(
            llm=self.llm,
            tools=self.tools,
            protocol=protocol,
            memory=memory,
            budget=budget,
            language="en",
            instructions=f"{AGENT_SAYS} {number} .",
        )
        return Asker(agent, number, memory)

    def work(self, threads: int, stop: threading.Event) -> None:
        """Ask until ``stop`` is set; returns when the last run has ended."""
        shared = [self.asker(protocol) for protocol in PROTOCOLS]
        together([partial(self._ask_on, at, shared, stop) for at in range(threads)], stop)

    def _ask_on(self, at: int, shared: Sequence[Asker], stop: threading.Event) -> None:
        turn = at
        own = self.asker(PROTOCOLS[turn % len(PROTOCOLS)])
        while not stop.is_set():
            turn += 1
            if turn % LIFE == 0:
                own = self.asker(PROTOCOLS[turn // LIFE % len(PROTOCOLS)])
            asker = own if turn % 2 else shared[turn // 2 % len(shared)]
            asker.ask(self.marks, self.tally)


def together(tasks: Iterable[Callable[[], object]], stop: threading.Event) -> None:
    """Do all of it side by side. The first exception stops the others and goes through."""
    errors: list[BaseException] = []

    def work(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:  # raised again below, where somebody hears of it
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if errors:
        raise errors[0]


def after(seconds: float, stop: threading.Event, tell: Callable[[float], None]) -> None:
    """Set ``stop`` when the seconds are over; ``tell`` is told the share that has passed."""
    start = time.monotonic()
    while not stop.wait(min(0.5, seconds / 10)):
        share = (time.monotonic() - start) / seconds
        tell(min(share, 1.0))
        if share >= 1:
            stop.set()
