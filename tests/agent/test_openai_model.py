"""Native tool calls over HTTP: what is sent, and what any OpenAI-compatible service may write into them."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

from agent import Limits, RunResult, StopReason, load_model, run_agent
from agent import client as client_module
from tests.scripted import probe
from tests.service import Reply, Service, completion, raw_completion, status, tool_calls, wire_call

SUM = '{"expression": "2+2"}'
# Wrong types that a service sends are what some of these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_PROXY", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7f3a9b")
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.01)


def ask(service: Service, question: str = "2+2?", **options: Any) -> RunResult:
    return run_agent(question, llm=load_model("gpt-4o", service.url), protocol="tools", **options)


def ask_with_a_chat_openai(service: Service) -> RunResult:
    llm = ChatOpenAI(model="gpt-4o", base_url=service.url, max_retries=0)
    return run_agent("2+2?", llm=llm, protocol="tools")


def told(service: Service, request: int = -1) -> list[str]:
    """The contents of the tool messages of a request."""
    messages = service.requests[request]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_what_is_sent() -> None:
    with Service([tool_calls(wire_call(SUM)), "It is 4."]) as service:
        result = ask(service)
        first, second = service.requests

    assert (result.answer, result.usage.requests) == ("It is 4.", 2)
    functions = [tool["function"] for tool in first["tools"]]
    assert [(each["name"], *each["parameters"]["properties"]) for each in functions] == [
        ("Calculator", "expression"),
        ("Weather", "city"),
        ("Time", "zone"),
    ]
    assert [each["parameters"].get("required", []) for each in functions] == [["expression"], ["city"], []]
    assert all(each["description"] for each in functions)
    assert "tool_choice" not in first
    assert "stop" not in first
    assert "grammar" not in first
    assistant, said = second["messages"][2:]
    assert assistant["content"] is None
    assert assistant["tool_calls"] == [wire_call(SUM)]
    assert said == {"role": "tool", "tool_call_id": "a", "content": "4"}


def test_words_beside_a_call_go_back_with_it() -> None:
    with Service([tool_calls(wire_call(SUM), content="Let me add."), "4"]) as service:
        result = ask(service)
        assert service.requests[1]["messages"][2]["content"] == "Let me add."
    assert result.steps[0].thought == "Let me add."


def test_chinese_arguments_go_back_as_they_were_written() -> None:
    city = '{"city": "北京"}'
    with Service([tool_calls(wire_call(city, "Weather")), "十八度"]) as service:
        ask(service, "北京几度？", tools=[probe(lambda _: "18", "Weather", args_schema=None)])
        back = service.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert back == city


def test_the_last_request_offers_no_tools() -> None:
    with Service([tool_calls(wire_call(SUM)), tool_calls(wire_call(SUM), content="About 4.")]) as service:
        result = ask(service, limits=Limits(max_iterations=1))
        last = service.requests[1]
    assert not {"tools", "tool_choice", "functions"} & last.keys()
    assert [message["role"] for message in last["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert (result.answer, result.forced) == ("About 4.", True)


def test_without_tools_none_are_offered() -> None:
    with Service(["hello"]) as service:
        assert ask(service, tools=[]).answer == "hello"
        assert "tools" not in service.requests[0]


@pytest.mark.parametrize(
    ("arguments", "name", "said"),
    [
        ({"expression": "2+2"}, "Calculator", "4"),
        (SUM, "calculator", "4"),
        (["2+2"], "Calculator", 'must be one JSON object, not ["2+2"]'),
        ('["2+2"]', "Calculator", "must be one JSON object"),
        ('"2+2"', "Calculator", "must be one JSON object, not 2+2"),
        (7, "Calculator", "must be one JSON object, not 7"),
        ("2+2", "Calculator", "are not JSON"),
        ('{"expression": "1+', "Calculator", "are not JSON"),
        ('{"expression": NaN}', "Calculator", "are not JSON (nan is no value of JSON's)"),
        (f'{{"expression": {"[" * 900}{"]" * 900}}}', "Calculator", "are not JSON ("),
        (f'{{"expression": {"[" * 90_000}', "Calculator", "are not JSON ("),
        ('{"expression": "\\ud83d"}', "Calculator", "Error: cannot calculate '?'"),
        ("", "Calculator", 'the argument "expression" is missing'),
        (None, "Calculator", 'the argument "expression" is missing'),
        ("", "Time", "UTC"),
        (None, "Time", "UTC"),
        ("null", "Time", "UTC"),
        ({}, "Time", "UTC"),
        ("{}", "Search", 'no tool named "Search"'),
    ],
)
def test_odd_arguments_are_paid_for_once_and_told(arguments: Any, name: str, said: str) -> None:
    calls = tool_calls(wire_call(arguments, name), wire_call('{"expression": "3*3"}', call_id="b"))
    with Service([calls, "so be it"]) as service:
        result = ask(service)
        assert len(service.requests) == 2
        first, second = told(service)
        sent_back = service.requests[1]["messages"][2]["tool_calls"]
    assert (result.answer, result.usage.retries) == ("so be it", 0)
    assert said in first
    assert second == "9"
    assert [call["id"] for call in sent_back] == ["a", "b"]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in sent_back)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function", "function": {"name": "Time", "arguments": "{}"}},
        {"id": None, "type": "function", "function": {"name": "Time", "arguments": "{}"}},
        {"id": "", "function": {"name": "Time", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "Time", "arguments": "{}"}},
        {"id": "a", "type": "function", "function": {"name": "Time"}},
        {"id": 7, "type": "function", "function": {"name": "Time", "arguments": None}},
    ],
)
def test_a_call_without_an_id_or_arguments_is_run(call: dict[str, Any]) -> None:
    with Service([tool_calls(call, wire_call(SUM, call_id="b")), "done"]) as service:
        result = ask(service)
        assistant, *tools = service.requests[1]["messages"][2:]
    assert result.ok
    ids = [each["id"] for each in assistant["tool_calls"]]
    assert len(set(ids)) == 2
    assert ids == [each["tool_call_id"] for each in tools]
    assert "UTC" in tools[0]["content"]
    assert tools[1]["content"] == "4"


@pytest.mark.parametrize("call", [None, "Time", {}, {"id": "a"}, {"id": "a", "function": None}])
def test_what_is_no_call_at_all_is_answered(call: Any) -> None:
    with Service([tool_calls(call, wire_call(SUM, call_id="b")), "done"]) as service:
        result = ask(service)
        assert len(service.requests) == 2
        broken, sound = told(service)
    assert result.ok
    assert "There is no tool named" in broken
    assert sound == "4"


@pytest.mark.parametrize(
    "fields", [{"finish_reason": "stop"}, {"finish_reason": None}, {"finish_reason": "eos"}]
)
def test_the_finish_reason_does_not_decide_whether_there_are_calls(fields: dict[str, Any]) -> None:
    with Service([tool_calls(wire_call(SUM), **fields), "4"]) as service:
        ask(service)
        assert told(service) == ["4"]


@pytest.mark.parametrize("content", [None, "", "\n\n", []])
@pytest.mark.parametrize("calls", [{}, {"tool_calls": None}, {"tool_calls": []}])
def test_a_reply_with_neither_words_nor_calls_is_asked_for_again(content: Any, calls: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": content, **calls}
    empty = raw_completion([{"index": 0, "finish_reason": "stop", "message": message}])
    with Service([empty, "4"]) as service:
        result = ask(service)
        back = service.requests[1]["messages"][2]
    assert (result.answer, result.usage.requests) == ("4", 2)
    assert back == {"role": "assistant", "content": "(no reply)"}


def test_a_cut_reply_runs_nothing() -> None:
    cut = tool_calls(wire_call('{"expression": "2+'), finish_reason="length")
    with Service([cut, "4"]) as service:
        result = ask(service)
        assert "be brief" in told(service)[0]
    assert result.steps[0].observations == ()


def test_the_model_that_load_model_returns_is_of_use_outside_an_agent() -> None:
    calls = tool_calls(wire_call({"expression": "2+2"}), wire_call("[", call_id="b"))
    with Service([calls]) as service:
        reply = load_model("gpt-4o", service.url).invoke([HumanMessage(content="hi")])
    assert isinstance(reply, AIMessage)
    assert reply.tool_calls == [{"name": "Calculator", "args": {"expression": "2+2"}, "id": "a"}]
    assert [(call["name"], call["args"], call["id"]) for call in reply.invalid_tool_calls] == [
        ("Calculator", "[", "b")
    ]


UNREADABLE: list[Any] = [
    wire_call({"expression": "2+2"}),
    wire_call(["2+2"]),
    wire_call('["2+2"]'),
    wire_call('"2+2"'),
    {"id": "a", "function": None},
    {"id": "a"},
]


@pytest.mark.parametrize("call", UNREADABLE)
def test_a_callers_own_model_that_stumbles_is_asked_once_more(call: Any) -> None:
    with Service([tool_calls(call), tool_calls(wire_call(SUM)), "It is 4."]) as service:
        result = ask_with_a_chat_openai(service)
        assert len(service.requests) == 3
        assert service.requests[0] == service.requests[1]
    assert (result.answer, result.usage.requests, result.usage.retries) == ("It is 4.", 2, 1)


@pytest.mark.parametrize("call", UNREADABLE)
def test_the_second_time_the_run_ends_with_a_sentence(call: Any) -> None:
    with Service(repeat(tool_calls(call))) as service:
        result = ask_with_a_chat_openai(service)
        assert len(service.requests) == 2
    assert (result.answer, result.stop_reason, result.usage.retries) == (None, StopReason.MODEL_ERROR, 2)
    assert "could not be read, twice" in (result.error or "")
    assert "--protocol text" in (result.error or "")
    assert "\n" not in (result.error or "")


def test_a_busy_service_does_not_use_up_the_second_try() -> None:
    bad = tool_calls(wire_call(["2+2"]))
    with Service([status(503), bad, "It is 4."]) as service:
        result = ask_with_a_chat_openai(service)
    assert (result.answer, result.usage.retries) == ("It is 4.", 2)


@pytest.mark.parametrize("arguments", ["", None, 7, '{"expression": "1+'])
def test_what_a_chat_openai_can_read_is_told_to_the_model(arguments: Any) -> None:
    with Service([tool_calls(wire_call(arguments)), "so"]) as service:
        result = ask_with_a_chat_openai(service)
        assert "Calculator was not run" in told(service)[0]
    assert (result.answer, result.usage.retries) == ("so", 0)


@pytest.mark.parametrize(
    "refusal",
    [
        status(400),
        status(400, {"error": {"message": "gemma:2b does not support tools"}}),
        status(400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}),
        status(422, {"error": {"message": "Unsupported parameter: 'tools'", "param": "tools"}}),
        status(404, {"error": {"message": "No endpoints found that support tool use"}}),
        status(500, {"error": {"message": "tools param requires --jinja flag"}}),
        status(501, {"error": {"message": "Tool calls are not supported"}}),
    ],
)
@pytest.mark.parametrize("question", ["2+2?", "二加二？"])
def test_a_service_that_refuses_tools_names_the_way_out(refusal: Reply, question: str) -> None:
    with Service(repeat(refusal)) as service:
        result = ask(service, question)
        assert len(service.requests) == 1
    assert (result.answer, result.stop_reason) == (None, StopReason.MODEL_ERROR)
    assert "--protocol text" in (result.error or "")


@pytest.mark.parametrize(("code", "requests"), [(401, 1), (403, 1), (404, 1), (429, 3), (500, 3)])
def test_other_failures_do_not_speak_of_tools(code: int, requests: int) -> None:
    with Service(repeat(status(code))) as service:
        result = ask(service)
        assert len(service.requests) == requests
    assert "--protocol" not in (result.error or "")


def test_a_refusal_in_the_text_protocol_does_not_speak_of_it() -> None:
    with Service([status(400, {"error": {"message": "tools are not supported"}})]) as service:
        result = run_agent("2+2?", llm=load_model("gpt-4o", service.url))
    assert "--protocol" not in (result.error or "")


def test_an_answer_in_blocks_is_read_as_one_text() -> None:
    blocks = [{"type": "text", "text": "It is "}, {"type": "text", "text": "4."}]
    with Service([completion(blocks)]) as service:
        assert ask(service).answer == "It is 4."
