"""What the loop, the limits, the toolbox and the results promise, whichever way the model asks for tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage

from agent import Agent, Limits, RunResult, StopReason
from agent.testing import ScriptedModel
from tests.protocols import DIALECTS, Dialect, told
from tests.scripted import contents, failing, kinds, play, probe

pytestmark = pytest.mark.parametrize("dialect", DIALECTS, ids=[each.protocol for each in DIALECTS])


class TooLong(Exception):
    """How a service says that a request is longer than its model's context."""

    status_code = 400

    def __init__(self) -> None:
        super().__init__("This model's maximum context length is 8192 tokens.")


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What a hung tool or model waits for; set at the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


def test_a_call_is_run_and_its_result_leads_to_the_answer(dialect: Dialect) -> None:
    result, model = dialect.play(dialect.call("2+3*4"), dialect.answer("14"))

    assert (result.answer, result.stop_reason, result.ok) == ("14", StopReason.FINAL_ANSWER, True)
    assert (result.forced, result.unformatted, result.error) == (False, False, None)
    assert (result.protocol, len(model.requests)) == (dialect.protocol, 2)
    assert "14" in told(model)
    first, last = result.steps
    assert (first.number, first.thought) == (1, "on")
    assert [(action.tool, action.input) for action in first.actions] == [("Calculator", "2+3*4")]
    assert [(seen.text, seen.ok, seen.ran) for seen in first.observations] == [("14", True, True)]
    assert (last.number, last.actions, last.observations) == (2, (), ())


def test_requests_only_grow_at_their_end_while_nothing_is_left_out(dialect: Dialect) -> None:
    _, model = dialect.play(*dialect.calls(1, 2, 3, 4, 5), dialect.answer())

    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later[: len(earlier)] == earlier


def test_at_the_cap_one_request_without_tools_asks_for_the_answer(dialect: Dialect) -> None:
    most = dialect.max_iterations
    result, model = dialect.play(*dialect.calls(*range(most)), dialect.answer("forced"))

    assert (len(result.steps), result.usage.requests) == (most, most + 1)
    assert (result.answer, result.stop_reason) == ("forced", StopReason.MAX_ITERATIONS)
    assert (result.forced, result.ok, result.error) == (True, False, None)
    assert "No more tools can be used" in told(model)
    assert kinds(model.requests[-1]).count("ai") == most
    assert "tools" not in model.options[-1]


def test_a_call_in_the_forced_reply_is_neither_run_nor_shown(dialect: Dialect) -> None:
    asked: list[str] = []
    tool = probe(lambda given: asked.append(given) or f"got {given}")
    replies = dialect.calls("one", "two", tool="Probe")
    replies[1].content = str(replies[1].content).removeprefix("on")  # nothing but the call
    result, _ = dialect.play(*replies, tools=[tool], limits=Limits(max_iterations=1))

    assert asked == ["one"]
    assert (result.answer, result.stop_reason, result.forced) == (None, StopReason.MAX_ITERATIONS, False)
    assert (result.error or "").endswith("the last observation was: got one")


def test_at_cap_error_ends_without_another_request(dialect: Dialect) -> None:
    limits = Limits(max_iterations=2, at_cap="error")
    result, model = dialect.play(*dialect.calls(3, 4), limits=limits)

    assert len(model.requests) == 2
    assert (result.answer, result.stop_reason) == (None, StopReason.MAX_ITERATIONS)
    assert "stopped at step 2, the cap of max_iterations=2" in (result.error or "")
    assert (result.error or "").endswith("4")


@pytest.mark.parametrize("failure", [RuntimeError("out of order"), TooLong(), SystemExit(3), ""])
def test_a_forced_request_that_fails_leaves_the_last_observation_as_the_error(
    dialect: Dialect, failure: object
) -> None:
    result, _ = dialect.play(dialect.call("3*7"), failure, limits=Limits(max_iterations=1))

    assert (result.answer, result.stop_reason, result.forced) == (None, StopReason.MAX_ITERATIONS, False)
    assert "max_iterations" in (result.error or "")
    assert (result.error or "").endswith("21")


def test_a_hung_tool_costs_its_deadline_and_the_run_goes_on(
    dialect: Dialect, released: threading.Event
) -> None:
    hung = probe(lambda _: released.wait(60), metadata={"timeout_s": 0.1})
    result, model = dialect.play(dialect.call("x", tool="Probe"), dialect.answer(), tools=[hung])

    assert result.ok
    assert "Probe did not finish within 0.1 s" in told(model)
    assert "may still take effect" in told(model)


def test_at_the_time_limit_the_answer_is_asked_for(dialect: Dialect, released: threading.Event) -> None:
    hung = probe(lambda _: released.wait(60))
    result, _ = dialect.play(
        dialect.call("x", tool="Probe"), dialect.answer(), tools=[hung], limits=Limits(max_seconds=0.8)
    )

    assert (result.answer, result.stop_reason, result.forced) == ("done", StopReason.TIME_LIMIT, True)
    assert "did not finish" in result.steps[0].observations[0].text


def test_the_token_limit_ends_the_run_without_another_request(dialect: Dialect) -> None:
    result, model = dialect.play(dialect.call(1), limits=Limits(max_total_tokens=10))

    assert (result.answer, result.stop_reason) == (None, StopReason.TOKEN_LIMIT)
    assert len(model.requests) == 1


def test_a_tool_that_fails_three_times_is_switched_off_and_the_model_is_told(dialect: Dialect) -> None:
    tool = failing(ValueError("no luck"))
    replies = dialect.calls("a", "b", "c", "d", tool="Probe")
    result, model = dialect.play(*replies, dialect.answer("without it"), tools=[tool, probe(name="Other")])

    second, third, fourth = (told(model, request) for request in (2, 3, 4))
    assert "Probe failed: ValueError: no luck" in second
    assert "switched off" not in second
    assert "has failed 3 times and is now switched off" in third
    assert "Probe is switched off for this run and was not called. Answer with what is known." in fourth
    assert [seen.ran for step in result.steps for seen in step.observations] == [True, True, True, False]
    assert result.answer == "without it"


def test_the_same_call_again_is_not_run_and_the_third_ends_the_run(dialect: Dialect) -> None:
    asked: list[str] = []
    tool = probe(lambda given: asked.append(given) or "seen")
    replies = dialect.calls("1+1", "1 + 1", "1+1 ", tool="Probe")
    result, model = dialect.play(*replies, dialect.answer(), tools=[tool])

    assert asked == ["1+1"]
    assert "The same call was just made" in told(model, 2)
    assert "seen" in told(model, 2)
    assert (result.stop_reason, result.answer, result.forced) == (StopReason.REPEATED_ACTION, "done", True)


def test_a_bad_reply_in_between_does_not_reset_the_repeats(dialect: Dialect) -> None:
    one, again, third = dialect.calls(1, 1, 1)
    result, _ = dialect.play(one, again, dialect.unreadable, third, dialect.answer())

    assert result.stop_reason is StopReason.REPEATED_ACTION


def test_an_unknown_tool_is_a_bad_reply_that_names_the_tools(dialect: Dialect) -> None:
    result, model = dialect.play(dialect.call("x", tool="Search"), dialect.answer())

    assert 'there is no tool named "Search"' in told(model)
    assert "Calculator, Weather, Time" in told(model)
    assert (result.steps[0].error, result.steps[0].actions) == (told(model), ())


def bad_replies(dialect: Dialect) -> dict[str, AIMessage]:
    return {
        "unreadable": dialect.unreadable,
        "unknown": dialect.call("x", tool="Search"),
        "empty": AIMessage(content=""),
        "thoughts": AIMessage(content="<think>only thoughts"),
    }


@pytest.mark.parametrize("kind", ["unreadable", "unknown", "empty", "thoughts"])
def test_the_third_bad_reply_in_a_row_ends_with_one_request_for_the_answer(
    dialect: Dialect, kind: str
) -> None:
    bad = [bad_replies(dialect)[kind] for _ in range(3)]
    result, model = dialect.play(*bad, dialect.answer("forced"))

    assert (result.answer, result.stop_reason) == ("forced", StopReason.PARSE_ERRORS)
    assert (result.forced, len(model.requests)) == (True, 4)
    assert all(step.error for step in result.steps)


def test_bad_replies_count_only_in_a_row(dialect: Dialect) -> None:
    bad = dialect.unreadable
    result, _ = dialect.play(bad, bad, dialect.call(1), bad, bad, dialect.answer())

    assert result.ok


@pytest.mark.parametrize("content", ["", "\n\n", "<think>hm</think>", [], [{"type": "text", "text": ""}]])
def test_an_empty_reply_is_corrected_and_goes_back_as_words(dialect: Dialect, content: Any) -> None:
    result, model = dialect.play(AIMessage(content=content), dialect.answer())

    assert contents(model.requests[1])[-2] == "(no reply)"
    assert "Your reply could not be used" in told(model)
    assert result.answer == "done"


def names_the_limit(result: RunResult) -> bool:
    return result.stop_reason is StopReason.PARSE_ERRORS and "AGENT_MAX_TOKENS" in (result.error or "")


def test_a_cut_reply_is_not_run_and_the_second_in_a_row_ends_the_run(dialect: Dialect) -> None:
    one, _ = dialect.play(dialect.cut(), dialect.answer())
    forced, model = dialect.play(dialect.cut("1"), dialect.cut("2"), dialect.answer())
    failed, _ = dialect.play(dialect.cut("1"), dialect.cut("2"), "")

    assert (one.ok, one.steps[0].observations) == (True, ())
    assert "be brief" in told(model, 1)
    assert names_the_limit(forced)
    assert names_the_limit(failed)
    assert ((forced.answer, forced.forced), failed.answer) == (("done", True), None)


@pytest.mark.parametrize(
    "error", [RuntimeError("out of order"), KeyError("x"), SystemExit(3), GeneratorExit()]
)
def test_whatever_a_model_raises_ends_in_a_result(dialect: Dialect, error: BaseException) -> None:
    result, _ = dialect.play(dialect.call(1), error)

    assert (result.answer, result.stop_reason) == (None, StopReason.MODEL_ERROR)
    assert type(error).__name__ in (result.error or "")
    assert (result.usage.requests, result.usage.retries) == (1, 1)


def test_a_request_too_long_is_asked_once_more_with_the_last_two_steps(dialect: Dialect) -> None:
    result, model = dialect.play(*dialect.calls(1, 2, 3), TooLong(), dialect.answer())

    assert kinds(model.requests[-1]).count("ai") == 2
    assert "3" in told(model)
    assert (result.ok, result.usage.retries) == (True, 1)


@pytest.mark.parametrize("place", ["tool", "model"])
def test_ctrl_c_goes_through_and_leaves_memory_as_it_was(dialect: Dialect, place: str) -> None:
    memory = ConversationBufferWindowMemory(k=5, return_messages=True)
    memory.save_context({"input": "earlier"}, {"output": "answer"})
    events: list[object] = []
    last: Any = KeyboardInterrupt() if place == "model" else dialect.call("x", tool="Probe")
    with pytest.raises(KeyboardInterrupt):
        play(
            *(dialect.call(1), last),
            protocol=dialect.protocol,
            tools=[probe(name="Calculator"), failing(KeyboardInterrupt())],
            memory=memory,
            on_event=events.append,
        )

    assert isinstance(events[-1], RunResult)
    assert (events[-1].stop_reason, len(events[-1].steps)) == (StopReason.INTERRUPTED, 1)
    assert contents(memory.chat_memory.messages) == ["earlier", "answer"]


def test_a_failed_run_leaves_memory_as_it_was_and_an_answered_one_its_exchange(dialect: Dialect) -> None:
    memory = ConversationBufferWindowMemory(k=5, return_messages=True)
    dialect.play(dialect.call(1), RuntimeError("down"), memory=memory)
    assert memory.chat_memory.messages == []
    dialect.play(dialect.call(1), dialect.unreadable, dialect.answer(), question="What?", memory=memory)

    assert contents(memory.chat_memory.messages) == ["What?", "done"]


def test_a_conversation_sends_its_last_five_exchanges(dialect: Dialect) -> None:
    replies = [
        reply for turn in range(1, 9) for reply in (dialect.call(turn), dialect.answer(f"answer {turn}"))
    ]
    model = ScriptedModel(replies=replies)
    agent = Agent(llm=model, protocol=dialect.protocol)
    for turn in range(1, 9):
        agent.run(f"question {turn}")

    eighth = model.requests[14]
    assert kinds(eighth) == ["system", *["human", "ai"] * 5, "human"]
    expected = [text for turn in range(3, 8) for text in (f"question {turn}", f"answer {turn}")]
    assert contents(eighth)[1:] == [*expected, "question 8"]


def test_secrets_are_masked_in_what_goes_back(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPS_API_KEY", "canary-4711")
    tools = [
        probe(lambda _: "see https://maps.test/?key=hidden canary-4711"),
        failing(OSError("canary-4711"), "Bad"),
    ]
    calls = dialect.call("x", tool="Probe"), dialect.call("y", tool="Bad")
    result, model = dialect.play(*calls, dialect.answer(), tools=tools)

    sent = "".join(contents(model.requests[-1]))
    assert "***" in sent
    for secret in ("canary", "hidden"):
        assert secret not in sent + str(result.to_dict())


def test_a_long_observation_is_cut_to_its_head_and_tail(dialect: Dialect) -> None:
    tool = probe(lambda _: "head" + "x" * 300_000 + "tail")
    result, model = dialect.play(dialect.call("x", tool="Probe"), dialect.answer(), tools=[tool])

    seen = result.steps[0].observations[0].text
    assert len(seen) <= 2000
    assert (seen[:4], seen[-4:]) == ("head", "tail")
    assert seen in told(model)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_marks_stay_as_they_are_and_both_languages_have_one_structure(
    dialect: Dialect, language: str
) -> None:
    text = '{"a": 1} $question {0} %s {{x}}'
    tool = probe(lambda _: f"Result {text}")
    replies = [dialect.call("x", tool="Probe"), dialect.unreadable, dialect.answer(text)]
    result, model = dialect.play(*replies, question=f"What is {text}?", tools=[tool], language=language)

    assert result.answer == text
    assert f"What is {text}?" in contents(model.requests[-1])
    assert any(f"Result {text}" in content for content in contents(model.requests[-1]))
    back = ["ai", "tool"] if dialect.protocol == "tools" else ["ai", "human"]
    assert kinds(model.requests[-1]) == ["system", "human", *back, "ai", "human"]


def test_without_tools_a_call_is_corrected_and_the_run_still_answers(dialect: Dialect) -> None:
    result, model = dialect.play(dialect.call(1), dialect.answer(), tools=[])

    assert result.answer == "done"
    assert 'no tool named "Calculator"' in told(model)
    assert "tools" not in model.options[0]
