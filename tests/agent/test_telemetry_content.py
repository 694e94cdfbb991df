"""What people and tools said is in a span only where somebody asked for it, and then without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent import genai
from agent.telemetry import CAPTURE
from tests.agent.test_telemetry import Recorded, each_dialect
from tests.protocols import TOOLS, Dialect
from tests.scripted import failing, play, probe

WORDS = ("a question", "an input", "a result", "an answer")


def told(recorded: Recorded) -> str:
    return "\n".join(span.to_json() for span in recorded.spans)


def run(dialect: Dialect, recorded: Recorded) -> None:
    question, given, result, answer = WORDS
    dialect.play(
        *(dialect.call(given, tool="Probe"), dialect.answer(answer)),
        question=question,
        tools=[probe(lambda _: result)],
        callbacks=[recorded.handler],
    )


def read(span: Any, attribute: str) -> Any:
    return json.loads(span.attributes[attribute])


@each_dialect
@pytest.mark.parametrize("value", [None, "", "false", "NO_CONTENT", "event_only"])
def test_it_is_not_told_unless_asked_for(
    dialect: Dialect, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CAPTURE, raising=False)
    if value is not None:
        monkeypatch.setenv(CAPTURE, value)
    recorded = Recorded()
    run(dialect, recorded)

    assert not [words for words in WORDS if words in told(recorded)]


@each_dialect
@pytest.mark.parametrize("value", ["true", "True", "SPAN_ONLY", "span_and_event"])
def test_the_variable_of_opentelemetry_asks_for_it(
    dialect: Dialect, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, value)
    recorded = Recorded()
    run(dialect, recorded)

    assert [words for words in WORDS if words in told(recorded)] == list(WORDS)


def test_an_argument_is_stronger_than_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CAPTURE, "true")
    recorded = Recorded(capture_content=False)
    run(TOOLS, recorded)

    assert "a question" not in told(recorded)


def test_messages_have_the_form_of_the_conventions() -> None:
    recorded = Recorded(capture_content=True)
    run(TOOLS, recorded)
    first, second = recorded.of("chat")
    (tool,) = recorded.of("execute_tool")

    system, question = read(first, genai.INPUT_MESSAGES)
    assert system["role"] == "system"
    assert question == {"role": "user", "parts": [{"type": "text", "content": "a question"}]}
    (reply,) = read(first, genai.OUTPUT_MESSAGES)
    text, call = reply["parts"]
    assert (reply["role"], reply["finish_reason"], text["type"]) == ("assistant", "stop", "text")
    call_id = tool.attributes[genai.TOOL_CALL_ID]
    arguments = {"tool_input": "an input"}
    assert call == {"type": "tool_call", "id": call_id, "name": "Probe", "arguments": arguments}

    *_, asked, response = read(second, genai.INPUT_MESSAGES)
    assert asked["parts"][-1] == call
    assert response == {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": call_id, "response": "a result"}],
    }
    assert tool.attributes[genai.TOOL_CALL_ARGUMENTS] == "an input"
    assert tool.attributes[genai.TOOL_CALL_RESULT] == "a result"
    (asked,), (answered,) = (
        read(recorded.run, name) for name in (genai.INPUT_MESSAGES, genai.OUTPUT_MESSAGES)
    )
    assert asked == question
    assert answered["parts"] == [{"type": "text", "content": "an answer"}]


@each_dialect
def test_no_secret_is_told_wherever_it_stands(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = 'hush"xq9w\\77yz'
    monkeypatch.setenv("PROBE_API_KEY", secret)
    recorded = Recorded(capture_content=True)
    tools = [probe(lambda _: f"the key is {secret}"), failing(LookupError(f"bad key {secret}"), "Fail")]
    replies = [
        *(dialect.call(secret, tool="Probe"), dialect.call(secret, tool="Fail")),
        *(dialect.answer(f"it is {secret}"),),
    ]
    dialect.play(*replies, question=f"is it {secret}?", tools=tools, callbacks=[recorded.handler])

    assert "xq9w" not in told(recorded)
    assert "***" in told(recorded)


def test_exceptions_are_told_without_secrets_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_API_KEY", "hush-xq9w77aa")
    recorded = Recorded()
    error = LookupError("bad key hush-xq9w77aa for http://maps.example/find?session=xq9w")
    error.__cause__ = ValueError("the cause has hush-xq9w77aa too")
    play("Action: Probe[x]", "Final Answer: y", tools=[failing(error)], callbacks=[recorded.handler])

    assert "bad key *** for http://maps.example/find?session=***" in told(recorded)
    assert "xq9w" not in told(recorded)


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("odd", ["\ud800 half a character", b"bytes \xff", {"a": object()}, [float("nan")]])
def test_odd_results_are_told_as_text_that_can_be_sent(odd: Any) -> None:
    recorded = Recorded(capture_content=True)
    tools = [probe(lambda _: odd), failing(Unreadable(), "Fail")]
    play(
        *("Action: Probe[\ud800]", "Action: Fail[x]", "Final Answer: y"),
        tools=tools,
        callbacks=[recorded.handler],
    )
    probed, failed = recorded.of("execute_tool")
    assert probed.attributes[genai.TOOL_CALL_RESULT].encode("utf-8")
    assert probed.attributes[genai.TOOL_CALL_ARGUMENTS] == "?"
    assert failed.attributes["error.type"].endswith("Unreadable")
    assert told(recorded).encode("utf-8")
