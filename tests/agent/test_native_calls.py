"""Reading an assistant message of the tools protocol: what it calls, with what, and what goes back of it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from agent.client import text_of
from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.native_calls import MAX_CALLS, read_message
from agent.results import Action
from tests.well_formed import assert_stored

TOOLS = (
    ToolSpec("Calculator", ("expression",), types={"expression": "string"}),
    ToolSpec("Time", ("zone",), input_required=False, types={"zone": "string"}),
    ToolSpec(
        "Convert",
        ("amount", "unit", "exact"),
        required=("amount",),
        types={"amount": "number", "unit": "string", "exact": "boolean"},
    ),
    ToolSpec("Repeat", ("times",), takes="integer", types={"times": "integer"}),
    ToolSpec("Ping", (), input_required=False),
)
SUM = '{"expression": "2+2"}'
CALL = f'{{"name": "Calculator", "arguments": {SUM}}}'
"""The same call, as a model writes it into its text."""


def raw(arguments: Any = SUM, name: Any = "Calculator", call_id: Any = "a1") -> dict[str, Any]:
    """A call as it is on the wire."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def message(*calls: Any, content: Any = "") -> AIMessage:
    """A message with these calls, as our model class makes one: as they came."""
    bare = AIMessage(content=content)
    return bare.copy(update={"additional_kwargs": {"tool_calls": list(calls)}}) if calls else bare


def read(reply: AIMessage | str, **more: Any) -> Decision:
    reply = AIMessage(content=reply) if isinstance(reply, str) else reply
    return read_message(reply, TOOLS, text=text_of(reply.content), **more)


def act(reply: AIMessage | str, **more: Any) -> Act:
    decision = read(reply, **more)
    assert isinstance(decision, Act), decision
    return decision


def one(reply: AIMessage | str) -> Action:
    (action,) = act(reply).actions
    return action


def malformed(reply: AIMessage | str, **more: Any) -> Malformed:
    decision = read(reply, **more)
    assert isinstance(decision, Malformed), decision
    return decision


@pytest.mark.parametrize(
    ("name", "arguments", "given"),
    [
        ("Calculator", SUM, "2+2"),
        ("Calculator", {"expression": "2+2"}, "2+2"),
        ("Calculator", '{"expression": "a\nb"}', "a\nb"),
        ("calculator", SUM, "2+2"),
        (" Calculator ", SUM, "2+2"),
        ("Calculator", '{"expression": ""}', ""),
        ("Time", "", ""),
        ("Time", " \n", ""),
        ("Time", None, ""),
        ("Time", "null", ""),
        ("Time", "{}", ""),
        ("Time", {}, ""),
        ("Time", '{"zone": null}', ""),
        ("Time", '{"zone": "Asia/Shanghai"}', "Asia/Shanghai"),
        ("Time", '{"zone": "half \\ud83d"}', "half ?"),
        ("Convert", '{"amount": 1}', {"amount": 1}),
        ("Convert", '{"amount": 1.5, "unit": "米"}', {"amount": 1.5, "unit": "米"}),
        ("Convert", '{"amount": 1, "unit": null, "exact": true}', {"amount": 1, "exact": True}),
        ("Repeat", '{"times": 3}', {"times": 3}),
        ("Repeat", '{"times": 3.0}', {"times": 3.0}),
        ("Ping", "{}", {}),
        ("Ping", "", {}),
    ],
)
def test_arguments_that_fit(name: str, arguments: Any, given: object) -> None:
    action = one(message(raw(arguments, name)))

    assert (action.tool.lower(), action.input, action.call_id) == (name.strip().lower(), given, "a1")
    assert action.fault is None


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "told"),
    [
        ("Calculator", '{"expression": "1+', "not_json", "Unterminated"),
        ("Calculator", "2+2", "not_json", "Extra data"),
        ("Calculator", "{'expression': '2+2'}", "not_json", "property name"),
        ("Calculator", SUM + SUM, "not_json", "Extra data"),
        ("Calculator", '{"expression": NaN}', "not_json", "nan"),
        ("Convert", '{"amount": 1e999}', "not_json", "inf"),
        ("Convert", {"amount": float("nan")}, "not_json", "nan"),
        ("Convert", {"amount": {1, 2}}, "not_json", "{1, 2}"),
        ("Calculator", '{"expression": ' + "[" * 5000 + "]" * 5000 + "}", "not_json", ""),
        ("Calculator", '{"expression": ' + "[" * 40 + "]" * 40 + "}", "not_json", "nested"),
        ("Calculator", '{"expression": ' + "[" * 900 + "]" * 900 + "}", "not_json", ""),
        ("Calculator", '["a"]', "not_an_object", '["a"]'),
        ("Calculator", ["a"], "not_an_object", '["a"]'),
        ("Calculator", '"abc"', "not_an_object", "abc"),
        ("Calculator", "7", "not_an_object", "7"),
        ("Calculator", 7, "not_an_object", "7"),
        ("Calculator", True, "not_an_object", "true"),
        ("Calculator", f'"{"x" * 9000}"', "not_an_object", "xxx"),
        ("Calculator", '{"expr": "2+2"}', "unknown_field", "expr"),
        ("Calculator", '{"expression": "2+2", "x": 1}', "unknown_field", "x"),
        ("Calculator", f'{{"{"x" * 9000}": 1}}', "unknown_field", "xxx"),
        ("Calculator", "", "missing_field", "expression"),
        ("Calculator", "null", "missing_field", "expression"),
        ("Calculator", '{"expression": null}', "missing_field", "expression"),
        ("Calculator", '{"expression": 22}', "wrong_type", "expression"),
        ("Calculator", '{"expression": ["2+2"]}', "wrong_type", "expression"),
        ("Convert", '{"unit": "m"}', "missing_field", "amount"),
        ("Convert", '{"amount": "1"}', "wrong_type", "amount"),
        ("Convert", '{"amount": true}', "wrong_type", "amount"),
        ("Convert", '{"amount": 1, "exact": 1}', "wrong_type", "exact"),
        ("Repeat", '{"times": 1.5}', "wrong_type", "times"),
        ("Ping", '{"x": 1}', "unknown_field", "x"),
    ],
)
def test_arguments_that_do_not_fit(name: str, arguments: Any, kind: str, told: str) -> None:
    action = one(message(raw(arguments, name)))

    assert action.fault is not None
    assert (action.tool, action.fault.kind) == (name, kind)
    assert told in action.fault.values["detail"]
    assert len(action.fault.values["detail"]) <= 300


def test_what_cannot_go_back_is_replaced_and_what_can_is_kept() -> None:
    reply = message(raw('{"expression": "1+', call_id="a"), raw('{"expr": 1}', call_id="b"), raw(call_id="c"))
    kept = act(reply).kept

    assert [call["args"] for call in kept.tool_calls] == [{}, {"expr": 1}, {"expression": "2+2"}]
    assert "tool_calls" not in kept.additional_kwargs
    assert_stored(kept)


def test_a_sound_message_goes_back_as_it_came() -> None:
    reply = AIMessage(
        content="Let me see.",
        additional_kwargs={"reasoning": "r"},
        tool_calls=[{"name": "Calculator", "args": {"expression": "2+2"}, "id": "a"}],
    )

    assert act(reply).kept is reply


def test_what_else_a_message_holds_goes_back_with_it() -> None:
    reply = message(raw("[]"))
    reply.additional_kwargs["reasoning"] = "because"

    assert act(reply).kept.additional_kwargs == {"reasoning": "because"}


@pytest.mark.parametrize(
    ("ids", "stored"),
    [
        (["a", "b"], ["a", "b"]),
        (["", "b"], ["call00001", "b"]),
        ([None, None], ["call00001", "call00002"]),
        ([" ", "b"], ["call00001", "b"]),
        (["a", "a", "a"], ["a", "call00001", "call00002"]),
        (["used", "b"], ["call00001", "b"]),
        ([None, "call00001"], ["call00002", "call00001"]),
        (["call00001", "call00001"], ["call00001", "call00002"]),
        ([7, 7], ["7", "call00001"]),
    ],
)
def test_each_call_has_an_id_of_its_own_in_what_goes_back_too(ids: list[Any], stored: list[str]) -> None:
    reply = message(*(raw(f'{{"expression": "{number}"}}', call_id=each) for number, each in enumerate(ids)))
    decision = act(reply, used_ids={"used"})

    assert [action.call_id for action in decision.actions] == stored
    assert [call["id"] for call in decision.kept.tool_calls] == stored


def test_sound_and_unsound_calls_keep_the_order_in_which_they_came() -> None:
    """LangChain keeps them in two lists; the calls as they came are beside them."""
    calls = [raw("oh no", call_id="a"), raw(call_id="b"), raw("[", call_id="c")]
    reply = AIMessage(content="", additional_kwargs={"tool_calls": calls})
    assert [call["id"] for call in reply.invalid_tool_calls] == ["a", "c"]

    assert [action.call_id for action in act(reply).actions] == ["a", "b", "c"]


def test_calls_of_another_service_are_those_that_langchain_read() -> None:
    reply = AIMessage(
        content="",
        additional_kwargs={"tool_calls": [{"toolUseId": "x"}, {"toolUseId": "y"}]},
        tool_calls=[{"name": "Calculator", "args": {"expression": "2+2"}, "id": "a"}],
        invalid_tool_calls=[{"name": "Time", "args": "[", "id": "b", "error": None}],
    )
    sound, unsound = act(reply).actions

    assert (sound.input, sound.call_id, sound.fault) == ("2+2", "a", None)
    assert (unsound.tool, unsound.call_id, unsound.fault and unsound.fault.kind) == ("Time", "b", "not_json")


def test_an_unknown_tool_beside_a_known_one_is_told_and_the_known_one_runs() -> None:
    unknown, known = act(message(raw(name="Search" * 50, call_id="a"), raw(call_id="b"))).actions

    assert unknown.fault is not None
    assert (unknown.fault.kind, known.fault) == ("unknown_tool", None)
    assert len(unknown.tool) <= 60


@pytest.mark.parametrize("name", ["Search", "", None, 5, "搜索", "a b!", "x" * 100_000])
def test_nothing_but_unknown_tools_is_a_bad_reply(name: Any) -> None:
    decision = malformed(message(raw(name=name), raw(name=name)))

    assert decision.fault == "unknown_tool"
    assert len(decision.detail) <= 60
    assert_stored(decision.kept)


@pytest.mark.parametrize("call", [None, 5, "call", [], {}, {"function": None}, {"function": "Time"}])
def test_a_call_of_no_shape_at_all_is_answered_too(call: Any) -> None:
    broken, sound = act(message(call, raw(call_id="b"))).actions

    assert broken.fault is not None
    assert (broken.fault.kind, sound.input) == ("unknown_tool", "2+2")


def test_calls_past_the_most_of_one_reply_are_refused() -> None:
    calls = [raw(f'{{"expression": "{number}"}}', call_id=str(number)) for number in range(MAX_CALLS + 3)]
    actions = act(message(*calls)).actions

    refused = [action for action in actions if action.fault]
    assert len(actions) == len(calls)
    assert refused == list(actions[MAX_CALLS:])
    assert {action.fault.kind for action in refused if action.fault} == {"one_too_many"}


def test_a_reply_cut_at_the_limit_of_tokens_runs_nothing() -> None:
    for reply in (message(raw()), CALL, f"<tool_call>{CALL[:-9]}", '{"name": "Calculator", "arg', "The sum"):
        assert malformed(reply, cut=True).fault == "cut"


@pytest.mark.parametrize("content", ["", "\n\n", None, [], "<think>Calculator?</think>", "<think>cut off"])
def test_neither_text_nor_call_is_an_empty_reply(content: Any) -> None:
    reply = AIMessage(content="").copy(update={"content": content})
    assert malformed(reply).fault == "empty"


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("It is 4.", "It is 4."),
        ("<think>2+2</think>\n\nIt is 4.", "It is 4."),
        ([{"type": "text", "text": "It "}, {"type": "text", "text": "is 4."}], "It is 4."),
        ("It is 4.<|im_end|>", "It is 4."),
        ("It is 4.</s>\n<|endoftext|>", "It is 4."),
        ('{"city": "Lima", "degrees": 19}', '{"city": "Lima", "degrees": 19}'),
        ('{"name": "Lima"}', '{"name": "Lima"}'),
        ('{"name": "Lima", "country": "Peru"}', '{"name": "Lima", "country": "Peru"}'),
        ('{"name": "Alice", "input": "sugar"}', '{"name": "Alice", "input": "sugar"}'),
        ('[{"name": "Lima"}, {"name": "Cusco"}]', '[{"name": "Lima"}, {"name": "Cusco"}]'),
        ("```json\n[1, 2]\n```", "```json\n[1, 2]\n```"),
        ("[1, 2] is a list.", "[1, 2] is a list."),
        ("[Lima](https://lima.test)", "[Lima](https://lima.test)"),
        ('{"name": "Lima", "arg', '{"name": "Lima", "arg'),
        ("a < b > c <b>bold</b>", "a < b > c <b>bold</b>"),
    ],
)
def test_words_are_the_answer(content: Any, answer: str) -> None:
    decision = read(AIMessage(content=content))

    assert isinstance(decision, Finish)
    assert decision.answer == answer


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
