"""What holds of every assistant message: a decision, in time linear in its length, that can go back."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from agent.protocols.decisions import Act, Finish
from tests.messages import CALL, SUM, message, raw, read
from tests.well_formed import assert_stored

FRAGMENTS = [
    *("<tool_call>", "</tool_call>", "<function=Time>", "</function>", "[TOOL_CALLS]", "<|python_tag|>"),
    *("```", "```json\n", "\n", " ", "{", "}", "[", "]", '"', ":", ",", "\\", "\ud800", "\x00", "NaN"),
    *('"name"', '"arguments"', '"Calculator"', '"Search"', '{"name": "Time"}', CALL, CALL[:-1], SUM),
    *(
        "<think>",
        "</think>",
        "<|im_end|>",
        "</s>",
        "words",
        "1e999",
        "null",
        '{"tool_calls": [',
        '"function"',
    ),
]
soup = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5) | soup,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["expression", "amount", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
names = st.sampled_from(["Calculator", "time", "Convert", "Ping", "Search", "", None, 5, "a b"])
raw_calls = (
    st.builds(raw, json_values | json_values.map(json.dumps), names, st.sampled_from(["a", "b", "", None, 1]))
    | json_values
)


def check(reply: AIMessage, *, cut: bool = False) -> None:
    decision = read(reply, cut=cut, used_ids={"b"})
    assert_stored(decision.kept)
    assert "<think>" not in decision.kept.content
    if isinstance(decision, Finish):
        assert decision.answer.strip()
        assert "<tool_call>" not in decision.answer
        assert not decision.kept.tool_calls
    if isinstance(decision, Act):
        assert not cut
        assert [action.call_id for action in decision.actions] == [
            call["id"] for call in decision.kept.tool_calls
        ]
        assert "b" not in {action.call_id for action in decision.actions}


@settings(max_examples=500, deadline=None)
@given(soup | st.text(st.characters(), max_size=100), st.booleans())
def test_every_text_gives_a_decision(text: str, cut: bool) -> None:
    check(AIMessage(content=text), cut=cut)


@settings(max_examples=500, deadline=None)
@given(st.lists(raw_calls, min_size=1, max_size=4), soup, st.booleans())
def test_every_mix_of_calls_gives_a_decision(calls: list[Any], text: str, cut: bool) -> None:
    check(message(*calls, content=text), cut=cut)


UNITS = [
    *("<tool_call>", "<tool_call>{", "<function=Time>", "[TOOL_CALLS]", "<", "</tool_call>\n", "<think>"),
    *("{", "[", "[\n", "{\n", "```json\n{", "```json\n", "```", "` ", " ", "\n", " \n", '"', '"\n', "\\"),
    *('{"name":', '{"name":\n', "{}", "{}\n", "[]\n", CALL, f"{CALL}\n", '{"a": 1}\n', "1 ", "a", "</s>"),
    *('{"name": "Search", "arguments": {}}\n', '{"name": "Time",\n', "words {\n", ",", "<|im_end|>"),
]


def fastest(text: str) -> float:
    """Seconds of the best of three runs: the least that a busy machine can spoil."""
    reply, seconds = AIMessage(content=text), []
    for _ in range(3):
        start = time.process_time()
        read(reply)
        seconds.append(time.process_time() - start)
    return min(seconds)


@pytest.mark.parametrize("start", ["", "<tool_call>", "```json\n"])
@pytest.mark.parametrize("unit", UNITS)
def test_ten_times_the_text_takes_about_ten_times_as_long(unit: str, start: str) -> None:
    short, long = (start + unit * (size // len(unit)) for size in (10_000, 100_000))
    # Below half a millisecond the clock says more about itself than about the reader.
    assert fastest(long) / max(fastest(short), 0.0005) < 20 or fastest(long) / fastest(short) < 20
