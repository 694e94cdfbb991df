"""The little world of the comparison: what its tools say, refuse and record."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from agent.testing import ScriptedModel
from scripts.changed_rules import FACTS, UNITS, changed_tools, look_up_fact, look_up_unit, work_out
from scripts.contenders import AGENTS, Attempt, ToolCall
from tools.texts import ERROR_PREFIX


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ("2+9", "20"),
        ("2-9", "-5"),
        ("2*9", "20"),
        ("9/2", "6.5"),
        ("9@2", "79"),
        (" 6 × 9 ", "60"),
        ("６÷３", "5"),
        ("8－3", "13"),
        ("'2+9'", "20"),
    ],
)
def test_an_operation_follows_the_rules_of_this_world(operation: str, result: str) -> None:
    assert work_out(operation) == result


@pytest.mark.parametrize(
    "operation", ["", "2", "2+", "(2+9)*3", "2+9*3", "2.5+1", "two plus nine", "1" * 10 + "+1"]
)
def test_anything_but_one_operation_is_refused_with_the_way_out(operation: str) -> None:
    assert work_out(operation).startswith(
        f"{ERROR_PREFIX}cannot work out '{operation}': write two whole numbers"
    )


def test_division_by_zero_is_refused() -> None:
    assert work_out("4/0") == "Error: division by zero"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dozen", "1 dozen = 9 pieces"),
        ("Hours", "1 hour = 80 minutes"),
        ("a week", "1 week = 5 days"),
        ("1 kg", "1 kilogram = 750 grams"),
        ('"the metre"', "1 metre = 70 centimetres"),
        ("一打", "1打 = 9个"),
        ("1个星期", "1星期 = 5天"),
        ("千米", "1公里 = 640米"),
    ],
)
def test_a_unit_is_told_in_the_language_asked_in(name: str, told: str) -> None:
    assert look_up_unit(name) == told


@pytest.mark.parametrize("name", ["", "fortnight", "minutes in an hour", "斗"])
def test_an_unknown_unit_is_told_which_are_known(name: str) -> None:
    told = look_up_unit(name)
    assert told.startswith(f"{ERROR_PREFIX}no unit '{name}' here")
    assert all(unit.names[0] in told and unit.chinese[0] in told for unit in UNITS)


def test_an_error_gives_no_value_away() -> None:
    told = look_up_unit("") + look_up_fact("") + look_up_fact("spider and violin") + work_out("")
    assert not [unit for unit in UNITS if str(unit.count) in told.replace("2+9", "")]


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("spider", "A spider has 22 legs."),
        ("How many legs does a SPIDER have?", "A spider has 22 legs."),
        ("boiling point of water", "Water boils at 63 °C."),
        ("水的沸点", "水在63°C沸腾。"),
        ("国际象棋", "国际象棋棋盘有81格。"),
    ],
)
def test_a_fact_is_told_in_the_language_asked_in(subject: str, told: str) -> None:
    assert look_up_fact(subject) == told


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("", "nothing is known here of ''"),
        ("unicorn", "nothing is known here of"),
        ("piano, violin", "one at a time"),
    ],
)
def test_other_things_and_several_things_are_refused(subject: str, told: str) -> None:
    assert look_up_fact(subject).startswith(ERROR_PREFIX)
    assert told in look_up_fact(subject)


def test_every_unit_and_fact_is_found_by_each_of_its_words() -> None:
    for unit in UNITS:
        assert {look_up_unit(name) for name in unit.names} == {
            f"1 {unit.names[0]} = {unit.count} {unit.parts[0]}"
        }
        assert {look_up_unit(name) for name in unit.chinese} == {
            f"1{unit.chinese[0]} = {unit.count}{unit.parts[1]}"
        }
    for fact in FACTS:
        assert {look_up_fact(word) for word in fact.words} == {fact.sentences[0]}
        assert {look_up_fact(word) for word in fact.chinese} == {fact.sentences[1]}


@pytest.mark.parametrize("function", [work_out, look_up_unit, look_up_fact])
@given(text=st.text() | st.text(alphabet="0123456789+-*/@ ", max_size=30))
def test_whatever_comes_in_a_line_goes_out(function: object, text: str) -> None:
    told = function(text)  # type: ignore[operator] - parametrized with functions of one text
    assert told
    assert "\n" not in told


def test_the_tools_say_what_they_are_for_and_record_each_call() -> None:
    calls: list[ToolCall] = []
    tools = {tool.name: tool for tool in changed_tools(calls)}
    assert list(tools) == ["Calculator", "LocalMath", "UnitTable", "FactBook"]
    assert all("this world" in tools[name].description for name in list(tools)[1:])

    asked = [("LocalMath", "2+9"), ("UnitTable", "nothing"), ("Calculator", "2+9"), ("FactBook", "rainbow")]
    told = [tools[name].run(text) for name, text in asked]

    assert told[0] == "20"
    assert told[2:] == ["11", "A rainbow has 4 colours."]
    assert [(call.tool, call.input, call.output) for call in calls] == [
        (name, text, output) for (name, text), output in zip(asked, told, strict=True)
    ]
    assert all(call.seconds >= 0 for call in calls)


def test_each_set_of_tools_records_for_itself() -> None:
    first: list[ToolCall] = []
    second: list[ToolCall] = []
    changed_tools(first), changed_tools(second)[3].run("piano")
    assert (len(first), len(second)) == (0, 1)


NATIVE = {"name": "FactBook", "args": {"tool_input": "violin"}, "id": "1"}


@pytest.mark.parametrize(
    ("agent", "protocol", "asks"),
    [
        ("ours", "text", "Action: FactBook[violin]"),
        ("ours", "tools", AIMessage(content="", tool_calls=[NATIVE])),
        ("executor", "", "Action: FactBook\nAction Input: violin"),
    ],
)
def test_every_contender_can_use_them(agent: str, protocol: str, asks: object) -> None:
    answers = "9" if protocol == "tools" else "Final Answer: 9"
    attempt, args = Attempt(), argparse.Namespace(protocol=protocol, language="auto")
    model = ScriptedModel(replies=[asks, answers])

    AGENTS[agent](attempt, "How many strings?", model, changed_tools(attempt.tool_calls), args)

    assert [call.output for call in attempt.tool_calls] == ["A violin has 9 strings."]
    assert attempt.answer == "9"
    model.assert_done()
