"""The reader of the text protocol: every string gives a decision, and no string gets more than it says.

An input is a reply ``text`` and whether the token limit ``cut`` it. With a ``unit``, the text is a
beginning, and many units follow it: then time is compared.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hypothesis import strategies as st

from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.reply import read_reply
from scripts.fuzzing.growth import grows_too_fast
from scripts.fuzzing.mutations import mutated, often, soup
from scripts.fuzzing.target import SECRET, Broken, Input, Target, hold

TOOLS = (
    ToolSpec("Calculator", ("expression",)),
    ToolSpec("Time", ("zone",), input_required=False),
    ToolSpec("Convert", ("amount", "unit"), required=("amount",)),
    ToolSpec("Repeat", ("times",), takes="integer"),
    ToolSpec("Ping", (), input_required=False),
)
FRAGMENTS = (
    *("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Question:", "Finish"),
    *(
        "思考：",
        "行动：",
        "最终答案：",
        "工具结果：",
        "问题：",
        "【行动】",
        "### Action",
        "**Action:**",
        "**Final Answer**",
    ),
    *("Calculator", "Time", "Convert", "Repeat", "Ping", "Search", "None", "Use the ", " tool"),
    *(
        "<think>",
        "</think>",
        "<thinking>",
        "</THINKING>",
        "<tool_call>",
        "</tool_call>",
        "<|im_end|>",
        "</s>",
        "<s>",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "［",
        "］",
        "【",
        "】",
        '"',
        "'",
        "`",
        "“",
        "”",
        "\\",
        "```",
        "```json",
        "~~~",
    ),
    *("\n", "\n", "\n", "\r\n", "\r", " ", "\t", "*", "**", "#", "_", ":", "：", ",", ".", "\x00", "\ud800"),
    *(
        "2+2",
        "*3",
        "²",
        "x3",
        "Lima",
        '{"amount": 1}',
        '{"amount": NaN}',
        '{"action": "Time", "action_input": ""}',
        "\u3000",
    ),
    *('{"name": "Calculator", "arguments": {"expression": "1"}}', "Calculator[1]", "Action: Time[]\n"),
    *(
        "> ",
        "- ",
        "1. ",
        "Obser",
        "Observation",
        "ﬁ",
        "İ",
        "½",
        "é",
        "word",
        "Final Answer: 4\n",
        "\u2028",
        "\x0b",
    ),
)
_FENCE = re.compile("```|~~~")
_MARKUP = re.compile(
    r"\n(?:Action|Action Input|Final Answer|Observation|Question|行动|最终答案|工具结果)[:：]"
)
_CALL = re.compile(r"(?:Action|行动)[:：] ?(?:Calculator|Time)[\[(]|<tool_call>")
_ENDS_OTHERWISE = re.compile(r"】|```|~~~|\nObse\w*\W*\Z")
# An argument whose bracket nobody closes, whatever stands in it.
_OPEN = st.text(st.characters(blacklist_characters="]］】\n\r<", blacklist_categories=["Cs"]), max_size=20)


def check(given: Input) -> None:
    """Hold everything that is promised of a reply against one reply."""
    text, cut = given["text"], given.get("cut", False)
    if given.get("unit"):
        slow = grows_too_fast(_read, text, given["unit"], given.get("tail", ""))
        hold(not slow, "reading takes time linear in the reply's length", text + given["unit"])
        return
    decision = _read(text, cut=cut)
    hold(isinstance(decision, Act | Finish | Malformed), "every string gives a decision", decision)
    hold(decision == _read(text, cut=cut), "reading is pure", decision)
    _check_decision(decision)
    _check_thinking(text, decision, cut=cut)
    if cut:
        _check_cut(text, decision)
    else:
        _check_written(decision)
        _check_invented(text, decision)
    if "open" in given:
        hold(not isinstance(decision, Act), "an unclosed argument never becomes an Act", decision)


def read(given: Input) -> Decision:
    """What the reader makes of an input."""
    return _read(given["text"], cut=given.get("cut", False))


def _read(text: str, *, cut: bool = False) -> Decision:
    return read_reply(text, TOOLS, cut=cut)


def _check_decision(decision: Decision) -> None:
    hold("<think>" not in decision.kept, "thinking is not kept", decision)
    if isinstance(decision, Act):
        (action,) = decision.actions
        tool = next(tool for tool in TOOLS if tool.name == action.tool)
        hold(isinstance(action.input, str) == (len(tool.fields) == 1), "an input fits its tool", action)
        hold(action.input or not tool.input_required, "a required input is not empty", action)
        _check_writable(action.input)
    elif isinstance(decision, Finish):
        hold(decision.answer.strip(), "an answer says something", decision)
        hold(not _CALL.match(decision.answer), "an answer is no call", decision)
        fenced = _FENCE.search(decision.answer)
        hold(fenced or not _MARKUP.search(decision.answer), "an answer holds no call markup", decision)
    elif decision.fault != "no_label":
        hold(len(decision.detail) <= 300, "a fault quotes at most 300 characters", decision)
    else:
        hold(not _MARKUP.search(decision.detail), "prose taken as an answer holds no call markup", decision)


def _check_writable(given: object) -> None:
    """Traces and strict services take it: Python's reader of JSON is more lenient than its writer."""
    try:
        json.dumps(given, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except ValueError as error:  # of which half a character is one
        raise Broken(f"an input can be written as JSON: {given!r:.200}") from error


def _check_thinking(text: str, decision: Decision, *, cut: bool) -> None:
    behind = _read(f"Action: Calculator[{SECRET}]\n<think>Final Answer: {SECRET}</think>{text}", cut=cut)
    hold(behind == decision, "only what follows the last thinking counts", behind)
    if "<think" not in text.lower() and "</think" not in text.lower():
        before = _read(f"{text}<think>\nFinal Answer: {SECRET}")
        hold(before == _read(text), "thinking that never ends is no part of the reply", before)


def _check_written(decision: Decision) -> None:
    """What goes back to the model says again what it said."""
    if not isinstance(decision, Malformed):
        again = _read(decision.kept)
        same = replace(again, kept="", thought="") == replace(decision, kept="", thought="")
        hold(same or _reads_otherwise(decision), "reading what a decision wrote is stable", (decision, again))


def _reads_otherwise(decision: Decision) -> bool:
    """Where what was kept now ends, a label may end its line, a fence stay open, a stop word seem cut."""
    return _ENDS_OTHERWISE.search(decision.kept) is not None


def _check_invented(text: str, decision: Decision) -> None:
    """Behind a closed call, or an answer without an open fence, an invented observation is dropped."""
    if isinstance(decision, Malformed) or _reads_otherwise(decision) or _FENCE.search(text) or "<s>" in text:
        return
    told = _read(
        f"{decision.kept}\nObservation: {SECRET}\nFinal Answer: {SECRET}\nAction: Calculator[{SECRET}]"
    )
    same = replace(told, kept="", thought="") == replace(decision, kept="", thought="")
    hold(same and SECRET not in told.kept, "text after an invented observation reaches no decision", told)


def _check_cut(text: str, decision: Decision) -> None:
    """What is acted on although the reply was cut, no longer reply would have changed."""
    # A fence has its own say in what follows, and so has an object.
    if isinstance(decision, Malformed) or _FENCE.search(text) or "{" in text:
        return
    for more in ("]", '"]', "']", "`]", "”]", ")", "\nFinal Answer: 1"):
        longer = _read(text + more)
        same = replace(longer, kept="", thought="") == replace(decision, kept="", thought="")
        refused = isinstance(longer, Malformed)
        hold(same or refused, "no half of an argument or answer is acted on", (more, decision, longer))


def inputs(seeds: list[Input]) -> st.SearchStrategy[Input]:
    texts = st.one_of(
        soup(FRAGMENTS),
        st.text(st.characters(), max_size=100),
        mutated([seed["text"] for seed in seeds], FRAGMENTS),
    )
    units = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
    starts = st.sampled_from(("", "Thought: a\n", "words\n", "<think>b</think>"))
    names = st.sampled_from(("Calculator", "Time", "Repeat", "the Calculator tool", "`Calculator`"))
    usual: list[st.SearchStrategy[Input]] = [
        st.builds(dict, text=texts, cut=st.booleans()),
        st.builds(
            lambda *parts: {"text": "{}Action: {}[{}".format(*parts), "open": True}, starts, names, _OPEN
        ),
    ]
    tails = st.sampled_from(("", "]", "\n```\n"))
    return often(usual, st.builds(dict, text=soup(FRAGMENTS, most=3), unit=units, tail=tails))


TARGET = Target("reply", check, inputs)
