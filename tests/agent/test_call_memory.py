"""What a request of the tools protocol remembers: every step, long results in short, and no orphan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from agent import Agent, Limits
from agent.testing import ScriptedModel
from tests.protocols import TOOLS, broken, calling, results
from tests.scripted import contents, probe
from tests.well_formed import assert_well_formed

play = TOOLS.play


@pytest.mark.parametrize("length", [200, 201])
def test_long_results_give_way_to_a_note_after_two_steps(length: int) -> None:
    tool = probe(lambda given: given * length)
    replies = [calling(("Probe", {"tool_input": letter})) for letter in "abc"]
    _, model = play(*replies, "done", tools=[tool])

    assert "left out" not in "".join(contents(model.requests[2]))
    whole = [letter * length for letter in "abc"]
    if length > 200:
        whole[0] = "[a tool result of 201 characters was left out here]"
    assert list(results(model.requests[3]).values()) == whole


def test_the_last_request_holds_every_step() -> None:
    tool = probe(lambda given: given * 300)
    replies = [calling(("Probe", {"tool_input": letter})) for letter in "abcdefgh"]
    _, model = play(*replies, "so", tools=[tool])

    assert len(results(model.requests[-1])) == 8
    assert list(results(model.requests[-1]).values())[-2:] == ["g" * 300, "h" * 300]


@tool
def repeat(text: str, times: int = 1) -> str:
    """Says a text so many times."""
    if times < 0:
        raise ValueError("how often?")
    return text * times


call_kinds = st.tuples(
    st.sampled_from(["repeat", "Repeat", "Search", "", "Time"]),
    st.sampled_from(
        [
            *({"text": "ab", "times": times} for times in (1, 99, 101, 1500, -1)),
            *(
                {},
                {"text": 5},
                {"text": "a", "times": None},
                {"text": "half \ud83d"},
                {"x": 1},
                {"text": "b" * 201},
            ),
        ]
    ),
    st.sampled_from(["a", "b", "call00001", "call00002", "", None]),
)
steps = st.lists(call_kinds, max_size=4).map(
    lambda calls: (
        AIMessage(
            content="on",
            tool_calls=[{"name": name, "args": given, "id": call_id} for name, given, call_id in calls],
            invalid_tool_calls=[broken("repeat", '{"text": "1+', "a")] if len(calls) == 3 else [],
        )
        if calls
        else AIMessage(content="")
    )
)
broken_texts = st.sampled_from(["", "<tool_call>{", "[TOOL_CALLS]", '{"name": "Search", "arguments": {}}'])


def by_step(request: list[BaseMessage]) -> list[list[str]]:
    """What was sent back for each step: the tool messages behind each assistant message."""
    sent: list[list[str]] = []
    for message in request:
        if isinstance(message, AIMessage):
            sent.append([])
        elif isinstance(message, ToolMessage):
            sent[-1].append(str(message.content))
    return sent


@settings(max_examples=100, deadline=None)
@given(st.lists(steps | broken_texts, max_size=8), st.integers(1, 8))
def test_whatever_has_happened_every_request_is_well_formed_and_no_step_is_dropped(
    replies: list[Any], most: int
) -> None:
    model = ScriptedModel(replies=[*replies[:most], "done"])
    limits = Limits(max_iterations=most, max_parse_errors=9, max_repeats=9)
    tools = [repeat, probe(lambda _: "x" * 500, "Time")]
    result = Agent(llm=model, protocol="tools", tools=tools, limits=limits).run("go")

    assert result.answer == "done"
    for request in model.requests:
        assert_well_formed(request)
    before = [step for step in result.steps if step.actions or step.error]
    sent = by_step(model.requests[-1])
    assert len(sent) == len(before)
    for age, step, texts in zip(range(len(before), 0, -1), before, sent, strict=True):
        said = [seen.text for seen in step.observations] or [step.error or ""] * len(texts)
        note = "[a tool result of {} characters was left out here]"
        assert texts == [note.format(len(text)) if age > 2 and len(text) > 200 else text for text in said]


HISTORY: list[BaseMessage] = [
    HumanMessage(content="2+2?"),
    calling(("Calculator", {"expression": "2+2"}), ids=["m1"], content="I will add."),
    ToolMessage(content="4", tool_call_id="m1"),
    AIMessage(content="It is 4."),
    HumanMessage(content="And in words?"),
    AIMessage(content="", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
    FunctionMessage(name="f", content="four"),
    AIMessage(content="Four."),
]


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("return_messages", [True, False])
def test_a_callers_memory_with_tool_messages_brings_no_orphan(k: int, return_messages: bool) -> None:
    memory = ConversationBufferWindowMemory(k=k, return_messages=return_messages)
    memory.chat_memory.add_messages(HISTORY)
    _, model = play("done", memory=memory)

    exchanges = {2: 1, 3: 1, 4: 2}.get(k, 0)  # of which the window holds the question too
    assert contents(model.requests[0])[1:-1] == [
        *("2+2?", "It is 4.", "And in words?", "Four.")[4 - 2 * exchanges :]
    ]
