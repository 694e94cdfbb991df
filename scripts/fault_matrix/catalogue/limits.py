"""Limits that must hold, and faults of the memory."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent.limits import Limits
from scripts.fault_matrix.demands import (
    MEMORY_UNCHANGED,
    answers,
    requests_at_most_chars,
    runs_at_most,
    says,
    told,
)
from scripts.fault_matrix.fault import Contract, Demand, Fault, Use
from scripts.fault_matrix.turns import CALLS_ON, Answer, Call, Uncounted
from tools.calculator import calculate

_limit = partial(Fault, group="limits")
_memory = partial(Fault, group="memory")
_ANSWERED = ("answered",)


def _slowly(use: Use) -> object:
    use.released.wait(0.4)
    return calculate(use.given)


def _outlasts(use: Use) -> object:
    use.released.wait(600)
    return calculate(use.given)


def _history(broken: str = "") -> Any:
    """A window over a chat history with one exchange in it, which fails on "read" or on "write"."""
    from langchain.memory import ConversationBufferWindowMemory
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

    class History(BaseChatMessageHistory):
        def __init__(self) -> None:
            self.kept: list[BaseMessage] = [HumanMessage(content="What is 1+1?"), AIMessage(content="2")]

        @property
        def messages(self) -> list[BaseMessage]:
            if broken == "read":
                raise ConnectionError("the history's database is away")
            return self.kept

        def add_message(self, message: BaseMessage) -> None:
            if broken == "write":
                raise ConnectionError("the history's database is full")
            self.kept.append(message)

        def clear(self) -> None:
            self.kept.clear()

    return ConversationBufferWindowMemory(k=5, return_messages=True, chat_memory=History())


LIMITS_AND_MEMORY = (
    _limit(
        "one second, tools that take their time",
        then=CALLS_ON,
        tool=_slowly,
        waits=True,
        limits=Limits(max_iterations=20, max_seconds=1.0),
        contract=Contract(("stopped: time_limit",), 6, 1.0, [says("max_seconds")]),
    ),
    _limit(
        "one second, a tool that hangs",
        tool=_outlasts,
        first=(Call(),),
        waits=True,
        limits=Limits(max_seconds=1.0),
        contract=Contract(("answered at time_limit", "stopped: time_limit"), 2, 1.0, []),
    ),
    _limit(
        "20 steps, but 1,500 tokens",
        then=CALLS_ON,
        limits=Limits(max_iterations=20, max_total_tokens=1500),
        contract=Contract(
            ("stopped: token_limit",),
            15,
            0.0,
            [
                Demand("more than one request past it", lambda p: (p.tokens or 0) < 2000),
                says("max_total_tokens"),
            ],
        ),
    ),
    _limit(
        "20 steps, but 1,500 tokens, and no usage told",
        over_http=True,
        then=Uncounted(CALLS_ON),
        limits=Limits(max_iterations=20, max_total_tokens=1500),
        contract=Contract(("stopped: token_limit",), 15, 0.0, [says("max_total_tokens")]),
    ),
    _limit(
        "20 steps, but one dollar (1,000 tokens)",
        then=CALLS_ON,
        limits=Limits(max_iterations=20, max_cost_usd=1.0),
        contract=Contract(("stopped: cost_limit",), 10, 0.0, [says("max_cost_usd")]),
    ),
    _limit(
        "2,000 tokens for five runs together",
        then=CALLS_ON,
        runs=5,
        budget=Limits(max_total_tokens=2000),
        contract=Contract(
            ("stopped: token_limit",),
            20,
            0.0,
            [Demand("more than one request past it", lambda p: (p.tokens or 0) < 2500)],
        ),
    ),
    _limit(
        "at_cap='error': no request past the cap",
        then=CALLS_ON,
        limits=Limits(max_iterations=3, at_cap="error"),
        contract=Contract(("stopped: max_iterations",), 3, 0.0, [runs_at_most(3)]),
    ),
    _memory(
        "the history cannot be read",
        memory=partial(_history, "read"),
        contract=Contract(("raised SettingsError",), 0, 0.0, [says("history"), MEMORY_UNCHANGED]),
    ),
    _memory(
        "the history cannot be written",
        memory=partial(_history, "write"),
        contract=Contract(_ANSWERED, 1, 0.0, [answers("4"), MEMORY_UNCHANGED]),
    ),
    _memory(
        "the model fails half-way",
        memory=_history,
        first=(Call(),),
        then=RuntimeError("away"),
        contract=Contract(("stopped: model_error",), 2, 0.0, [MEMORY_UNCHANGED]),
    ),
    _memory(
        "no answer at the cap",
        memory=_history,
        then=CALLS_ON,
        contract=Contract(("stopped: max_iterations",), 7, 0.0, [MEMORY_UNCHANGED]),
    ),
    _memory(
        "braces in the question",
        memory=_history,
        question='What does {"a": 1} {b} mean? {{0}}',
        first=(Call(),),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4"), told('{"a": 1} {b} mean? {{0}}')]),
    ),
    _memory(
        "30 questions with long answers",
        memory=_history,
        runs=30,
        then=Answer("4, and " + "so on " * 100),
        contract=Contract(_ANSWERED, 30, 0.0, [requests_at_most_chars(8_000)]),
    ),
)
