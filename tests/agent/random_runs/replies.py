"""What a random model says. The first of each list is the simplest: failures shrink towards it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage

from tests.agent.random_runs.faults import INTERRUPT, OF_A_MODEL, Fault
from tests.messages import raw

Reply = BaseMessage | Fault

NAMES = ["Alpha", "Alpha", "Beta", "Again", "Slow", "alpha", "Search"]
INPUTS = ["x", "x", "x ", "y", "2+2", "", '"x"', "[a](b)", "长", "Final Answer: 1", "z" * 400]
ARGUMENTS: list[Any] = [
    *(
        {"tool_input": "x"},
        {"tool_input": "x"},
        {"tool_input": "y"},
        {"first": "x", "second": 1},
        {"first": "x"},
        {},
        {"tool_input": None},
    ),
    *(
        {"tool_input": 5},
        {"tool_input": ["x"]},
        {"tool_input": "half \ud83d"},
        {"tool_input": "Action: Alpha[x]"},
        {"p": "x", "tool_input": "x"},
    ),
]
ODD_ARGUMENTS: list[Any] = [
    *(
        '{"tool_input": "x"}',
        "{",
        "",
        "null",
        "[]",
        "5",
        '"x"',
        '{"tool_input": NaN}',
        '{"tool_input": 1e999}',
        None,
        5,
        ["x"],
    ),
    *(
        {"tool_input": "x"},
        "[" * 2000,
        '{"tool_input": "' + "x" * 3000 + '"}',
        {"tool_input": {"tool_input": [float("nan")]}},
    ),
]
IDS = ["a", "b", "", "a" * 100, " ", "call00001"]
TEXTS = [
    *("", "   \n", "It is 4.", "It is 4.", "no idea", "<think>hm", "<think>hm</think>It is 4."),
    *("Final Answer: 4", "Final Answer: 4", "**Final Answer:** 4", "思考：简单\n最终答案：四", "Finish[4]"),
    *("Final Answer:", "Final Answer: \n\n", "So the Final Answer: 4", "Action: Final Answer: 4"),
    *("Thought: on", "Action: None", "Action:", "Action: Alpha", "Alpha[x]", "Action: Alpha[x", "Action: ["),
    *("Action: Alpha(x)", "Action: Alpha[2]*3", "Action: Alpha[x] then Beta[y]", "行动：Alpha[长]"),
    *("Action: Alpha\nAction Input: x", "Action: Beta[x]", 'Action: Beta[{"first": "x", "second": 1}]'),
    *('Action: Beta[{"first": NaN}]', 'Action: Beta[{"first": "\\ud83d"}]', "Action: Alpha[\ud83d]"),
    *("Action: Alpha[x]\nObservation: made up\nFinal Answer: no", "Observation: 5\nFinal Answer: 5"),
    *('{"action": "Alpha", "action_input": "x"}', '```json\n{"action": "Alpha", "action_input": "y"}\n```'),
    *(
        '{"name": "Alpha", "arguments": {"tool_input": "x"}}',
        '{"name": "Search", "arguments": {}}',
        '{"name": "Al',
    ),
    *(
        '<tool_call>{"name": "Alpha", "arguments": {"tool_input": "x"}}</tool_call>',
        "<tool_call>",
        "<tool_call>{}",
    ),
    *("[TOOL_CALLS]", "<function=Alpha>{}</function>", "<|python_tag|>", "a <tool_call> is markup"),
    *("4<|im_end|>", "Final Answer: 4\nObserva", "\x00", "half \ud83d", "```\nFinal Answer: 4\n```", "{}"),
    *("| Final Answer: 4", "> Action: Alpha[x]", "Question: q99\nFinal Answer: 4", "It is 4.\nAction: Alpha"),
]
FRAGMENTS = [
    *(
        "Thought:",
        "Action:",
        "Action Input:",
        "Final Answer:",
        "Observation:",
        "Question:",
        "行动：",
        "最终答案：",
    ),
    *("Alpha", "Beta", "Search", "[", "]", "(", ")", "{", "}", '"', "x", "4", " ", "\n", "\n", "```", "**"),
    *(
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "<|im_end|>",
        '{"name": "Alpha", "arguments": {}}',
    ),
]
CONTENTS: list[Any] = [
    None,
    [],
    ["It is ", "4."],
    [{"type": "text", "text": "Final Answer: 4"}],
    [{"type": "x"}],
]
METADATA: list[dict[str, Any]] = [
    *([{"token_usage": {"prompt_tokens": 20, "completion_tokens": 5}, "finish_reason": "stop"}] * 6),
    *([{"token_usage": {"prompt_tokens": 20, "completion_tokens": 5}, "finish_reason": "length"}] * 2),
    {"token_usage": {"prompt_tokens": 1000, "completion_tokens": 0}},
    {},
    {"token_usage": None, "finish_reason": None},
    {"token_usage": "many", "finish_reason": ["stop"]},
    {"token_usage": {"prompt_tokens": "20", "completion_tokens": -5}, "finish_reason": 5},
    {"token_usage": {"prompt_tokens": 10**400, "completion_tokens": 5}},
]


def _message(content: Any, metadata: dict[str, Any]) -> AIMessage:
    return AIMessage(content="").copy(update={"content": content, "response_metadata": metadata})


def _native(
    calls: list[tuple[str, dict[str, Any], str]], content: str, metadata: dict[str, Any]
) -> AIMessage:
    found = [{"name": name, "args": args, "id": call_id or None} for name, args, call_id in calls]
    return AIMessage(content=content, tool_calls=found, response_metadata=metadata)


def _unread(calls: list[tuple[str, Any, str]], content: str, metadata: dict[str, Any]) -> AIMessage:
    """As ``load_model``'s class hands it on when LangChain cannot read a call."""
    listed = [raw(arguments, name, call_id) for name, arguments, call_id in calls]
    kwargs = {"tool_calls": listed, "function_call": {"name": "Alpha", "arguments": "{}"}}
    return AIMessage(content=content, additional_kwargs=kwargs, response_metadata=metadata)


def _action(name: str, given: str, metadata: dict[str, Any]) -> AIMessage:
    return _message(f"Thought: on\nAction: {name}[{given}]", metadata)


def _line(name: str, arguments: dict[str, Any], metadata: dict[str, Any]) -> AIMessage:
    return _message(json.dumps({"name": name, "arguments": arguments}), metadata)


_metadata = st.sampled_from(METADATA)
_name = st.sampled_from(NAMES)
_call = st.tuples(_name, st.sampled_from(ARGUMENTS), st.sampled_from(IDS))
_odd_call = st.tuples(_name, st.sampled_from(ODD_ARGUMENTS), st.sampled_from(IDS))
_text = st.builds(_message, st.sampled_from(TEXTS), _metadata)
_soup = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map(lambda parts: _message("".join(parts), {}))
_odd = st.sampled_from(
    [
        *(_message(content, METADATA[0]) for content in CONTENTS),
        _native([("Alpha", {"tool_input": str(number)}, "a") for number in range(40)], "", {}),
        _native([("Search", {}, ""), ("Alpha", {"tool_input": "x"}, "")], "", {}),
        _unread([("", "{}", "a"), ("Alpha", "{}", "a")], "words", {}),
        ChatMessage(content="Final Answer: 4", role="assistant"),
    ]
)
_words = st.sampled_from(["", "", "on", "Final Answer: 4"])
_fault = st.sampled_from(OF_A_MODEL)
_passing = st.sampled_from([Fault("429"), Fault("429, at once"), Fault("no stop"), Fault("too long")])
_ctrl_c = st.just(INTERRUPT)
_acting: dict[str, st.SearchStrategy[Reply]] = {
    "text": st.builds(_action, _name, st.sampled_from(INPUTS), _metadata),
    "tools": st.builds(_native, st.lists(_call, min_size=1, max_size=3), _words, _metadata),
    "words": st.builds(_line, _name, st.sampled_from(ARGUMENTS), _metadata),
}
_unreadable = st.builds(_unread, st.lists(_odd_call, min_size=1, max_size=2), _words, _metadata)


def replies(way: str) -> st.SearchStrategy[Reply]:
    """One reply, in most cases such as a model that is spoken to this way may give."""
    acting = _acting[way]
    unreadable = _unreadable if way == "tools" else _text
    others = [_text, _soup, unreadable, _odd, _passing, _fault, _ctrl_c, *_acting.values()]
    return st.sampled_from([acting] * 14 + others).flatmap(lambda kind: kind)
