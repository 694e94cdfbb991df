"""Reading an assistant message of the tools protocol: what it calls, with what, and what goes back of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agent.protocols.decisions import Finish
from agent.protocols.native_calls import MAX_CALLS
from tests.messages import CALL, SUM, act, malformed, message, one, raw, read
from tests.well_formed import assert_stored


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
        ("Repeat", '{"times": %s}' % ("9" * 400), {"times": int("9" * 400)}),  # no float is that long
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
