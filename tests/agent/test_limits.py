"""Limits: which values can be meant, and that no run gets past them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agent import Agent, Limits, RunResult, SettingsError, Step, StopReason, Usage
from agent.budget import Budget
from agent.limits import LimitReached, Price
from agent.meter import Meter
from agent.testing import ScriptedModel
from tests.scripted import DONE, actions, play, probe, uncounted

WHOLE = ["max_iterations", "max_total_tokens", "max_tool_failures", "max_repeats", "max_parse_errors"]
WHOLE += ["max_observation_chars"]
NUMBERS = ["max_seconds", "max_cost_usd", "tool_timeout_s"]
OPTIONAL = ["max_iterations", "max_seconds", "max_total_tokens", "max_cost_usd"]


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What a hung tool or model waits for; set at the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [0, -1, 1.5, "6", True, float("inf"), float("nan")])
def test_a_count_is_a_whole_number_above_0(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is a whole number above 0, not "):
        Limits(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0, -0.5, "1", True, float("inf"), float("nan")])
def test_a_measure_is_a_number_above_0(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is a number above 0, not "):
        Limits(**{name: value})


@pytest.mark.parametrize("name", [*WHOLE, *NUMBERS])
def test_none_means_no_cap_only_where_there_may_be_none(name: str) -> None:
    if name in OPTIONAL:
        assert getattr(Limits(**{name: None}), name) is None
        return
    with pytest.raises(SettingsError, match=f"^{name} is"):
        Limits(**{name: None})


def test_at_cap_is_answer_or_error() -> None:
    with pytest.raises(SettingsError, match='at_cap is "answer" or "error"'):
        Limits(at_cap="raise")  # type: ignore[arg-type]  # the mistake that is told


def test_the_defaults_are_those_of_the_contract() -> None:
    assert Limits() == Limits(None, 120.0, None, None, 10.0, 3, 2, 3, 2000, "answer")


# A request of these runs uses far more than one token; the cap is met after the first reply.
@pytest.mark.parametrize("reply", [actions(1)[0], uncounted(actions(1)[0])])
def test_the_token_limit_ends_the_run_without_another_request(reply: Any) -> None:
    result, model = play(reply, limits=Limits(max_total_tokens=100))

    assert (result.answer, result.stop_reason, result.forced) == (None, StopReason.TOKEN_LIMIT, False)
    assert len(model.requests) == 1
    assert "max_total_tokens" in (result.error or "")
    assert "observation was: 1" in (result.error or "")


@pytest.mark.parametrize("reply", [actions(1)[0], uncounted(actions(1)[0])])
def test_the_cost_limit_ends_the_run_without_another_request(
    reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=2.5/10")
    result, _ = play(reply, limits=Limits(max_cost_usd=0.0001))

    assert (result.answer, result.stop_reason) == (None, StopReason.COST_LIMIT)
    assert "max_cost_usd" in (result.error or "")


def test_a_token_limit_met_in_the_last_round_forbids_the_request_for_the_answer() -> None:
    result, model = play(*actions(1), limits=Limits(max_iterations=1, max_total_tokens=100))

    assert (result.answer, result.stop_reason) == (None, StopReason.MAX_ITERATIONS)
    assert len(model.requests) == 1


def test_the_cost_is_the_price_of_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "other=1/1, scripted=2.5/10")
    result, _ = play(*actions(1), DONE)

    usage = result.usage
    expected = ((usage.prompt_tokens or 0) * 2.5 + (usage.completion_tokens or 0) * 10) / 1e6
    assert usage.cost_usd == pytest.approx(expected)
    assert sum(step.usage.cost_usd or 0 for step in result.steps) == pytest.approx(expected)


def test_the_cost_is_none_where_the_service_told_no_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=2.5/10")
    result, _ = play(uncounted(DONE))

    assert result.usage.cost_usd is None


@pytest.mark.parametrize("name", ["limits", "budget"])
def test_a_cost_limit_for_a_model_without_a_price_is_a_mistake_found_before_any_request(name: str) -> None:
    model = ScriptedModel(replies=[DONE])
    with pytest.raises(SettingsError, match="AGENT_PRICES=scripted=PROMPT/COMPLETION"):
        Agent(llm=model, **{name: Limits(max_cost_usd=1)})  # type: ignore[arg-type]  # by either name
    assert model.requests == []


def spent(limits: Limits, *replies: Any, budget: Limits | None = None) -> tuple[RunResult, RunResult]:
    agent = Agent(llm=ScriptedModel(replies=list(replies)), limits=limits, budget=budget)
    return agent.run("one"), agent.run("two")


def test_a_limit_is_of_each_run_and_a_budget_of_all_of_them() -> None:
    cap = Limits(max_total_tokens=100)
    for_each = spent(cap, DONE, DONE)
    for_all = spent(Limits(), DONE, DONE, budget=cap)

    assert [result.stop_reason for result in for_each] == [StopReason.FINAL_ANSWER] * 2
    assert [result.stop_reason for result in for_all] == [StopReason.FINAL_ANSWER, StopReason.TOKEN_LIMIT]


def test_a_budget_of_cost_holds_over_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=2.5/10")
    one, two = spent(Limits(), DONE, DONE, budget=Limits(max_cost_usd=0.0001))

    assert (one.stop_reason, two.stop_reason) == (StopReason.FINAL_ANSWER, StopReason.COST_LIMIT)


def test_a_budget_of_seconds_holds_over_runs(released: threading.Event) -> None:
    model = ScriptedModel(replies=[DONE, DONE])
    budget = Limits(max_seconds=2)
    # The first run's result is in hand when its listener uses up the budget; the second has no time left.
    agent = Agent(llm=model, budget=budget, on_event=lambda event: released.wait(2 * isinstance(event, Step)))

    assert agent.run("one").ok
    assert agent.run("two").stop_reason is StopReason.TIME_LIMIT
    assert len(model.requests) == 1


def test_a_budget_may_be_spent_from_several_threads() -> None:
    budget = Budget(Limits(max_total_tokens=20_001))
    threads = [
        threading.Thread(target=lambda: [budget.spend(1, 0.0) for _ in range(1000)]) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert budget.exceeded() is None
    budget.spend(1, 0.0)
    assert budget.exceeded() is StopReason.TOKEN_LIMIT


def test_time_is_kept_back_for_the_request_that_asks_for_the_answer() -> None:
    meter = Meter(Limits(max_seconds=40))
    long = Meter(Limits(max_seconds=4000))

    assert meter.seconds_left() == pytest.approx(30, abs=1)
    assert meter.seconds_left(last_request=True) == pytest.approx(40, abs=1)
    assert long.seconds_left() == pytest.approx(3985, abs=1)
    assert Meter(Limits(max_seconds=None)).seconds_left() == float("inf")


def test_a_hung_tool_leaves_time_for_a_forced_answer(released: threading.Event) -> None:
    hung = probe(lambda _: released.wait(60))
    result, _ = play("Action: Probe[x]", DONE, tools=[hung], limits=Limits(max_seconds=0.8))

    assert (result.answer, result.stop_reason, result.forced) == ("done", StopReason.TIME_LIMIT, True)
    assert "did not finish" in result.steps[0].observations[0].text
    assert result.duration_s < 10


def test_a_hung_model_ends_the_run_at_its_time_limit(released: threading.Event) -> None:
    class Hung(ScriptedModel):
        def _generate(self, *args: Any, **more: Any) -> Any:
            released.wait(60)
            return super()._generate(*args, **more)

    result = Agent(llm=Hung(replies=[DONE]), limits=Limits(max_seconds=0.4)).run("hello?")

    assert (result.answer, result.stop_reason) == (None, StopReason.TIME_LIMIT)
    assert "max_seconds" in (result.error or "")
    assert (result.usage.requests, result.duration_s < 10) == (0, True)


def test_a_model_that_does_not_answer_in_its_own_time_is_a_model_error(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hung(ScriptedModel):
        def _generate(self, *args: Any, **more: Any) -> Any:
            released.wait(60)
            return super()._generate(*args, **more)

    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "0.2")
    result = Agent(llm=Hung(replies=[DONE])).run("hello?")

    assert result.stop_reason is StopReason.MODEL_ERROR
    assert "within 0.2 s" in (result.error or "")
    assert result.duration_s < 10


def test_a_meter_counts_missing_usage_as_a_quarter_of_the_characters() -> None:
    meter = Meter(Limits(max_total_tokens=100))
    meter.add(Usage(1, None, None), lambda: 396)
    meter.check()
    meter.add(Usage(1, None, None), lambda: 4)

    with pytest.raises(LimitReached):
        meter.check()


def test_a_price_is_dollars_per_million_tokens() -> None:
    price = Price(prompt=2.5, completion=10)

    assert price.cost(Usage(1, 1_000_000, 500_000)) == pytest.approx(7.5)
    assert price.cost(Usage(1, None, 5)) is None
    assert price.highest(1_000_000) == pytest.approx(10)
