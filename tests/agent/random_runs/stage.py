"""Plays random runs, and notes all that could be seen of them from outside."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain.memory import ConversationBufferWindowMemory
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agent import Agent, LastRequest, RunResult
from tests.agent.random_runs.faults import Fault
from tests.agent.random_runs.replies import Reply
from tests.agent.random_runs.scenes import Scene, Turn
from tests.agent.random_runs.tools import chosen, tool_of


@dataclass(frozen=True)
class Sent:
    """An attempt: what was sent, and what came of it."""

    messages: Sequence[BaseMessage]
    options: dict[str, Any]
    reply: Reply


@dataclass(frozen=True)
class Ran:
    """A tool at work, and what is to come of it."""

    tool: str
    given: str
    outcome: Any


Entry = Sent | Ran | LastRequest


@dataclass
class Record:
    """One run, as it was seen. ``earlier``: what the agent's runs before this one had sent;
    ``is_alone``: no other run went on beside it."""

    scene: Scene
    turn: Turn
    marker: str
    memory: list[BaseMessage]
    earlier: list[Sent]
    is_alone: bool
    log: list[Entry] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    result: RunResult | None = None
    raised: BaseException | None = None
    memory_after: list[BaseMessage] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def question(self) -> str:
        return f"{self.marker} {self.turn.text}"

    @property
    def sent(self) -> list[Sent]:
        return [entry for entry in self.log if isinstance(entry, Sent)]

    def outcome_of(self, tool: str, given: str) -> Any:
        outcome = chosen(self.turn.outcomes, tool, given)
        self.log.append(Ran(tool, given, outcome))
        return outcome

    def hang(self) -> None:
        self.over.wait(60)


_current: ContextVar[Record] = ContextVar("the run that this thread has a part in")


def _run() -> Record:
    return _current.get()


class RandomModel(BaseChatModel):
    """Gives each run the replies of its turn, and tells the run of what was sent."""

    model_name: str = "random"

    @property
    def _llm_type(self) -> str:
        return "random"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        record = _current.get()
        reply = record.turn.replies[len(record.sent) % len(record.turn.replies)]
        record.log.append(Sent(messages, {"stop": stop, **kwargs}, reply))
        if isinstance(reply, Fault):
            raise reply.build()
        return ChatResult(generations=[ChatGeneration(message=reply.copy())])


class Stage:
    """An agent of one scene, whose turns are played on it one after the other, or at once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.memory = ConversationBufferWindowMemory(k=5, return_messages=True)
        self._sent: list[Sent] = []
        self._numbers = itertools.count(1)
        self._agent = Agent(
            llm=RandomModel(),
            tools=[tool_of(name, _run) for name in scene.tools],
            protocol=scene.protocol,
            memory=self.memory,
            limits=scene.limits,
            budget=scene.budget,
            language=scene.language,
            on_event=_note,
        )

    def play(self, turn: Turn, *, alone: bool = True) -> Record:
        """One run, whatever comes of it."""
        marker = f"q{next(self._numbers)}:"
        record = Record(self.scene, turn, marker, self.remembered(), [*self._sent], alone)
        _current.set(record)
        try:
            record.result = self._agent.run(record.question)
        except BaseException as error:  # what may come out is for the checks to say
            record.raised = error
        finally:
            record.over.set()
        record.memory_after = self.remembered()
        self._sent += record.sent
        return record

    def play_at_once(self, *turns: Turn) -> list[Record]:
        """Several runs side by side, each in a thread of its own."""
        with ThreadPoolExecutor(len(turns)) as pool:
            return list(pool.map(lambda turn: self.play(turn, alone=False), turns))

    def remembered(self) -> list[BaseMessage]:
        return [*self.memory.chat_memory.messages]


def _note(event: Any) -> None:
    record = _current.get()
    record.events.append(event)
    if isinstance(event, LastRequest):
        record.log.append(event)
