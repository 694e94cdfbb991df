"""A budget shared by many threads: what they spend together, and that nothing is asked once it is used up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agent import Agent, Limits, RunResult, StopReason
from agent.testing import ScriptedModel
from tests.scripted import DONE

THREADS = 32
RUNS = 60  # of each thread, were there no budget; more than any budget here allows
TOKENS = 10  # of each request
PRICE_USD = 1e-4  # of each request, at 10 dollars per million tokens
WAIT_S = 60.0  # for what is bound to come; only a failing test waits as long


class Busy(ScriptedModel):
    """Says the same for ever; each reply is ready when ``begin()`` has returned."""

    def __init__(
        self, text: str, begin: Callable[[], object] = lambda: None, *, tokens: int = TOKENS
    ) -> None:
        used = {"token_usage": {"prompt_tokens": tokens - 2, "completion_tokens": 2}}
        super().__init__(replies=[AIMessage(content=text, response_metadata=used)] * THREADS * RUNS * 7)
        object.__setattr__(self, "begin", begin)  # a field of pydantic's must be declared

    def _generate(self, *args: Any, **more: Any) -> Any:
        result = super()._generate(*args, **more)
        self.begin()
        return result


@pytest.fixture(autouse=True)
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=10/10")


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def together(work: Callable[[], list[RunResult]]) -> list[list[RunResult]]:
    """``work()`` in every thread, all of them started before one begins."""
    barrier = threading.Barrier(THREADS)

    def one(_: int) -> list[RunResult]:
        barrier.wait(WAIT_S)
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def until_stopped(agent: Agent) -> list[RunResult]:
    """Run again and again, as long as a run ends by itself."""
    results: list[RunResult] = []
    while len(results) < RUNS and all(result.ok for result in results):
        results.append(agent.run("hello?"))
    return results


# A run of one request, and one that goes on until something stops it.
@pytest.mark.parametrize("text", [DONE, "Action: Time[]"])
@pytest.mark.parametrize(
    ("budget", "requests", "reason"),
    [
        (Limits(max_seconds=None, max_total_tokens=50 * TOKENS), 50, StopReason.TOKEN_LIMIT),
        (Limits(max_seconds=None, max_total_tokens=1), 1, StopReason.TOKEN_LIMIT),
        (Limits(max_seconds=None, max_cost_usd=50 * PRICE_USD), 50, StopReason.COST_LIMIT),
        (Limits(max_seconds=None, max_cost_usd=PRICE_USD / 2), 1, StopReason.COST_LIMIT),
    ],
    ids=["tokens", "one token", "dollars", "half a request's dollars"],
)
def test_threads_together_spend_the_budget_and_no_request_more(
    text: str, budget: Limits, requests: int, reason: StopReason
) -> None:
    model = Busy(text)
    agent = Agent(llm=model, budget=budget, limits=Limits(max_iterations=1_000_000))
    results = [result for thread in together(lambda: until_stopped(agent)) for result in thread]
    spent = len(model.requests)

    assert spent == requests
    assert sum(result.usage.requests for result in results) == spent
    assert sum(result.usage.total_tokens or 0 for result in results) == spent * TOKENS
    assert [result.stop_reason for result in results if not result.ok] == [reason] * THREADS
    for (result,) in together(lambda: [agent.run("more?")]):
        assert (result.stop_reason, result.answer, result.usage.requests) == (reason, None, 0)
    assert len(model.requests) == spent


def test_a_request_in_flight_when_the_budget_is_used_up_is_the_last_of_its_run(
    released: threading.Event,
) -> None:
    """A run waits for its reply while another uses up the budget: the reply is read, and no more is asked."""
    sent, turn = threading.Event(), iter([True])

    def hold_the_first() -> None:
        if next(turn, False):
            sent.set()
            assert released.wait(WAIT_S)

    model = Busy("Action: Time[]", hold_the_first, tokens=10_000)
    agent = Agent(llm=model, budget=Limits(max_seconds=None, max_total_tokens=50_000))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(agent.run, "slow?")
        assert sent.wait(WAIT_S)
        fast = agent.run("fast?")
        released.set()
        assert slow.result(WAIT_S).stop_reason is StopReason.TOKEN_LIMIT
    assert fast.stop_reason is StopReason.TOKEN_LIMIT
    assert len(slow.result().steps) == 1
    assert len(model.requests) == 6


def test_a_budget_of_seconds_that_is_used_up_ends_every_run_at_once(released: threading.Event) -> None:
    model = Busy(DONE, lambda: released.wait(WAIT_S))
    agent = Agent(llm=model, budget=Limits(max_seconds=1.0), limits=Limits(max_seconds=WAIT_S))
    first = together(lambda: [agent.run("hello?")])
    later = together(lambda: [agent.run("more?")])

    assert {result.stop_reason for (result,) in first + later} == {StopReason.TIME_LIMIT}
    asked = [str(request[-1].content) for request in model.requests]
    # The second request of a run is the one for the answer, for which some of the time is kept back.
    assert 1 <= len(asked) <= 2 * THREADS
    assert not [question for question in asked if "more?" in question]
