"""Each of the bench's measurements, very small: that its figures are of what they say they are of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.memory import WINDOW
from scripts.benching import crowd, growth, startup, steps
from scripts.benching.measured import Measured, ratio
from scripts.benching.model import QUESTION, Rehearsed
from scripts.benching.surroundings import own_surroundings

pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def clean() -> Iterator[None]:
    with own_surroundings():
        yield


def goal(measured: Measured, what: str) -> float:
    (found,) = (each.value for each in measured.goals if each.what.startswith(what))
    return found


@pytest.mark.parametrize("protocol", steps.PROTOCOLS)
def test_the_bare_sum_sends_what_ours_sent_and_gives_the_tool_what_ours_gave(protocol: str) -> None:
    run = Rehearsed(protocol, 3)
    run.run_ours()
    ours, given = run.model.asked, [*run.given]
    run.run_bare()
    assert run.model.asked == ours == run.requests
    assert len(ours) == 3
    assert run.given == given == ["word 0", "word 1"]
    assert all(request.options for request in ours), "a stop word, or the tools"


@pytest.mark.parametrize("protocol", steps.PROTOCOLS)
def test_every_run_of_ours_sends_the_same_as_the_one_before(protocol: str) -> None:
    run = Rehearsed(protocol, 2)
    first = [message.content for message in run.requests[0].messages]
    assert first.count(QUESTION) == WINDOW + 1, "a full conversation and the question"
    run.run_ours()
    assert run.model.asked == run.requests


def test_a_run_that_goes_otherwise_is_not_measured() -> None:
    run = Rehearsed("text", 2)
    run.replies = [run.replies[0], run.replies[0]]
    with pytest.raises(AssertionError, match="the run went otherwise"):
        run.run_ours()


def test_a_step_is_held_against_the_bare_sum_and_agent_executor() -> None:
    measured = steps.measure(steps.Plan(repeats=2))
    (line,) = measured.lines
    assert {each.runs for each in line.spreads.values()} == {2}
    assert line.counts == {"requests a run": 6, "tool calls": 5}
    for protocol in steps.PROTOCOLS:
        ours = line.spreads[f"ours, {protocol}"]
        bare = line.spreads[f"bare sum of ours, {protocol}"]
        assert goal(measured, f"{protocol}: a step over the bare sum") == ratio(ours, bare)
        executor = line.spreads["AgentExecutor"]
        assert goal(measured, f"{protocol}: a step over AgentExecutor's") == ratio(ours, executor)


def test_growth_has_a_curve_for_conversation_observation_and_length() -> None:
    plan = growth.Plan(repeats=1, turns=(2, 9), characters=(10, 9_000), steps=(2, 9))
    conversation, observation, length = growth.measure(plan)

    lived, full = conversation.lines
    assert [*lived.spreads] == [*full.spreads] == ["2 turns", "9 turns"]
    value = goal(conversation, "after so many turns")
    assert value == ratio(lived.spreads["9 turns"], lived.spreads["2 turns"])

    small, large = observation.lines
    value = goal(observation, "observation")
    assert value == pytest.approx(
        ratio(large.spreads["ours"], large.spreads["bare sum"])
        / ratio(small.spreads["ours"], small.spreads["bare sum"])
    )

    counts = {line.what: line.counts for line in length.lines}
    before = 2 + 2 * WINDOW  # the system message, the conversation, the question
    assert counts["text, 9 steps"] == {"requests": 9, "messages in the last": before + 2 * WINDOW}
    assert counts["tools, 9 steps"] == {"requests": 9, "messages in the last": before + 2 * 8}
    assert len(length.goals) == 3


def test_a_large_observation_reaches_the_model_cut() -> None:
    run = Rehearsed("text", 2, lambda _: "x" * 50_000)
    assert 1_900 < len(run.requests[-1].messages[-1].content) < 2_200


def test_as_many_requests_as_runs_are_at_the_service_at_once() -> None:
    measured = crowd.measure(crowd.Plan(repeats=1, sizes=(1, 6), latency_s=1.0))
    one, six = measured.lines
    rounds, contenders = 2, 4  # one to warm up; ours and bare, in two protocols
    assert one.counts == {"requests": rounds * contenders, "at once at most": 1}
    assert six.counts == {"requests": 6 * rounds * contenders, "at once at most": 6}
    value = goal(measured, "text: 6 at once")
    assert value == ratio(six.spreads["ours, text"], six.spreads["bare, text"])


def test_a_round_of_a_crowd_in_which_a_connection_fails_costs_no_other_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = iter(range(100))

    def at_once(*_: object) -> float:
        if next(rounds) == 5:  # the second of the round that counts: four contenders have warmed up
            raise ConnectionError("reset")
        return 1.0

    monkeypatch.setattr(crowd, "at_once", at_once)
    measured = crowd.measure(crowd.Plan(repeats=1, sizes=(1,)))
    assert measured.lines[0].failures == ["ours, tools: ConnectionError: reset"]
    assert [goal.value for goal in measured.goals] == [1.0, None]


def test_what_one_thread_raises_is_raised() -> None:
    def fail(number: int) -> None:
        if number == 2:
            raise ValueError("the second")

    with pytest.raises(ValueError, match="the second"):
        crowd.at_once(fail, [1, 2, 3])


@pytest.mark.timeout(600)  # eight processes that import LangChain
def test_a_start_is_measured_up_to_its_first_request() -> None:
    measured = startup.measure(startup.Plan(repeats=1))
    first, early = measured.lines
    assert first.counts == {"requests": 4}, "two contenders that ask, twice each"
    assert [*early.spreads] == ["python -m agent --help", "python -c 'import argparse'"]
    ours, imports = (first.spreads[name] for name in [*first.spreads][::2])
    assert goal(measured, "the first request") == ratio(ours, imports)
