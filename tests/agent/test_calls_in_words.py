"""The tools protocol where a grammar rules out native calls: JSON lines out, observations back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.local_model import serve
from agent.protocols.calls_as_text import MAX_CALL_CHARS, as_text
from agent.protocols.decisions import Act, Finish, ToolSpec
from agent.protocols.examples import worked_calls, worked_examples
from agent.protocols.grammar import call_grammar_for
from agent.protocols.native_calls import read_message
from agent.protocols.reply import read_reply
from agent.toolspecs import specs_of
from agent.weights import cached_path
from prompts import LANGUAGES, Language, speaker
from tests.protocols import calling
from tests.scripted import contents, kinds, play, probe
from tests.well_formed import assert_well_formed
from tools import default_tools

SPECS = specs_of(default_tools())
SAY = speaker("en")
LIMA = '{"name": "Weather", "arguments": {"city": "Lima"}}'


def history(calls: list[tuple[str, dict[str, Any]]], results: list[str]) -> list[BaseMessage]:
    asking = calling(*calls, content="Thought: on")
    answers = [
        ToolMessage(content=text, tool_call_id=str(call["id"]))
        for call, text in zip(asking.tool_calls, results, strict=True)
    ]
    return [SystemMessage(content="s"), HumanMessage(content="q"), asking, *answers]


def test_a_steps_calls_become_lines_and_its_results_one_message_in_order() -> None:
    sent = as_text(
        history(
            [("Weather", {"city": "北京"}), ("Move", {"x": 1, "y": 2}), ("Time", {})], ["18", "ok", "now"]
        ),
        SAY,
    )

    assert kinds(sent) == ["system", "human", "ai", "human"]
    assert contents(sent)[2].split("\n") == [
        "Thought: on",
        '{"name": "Weather", "arguments": {"city": "北京"}}',
        '{"name": "Move", "arguments": {"x": 1, "y": 2}}',
        '{"name": "Time", "arguments": {}}',
    ]
    assert contents(sent)[3].split("\n") == [
        "Observation: Weather[北京] = 18",
        'Observation: Move[{"x": 1, "y": 2}] = ok',
        "Observation: Time[] = now",
    ]


def test_a_long_input_is_shortened_beside_its_result_only() -> None:
    asked = "x" * 3 * MAX_CALL_CHARS
    sent = contents(as_text(history([("Weather", {"city": asked})], ["cold"]), SAY))

    assert asked in sent[2]
    assert sent[3] == f"Observation: Weather[{asked[:MAX_CALL_CHARS]}] = cold"


@given(st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=3), max_size=5))
def test_whatever_was_called_roles_take_turns_and_no_call_is_left(steps: list[list[str]]) -> None:
    messages: list[BaseMessage] = [SystemMessage(content="s"), HumanMessage(content="q")]
    for inputs in steps:
        messages += history([("Weather", {"city": each}) for each in inputs], inputs)[2:]

    sent = as_text(messages, SAY)

    assert_well_formed(sent)
    assert not any(isinstance(message, ToolMessage) for message in sent)
    assert not any(message.tool_calls for message in sent if isinstance(message, AIMessage))


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_GRAMMAR", "on")


@pytest.mark.usefixtures("words")
def test_under_a_grammar_no_tools_are_sent_and_the_system_message_lists_them() -> None:
    result, model = play(
        f"Thought: look it up\n{LIMA}",
        "Final Answer: 21 °C",
        tools=[probe(lambda _: "21 °C", "Weather", args_schema=default_tools()[1].args_schema)],
        protocol="tools",
    )

    assert (result.answer, result.steps[0].thought) == ("21 °C", "look it up")
    assert result.steps[0].actions[0].input == "Lima"
    for request, options in zip(model.requests, model.options, strict=True):
        assert "tools" not in options
        assert options["extra_body"]["grammar"] == call_grammar_for(
            [ToolSpec("Weather", ("city",), True, ("city",), types={"city": "string"})]
        )
        assert contents(request)[0].count('"name": "Weather"') == 1
        assert_well_formed(request)
    assert contents(model.requests[1])[2:] == [
        f"Thought: look it up\n{LIMA}",
        "Observation: Weather[Lima] = 21 °C",
    ]


@pytest.mark.usefixtures("words")
def test_a_correction_and_the_last_request_go_in_words_too() -> None:
    half = '{"name": "Calculator", "arguments": {"expr'
    calls = [f'{{"name": "Calculator", "arguments": {{"expression": "{number}+1"}}}}' for number in range(7)]
    result, model = play(half, *calls, "Final Answer: unknown", protocol="tools")

    assert (result.answer, result.forced, result.stop_reason) == ("unknown", True, "max_iterations")
    assert result.steps[0].error in contents(model.requests[1])[-1]
    last = model.options[-1]["extra_body"]["grammar"]
    assert "call" not in last
    for request in model.requests:
        assert_well_formed(request)


def test_with_the_grammar_off_tools_are_sent_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_GRAMMAR", "off")
    _, model = play("done", protocol="tools")

    assert [each["function"]["name"] for each in model.options[0]["tools"]] == [
        "Calculator",
        "Weather",
        "Time",
    ]
    assert "extra_body" not in model.options[0]


@pytest.mark.parametrize(
    ("reply", "answer", "thought"),
    [
        ("Thought: easy\nFinal Answer: 4", "4", "easy"),
        ("Thought: easy\n4", "4", "easy"),
        ("思考：简单\n最终答案：四", "四", "简单"),
        ("Final Answer: 4", "4", ""),
        ("A Thought: 4", "A Thought: 4", ""),
    ],
)
def test_the_labels_of_a_thought_and_an_answer_are_no_part_of_the_answer(
    reply: str, answer: str, thought: str
) -> None:
    result, _ = play(reply, protocol="tools")

    assert (result.answer, result.steps[-1].thought) == (answer, thought)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("in_words", [True, False])
def test_a_worked_example_says_the_same_in_either_protocol(language: Language, in_words: bool) -> None:
    texts = [turn for turn in worked_examples(SPECS, language) if isinstance(turn, AIMessage)]
    native = worked_calls(SPECS, language, in_words=in_words)
    turns = [turn for turn in native if isinstance(turn, AIMessage)]

    assert len(texts) == len(turns)
    for text, turn in zip(texts, turns, strict=True):
        meant = read_reply(str(text.content), SPECS)
        read = read_message(turn, SPECS, text=str(turn.content))
        assert read.thought == meant.thought
        if isinstance(meant, Act) and isinstance(read, Act):
            assert [(each.tool, each.input) for each in read.actions] == [
                (each.tool, each.input) for each in meant.actions
            ]
        else:
            assert isinstance(meant, Finish)
            assert isinstance(read, Finish)
            assert read.answer == meant.answer
    system = SystemMessage(content="s")
    assert_well_formed([system, *native, HumanMessage(content="q")])


def test_every_rule_is_defined_once_and_used() -> None:
    tools = (*SPECS, ToolSpec("Ping", (), False), ToolSpec("Move", ("x", "y"), True, ("x",)), ToolSpec("Any"))
    grammar = call_grammar_for(tools)
    defined = dict(line.split(" ::= ", 1) for line in grammar.strip().split("\n"))

    assert len(defined) == grammar.count("::=")
    bodies = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{[\d,]+\}', " ", " ".join(defined.values()))
    assert set(re.findall(r"[a-z][a-z0-9-]*", bodies)) == set(defined) - {"root"}
    members = [defined[f"call-{number}"].split('"arguments\\": {" ')[1] for number in range(len(tools))]
    assert members == [
        r'"\"expression\": " string "}"',
        r'"\"city\": " string "}"',
        r'( "\"zone\": " string )? "}"',
        ' "}"',
        r'"\"x\": " value ( ", " "\"y\": " value )? "}"',
        r'"\"tool_input\": " value "}"',
    ]


@pytest.mark.embedded
@pytest.mark.timeout(600)
def test_llama_cpp_takes_the_grammar_and_writes_a_call_that_is_read() -> None:
    path = cached_path("local-small")
    assert path is not None
    asked = {"role": "user", "content": 'Write {"name": "Weather", "arguments": {"city": "Lima"}}'}
    body = {"messages": [asked], "grammar": call_grammar_for(SPECS), "max_tokens": 80, "temperature": 0}
    reply = serve(path).post("/v1/chat/completions", body)

    text = reply["choices"][0]["message"]["content"]
    decision = read_message(AIMessage(content=text), SPECS, text=text)
    assert isinstance(decision, (Act, Finish)), text
    if isinstance(decision, Act):
        assert all(action.fault is None for action in decision.actions), json.dumps(text)
