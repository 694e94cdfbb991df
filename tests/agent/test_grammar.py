"""The grammar for llama.cpp: what it names, how it quotes, and that llama.cpp takes it."""

from __future__ import annotations

import re

import pytest

from agent.protocols.decisions import Act, Finish, ToolSpec
from agent.protocols.grammar import grammar_for, literal
from agent.protocols.reply import read_reply

STANDARD = (
    ToolSpec("Calculator", ("expression",)),
    ToolSpec("Weather", ("city",)),
    ToolSpec("Time", ("zone",), input_required=False),
)
FIELDS = (
    ToolSpec("Convert", ("amount", "unit", "to"), required=("amount",)),
    ToolSpec("Filter", ("size", "colour"), input_required=False),
    ToolSpec("Ping", (), input_required=False),
)
ODD = (ToolSpec("查天气", ("城市",)), ToolSpec('a"b\\c'), ToolSpec("tab\there"))
TOOL_LISTS = [(), STANDARD, FIELDS, ODD, STANDARD + FIELDS + ODD]


def rules(grammar: str) -> dict[str, str]:
    return dict(line.split(" ::= ", 1) for line in grammar.strip().split("\n"))


@pytest.mark.parametrize("tools", TOOL_LISTS)
@pytest.mark.parametrize("thought", [True, False])
@pytest.mark.parametrize("allow_action", [True, False])
def test_every_rule_is_defined_once_and_used(
    tools: tuple[ToolSpec, ...], thought: bool, allow_action: bool
) -> None:
    grammar = grammar_for(tools, thought=thought, allow_action=allow_action)
    defined = rules(grammar)
    assert len(defined) == grammar.count("::=")
    bodies = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{[\d,]+\}', " ", " ".join(defined.values()))
    assert set(re.findall(r"[a-z][a-z0-9-]*", bodies)) == set(defined) - {"root"}
    assert grammar == grammar_for(tools, thought=thought, allow_action=allow_action)


def test_each_tool_has_its_own_call_and_an_optional_argument_only_where_it_may_be_empty() -> None:
    defined = rules(grammar_for(STANDARD))
    assert defined["root"] == "thought? ( action | answer )"
    assert defined["call-0"] == '"Calculator[" argument "]"'
    assert defined["call-2"] == '"Time[" argument? "]"'


def test_arguments_by_name_require_what_the_tool_requires() -> None:
    defined = rules(grammar_for(FIELDS))
    member = r'"\"{}\": " value'.format
    assert defined["call-0"] == (
        rf'"Convert[" "{{" {member("amount")} ( ", " {member("unit")} )? ( ", " {member("to")} )? "}}" "]"'
    )
    assert defined["call-1"] == (
        rf'"Filter[" "{{" ( {member("size")} ( ", " {member("colour")} )? | {member("colour")} )? "}}" "]"'
    )
    assert defined["call-2"] == '"Ping[" "]"'


def test_without_tools_or_at_a_limit_there_is_only_the_answer() -> None:
    assert rules(grammar_for(()))["root"] == "thought? answer"
    assert rules(grammar_for(STANDARD, allow_action=False))["root"] == "thought? answer"
    assert set(rules(grammar_for((), thought=False))) == {"root", "answer"}
    assert "Calculator" not in grammar_for(STANDARD, allow_action=False)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("Time[", '"Time["'), ('a"b', r'"a\"b"'), ("a\\b", r'"a\\b"'), ("a\tb", r'"a\x09b"'), ("天", '"天"')],
)
def test_names_are_quoted_for_the_grammar(text: str, quoted: str) -> None:
    assert literal(text) == quoted


@pytest.mark.embedded
@pytest.mark.timeout(600)
def test_llama_cpp_takes_each_grammar_and_what_it_writes_can_be_read() -> None:
    from agent import weights

    path = weights.cached_path("local-small")
    if path is None:
        pytest.skip("the weights are not in the cache: python -m agent.weights local-small")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(path), 1024, 1
    params.cpuparams.n_threads = 1  # two spinning threads on a busy machine wait for each other
    server = xllamacpp.Server(params)
    for tools in TOOL_LISTS:
        reply = server.handle_chat_completions(
            {
                "messages": [{"role": "user", "content": "Say hello."}],
                "grammar": grammar_for(tools),
                "max_tokens": 64,
                "temperature": 0,
                "stop": ["\nObservation:"],
            }
        )
        (choice,) = reply["choices"]
        text = choice["message"]["content"]
        decision = read_reply(text, tools)
        assert text.startswith(("Thought: ", "Action: ", "Final Answer: "))
        # Only the token limit can leave a reply unfinished.
        assert isinstance(decision, Act | Finish) or choice["finish_reason"] == "length", text
