"""What a fault is played on: the model, its tool and its memory, and what they have seen at the end."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import Tool
from langchain_openai import ChatOpenAI

from agent.models import load_model
from agent.testing import ScriptedModel
from scripts.fault_matrix.fault import KEY, OURS, Fault, Played, Use
from scripts.fault_matrix.turns import served, written
from scripts.services import Reply, Service
from tools.schema import one_text

MOST_REPLIES = 120  # of a scripted model that goes on for ever: more than any contender asks for
MODEL = "gpt-4o"


class Counter(BaseCallbackHandler):
    """Adds up what the replies say of their tokens: the same for every contender."""

    def __init__(self) -> None:
        self.tokens: int | None = 0

    def on_llm_end(self, response: Any, **_: Any) -> None:
        told = ((response.llm_output or {}).get("token_usage") or {}).get("total_tokens")
        self.tokens = None if told is None or self.tokens is None else self.tokens + told


class Stage:
    """One fault, set up for one contender."""

    def __init__(self, fault: Fault, contender: str, service: Service | None) -> None:
        self.fault = fault
        self.counter = Counter()
        self.released = threading.Event()
        self.tool_runs = 0
        self.memory = fault.memory() if fault.memory else None
        self._service = service
        self._scripted: ScriptedModel | None = None
        if service is None:
            self._scripted = ScriptedModel(replies=_replies(fault, form_of(fault, contender)))
        self.llm = self._scripted or _client(fault, contender, service)
        self.tools = [
            Tool(
                name="Calculator",
                func=self._use,
                description="Works out an expression, such as 7*(3+1).",
                args_schema=one_text("expression", "e.g. 7*(3+1)"),
            )
        ]

    def _use(self, given: str) -> object:
        self.tool_runs += 1
        return self.fault.tool(Use(given, self.tool_runs, self.released))

    @property
    def uses(self) -> tuple[int, int]:
        """How often model and tool were used until now."""
        requests = (
            self._service.requests if self._service else self._scripted.requests if self._scripted else ()
        )
        return len(requests), self.tool_runs

    def look(self, played: Played) -> None:
        """Put down what model and tool have seen until now."""
        played.sent = self._sent()
        played.requests = len(played.sent)
        played.tokens = self.counter.tokens
        played.tool_runs = self.tool_runs

    def _sent(self) -> Sequence[str]:
        if self._service:
            bodies = list(self._service.requests)
            return [json.dumps(body["messages"], ensure_ascii=False) for body in bodies]
        requests = list(self._scripted.requests) if self._scripted else []
        return ["\n".join(f"{each.type}: {each.content}" for each in request) for request in requests]

    def remembered(self) -> Sequence[str]:
        """What the memory holds, read past whatever fault it plays."""
        history = self.memory.chat_memory if self.memory else None
        messages = getattr(history, "kept", ())
        return [f"{each.type}: {each.content}" for each in messages]


@contextmanager
def staged(fault: Fault, contender: str) -> Iterator[Stage]:
    """A stage while it is played on; afterwards whatever still hangs is let go."""
    if not fault.over_http:
        stage = Stage(fault, contender, None)
        try:
            yield stage
        finally:
            stage.released.set()
        return
    with Service(_served(fault, form_of(fault, contender)), model=MODEL) as service:
        stage = Stage(fault, contender, service)
        try:
            yield stage
        finally:
            stage.released.set()


def form_of(fault: Fault, contender: str) -> str:
    """How this contender's model writes a call."""
    if contender == "executor":
        return "native" if fault.executor == "calls" else "react"
    return "native" if contender == "tools" else "text"


def _turns(fault: Fault) -> Iterator[tuple[int, Any]]:
    return enumerate(itertools.chain(fault.first, itertools.repeat(fault.then)), 1)


def _replies(fault: Fault, form: str) -> list[Any]:
    return [written(turn, form, number) for number, turn in itertools.islice(_turns(fault), MOST_REPLIES)]


def _served(fault: Fault, form: str) -> Iterator[Reply]:
    return (served(turn, form, number) for number, turn in _turns(fault))


def _client(fault: Fault, contender: str, service: Any) -> Any:
    if contender in OURS:
        return load_model(MODEL, base_url=service.url)
    return ChatOpenAI(
        model=MODEL,
        temperature=0,
        max_tokens=512,
        timeout=fault.model_timeout_s,
        base_url=service.url,
        api_key=KEY,
    )
