"""run_agent and Agent: what a caller may hand in, and what comes back whatever happens."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage

from agent import (
    Agent,
    LastRequest,
    Limits,
    RunFailed,
    RunResult,
    SettingsError,
    Step,
    StepStarted,
    StopReason,
    run_agent,
)
from agent.testing import ScriptedModel
from tests.scripted import DONE, actions, failing, play, probe


class Counting(BaseCallbackHandler):
    """Notes the name of every callback about tools and chat models."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        self.seen.append("model start")

    def on_llm_end(self, *_: Any, **__: Any) -> None:
        self.seen.append("model end")

    def on_llm_error(self, *_: Any, **__: Any) -> None:
        self.seen.append("model error")

    def on_tool_start(self, *_: Any, **__: Any) -> None:
        self.seen.append("tool start")

    def on_tool_end(self, *_: Any, **__: Any) -> None:
        self.seen.append("tool end")

    def on_tool_error(self, *_: Any, **__: Any) -> None:
        self.seen.append("tool error")


def short(event: object) -> str:
    match event:
        case StepStarted(number):
            return f"start {number}"
        case Step(number=number):
            return f"step {number}"
        case LastRequest(reason):
            return f"last request at {reason}"
        case RunResult(stop_reason=reason):
            return str(reason)
    return repr(event)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("out of order"), KeyError("x"), SystemExit(3), AssertionError("no"), GeneratorExit()],
)
def test_whatever_a_model_raises_ends_in_a_result(error: BaseException) -> None:
    result, _ = play(*actions(1), error)

    assert (result.answer, result.stop_reason, result.ok) == (None, StopReason.MODEL_ERROR, False)
    assert type(error).__name__ in (result.error or "")
    assert "Traceback" not in (result.error or "")
    assert [step.observations[0].text for step in result.steps] == ["1"]
    assert (result.usage.requests, result.usage.retries) == (1, 1)


def test_a_model_that_gives_bare_text_answers_too() -> None:
    model: Any = FakeListLLM(responses=[DONE])

    assert run_agent("hello", llm=model).answer == "done"


def test_usage_of_an_odd_shape_is_unknown() -> None:
    result, _ = play(AIMessage(content=DONE, response_metadata={"token_usage": "many"}))

    assert (result.answer, result.usage.requests, result.usage.total_tokens) == ("done", 1, None)


def test_the_key_in_a_models_error_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "canary-4711")
    result, _ = play(RuntimeError("illegal header 'Bearer canary-4711'"))

    assert "canary" not in str(result.to_dict())


@pytest.mark.parametrize("place", ["tool", "model"])
def test_ctrl_c_goes_through_and_the_last_event_says_so(place: str) -> None:
    events: list[object] = []
    last = KeyboardInterrupt() if place == "model" else "Action: Probe[x]"
    tools = [failing(KeyboardInterrupt()), *[probe(name="Calculator")]]
    with pytest.raises(KeyboardInterrupt):
        play(*actions(1), last, tools=tools, on_event=events.append)

    assert [short(event) for event in events] == ["start 1", "step 1", "start 2", "interrupted"]
    assert isinstance(events[-1], RunResult)
    assert (events[-1].answer, len(events[-1].steps)) == (None, 1)


def test_events_come_in_order_and_the_result_last() -> None:
    events: list[Any] = []
    result, _ = play(*actions(1), "hm", DONE, on_event=events.append)

    names = ["start 1", "step 1", "start 2", "step 2", "start 3", "step 3", "final_answer"]
    assert [short(event) for event in events] == names
    assert tuple(events[1:6:2]) == result.steps
    assert events[-1] == result


@pytest.mark.parametrize(
    ("limits", "told"), [({}, True), ({"at_cap": "error"}, False), ({"max_total_tokens": 1}, False)]
)
def test_the_last_request_at_a_limit_is_an_event_where_there_is_one(
    limits: dict[str, Any], told: bool
) -> None:
    events: list[object] = []
    replies = [*actions(1), DONE] if told else actions(1)
    play(*replies, limits=Limits(max_iterations=1, **limits), on_event=events.append)

    last = ["last request at max_iterations"] if told else []
    assert [short(event) for event in events] == ["start 1", "step 1", *last, "max_iterations"]


def test_a_listener_that_raises_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    def listen(_: object) -> None:
        raise ValueError("deaf")

    with caplog.at_level(logging.ERROR, "agent"):
        result, _ = play(*actions(1), DONE, on_event=listen)

    assert result.ok
    assert "on_event raised" in caplog.text


def test_callbacks_see_one_start_and_one_end_of_each_call() -> None:
    counting = Counting()
    tools = [probe(name="Calculator"), failing(ValueError("no"))]
    replies = [*actions(1), *actions(1), *actions("x", tool="Probe"), DONE]
    play(*replies, tools=tools, callbacks=[counting])

    model = ["model start", "model end"]
    ok, bad = ["tool start", "tool end"], ["tool start", "tool error"]
    assert counting.seen == [*model, *ok, *model, *model, *bad, *model]  # the second call is not run again


def test_a_callback_that_raises_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    class Raising(BaseCallbackHandler):
        def on_tool_start(self, *_: Any, **__: Any) -> None:
            raise ValueError("deaf")

    result, _ = play(*actions(1), DONE, callbacks=[Raising()])

    assert result.ok
    assert "deaf" in caplog.text


def test_instructions_are_added_to_the_system_message_as_plain_text() -> None:
    _, model = play(DONE, instructions="\nSpeak $plainly, {friend}.\n")

    assert str(model.requests[0][0].content).endswith("\n\nSpeak $plainly, {friend}.")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("", "the question is empty"),
        ("  \n", "the question is empty"),
        (None, "the question is a text, not None"),
        (5, "the question is a text, not 5"),
        (b"hello", "the question is a text, not b'hello'"),
        (["hello"], "the question is a text"),
    ],
)
def test_no_question_is_a_callers_mistake(question: Any, sentence: str) -> None:
    model = ScriptedModel(replies=[DONE])
    with pytest.raises(SettingsError, match=sentence):
        run_agent(question, llm=model)
    assert model.requests == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"llm": "gpt-4o"}, "llm takes a LangChain chat model, not 'gpt-4o'"),
        ({"llm": 5}, "llm takes a LangChain chat model, not 5"),
        ({"llm": ScriptedModel}, "llm takes a LangChain chat model"),
        ({"memory": 5}, "memory takes a ConversationBufferWindowMemory, not 5; any history"),
        ({"callbacks": 5}, "callbacks takes a list of LangChain callback handlers, not 5"),
        ({"callbacks": [5]}, "callbacks takes a list of LangChain callback handlers, not 5"),
        ({"callbacks": Counting()}, "callbacks takes a list of LangChain callback handlers, not <"),
        ({"callbacks": [Counting]}, "callbacks takes a list of LangChain callback handlers, not <class"),
        ({"on_event": 5}, "on_event takes a function of one event, not 5"),
        ({"tools": 5}, "tools takes a list of LangChain tools, not 5"),
        ({"tools": probe()}, "tools takes a list of LangChain tools, not Tool"),
        ({"tools": [5]}, "tools takes LangChain tools .*, not 5"),
        ({"tools": "Calculator"}, "tools takes LangChain tools .*, not 'C'"),
        ({"limits": 5}, "limits takes a Limits"),
        ({"limits": Limits}, "limits takes a Limits"),
        ({"instructions": None}, "instructions is a text"),
        ({"protocol": ["text"]}, "protocol is one of text"),
        ({"protocol": "xml"}, "protocol is one of text"),
        ({"language": "fr"}, "language is one of auto, en, zh, not 'fr'"),
        ({"tools": [print]}, "tools takes LangChain tools"),
        ({"tools": [probe(), probe()]}, "two tools are named"),
    ],
)
def test_a_callers_mistake_is_raised_before_any_request(options: dict[str, Any], sentence: str) -> None:
    model = ScriptedModel(replies=[DONE])
    with pytest.raises(SettingsError, match=sentence):
        run_agent("hello", **{"llm": model, **options})
    assert model.requests == []


def test_default_tools_that_are_hidden_by_a_namesake_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tools", types.ModuleType("tools"))
    with pytest.raises(
        SettingsError, match=r"another module may have their name .*rename it, or hand in tools="
    ) as caught:
        Agent(llm=ScriptedModel())
    assert isinstance(caught.value.__cause__, ImportError)
    assert play(DONE, tools=[probe()])[0].ok


def test_a_lone_surrogate_in_a_question_does_no_harm() -> None:
    result, model = play(DONE, question="caf\udce9?")

    assert result.question == model.requests[0][-1].content == "caf??"


def test_a_result_is_json() -> None:
    result, _ = play(*actions(1), "hm", "Final Answer: 一", question="多少？")
    read = json.loads(json.dumps(result.to_dict()))

    assert (read["schema_version"], read["answer"], read["stop_reason"]) == (1, "一", "final_answer")
    assert (read["ok"], read["model"], read["protocol"]) == (True, "scripted", "text")
    assert read["steps"][0]["actions"] == [{"tool": "Calculator", "input": "1", "call_id": "", "fault": None}]
    assert read["usage"]["total_tokens"] == result.usage.total_tokens


def test_the_text_of_a_result_is_its_answer() -> None:
    answered, _ = play(DONE)
    failed, _ = play(RuntimeError("x"))

    assert (str(answered), str(failed)) == ("done", "")


def test_raise_for_status_raises_unless_the_run_answered_by_itself() -> None:
    answered, _ = play(DONE)
    forced, _ = play(*actions(1), DONE, limits=Limits(max_iterations=1))
    failed, _ = play(RuntimeError("out of order"))

    assert answered.raise_for_status() is answered
    with pytest.raises(RunFailed, match="the run stopped at max_iterations") as caught:
        forced.raise_for_status()
    assert caught.value.result is forced
    with pytest.raises(RunFailed, match="out of order"):
        failed.raise_for_status()


def test_repeating_one_call_ends_the_run_with_the_answer_that_is_known() -> None:
    result, model = play(*actions("1+1", "1 + 1"), "hm", *actions("1+1 "), DONE)

    assert (result.stop_reason, result.answer, result.forced) == (StopReason.REPEATED_ACTION, "done", True)
    assert [seen.ran for step in result.steps for seen in step.observations] == [True, False, False]
    assert len(model.requests) == 5


def test_each_run_counts_its_repeats_anew() -> None:
    model = ScriptedModel(replies=[*actions(1, 1), DONE] * 2)
    agent = Agent(llm=model)

    assert [agent.run("again").stop_reason for _ in range(2)] == [StopReason.FINAL_ANSWER] * 2


def test_it_runs_where_an_event_loop_is_running() -> None:
    async def main() -> RunResult:
        return play(*actions("2+2"), "Final Answer: 4")[0]

    assert asyncio.run(main()).answer == "4"


def test_five_runs_side_by_side_in_threads_of_an_event_loop() -> None:
    async def main() -> list[RunResult]:
        models = [ScriptedModel(replies=[*actions(n), f"Final Answer: {n}"]) for n in range(5)]
        return await asyncio.gather(*(asyncio.to_thread(run_agent, "which?", llm=model) for model in models))

    assert [result.answer for result in asyncio.run(main())] == ["0", "1", "2", "3", "4"]


def test_an_agent_is_a_runnable() -> None:
    runnable = Agent(llm=ScriptedModel(replies=["Final Answer: one", "Final Answer: two"])).as_runnable()

    assert runnable.invoke("first").answer == "one"
    assert asyncio.run(runnable.ainvoke("second")).answer == "two"


@pytest.mark.parametrize(("switch", "more"), [("on", True), ("off", False), ("auto", False)])
def test_worked_examples_stand_between_system_message_and_conversation(
    switch: str, more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_EXAMPLES", switch)
    _, model = play(DONE, question="the question")

    request = model.requests[0]
    assert (request[0].type, request[-1].content) == ("system", "the question")
    assert (len(request) > 2) is more
    assert [message.type for message in request[1:]] == [*["human", "ai"] * (len(request) // 2 - 1), "human"]


def test_the_grammar_is_sent_when_it_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_GRAMMAR", "on")
    _, model = play(*actions(1), DONE, limits=Limits(max_iterations=1))

    ordinary, last = (options["extra_body"]["grammar"] for options in model.options)
    assert "Calculator" in ordinary
    assert "Calculator" not in last


def test_a_fault_of_our_own_is_named_in_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("agent.protocols.text.read_reply", broken)
    path = tmp_path / "t.jsonl"
    with pytest.raises(RuntimeError):
        Agent(llm=ScriptedModel(replies=["Final Answer: x"]), trace=path).run("?")

    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["event"], last["error"]) == ("run_ended", "RuntimeError: a wheel came off")
