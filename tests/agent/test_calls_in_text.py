"""Calls that a model wrote into its text: in marks, fenced or bare, whole or half."""

from __future__ import annotations

import json

import pytest

from agent.results import Action
from tests.messages import CALL, SUM, act, malformed, message, raw


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{CALL}</tool_call>",
        f"<tool_call>\n{CALL}\n</tool_call><|im_end|>",
        f"<tool_call>{CALL}",
        f"<|tool_call|>{CALL}",
        f"<tools>\n{CALL}\n</tools>",
        f"<function_call>{CALL}</function_call>",
        f"<function=Calculator>{SUM}</function>",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        f"```xml\n<tool_call>\n{CALL}\n</tool_call>\n```",
        CALL,
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"[{CALL}]",
        f'{{"tool_calls": [{CALL}]}}',
        f'{{"type": "function", "function": {CALL}}}',
        f'{{"name": "Calculator", "parameters": {SUM}}}',
        f'{{"tool": "Calculator", "input": {SUM}}}',
        f'{{"function": "Calculator", "args": {SUM}}}',
        f'{{"name": "calculator", "arguments": {json.dumps(SUM)}}}',
        f"<think><tool_call>{{}}</tool_call></think>{CALL}",
        f"{CALL}\n\nThe result is 5.",
        f"<tool_call>{CALL}</tool_call>\n<tool_response>5</tool_response>\nIt is 5.",
    ],
)
def test_a_call_in_the_text_is_a_call_and_goes_back_as_one(text: str) -> None:
    decision = act(text)

    assert decision.actions == (Action("Calculator", "2+2", "call00001"),)
    assert (decision.thought, decision.kept.content) == ("", "")
    assert decision.kept.tool_calls == [
        {"name": "Calculator", "args": {"expression": "2+2"}, "id": "call00001"}
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"Let me add.\n```json\n{CALL}\n```",
        f"Let me add.\n\n{CALL}",
        f"Let me add. <tool_call>{CALL}</tool_call>",
        f"Let me add.\n```xml\n<tool_call>{CALL}</tool_call>\n```\nIt is 5.",
        f"<think>hm</think>Let me add.\n{CALL}",
    ],
)
def test_words_before_a_call_are_a_thought_without_markup(text: str) -> None:
    decision = act(text)

    assert decision.actions[0].input == "2+2"
    assert decision.thought == decision.kept.content == "Let me add."


@pytest.mark.parametrize(
    "text",
    [
        f'<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "Time", "arguments": {{}}}}</tool_call>',
        f'{CALL}\n{{"name": "Time"}}',
        f'[{CALL}, {{"name": "Time", "arguments": null}}]',
        f'```json\n{CALL},\n{{"name": "Time", "arguments": ""}}\n```',
        f'```json\n{CALL}\n```\n```json\n{{"name": "Time", "arguments": {{}}}}\n```',
        f"<function=Calculator>{SUM}</function>\n<function=Time>{{}}</function>",
    ],
)
def test_several_calls_in_the_text_are_several_calls(text: str) -> None:
    add, now = act(text).actions

    assert (add.tool, add.input, add.fault) == ("Calculator", "2+2", None)
    assert (now.tool, now.input, now.fault) == ("Time", "", None)
    assert add.call_id != now.call_id


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "Search", "arguments": {"q": "x"}}</tool_call>',
        '<function=Search>{"q": "x"}</function>',
        '{"name": "Search", "arguments": {"q": "x"}}',
        '```json\n{"name": "Search", "arguments": {"q": "x"}}\n```',
    ],
)
def test_an_unknown_name_in_a_call_is_a_bad_reply(text: str) -> None:
    decision = malformed(text)

    assert (decision.fault, decision.detail) == ("unknown_tool", "Search")


@pytest.mark.parametrize(
    "text",
    [
        f"Let me add. <tool_call>{CALL[:-8]}",
        "Let me add. <tool_call>Calculator(2+2)</tool_call>",
        "Let me add. <function=Calculator>",
        "Let me add. [TOOL_CALLS]",
        f"Let me add.\n{CALL[:-1]}",
        f"Let me add.\n```json\n{CALL[:-5]}\n```",
        f"Let me add.\n[{CALL[:-1]}",
    ],
)
def test_half_a_call_is_a_bad_reply_whatever_was_said_before(text: str) -> None:
    decision = malformed(text)

    assert (decision.fault, decision.thought) == ("bad_call", "Let me add.")
    assert len(decision.kept.content) <= 300


def test_thinking_does_not_go_back_with_half_a_call() -> None:
    assert "secret" not in malformed("<think>secret</think><tool_call>{").kept.content


def test_a_call_in_the_text_beside_native_ones_is_text() -> None:
    decision = act(message(raw(), content=f"As in {CALL}"))

    assert [action.call_id for action in decision.actions] == ["a1"]
