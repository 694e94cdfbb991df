"""The contenders of a comparison: how each asks, and what is seen of its model."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage

from agent import load_model
from agent.testing import ScriptedModel
from scripts.comparing.arms import ARMS, BRACKET_PROMPT, EXTRA, MAIN, patient
from scripts.comparing.bracket import bracket_parser
from scripts.comparing.running import Turn, turns, warm_up
from scripts.comparing.turns import play
from scripts.contenders import REACT_PROMPT, measured_tools
from scripts.figures import Row
from scripts.scoring import Task
from tests.scripts.compare_rows import task
from tests.service import Service, status

ULM = Task("w1", "weather", "en", "How warm is it in Ulm?", ("Weather",), {"numbers": [7]})
TWO_LINES = "Thought: look\nAction: Weather\nAction Input: Ulm"
BRACKET = "Thought: look\nAction: Weather[Ulm]"
ANSWER = "Final Answer: 7"


def native(**arguments: str) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": "Weather", "args": arguments, "id": "a"}])


def played(name: str, *replies: Any, of: Task = ULM) -> Row:
    """One run by a model that gives exactly these replies."""
    arm, model = ARMS[name], ScriptedModel(replies=list(replies))
    row = play(of, name, {"ulm": 7}, lambda attempt, tools: arm.run(attempt, of.question, model, tools))
    model.assert_done()
    return row


@pytest.mark.parametrize(
    ("name", "call", "answer"),
    [
        ("ours-text", BRACKET, ANSWER),
        ("ours-tools", native(tool_input="Ulm"), "It is 7."),
        ("executor-react", TWO_LINES, ANSWER),
        ("executor-bracket", BRACKET, ANSWER),
        ("executor-tools", native(__arg1="Ulm"), "It is 7."),
        ("executor-default-cap", TWO_LINES, ANSWER),
        ("ours-raising", BRACKET, ANSWER),
        ("executor-raising", TWO_LINES, ANSWER),
    ],
)
def test_every_contender_solves_a_task_in_its_own_way(name: str, call: Any, answer: str) -> None:
    row = played(name, call, answer)
    attempt = row.attempt
    assert row.solved, row
    assert [(each.tool, each.input, each.output) for each in attempt.tool_calls] == [
        ("Weather", "Ulm", "7°C")
    ]
    assert (attempt.requests, len(attempt.model_spans), len(attempt.replies)) == (2, 2, 2)
    assert attempt.prompt_tokens
    assert attempt.completion_tokens is not None
    assert attempt.started <= attempt.model_spans[0][0] <= attempt.tool_calls[0].started
    assert not attempt.raised


def test_the_bare_model_gets_the_question_alone() -> None:
    row = played("bare", "It is 7 degrees.")
    assert (row.attempt.answer, row.solved, row.reason) == (
        "It is 7 degrees.",
        False,
        "Weather was not called",
    )


@pytest.mark.parametrize(
    ("name", "cap"), [("executor-react", 6), ("executor-bracket", 6), ("executor-default-cap", 15)]
)
def test_an_executor_asks_as_often_as_its_cap_allows(name: str, cap: int) -> None:
    assert played(name, *["nonsense"] * cap).attempt.stop_reason == "max_iterations"


def test_an_executor_with_native_calls_that_gives_up_has_not_answered() -> None:
    attempt = played("executor-tools", *[native(__arg1="Ulm")] * 6).attempt
    assert (attempt.answer, attempt.stop_reason, len(attempt.tool_calls)) == (None, "max_iterations", 6)


def test_ours_has_the_same_cap_in_both_protocols_and_asks_once_more() -> None:
    calls = [native(tool_input=city) for city in "abcdef"]
    assert played("ours-tools", *calls, "7").attempt.requests == 7


def test_our_loop_words_what_a_tool_raises_and_an_executor_ends() -> None:
    ours = played("ours-raising", "Action: Weather[Atlantis]", "Final Answer: no data").attempt
    assert (ours.answer, ours.raised, [call.failed for call in ours.tool_calls]) == ("no data", False, [True])
    theirs = played("executor-raising", "Action: Weather\nAction Input: Atlantis").attempt
    assert (theirs.answer, theirs.raised) == (None, True)
    assert theirs.error == "RuntimeError: No weather data for Atlantis."
    assert (theirs.requests, [call.failed for call in theirs.tool_calls]) == (1, [True])


def test_the_same_tools_return_the_text_elsewhere() -> None:
    attempt = played("executor-react", "Action: Weather\nAction Input: Atlantis", ANSWER).attempt
    assert attempt.steps[0]["observations"] == [{"text": "No weather data for Atlantis."}]


def test_the_bracket_prompt_differs_in_the_format_alone() -> None:
    react, bracket = REACT_PROMPT.splitlines(), BRACKET_PROMPT.splitlines()
    assert [line for line in react if line not in bracket][:2] == [
        "Action: the tool to use, one of [{tool_names}]",
        "Action Input: what goes into the tool",
    ]
    assert [line for line in bracket if line not in react] == [
        "Action: Name[what goes into the tool], where Name is one of {tool_names}",
        "... (Thought, Action and Observation may come as often as needed)",
    ]


def test_the_bracket_parser_reads_as_our_loop_does() -> None:
    parser = bracket_parser(measured_tools({}, []), "What is it?")
    action = parser.parse("Action: calculator[max([1,2])]\nObservation: 9")
    assert isinstance(action, AgentAction)
    assert (action.tool, action.tool_input, action.log) == (
        "Calculator",
        "max([1,2])",
        "Action: calculator[max([1,2])]",
    )
    answer = parser.parse("Thought: so\n**Final Answer:** 42")
    assert isinstance(answer, AgentFinish)
    assert answer.return_values == {"output": "42"}


@pytest.mark.parametrize(("question", "said"), [("What is it?", "The tools are:"), ("多少？", "工具")])
def test_what_the_bracket_parser_cannot_read_goes_back_in_our_words(question: str, said: str) -> None:
    with pytest.raises(OutputParserException) as raised:
        bracket_parser(measured_tools({}, []), question).parse("Action: Abacus[1+1]")
    assert said in str(raised.value.observation)
    assert raised.value.send_to_llm


@pytest.mark.parametrize("name", ["bare", "executor-react"])
def test_the_baseline_tries_a_failing_request_again_as_ours_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    with Service([status(503, headers={"Retry-After": "0"}), ANSWER]) as service:
        model = load_model("gpt-4o", base_url=service.url)
        row = play(ULM, name, {}, lambda attempt, tools: ARMS[name].run(attempt, ULM.question, model, tools))
    assert (row.attempt.error, row.attempt.requests, len(service.requests)) == (None, 1, 2)


def test_a_model_without_a_client_is_left_as_it_is() -> None:
    model = ScriptedModel()
    assert patient(model) is model


def test_a_request_that_fails_was_under_way_all_the_same() -> None:
    attempt = played("bare", OSError("key=sk-1 is refused")).attempt
    assert (attempt.raised, attempt.requests, len(attempt.model_spans), attempt.replies) == (True, 0, 1, [])


def test_contenders_take_turns_and_another_one_begins_each_task() -> None:
    order = turns([task("t1"), task("t2")], ["bare", "ours-text", "ours-raising"], 2, {"t1"})
    assert [turn.key for turn in order] == [
        ("t1", "bare", 0),
        ("t1", "ours-text", 0),
        ("t1", "ours-raising", 0),
        ("t2", "ours-text", 0),
        ("t2", "bare", 0),
        ("t1", "bare", 1),
        ("t1", "ours-text", 1),
        ("t1", "ours-raising", 1),
        ("t2", "ours-text", 1),
        ("t2", "bare", 1),
    ]


def test_each_beginning_of_a_prompt_is_warmed_up_once() -> None:
    chinese = Task("z1", "weather", "zh", "乌尔姆多少度？", ("Weather",), {"numbers": [7]})
    of_the_world = task("c1", toolset="changed")
    left = [Turn(each, ARMS[name], 0) for each in (ULM, ULM, chinese, of_the_world) for name in MAIN]
    # One request each; ours-text cannot use such a reply, and asks once more for an answer.
    model = ScriptedModel(replies=["nonsense"] * 3 * (len(MAIN) + 1))
    assert list(warm_up(model, left, {})) == [f"warming up: {name}" for _ in range(3) for name in MAIN]
    model.assert_done()
    asked = [str(messages[-1].content) for messages in model.requests]
    assert sum("你好" in each for each in asked) == len(MAIN)
    assert any("LocalMath" in each for each in asked)


def test_what_fails_while_warming_up_ends_nothing() -> None:
    left = [Turn(ULM, ARMS[name], 0) for name in ("bare", *EXTRA)]
    assert len(list(warm_up(ScriptedModel(), left, {}))) == len(left)
