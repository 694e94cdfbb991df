"""Random models, tools and faults: whatever happens, a run ends as the contract says.

A failure prints the scene and the turns that it takes, shrunk, and how to play them again.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from langchain_core.messages import BaseMessage

from agent import Step
from agent import client as client_module
from agent.results import Observation
from tests.agent.random_runs.checks import check, check_at_once
from tests.agent.random_runs.scenes import PRICES, WAYS, Scene, Turn, Way, scenes, turns
from tests.agent.random_runs.stage import Record, Stage

# 20,400 runs in all, about two minutes: for each of the three ways to speak to a model so many single runs,
# runs that are played twice, and conversations of so many turns.
SINGLE, TWICE, CONVERSATIONS, TURNS = 4000, 600, 200, 8

RANDOM = settings(
    print_blob=True,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.parametrize("way", WAYS),
    # hypothesis shows what it drew: a whole run
    pytest.mark.filterwarnings("ignore:Generating overly large repr"),
]


@pytest.fixture(autouse=True)
def environment(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.0)
    monkeypatch.setenv("AGENT_PRICES", PRICES)
    monkeypatch.setenv("AGENT_GRAMMAR", "on" if way == "words" else "off")


def test_a_single_run(way: Way) -> None:
    @settings(RANDOM, max_examples=SINGLE)
    @given(scenes(way), turns(way))
    def one(scene: Scene, turn: Turn) -> None:
        check(Stage(scene).play(turn))

    one()


def test_the_same_run_twice(way: Way) -> None:
    @settings(RANDOM, max_examples=TWICE)
    @given(scenes(way).filter(lambda scene: not scene.is_timed), turns(way))
    def both(scene: Scene, turn: Turn) -> None:
        one, other = (Stage(scene).play(turn) for _ in range(2))
        assert what_counts(one) == what_counts(other)

    both()


def what_counts(record: Record) -> object:
    """All of a run but the time that it took."""
    result = record.events[-1]
    steps = tuple(_without_time(step) for step in result.steps)
    sent = [_without_ids(message) for each in record.sent for message in each.messages]
    return replace(result, steps=steps, duration_s=0.0), sent


def _without_ids(message: BaseMessage) -> object:
    """LangChain gives each reply an id of its own; nobody is sent it."""
    return message.type, message.content, getattr(message, "tool_calls", None)


def _without_time(step: Step) -> Step:
    seen: tuple[Observation, ...] = tuple(replace(each, duration_s=0.0) for each in step.observations)
    return replace(step, observations=seen, duration_s=0.0)


def test_a_conversation(way: Way) -> None:
    class Conversation(RuleBasedStateMachine):
        """One agent and its memory, asked again and again."""

        @initialize(scene=scenes(way))
        def begin(self, scene: Scene) -> None:
            self.stage = Stage(scene)

        @rule(turn=turns(way))
        def ask(self, turn: Turn) -> None:
            check(self.stage.play(turn))

        @rule(one=turns(way), other=turns(way))
        def ask_twice_at_once(self, one: Turn, other: Turn) -> None:
            before = self.stage.remembered()
            check_at_once(self.stage.play_at_once(one, other), before, self.stage.remembered())

    steps = settings(RANDOM, max_examples=CONVERSATIONS, stateful_step_count=TURNS + 1)
    run_state_machine_as_test(Conversation, settings=steps)
