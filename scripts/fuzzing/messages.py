"""Messages for the reader of the tools protocol: texts with calls in them, native calls, halves of calls."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from scripts.fuzzing.mutations import mutated, often, soup
from scripts.fuzzing.target import Input

USED_ID = "used"  # by an earlier call of the run
SUM = '{"expression": "2+2"}'
CALL = f'{{"name": "Calculator", "arguments": {SUM}}}'
FRAGMENTS = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool_call>\n",
        "<function=Time>",
        "</function>",
        "[TOOL_CALLS]",
        "<tools>",
    ),
    *(
        "<|python_tag|>",
        "<function_call>",
        "<|tool_call|>",
        "```",
        "```json\n",
        "```tool\n",
        "\n",
        "\n",
        " ",
        "\r\n",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        ":",
        ",",
        "\\",
        "\ud800",
        "\x00",
        "NaN",
        "1e999",
        "null",
        "true",
        "-",
        "[]",
        "{}",
    ),
    *(
        '"name"',
        '"arguments"',
        '"tool"',
        '"function": ',
        '"Calculator"',
        '"Search"',
        '{"name": "Time"}',
        '"input": ',
    ),
    *(
        CALL,
        CALL[:-1],
        CALL[:-4],
        SUM,
        '{"tool_calls": [',
        '{"name": "Calculator", "arguments": "',
        "Final Answer: ",
    ),
    *(
        "<think>",
        "</think>",
        "Thought: a\n",
        "思考：",
        "最终答案：",
        "<|im_end|>",
        "</s>",
        "words",
        "\u2028",
        "İ",
        "ſ",
    ),
)


def _values() -> st.SearchStrategy[Any]:
    simple = (
        st.none()
        | st.booleans()
        | st.integers(-(10**6), 10**6)
        | st.floats(allow_nan=False, allow_infinity=False)
    )
    names = st.sampled_from(("expression", "zone", "amount", "unit", "times", "exact", "x"))
    return st.recursive(
        simple | st.text(st.characters(), max_size=8) | soup(FRAGMENTS, most=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=6,
    )


def _wire_calls() -> st.SearchStrategy[Any]:
    names = st.sampled_from(("Calculator", "time", "Convert", "Repeat", "Ping", "Search", "", None, 5, "a b"))
    written = _values().map(json.dumps)
    arguments = written | written.map(lambda text: text[:-1]) | _values() | soup(FRAGMENTS, most=4)
    function = st.fixed_dictionaries({}, optional={"name": names, "arguments": arguments})
    ids = st.sampled_from(("a", "b", USED_ID, "call00001", "", None, 1))
    call = st.fixed_dictionaries({}, optional={"id": ids, "type": st.just("function"), "function": function})
    return st.lists(call | _values(), max_size=4)


def _halves() -> st.SearchStrategy[Input]:
    """A call of ours in marks or a fence, cut somewhere inside of its JSON."""
    starts = st.sampled_from(
        ("<tool_call>", "<tool_call>\n", "```json\n", "", "I will add.\n", "[TOOL_CALLS]")
    )
    shortest = CALL.index('", "arg') + 1
    cuts = st.integers(shortest, len(CALL) - 1)
    return st.builds(lambda start, end: {"content": start + CALL[:end], "half": True}, starts, cuts)


def messages(seeds: list[Input]) -> st.SearchStrategy[Input]:
    """Inputs from scratch, and out of those of the corpus."""
    known = [seed["content"] for seed in seeds]
    texts = st.one_of(soup(FRAGMENTS), mutated(known, FRAGMENTS), st.text(st.characters(), max_size=60))
    units = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
    pumped: st.SearchStrategy[Input] = st.builds(
        dict, content=soup(FRAGMENTS, most=3), unit=units, tail=soup(FRAGMENTS, most=2)
    )
    usual: list[st.SearchStrategy[Input]] = [
        st.builds(dict, content=texts, cut=st.booleans()),
        st.builds(dict, content=soup(FRAGMENTS, most=4), calls=_wire_calls(), cut=st.booleans()),
        _halves(),
    ]
    return often(usual, pumped)
