"""A reply of the text protocol, and the whole decision that is read out of it."""

from __future__ import annotations

import pytest

from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.reply import read_reply
from agent.results import Action

TOOLS = (
    ToolSpec("Calculator", ("expression",)),
    ToolSpec("Weather", ("city",)),
    ToolSpec("Time", ("zone",), input_required=False),
    ToolSpec("Echo", ("text",)),
    ToolSpec("查天气", ("城市",)),
    ToolSpec("Convert", ("amount", "unit"), required=("amount",)),
    ToolSpec("Route", ("start", "goal"), required=("start", "goal")),
    ToolSpec("Filter", ("size", "colour"), input_required=False),
    ToolSpec("Ping", (), input_required=False),
)


def calc(argument: str) -> tuple[str, object]:
    return ("Calculator", argument)


MIXED = {"amount": None, "unit": ["True", True]}
LABELS = [
    ("Action: Calculator[6*7]", calc("6*7")),
    ("Thought: easy\nAction: Calculator[6*7]", calc("6*7")),
    ("I need a product.\nAction: Calculator[6*7]", calc("6*7")),
    ("ACTION: Calculator[6*7]", calc("6*7")),
    ("   action :Calculator[6*7]", calc("6*7")),
    ("**Thought:** hm\n**Action:** Calculator[6*7]", calc("6*7")),
    ("**Action**: Calculator[6*7]", calc("6*7")),
    ("**Action: Calculator[6*7]**", calc("6*7")),
    ("*Action:* Calculator[6*7]", calc("6*7")),
    ("__Action:__ Calculator[6*7]", calc("6*7")),
    ("### Action: Calculator[6*7]", calc("6*7")),
    ("### Action\nCalculator[6*7]", calc("6*7")),
    ("## **Action:** `Calculator[6*7]`", calc("6*7")),
    ("`Action: Calculator[6*7]`", calc("6*7")),
    ("```\nAction: Calculator[6*7]\n```", calc("6*7")),
    ("```text\nThought: hm\nAction: Calculator[6*7]\n```\n", calc("6*7")),
    ("~~~\nAction: Calculator[6*7]\n~~~", calc("6*7")),
    ("Action 1: Calculator[6*7]", calc("6*7")),
    ("Action:\nCalculator[6*7]", calc("6*7")),
    ("Action:\n```\nCalculator[6*7]\n```", calc("6*7")),
    ("Action: ```Calculator[6*7]```", calc("6*7")),
    ("Action：Calculator［６*７］", calc("６*７")),
    ("行动：Calculator【6*7】", calc("6*7")),
    ("思考：先算\n行动：Calculator（6*7）", calc("6*7")),
    ("【思考】先算\n【行动】Calculator[6*7]", calc("6*7")),
    ("动作: 查天气[深圳]", ("查天气", "深圳")),
    ("\ufeffAction: Calculator[6*7]", calc("6*7")),
    ("Action: Calculator[6*7]\r\nObservation: 41\r\n", calc("6*7")),
    ("Question: what?\nThought: hm\nAction: Calculator[6*7]", calc("6*7")),
    ("Action: Calculator[6*7]\nFinal Answer: 41", calc("6*7")),
    ("Action: Calculator[6*7]\nAction: Weather[Lima]", calc("6*7")),
    ("Calculator[6*7]", calc("6*7")),
    ("Thought: a product\n`Calculator[6*7]`", calc("6*7")),
    ('{"action": "Calculator", "action_input": "6*7"}', calc("6*7")),
    ('Thought: go\n{"name": "calculator", "arguments": {"expression": "6*7"}}', calc("6*7")),
    ('```json\n{"tool": "Calculator", "input": "6*7"}\n```', calc("6*7")),
    ('Action:\n```json\n{"action": "Calculator", "action_input": "6*7"}\n```', calc("6*7")),
    ('<tool_call>\n{"name": "Calculator", "arguments": {"a": "6*7"}}\n</tool_call>', calc("6*7")),
    ('Sure.\n<tool_call>{"name": "Time", "arguments": {}}</tool_call> then', ("Time", "")),
    ("<think>Action: Time[]</think>Action: Calculator[6*7]", calc("6*7")),
    ("<THINK>a</THINK> b </think>\nAction: Calculator[6*7]", calc("6*7")),
    ("Action: Calculator[6*7]\n<think>Final Answer: 2", calc("6*7")),
    ("> Action: Calculator[6*7]", calc("6*7")),
    (">Thought: hm\n>Action: Calculator[6*7]\n>Observation: 41", calc("6*7")),
    ("- Action: Calculator[6*7]", calc("6*7")),
    ("* Action: Calculator[6*7]", calc("6*7")),
    ("* **Action:** Calculator[6*7]", calc("6*7")),
    ("• 行动：Calculator[6*7]", calc("6*7")),
    ("1. Action: Calculator[6*7]", calc("6*7")),
    ("1. Thought: hm\n2) Action: Calculator[6*7]\n3. Final Answer: 41", calc("6*7")),
    ("1、行动：Calculator[6*7]", calc("6*7")),
    ("> - ### Action: Calculator[6*7]", calc("6*7")),
    ("- Action: Calculator\n- Action Input: 6*7", calc("6*7")),
    ("Action: Calculator[6*7]<|im_end|>", calc("6*7")),
    ("Action: `Calculator[6*7]`\n<|eot_id|>", calc("6*7")),
    ("Action: Calculator[6*7]</s>\nObservation: 41", calc("6*7")),
    ("Action: Calculator\nAction Input: 6*7<|endoftext|>\nObservation: 41", calc("6*7")),
    ("Action: Time<|im_end|>\nObservation: noon", ("Time", "")),
    ("Calculator[6*7]<|im_end|>", calc("6*7")),
    ('{"action": "Calculator", "action_input": "6*7"}<|im_end|>', calc("6*7")),
]

NAMES = [
    ("Action: calculator[1]", calc("1")),
    ("Action: Use Calculator[1]", calc("1")),
    ("Action: use the calculator tool[1]", calc("1")),
    ("Action: The Calculator[1]", calc("1")),
    ("Action: 使用Calculator工具[1]", calc("1")),
    ("Action: **Calculator**[1]", calc("1")),
    ("Action: `Calculator`[1]", calc("1")),
    ('Action: "Calculator"[1]', calc("1")),
    ("Action: Calculator  [1]", calc("1")),
    ("Action: Time", ("Time", "")),
    ("Action: Time.", ("Time", "")),
    ("Action: the time tool", ("Time", "")),
    ("Action: Time\nI will wait.", ("Time", "")),
]

ARGUMENTS = [
    ("Action: Calculator[max([1, [2]])]", calc("max([1, [2]])")),
    ("Action: Calculator(max((1), 2))", calc("max((1), 2)")),
    ("Action: Calculator[(1+2)*3] and then Time[]", calc("(1+2)*3")),
    ("Action: Calculator[1+2].", calc("1+2")),
    ("Action: Calculator[1+2], please", calc("1+2")),
    ("Action: `Calculator[1+2]` gives the sum", calc("1+2")),
    ("Action: Calculator[\n1 +\n2\n]", calc("1 + 2")),
    ("Action: Echo[a\nb\nc\nd]", ("Echo", "a\nb\nc\nd")),
    ("Action: Echo[```py\nx = 1\ny = 2\n```]", ("Echo", "x = 1\ny = 2")),
    ("Action: Weather['Lima']", ("Weather", "Lima")),
    ('Action: Weather["Lima"]', ("Weather", "Lima")),
    ("Action: Weather[`Lima`]", ("Weather", "Lima")),
    ("Action: Weather[“利马”]", ("Weather", "利马")),
    ("Action: Weather[「利马」]", ("Weather", "利马")),
    ("Action: Weather[St John's]", ("Weather", "St John's")),
    ("Action: Weather['s-Hertogenbosch]", ("Weather", "'s-Hertogenbosch")),
    ("Action: Echo['it's']", ("Echo", "'it's'")),
    ('Action: Echo["a" or "b"]', ("Echo", '"a" or "b"')),
    ('Action: Echo[name = "x"]', ("Echo", 'name = "x"')),
    ('Action: Echo[say "]" twice]', ("Echo", 'say "]" twice')),
    ('Action: Echo["a \\" ] b"]', ("Echo", '"a \\" ] b"')),
    ('Action: Echo[5" of [rain]]', ("Echo", '5" of [rain]')),
    ('Action: Echo[an open " quote]', ("Echo", 'an open " quote')),
    ("Action: Echo[<b>x</b>]", ("Echo", "<b>x</b>")),
    ('Action: Calculator ({"input": "1+2"})', calc("1+2")),
    ('Action: Calculator{"expression": "1+2"}', calc("1+2")),
    ('Action: Calculator[{"anything": 12.5}]', calc("12.5")),
    ("Action: Calculator[{'expression': '1+2'}]", calc("1+2")),
    (r"Action: Echo[{'text': 'O\'Brien'}]", ("Echo", "O'Brien")),
    (r"Action: Echo[{'text': 'say \"hi\" or \\ '}]", ("Echo", 'say "hi" or \\ ')),
    ("""Action: Echo[{'text': "it's"}]""", ("Echo", "it's")),
    ("""Action: Echo[{'text': 'a "b" c'}]""", ("Echo", 'a "b" c')),
    ("Action: Convert[{'amount': None, 'unit': ['True', True]}]", ("Convert", MIXED)),
    ("Action: Echo[{'text': 'O'Brien'}]", ("Echo", "{'text': 'O'Brien'}")),
    ("Action: Calculator\nAction Input: 1+2", calc("1+2")),
    ('Action: Calculator\nAction Input: "1+2"\nObservation: 3', calc("1+2")),
    ("**Action:** Calculator\n**Action Input:** 1+2", calc("1+2")),
    ("行动：Calculator\n行动输入：1+2", calc("1+2")),
    ('Action: Calculator\nAction Input:\n```json\n{"expression": "1+2"}\n```', calc("1+2")),
    ("```\nAction: Calculator\nAction Input: 1+2\n```\nDone.", calc("1+2")),
    ("Action: Time[]", ("Time", "")),
    ("Action: Time()", ("Time", "")),
    ("Action: Time[{}]", ("Time", "")),
    ("Action: Time[None]", ("Time", "")),
    ("Action: Time[null]", ("Time", "")),
    ('Action: Time[""]', ("Time", "")),
    ('Action: Time[{"zone": null}]', ("Time", "")),
    ("Action: Time[UTC+8]", ("Time", "UTC+8")),
    ('Action: Convert[{"amount": 3, "unit": "m"}]', ("Convert", {"amount": 3, "unit": "m"})),
    ('Action: Convert({"amount": [1, {"b": 2}]})', ("Convert", {"amount": [1, {"b": 2}]})),
    ("Action: Convert[3 m]", ("Convert", {"amount": "3 m"})),
    ("Action: Filter[]", ("Filter", {})),
    ('Action: Filter[{"size": "]"}]', ("Filter", {"size": "]"})),
    ("Action: Ping[]", ("Ping", {})),
    ("Action: Ping", ("Ping", {})),
]

ANSWERS = [
    ("Final Answer: 42", "42"),
    ("Thought: done\nFinal Answer: 42", "42"),
    ("final answer : 42", "42"),
    ("FinalAnswer: 42", "42"),
    ("### Final Answer:\n**42**", "**42**"),
    ("**Final Answer:** 42", "42"),
    ("**Final Answer: 42**", "42"),
    ("**Final Answer**: **42**", "**42**"),
    ("**Final Answer**\n42", "42"),
    ("## Final Answer\n\n42", "42"),
    ("`Final Answer: 42`", "42"),
    ("```\nFinal Answer: 42\n```", "42"),
    ("最终答案：４２ 度", "４２ 度"),
    ("思考：好\n最终回答: 42", "42"),
    ("【最终答案】42", "42"),
    ("Final Answer: one\n\n- two\n- three", "one\n\n- two\n- three"),
    ("Final Answer: 42\nObservation: no", "42"),
    ("Final Answer: 42\n\nQuestion: next?", "42"),
    ("最终答案：42\n问题：还有吗", "42"),
    ("最终答案：42\n工具结果：还有吗", "42"),
    ("Final Answer: 42\nFinal Answer: 43", "42"),
    ("Final Answer: 42\nAction: Time[]", "42"),
    ("Final Answer: use\n```\nAction: x\n```\nso.", "use\n```\nAction: x\n```\nso."),
    ("Final Answer: open\n```\ncode\nObservation: x", "open\n```\ncode"),
    ("Final Answer: 42\nObse", "42"),
    ("Final Answer: 42\nObservation", "42"),
    ("Final Answer: 42\nObs", "42\nObs"),
    ("Final Answer: take the Action: now", "take the Action: now"),
    ("Final Answer: Calculator[2+2]", "Calculator[2+2]"),
    ("Finish[42]", "42"),
    ("Final Answer[42]", "42"),
    ("最终答案［42］", "42"),
    ("Action: Finish[forty\ntwo]", "forty\ntwo"),
    ('Action: Final Answer["42"]', "42"),
    ('{"action": "Final Answer", "action_input": "42"}', "42"),
    ("Action: None\nFinal Answer: 42", "42"),
    ("Action: N/A\nFinal Answer: 42", "42"),
    ("行动：无\n最终答案：42", "42"),
    ("Action: none needed.\nFinal Answer: 42", "42"),
    ("Action: None[]\nFinal Answer: 42", "42"),
    ("Action:\nFinal Answer: 42", "42"),
    ("Final Answer:\nFinal Answer: 42", "42"),
    ("so 6*7…</think>Final Answer: 42", "42"),
    ("> Final Answer: 42", "42"),
    ("> Thought: so\n> Final Answer: one\n> two\n>\n> three", "one\ntwo\n\nthree"),
    ("- Final Answer: 42\n- Observation: no", "42"),
    ("- Final Answer: 42", "42"),
    ("3. **Final Answer: 42**", "42"),
    ("Final Answer: it has\n- Thought: a\n- Action: b", "it has\n- Thought: a\n- Action: b"),
    ("Final Answer: it says\n> Observation: 42", "it says\n> Observation: 42"),
    ("Action: Final Answer: 42", "42"),
    ("**Action:** Final Answer: 42", "42"),
    ("**Action: Final Answer: 42**", "42"),
    ("Action: **Final Answer:** 42", "42"),
    ("行动：最终答案：42", "42"),
    ("Action: Final Answer: use\n```\nAction: x\n```\nso.", "use\n```\nAction: x\n```\nso."),
    ("Action: Final Answer\nAction Input: 42", "42"),
    ("Final Answer: 42<|im_end|>", "42"),
    ("Final Answer: 42 <|eot_id|>\n</s>\n", "42"),
    ("**Final Answer: 42**<|endoftext|>", "42"),
    ("Final Answer: 42<｜end▁of▁sentence｜>", "42"),
    ("Final Answer: 42<|im_end|>\nQuestion: next?", "42"),
    ("Final Answer: `<|im_end|>` ends a turn", "`<|im_end|>` ends a turn"),
    ("Final Answer: <s>41</s>", "<s>41</s>"),
]

FAULTS = [
    ("", "empty", ""),
    (" \n\t ", "empty", ""),
    ("<think>only thoughts", "empty", ""),
    ("<|im_end|>", "empty", ""),
    ("42<|im_end|>", "no_label", "42"),
    ("- Calculator[1+2]\n- Time[]", "bad_call", "- Calculator[1+2]\n- Time[]"),
    ("-Action: Time[]", "bad_call", "-Action: Time[]"),
    ("<think>Final Answer: 42</think>\n", "empty", ""),
    ("The answer is 42.", "no_label", "The answer is 42."),
    ("Which Springfield do you mean?", "no_label", "Which Springfield do you mean?"),
    ("Weather: sunny", "no_label", "Weather: sunny"),
    ("In action: a hero", "no_label", "In action: a hero"),
    ("Search[x]", "no_label", "Search[x]"),
    ('{"answer": 42}', "no_label", '{"answer": 42}'),
    ("Thought: I should look\nCalculator: 1+2", "bad_call", "Thought: I should look\nCalculator: 1+2"),
    ("Thought: Action: Time[]", "bad_call", "Thought: Action: Time[]"),
    ("So the Final Answer: 42", "bad_call", "So the Final Answer: 42"),
    ("I will run Calculator[1+2] now", "bad_call", "I will run Calculator[1+2] now"),
    ("Calculator[1+2", "bad_call", "Calculator[1+2"),
    ("calculator[1+2", "bad_call", "calculator[1+2"),
    ("Calculator(1+2)", "bad_call", "Calculator(1+2)"),
    ("The local Time (UTC) is 12:00.", "no_label", "The local Time (UTC) is 12:00."),
    (
        '{"thought": "x", "action": "Time", "tool_input": ""}',
        "bad_call",
        '{"thought": "x", "action": "Time", "tool_input": ""}',
    ),
    ('{"function": {"name": "Time"}}', "bad_call", '{"function": {"name": "Time"}}'),
    ('Its "action": none.', "no_label", 'Its "action": none.'),
    ("<tool_call>{nonsense}</tool_call>", "bad_call", "<tool_call>{nonsense}</tool_call>"),
    ("Observation: 42", "bad_call", "Observation: 42"),
    ("Final Answer:", "bad_call", "Final Answer:"),
    ("Action:", "bad_call", "Action:"),
    ("Action: None", "bad_call", "Action: None"),
    ("Action: 无", "bad_call", "Action: 无"),
    ("Action: [1+2]", "bad_call", "Action: [1+2]"),
    ("Action Input: 1+2", "bad_call", "Action Input: 1+2"),
    ("Action: Calculator", "misfit", "Calculator[expression]"),
    ("Action: Calculator[]", "misfit", "Calculator[expression]"),
    ("Action: Calculator[ {} ]", "misfit", "Calculator[expression]"),
    ("Action: Calculator 1+2", "misfit", "Calculator[expression]"),
    ("Action: Calculator: 1+2", "misfit", "Calculator[expression]"),
    ('Action: Time[{"a": 1, "b": 2}]', "misfit", "Time[zone]"),
    ('Action: Echo[{"text": ["a"]}]', "misfit", "Echo[text]"),
    ("Action: Route[home]", "misfit", 'Route[{"start": ..., "goal": ...}]'),
    ('Action: Route[{"start": "a"}]', "misfit", 'Route[{"start": ..., "goal": ...}]'),
    ('Action: Convert[{"amount": 1, "to": "m"}]', "misfit", 'Convert[{"amount": ..., "unit": ...}]'),
    ("Action: Convert[]", "misfit", 'Convert[{"amount": ..., "unit": ...}]'),
    ("Action: Ping[now]", "misfit", "Ping[]"),
    ("Action: Finish[]", "bad_call", "Finish"),
    ("Action: Search[x]", "unknown_tool", "Search"),
    ("Action: ponder it[x]", "unknown_tool", "ponder it"),
    ("Action: Calculators[1]", "unknown_tool", "Calculators"),
    ("Action: Calc[1]", "unknown_tool", "Calc"),
    ("Action: " + "x" * 500 + "[1]", "unknown_tool", "x" * 60),
    ('{"name": "Search", "arguments": {}}', "unknown_tool", "Search"),
    ("Action: Calculator[1000*12", "unclosed", "[1000*12"),
    ("Action: Calculator(max(1, 2)", "unclosed", "(max(1, 2)"),
    ("Action: Calculator[1+\nObservation: 2]", "unclosed", "[1+\n"),
    ("Finish[42", "unclosed", "[42"),
    ("Action: Calculator(1+2)*3", "trailing", "*3"),
    ("Action: Calculator[1+2] / 4", "trailing", "/ 4"),
    ("Action: Calculator(1)(2)", "trailing", "(2)"),
    ("Action: Calculator[1] 2", "trailing", "2"),
    ("Action: Calculator(1)²", "trailing", "²"),
    ("Action: Calculator(1)<|im_end|>*3", "trailing", "<|im_end|>*3"),
    ("- Action: Calculator(1+2)*3", "trailing", "*3"),
    ("Action: Calculator(2)x3", "trailing", "x3"),
    ("Action: Calculator(2).5", "trailing", ".5"),
    ("Action: Calculator(2)**3", "trailing", "**3"),
    ('Action: Weather["Lima]"', "trailing", '"'),
    ("Action: Echo[a ] b]", "trailing", "b]"),
    ('{"action": "Time", "action_input": ""}\nand so on', "trailing", "and so on"),
]


def decided(decision: Decision) -> object:
    """What a decision says, without the reply that it came from."""
    if isinstance(decision, Act):
        return [(action.tool, action.input) for action in decision.actions]
    return decision.answer if isinstance(decision, Finish) else (decision.fault, decision.detail)


@pytest.mark.parametrize(("reply", "action"), LABELS + NAMES + ARGUMENTS)
def test_a_call_in_any_dress_is_run_as_it_was_meant(reply: str, action: tuple[str, object]) -> None:
    assert decided(read_reply(reply, TOOLS)) == [action]


@pytest.mark.parametrize(("reply", "answer"), ANSWERS)
def test_an_answer_is_kept_whole_and_ends_where_the_next_label_starts(reply: str, answer: str) -> None:
    decision = read_reply(reply, TOOLS)
    assert isinstance(decision, Finish)
    assert decision.answer == answer
    assert not decision.unformatted


@pytest.mark.parametrize(("reply", "fault", "detail"), FAULTS)
def test_what_cannot_be_read_is_a_typed_fault(reply: str, fault: str, detail: str) -> None:
    assert decided(read_reply(reply, TOOLS)) == (fault, detail)


@pytest.mark.parametrize(
    ("reply", "thought", "kept"),
    [
        (
            "Thought: multiply\nAction: Calculator[6*7]\nObservation: 41\nFinal Answer: 41",
            "multiply",
            "Thought: multiply\nAction: Calculator[6*7]",
        ),
        ("Action: Calculator[6*7] and then Time[]", "", "Action: Calculator[6*7]"),
        ("<think>hm</think>Thought: a\nFinal Answer: b\nThought: c", "a", "Thought: a\nFinal Answer: b"),
        ("Thought: a\nObservation: 3\nFinal Answer: 3", "a", "Thought: a\nFinal Answer: 3"),
        ("Question: q\nLet me see.\nFinal Answer: 3", "", "Final Answer: 3"),
        ("Let me see.\nFinal Answer: 3", "Let me see.", "Let me see.\nFinal Answer: 3"),
        ("```\nThought: x\nAction: Time[]\n```", "x", "Thought: x\nAction: Time[]"),
        ("**Thought: x**\n**Action:** `Time[]`", "x", "**Thought: x**\n**Action:** `Time[]`"),
        ("Thought: x\nTime[]\nmore", "x", "Thought: x\nTime[]"),
        ("Thought: x\nAction: Calculator[1", "x", "Thought: x\nAction: Calculator[1"),
        ("Plain prose.", "", "Plain prose."),
        ("- Thought: x\n- Observation: 3\n- Action: Time[]", "x", "- Thought: x\n- Action: Time[]"),
        ("Thought: x\nFinal Answer: 3<|im_end|>\nQuestion: y", "x", "Thought: x\nFinal Answer: 3"),
    ],
)
def test_only_what_led_to_the_decision_is_kept(reply: str, thought: str, kept: str) -> None:
    decision = read_reply(reply, TOOLS)
    assert (decision.thought, decision.kept) == (thought, kept)


def test_a_tool_named_like_an_answer_is_a_tool() -> None:
    tools = (ToolSpec("Finish", ("what",)), ToolSpec("Final Answer", ("text",)))
    for reply, name in [("Finish[x]", "Finish"), ("Action: Finish[x]", "Finish")]:
        assert decided(read_reply(reply, tools)) == [(name, "x")]
    assert decided(read_reply("Action: Final Answer[x]", tools)) == [("Final Answer", "x")]
    assert decided(read_reply("Final Answer: x", tools)) == "x"


def test_names_that_differ_in_case_only_are_told_apart_by_exact_spelling() -> None:
    tools = (ToolSpec("find"), ToolSpec("Find"))
    assert decided(read_reply("Action: Find[x]", tools)) == [("Find", "x")]
    assert isinstance(read_reply("Action: FIND[x]", tools), Malformed)


def test_without_tools_an_answer_is_read_and_every_call_is_unknown() -> None:
    assert decided(read_reply("Final Answer: 42", ())) == "42"
    assert decided(read_reply("Action: Time[]", ())) == ("unknown_tool", "Time")


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        ("Thought: I will call the calculator with 1000*12", ("cut", "")),
        ("Action: Calculator[1000*12", ("cut", "")),
        ("Action: Calculator\nAction Input: 1000*12", ("cut", "")),
        ("Action: Tim", ("cut", "")),
        ("Action: Time", ("cut", "")),
        ("Final Answer: it is 4", ("cut", "")),
        ("The answer is", ("cut", "")),
        ("<think>so long", ("cut", "")),
        ("", ("cut", "")),
        ("Action: Calculator[1000*12]", [calc("1000*12")]),
        ("Action: Calculator\nAction Input: 1+2\nObservation: 3 and", [calc("1+2")]),
        ("Action: Time\nObservation: it is", [("Time", "")]),
        ("Final Answer: 4\nQuestion: And wh", "4"),
        ("Action: Search[x]\nObservation: foun", ("unknown_tool", "Search")),
    ],
)
def test_of_a_cut_reply_only_what_was_complete_counts(reply: str, decision: object) -> None:
    assert decided(read_reply(reply, TOOLS, cut=True)) == decision


def test_an_action_carries_the_registered_name() -> None:
    decision = read_reply("Thought: t\nAction: weather[Lima]", TOOLS)
    assert decision == Act((Action("Weather", "Lima"),), "t", "Thought: t\nAction: weather[Lima]")
    assert isinstance(read_reply("Action: weathers[Lima]", TOOLS), Malformed)
