"""Runs with native tool calls: what is sent, and that each call is answered once, whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
)
from langchain_core.tools import BaseTool, StructuredTool, tool

from agent import Limits, RunResult, StopReason, ToolRegistry
from agent.testing import ScriptedModel
from tests.protocols import TOOLS, broken, calling, results, told
from tests.scripted import contents, failing, kinds, probe

SUM = ("Calculator", {"expression": "2+2"})


def play(*replies: Any, **options: Any) -> tuple[RunResult, ScriptedModel]:
    return TOOLS.play(*replies, **options)


def answers(reply: AIMessage, **options: Any) -> list[str]:
    """What the model is told for each call of ``reply``, in order."""
    _, model = play(reply, "done", **options)
    return list(results(model.requests[1]).values())


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_batch_of_every_fate_is_answered_in_order_each_under_its_id(released: threading.Event) -> None:
    tools = [
        probe(str.upper, "Good"),
        failing(ValueError("no luck"), "Raises"),
        failing(SystemExit(3), "Leaves"),
        probe(lambda _: released.wait(60), "Hangs", metadata={"timeout_s": 0.1}),
    ]
    reply = AIMessage(
        content="",
        tool_calls=[
            {"name": name, "args": {"tool_input": "x"}, "id": name}
            for name in ("Raises", "Good", "Hangs", "Search", "Leaves")
        ],
        invalid_tool_calls=[broken("Good", '{"tool_input": "1+', "half")],
    )
    result, model = play(reply, "done", tools=tools)

    said = results(model.requests[1])
    assert list(said) == ["Raises", "Good", "Hangs", "Search", "Leaves", "half"]
    assert said["Good"] == "X"
    assert said["Raises"] == "Raises failed: ValueError: no luck"
    assert said["Leaves"] == "Leaves failed: SystemExit: 3"
    assert said["Hangs"].startswith("Hangs did not finish within 0.1 s")
    assert said["Search"] == (
        'There is no tool named "Search", so nothing was run. The tools are: Good, Raises, Leaves, Hangs.'
    )
    assert said["half"].startswith("Good was not run: the arguments are not JSON (")
    assert said["half"].endswith('Its arguments are ["tool_input"].')
    assert [seen.ok for seen in result.steps[0].observations] == [False, True, False, False, False, False]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, 'the argument "expression" is missing'),
        ({"expr": "1"}, 'there is no argument "expr"'),
        ({"expression": "1", "x": 1}, 'there is no argument "x"'),
        ({"expression": 1}, 'the argument "expression" must be of type string'),
    ],
)
def test_bad_arguments_are_told_with_the_names_of_the_right_ones(arguments: Any, problem: str) -> None:
    (said,) = answers(calling(("Calculator", arguments)))

    assert said == f'Calculator was not run: {problem}. Its arguments are ["expression"].'


def test_bad_arguments_are_told_in_chinese_too() -> None:
    (said,) = answers(calling(("Calculator", {})), language="zh")

    assert said == 'Calculator 没有执行：缺少参数“expression”。它的参数是 ["expression"]。'


def test_calls_of_one_reply_run_side_by_side() -> None:
    together = threading.Barrier(2)

    def meet(given: str) -> str:
        together.wait(60)
        return f"met {given}"

    reply = calling(("One", {"tool_input": "a"}), ("Two", {"tool_input": "b"}))
    tools = [probe(meet, "One"), probe(meet, "Two")]
    assert answers(reply, tools=tools) == ["met a", "met b"]


def test_each_call_sees_the_callers_context_and_its_own_thread() -> None:
    threads: list[str] = []
    tool = probe(lambda _: threads.append(threading.current_thread().name) or "ran")
    answers(calling(("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": "b"})), tools=[tool])

    assert threads == ["agent-tool"] * 2


def test_the_same_call_twice_in_a_reply_runs_once_and_is_answered_twice() -> None:
    asked: list[str] = []
    tool = probe(lambda given: asked.append(given) or "seen")
    assert answers(calling(*[("Probe", {"tool_input": "a"})] * 2), tools=[tool]) == ["seen", "seen"]
    assert asked == ["a"]


def test_a_call_that_cannot_be_read_is_not_taken_for_one_that_can() -> None:
    """Both have the input 2+2: one as the text of its arguments, the other as its expression."""
    reply = AIMessage(
        content="",
        tool_calls=[{"name": "Calculator", "args": SUM[1], "id": "good"}],
        invalid_tool_calls=[broken("Calculator", "2+2", "bad")],
    )
    good, bad = answers(reply)

    assert good == "4"
    assert "are not JSON" in bad


def test_calls_past_the_most_of_one_reply_are_answered_too_and_cost_their_tool_nothing() -> None:
    asked: list[str] = []
    tool = probe(lambda given: asked.append(given) or "seen")
    reply = calling(*[("Probe", {"tool_input": str(number)}) for number in range(40)], ("Time", {}))
    tools = [tool, probe(lambda _: "noon", "Time")]
    again = calling(("Time", {"tool_input": ""}))
    result, model = play(reply, again, "done", tools=tools, limits=Limits(max_tool_failures=1))

    said = list(results(model.requests[1]).values())
    assert (len(said), len(asked), said[31]) == (41, 32, "seen")
    assert all(text.startswith("Not run: at most 32 calls") for text in said[32:])
    assert told(model) == "noon"
    assert result.ok


def test_a_repeated_call_beside_a_new_one_is_told_its_result_however_often() -> None:
    first, second, third = (
        calling(("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": other})) for other in "xyz"
    )
    _, model = play(first, second, third, "done", tools=[probe()])

    again, new = list(results(model.requests[-1]).values())[-2:]
    assert again.count("The same call was just made") == 1
    assert "Its result was: A\n" in again
    assert new == "Z"


def test_the_assistant_message_goes_back_as_it_came() -> None:
    reply = calling(SUM, content="Let me add.")
    reply.additional_kwargs["reasoning"] = "because"
    _, model = play(reply, "done")

    back = model.requests[1][2]
    assert isinstance(back, AIMessage)
    assert (back.content, back.tool_calls) == ("Let me add.", reply.tool_calls)
    assert back.additional_kwargs == {"reasoning": "because"}


def test_missing_and_repeated_ids_are_made_good_over_the_whole_run() -> None:
    ids = [["", ""], ["a", "a"], ["a", "b"], ["call00001", ""]]
    replies = [
        calling(*[("Calculator", {"expression": f"{step}+{n}"}) for n in range(2)], ids=[*two])
        for step, two in enumerate(ids)
    ]
    _, model = play(*replies, "done")

    said = results(model.requests[-1])
    assert list(said.values()) == ["0", "1", "1", "2", "2", "3", "3", "4"]


def test_an_id_of_a_worked_example_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EXAMPLES", "on")
    _, model = play(calling(SUM, ids=["example01"]), "done")

    shown = [call["id"] for message in model.requests[0] for call in getattr(message, "tool_calls", ())]
    assert "example01" in shown
    assert len(results(model.requests[1])) == len(shown) + 1


def test_a_call_in_the_text_goes_back_as_a_native_one() -> None:
    text = 'Let me see.\n```json\n{"name": "Calculator", "arguments": {"expression": "2+2"}}\n```'
    result, model = play(text, "It is 4.")

    back = model.requests[1][2]
    assert isinstance(back, AIMessage)
    assert (back.content, back.tool_calls[0]["args"]) == ("Let me see.", {"expression": "2+2"})
    assert told(model) == "4"
    assert (result.answer, result.steps[0].thought) == ("It is 4.", "Let me see.")


@pytest.mark.parametrize(
    "reply",
    [
        'About 4.\n<tool_call>{"name": "Calculator", "arguments": {"expression": "2+2"}}</tool_call>',
        'About 4. <tool_call>{"name": "Search", "arguments": {}}',
        "About 4. <tool_call>{",
        calling(SUM, content="About 4."),
        calling(("Search", {}), content="<think>hm</think>About 4.<|im_end|>"),
    ],
)
def test_from_the_forced_reply_only_the_words_are_taken(reply: Any) -> None:
    result, model = play(calling(SUM), reply, limits=Limits(max_iterations=1))

    assert (result.answer, result.forced) == ("About 4.", True)
    assert kinds(model.requests[-1]) == ["system", "human", "ai", "tool", "human"]
    assert [option.get("tools") is None for option in model.options] == [False, True]
    assert "tool_choice" not in model.options[-1]


def test_at_the_cap_the_calls_of_the_last_step_are_answered_before_the_answer_is_asked_for() -> None:
    replies = [calling(("Calculator", {"expression": f"{n}"}), ("Weather", {})) for n in range(8)]
    result, model = play(*replies, "so be it")

    assert (result.stop_reason, len(model.requests)) == (StopReason.MAX_ITERATIONS, 9)
    assert len(results(model.requests[-1])) == 16


def test_bad_arguments_are_one_strike_per_tool_and_step() -> None:
    twice = [calling(*[("Calculator", {"expr": f"{n}{step}"}) for n in range(3)]) for step in range(3)]
    result, model = play(*twice, calling(SUM), "done")

    assert "switched off" not in "".join(results(model.requests[2]).values())
    assert list(results(model.requests[3]).values())[-1].endswith("answer with what is known.")
    assert (
        told(model)
        == "Calculator is switched off for this run and was not called. Answer with what is known."
    )
    assert result.ok


def test_only_its_own_success_resets_a_tool_and_a_bad_sibling_does_not_undo_it() -> None:
    bad = [("Calculator", {"expr": str(n)}) for n in range(5)]
    other = ("Time", {})
    replies = [
        calling(bad[0], other),
        calling(bad[1], other),
        calling(bad[2], SUM),
        calling(bad[3]),
        calling(bad[4]),
        calling(("Calculator", {"expression": "3*3"})),
    ]
    _, model = play(*replies, "done")

    assert told(model) == "9"


def test_unknown_tools_beside_a_known_one_are_never_said_to_be_switched_off() -> None:
    replies = [calling(("Search", {"q": str(n)}), ("Calculator", {"expression": str(n)})) for n in range(5)]
    _, model = play(*replies, "done")

    searches = list(results(model.requests[-1]).values())[::2]
    assert len(searches) == 5
    assert all("switched off" not in said and "no tool named" in said for said in searches)


def test_the_example_of_two_cities_in_fahrenheit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_PROVIDER", "demo")
    result, model = play(
        calling(("Weather", {"city": "北京"}), ("Weather", {"city": "上海"})),
        calling(("Calculator", {"expression": "(24-18)*9/5"})),
        "北京和上海现在相差 10.8 华氏度。",
        question="北京和上海现在温差多少度？用华氏度表示温差",
    )

    beijing, shanghai, difference = results(model.requests[-1]).values()
    assert "18 °C" in beijing
    assert "24 °C" in shanghai
    assert difference == "10.8"
    assert (result.stop_reason, "10.8" in str(result)) == (StopReason.FINAL_ANSWER, True)
    assert contents(model.requests[0])[0].startswith("你负责回答问题，可以使用")


@tool
def repeat(text: str, times: int = 1) -> str:
    """Says a text so many times."""
    if times < 0:
        raise ValueError("how often?")
    return text * times


def structured() -> list[BaseTool]:
    def forecast(city: str, days: int = 1) -> str:
        return f"{city} for {days}"

    async def wait_for(city: str) -> str:
        return f"waited for {city}"

    return [
        StructuredTool.from_function(forecast, name="Forecast", description="-"),
        StructuredTool.from_function(None, wait_for, name="Wait", description="-"),
        repeat,
        probe(),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("Forecast", {"city": "Lima"}, "Lima for 1"),
        ("Forecast", {"city": "Lima", "days": 3}, "Lima for 3"),
        ("Forecast", {"city": "Lima", "days": None}, "Lima for 1"),
        ("Forecast", {"city": ""}, "for 1"),
        ("Wait", {"city": "Lima"}, "waited for Lima"),
        ("Wait", {"city": ""}, "waited for"),
        ("repeat", {"text": "ab", "times": 2}, "abab"),
        ("Probe", {"tool_input": "hello"}, "HELLO"),
    ],
)
def test_a_tool_of_any_make_is_called(name: str, arguments: Any, said: str) -> None:
    assert answers(calling((name, arguments)), tools=ToolRegistry(structured())) == [said]
