"""What holds of every reply: a decision, in time linear in its length, that invents nothing."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.protocols.decisions import Act, Finish, Malformed, ToolSpec
from agent.protocols.plain import plain_call
from agent.protocols.reply import read_at_length, read_reply
from agent.results import Action

TOOLS = (
    ToolSpec("Calculator", ("expression",)),
    ToolSpec("Time", ("zone",), input_required=False),
    ToolSpec("Convert", ("amount", "unit"), required=("amount",)),
    ToolSpec("Ping", (), input_required=False),
)
FRAGMENTS = [
    *("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Question:", "Finish"),
    *(
        "思考：",
        "行动：",
        "最终答案：",
        "工具结果：",
        "【行动】",
        "### Action",
        "**Action:**",
        "**Final Answer**",
    ),
    *("Calculator", "Time", "Convert", "Ping", "Search", "None", "Use the ", " tool", "<think>", "</think>"),
    *("[", "]", "(", ")", "{", "}", "［", "］", "【", "】", '"', "'", "`", "“", "”", "\\", "```", "```json"),
    *("\n", "\n", "\n", "\r\n", " ", "\t", "*", "**", "#", "_", "~~~", ":", "：", ",", ".", "\x00", "\ud800"),
    *("2+2", "Lima", '{"amount": 1}', '{"name": "Time", "arguments": {}}', "<tool_call>", "</tool_call>"),
    *("> ", "- ", "1. ", "* Action: ", "Action: Final Answer:", "<|im_end|>", "</s>", "<s>"),
    *("Obser", "Observation", "ﬁ", "İ", "½", "é", "word", "words between"),
]
soup = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
# In the dress that the reader promises to know; not as an item of a list, of which an answer may have some.
INVENTED = re.compile(
    r"^[ \t]{0,40}(?:#{1,6}[ \t]{0,3})?(?:[*_`【]{0,6}|[_`【]{0,6}[ \t]{0,3})"
    r"(?:observation|工具结果)[*_`】]{0,6}[ \t]{0,3}[:：]",
    re.MULTILINE | re.IGNORECASE,
)


def check(reply: str, *, cut: bool) -> None:
    decision = read_reply(reply, TOOLS, cut=cut)
    assert isinstance(decision, Act | Finish | Malformed)
    assert decision == read_reply(reply, TOOLS, cut=cut)
    assert "<think>" not in decision.kept
    if isinstance(decision, Act):
        (action,) = decision.actions
        tool = next(tool for tool in TOOLS if tool.name == action.tool)
        assert isinstance(action.input, str) == (len(tool.fields) == 1)
        assert action.input or not tool.input_required
    elif isinstance(decision, Finish):
        assert decision.answer.strip()
    elif decision.fault != "no_label":
        assert len(decision.detail) <= 300


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(), max_size=200), st.booleans())
def test_every_string_gives_a_decision(reply: str, cut: bool) -> None:
    check(reply, cut=cut)


@settings(max_examples=1000, deadline=None)
@given(soup, st.booleans())
def test_every_mix_of_labels_gives_a_decision(reply: str, cut: bool) -> None:
    check(reply, cut=cut)


@settings(max_examples=500, deadline=None)
@given(soup)
def test_an_observation_that_the_model_made_up_is_never_kept(reply: str) -> None:
    # In a code fence of an answer the word is text.
    kept = read_reply(reply, TOOLS).kept
    assert "```" in kept or "~~~" in kept or not INVENTED.search(kept)


@settings(max_examples=300, deadline=None)
@given(soup.filter(lambda reply: "</think>" not in reply))
def test_nothing_after_a_decision_changes_it(tail: str) -> None:
    head = "Thought: add\nAction: Calculator[2+2]\n"
    assert read_reply(head + tail, TOOLS) == read_reply(head, TOOLS)


few = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=4).map("".join)


def mostly(*usual: str) -> st.SearchStrategy[str]:
    """One of the usual ones, and now and then anything."""
    return st.integers(0, 7).flatmap(lambda die: few if die == 5 else st.sampled_from(usual))


calls = st.builds(
    "{}{}{}{}{}[{}]{}".format,
    mostly("Thought:", "Thought: ", "思考：", "Thought 1:", "thought:"),
    mostly("", " add (2+2)", " > None", "```", "\nFinal Answer: 3", "a\nTime[]", "x<think>", "Observation"),
    mostly("\n", "\n", "\n", "\n", "\r\n", "\n\n"),
    mostly("Action:", "Action: ", "行动：", "Action:  ", "行动: ", "Action:\u3000", "action: "),
    mostly("Calculator", "Time", "Convert", "Ping", "Nothing", "None", "Finish", "calculator", "Search"),
    mostly(
        "", "2+2", " (2+2)*3 ", '{"amount": 1}', "Action: x", "None", "**", "x\n", "# 1 | 2", " 'x", ' "x'
    ),
    mostly("", "", "", "\n", " \n\t", "\x1c\u2028", "\u200b", ".", "\n\nObservation", " 1"),
)
ALL_TOOLS = (*TOOLS, ToolSpec("Nothing"))  # whose name says that no tool is meant


@settings(max_examples=3000, deadline=None)
@given(calls, st.booleans())
def test_a_plain_call_is_read_as_it_would_be_at_length(reply: str, cut: bool) -> None:
    at_once = plain_call(reply, ALL_TOOLS)
    assert at_once is None or at_once == read_at_length(reply, ALL_TOOLS, cut=cut)


@pytest.mark.parametrize(
    "reply",
    ["Action: Time[]", "Thought: a [b] (c)\nAction: Calculator[(2+2)*3]\n", "思考：时间\n行动：Time[Lima]"],
)
def test_what_models_write_nearly_always_is_read_at_once(reply: str) -> None:
    assert plain_call(reply, TOOLS) is not None


plain = st.text(
    st.characters(
        blacklist_characters="[]［］【】\"'`“”‘’「」『』«»＂＇{}\n\r<", blacklist_categories=("Cs",)
    )
)
words = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(lambda xs: f"[{' '.join(xs)}]"))


def means_something(argument: str) -> bool:
    return argument.strip() not in ("", "None", "none", "null")


@settings(max_examples=500, deadline=None)
@given(words.filter(means_something), st.sampled_from(["{}", '"{}"', "'{}'", "`{}`", "“{}”", "  {} "]))
def test_an_argument_with_balanced_brackets_comes_back_as_it_went_in(argument: str, dress: str) -> None:
    """But for blanks at its ends, which go, and one pair of quotes around it."""
    decision = read_reply(f"Action: Calculator[{dress.format(argument)}]", TOOLS)
    assert isinstance(decision, Act)
    assert decision.actions == (Action("Calculator", argument.strip()),)


# Not "<": a sign of thinking among the values would hide the call.
_values = (
    st.text(st.characters(blacklist_characters="<", blacklist_categories=["Cs"]), max_size=20) | st.integers()
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["amount", "unit"]), _values, min_size=1))
def test_arguments_by_name_come_back_as_they_went_in(values: dict[str, object]) -> None:
    import json

    decision = read_reply(f"Action: Convert[{json.dumps(values)}]", TOOLS)
    if "amount" not in values:
        assert isinstance(decision, Malformed)
        return
    assert isinstance(decision, Act)
    assert decision.actions == (Action("Convert", values),)


UNITS = [
    *("[", "(", "{", '"', "'", "`", "\\", " ", "\n", "**", "#", "_", "1", "é", "\t ", '"[', '{"a":', "```\n"),
    *(
        "Action:",
        "Action:\n",
        "Action: Calculator[",
        "Action: Calculator[\n",
        "Action: None\n",
        "Final Answer:\n",
    ),
    *(
        "<think>",
        "</think>",
        "<tool_call>",
        "<tool_call>\n{",
        "Calculator[",
        "Calculator[\n",
        "Thought: a\n{\n",
    ),
    *("> ", "- ", "1. ", "> Action: ", "- Observation: a\n", "Action: Final Answer: "),
    *("\\'", "'\\", "'\"", "{'a': ", "'a\\\\", "None "),
    *("<|im_end|>", "</s>", "</s>\n", "Final Answer: a</s>\n"),
    *("Final Answer: ```\n", "Observation: a\n", "Action Input:\n", "a\n```\n", "Finish[\n"),
]


def fastest(reply: str) -> float:
    """Seconds of the best of three runs: the least that a busy machine can spoil."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        read_reply(reply, TOOLS)
        seconds.append(time.process_time() - start)
    return min(seconds)


@pytest.mark.parametrize("start", ["", "Action: Calculator[", "Action: ", "Final Answer: "])
@pytest.mark.parametrize("unit", UNITS)
def test_ten_times_the_reply_takes_about_ten_times_as_long(unit: str, start: str) -> None:
    short, long = (start + unit * (size // len(unit)) for size in (10_000, 100_000))
    # Below half a millisecond the clock says more about itself than about the reader.
    assert fastest(long) / max(fastest(short), 0.0005) < 20 or fastest(long) / fastest(short) < 20
