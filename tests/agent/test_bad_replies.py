"""Replies that cannot be acted on: what the model is told, and how long that is borne."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.pydantic_v1 import create_model
from langchain_core.tools import StructuredTool

from agent import Limits, RunResult, StopReason
from agent.testing import ScriptedModel
from tests.scripted import DONE, actions, contents, cut, failing, play, probe

UNCLOSED = "Action: Calculator[1000*12"
FAULTS = {
    "": "it was empty",
    "<think>only thoughts": "it was empty",
    "The largest prime below 65 is 61.": "neither a line",
    "Action: Search[x]": 'no tool named "Search"',
    "Action: Calculator": "a call of this tool is written Calculator[expression]",
    "Action: Calculator, 2+2": "a call of this tool is written Calculator[expression]",
    "Thought: Calculator(2+2)\nAction:": 'the action "Action:" cannot be read',
    UNCLOSED: "never closed",
    "Action: Calculator(2+2)*3": '"*3"',
}
UNREADABLE = list(FAULTS)[3:]


def total(amounts: list[str]) -> str:
    """Adds."""
    return "+".join(amounts)


def chinese_fields() -> StructuredTool:
    fields: Any = {"城市": (str, ...), "日期": (str, ...)}
    return StructuredTool.from_function(
        lambda **given: str(given), name="查天气", description="-", args_schema=create_model("Args", **fields)
    )


def correction(model: ScriptedModel, request: int = 1) -> str:
    return contents(model.requests[request])[-1]


@pytest.mark.parametrize(("reply", "fault"), FAULTS.items())
def test_a_correction_names_the_fault_the_tools_and_one_example(reply: str, fault: str) -> None:
    result, model = play(reply, DONE)

    told = correction(model)
    assert fault in told
    assert "Calculator, Weather, Time" in told
    assert "\nAction: Calculator[2+2]\n" in told
    assert (result.answer, result.steps[0].error) == ("done", told)
    assert (result.steps[0].actions, result.steps[0].observations) == ((), ())
    assert result.steps[0].raw_reply == reply


@pytest.mark.parametrize(
    ("tools", "example"),
    [
        ([probe()], "Action: Probe[tool_input]"),
        ([probe(name="查天气")], "Action: 查天气[tool_input]"),
        ([failing(KeyError("x"), name="Time")], "Action: Time[]"),
        ([StructuredTool.from_function(total)], 'Action: total[["..."]]'),
        ([chinese_fields()], 'Action: 查天气[{"城市": "...", "日期": "..."}]'),
    ],
)
def test_the_example_calls_a_tool_that_was_handed_in(tools: list[object], example: str) -> None:
    _, model = play("hm", DONE, tools=tools)

    assert f"\n{example}\n" in correction(model)


def test_without_tools_a_correction_shows_no_call() -> None:
    _, model = play("Action:", DONE, tools=[])

    assert "There are no tools. Write:\nFinal Answer: " in correction(model)
    assert "Action: ..." not in correction(model)


def test_a_bad_reply_is_quoted_with_at_most_300_characters() -> None:
    _, model = play("Calculator says " + "no " * 5000, DONE)

    quoted, told = contents(model.requests[1])[2:]
    assert quoted.startswith("Calculator says no")
    assert len(quoted) <= 300
    assert "no no" not in told


def test_the_name_of_an_unknown_tool_is_quoted_in_short() -> None:
    _, model = play(f"Action: {'Search' * 100}[x]", DONE)

    assert len(correction(model)) < 400


def test_an_empty_reply_goes_back_as_words_because_services_refuse_empty_messages() -> None:
    _, model = play("", DONE)

    assert contents(model.requests[1])[2] == "(no reply)"


def test_prose_twice_in_a_row_is_the_answer_and_marked_unformatted() -> None:
    result, _ = play("The largest prime below 65 is 61.", "Which Springfield do you mean?")

    assert (result.answer, result.unformatted) == ("Which Springfield do you mean?", True)
    assert (result.stop_reason, result.forced) == (StopReason.FINAL_ANSWER, False)


def test_prose_after_a_good_reply_is_corrected_again() -> None:
    result, _ = play("hm", *actions(1), "hm again", DONE)

    assert (result.answer, result.unformatted) == ("done", False)
    assert result.steps[2].error


def test_a_reply_with_a_label_that_cannot_be_read_is_never_the_answer() -> None:
    bad = "Thought: I should check\nCalculator: 2+2"
    result, _ = play(bad, bad, bad, "Thought: still")

    assert (result.answer, result.stop_reason) == (None, StopReason.PARSE_ERRORS)
    assert "Thought" not in (result.error or "")


@pytest.mark.parametrize("reply", ["", *UNREADABLE])
def test_the_third_bad_reply_in_a_row_ends_with_one_request_for_the_answer(reply: str) -> None:
    result, model = play(reply, reply, reply, "Final Answer: forced")

    assert (result.answer, result.stop_reason) == ("forced", StopReason.PARSE_ERRORS)
    assert (result.forced, result.ok) == (True, False)
    assert "Final Answer:" in correction(model, request=3)


def test_bad_replies_count_only_in_a_row() -> None:
    result, _ = play(UNCLOSED, UNCLOSED, *actions(1), UNCLOSED, UNCLOSED, DONE)

    assert result.stop_reason is StopReason.FINAL_ANSWER


def test_max_parse_errors_is_how_many_bad_replies_are_borne() -> None:
    result, _ = play("Action: Search[x]", DONE, limits=Limits(max_parse_errors=1))

    assert result.stop_reason is StopReason.PARSE_ERRORS


def test_bad_replies_count_as_steps() -> None:
    limits = Limits(max_parse_errors=9, max_iterations=2)
    result, _ = play("Action: Search[x]", "Action: Search[y]", DONE, limits=limits)

    assert (result.stop_reason, len(result.steps)) == (StopReason.MAX_ITERATIONS, 2)


@pytest.mark.parametrize("text", [UNCLOSED, "Thought: I will call the calculator with 1000*12"])
def test_a_cut_reply_is_not_run_and_the_model_is_told_to_be_brief(text: str) -> None:
    result, model = play(cut(text), "Final Answer: 12")

    assert "be brief" in correction(model)
    assert result.answer == "12"


def names_the_limit(result: RunResult) -> bool:
    return result.stop_reason is StopReason.PARSE_ERRORS and "AGENT_MAX_TOKENS" in (result.error or "")


def test_the_second_cut_reply_in_a_row_ends_the_run_and_names_the_limit_of_tokens() -> None:
    forced, _ = play(cut(UNCLOSED), cut(UNCLOSED), DONE)
    failed, _ = play(cut(UNCLOSED), cut(UNCLOSED), cut(UNCLOSED))

    assert names_the_limit(forced)
    assert names_the_limit(failed)
    assert (forced.answer, forced.forced) == ("done", True)
    assert (failed.answer, failed.forced) == (None, False)


def test_an_action_that_was_complete_before_the_cut_is_run() -> None:
    result, _ = play(cut("Action: Calculator[2+2]\nThought: and then I"), "Final Answer: 4")

    assert result.steps[0].observations[0].text == "4"


def test_a_list_of_blocks_is_read_as_one_text() -> None:
    blocks = [{"type": "text", "text": "Final "}, "Answer: 4", {"type": "image_url", "image_url": {}}]
    result, _ = play(AIMessage(content=blocks))

    assert result.answer == "4"


def test_call_markup_is_run_and_never_the_answer() -> None:
    markup = '<tool_call>{"name": "Calculator", "arguments": {"expression": "2+2"}}</tool_call>'
    result, _ = play(markup, "Final Answer: 4")

    assert result.steps[0].observations[0].text == "4"
