"""Both protocols as GBNF grammars, for servers that run llama.cpp.

Under them a small model cannot write a malformed action: each call has a name that exists and an argument
that closes. What a grammar lets through, `read_reply` or `read_message` reads. GBNF is described in
llama.cpp's `grammars/README.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agent.protocols.decisions import ToolSpec

# Nested brackets are balanced by recursion; a line break would open the door to invented observations.
_SEPARATOR = ' ", " '
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ARGUMENT_RULES = r"""
argument ::= ( [^\[\]\n\r ] | nested ) part*
part ::= [^\[\]\n\r] | nested
nested ::= "[" part* "]"
"""
_THOUGHT_RULES = r"""
thought ::= "Thought: " [^ \n\r] [^\n\r]{0,199} "\n"
"""
_ANSWER_RULES = r"""
answer ::= "Final Answer: " [^ \n\r] [^\x00]*
"""
MOST_CALLS = 8  # in one reply
_JSON_RULES = r"""
value ::= string | number | object | array | "true" | "false" | "null"
object ::= "{" ( string ": " value ( ", " string ": " value )* )? "}"
array ::= "[" ( value ( ", " value )* )? "]"
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] )* "\""
number ::= "-"? ( "0" | [1-9] [0-9]{0,15} ) ( "." [0-9]{1,15} )?
"""


def grammar_for(tools: Sequence[ToolSpec], *, thought: bool = True, allow_action: bool = True) -> str:
    """The grammar of one reply: a thought of one line or none, then an action or the final answer.

    ``thought=False`` leaves the thought out; ``allow_action=False``, or no tools, leaves only the answer.
    """
    may_act = bool(tools) and allow_action
    ending = "( action | answer )" if may_act else "answer"
    rules = [f"root ::= {'thought? ' if thought else ''}{ending}"]
    if thought:
        rules.append(_THOUGHT_RULES.strip())
    if may_act:
        rules += _action_rules(tools)
    rules.append(_ANSWER_RULES.strip())
    return "\n".join(rules) + "\n"


def call_grammar_for(tools: Sequence[ToolSpec]) -> str:
    """The grammar of one reply of the tools protocol: a thought or none, then tool calls or the answer.

    llama.cpp refuses a grammar beside ``tools``, so the calls are written into the text, as JSON objects.
    """
    names = " | ".join(f"call-{number}" for number in range(len(tools)))
    opening = literal('{"name": ')
    rules = [
        "root ::= thought? ( calls | answer )",
        _THOUGHT_RULES.strip(),
        f'calls ::= call ( "\\n" call ){{0,{MOST_CALLS - 1}}}',
        f'call ::= {opening} ( {names} ) "}}"',
        *(f"call-{number} ::= {_json_call(tool)}" for number, tool in enumerate(tools)),
        _JSON_RULES.strip(),
        _ANSWER_RULES.strip(),
    ]
    return "\n".join(rules) + "\n"


def _json_call(tool: ToolSpec) -> str:
    name = json.dumps(tool.name, ensure_ascii=False)
    members = _members(tool) if tool.fields else ""
    return f'{literal(name + ", " + json.dumps("arguments") + ": {")} {members} "}}"'


def _action_rules(tools: Sequence[ToolSpec]) -> list[str]:
    calls = " | ".join(f"call-{number}" for number in range(len(tools)))
    rules = [f'action ::= "Action: " ( {calls} )']
    rules += [f"call-{number} ::= {_call(tool)}" for number, tool in enumerate(tools)]
    if any(len(tool.fields) == 1 for tool in tools):
        rules.append(_ARGUMENT_RULES.strip())
    if any(len(tool.fields) > 1 for tool in tools):
        rules.append(_JSON_RULES.strip())
    return rules


def _call(tool: ToolSpec) -> str:
    opening, closing = literal(f"{tool.name}["), literal("]")
    if not tool.fields:
        return f"{opening} {closing}"
    if len(tool.fields) == 1:
        return f"{opening} argument{'' if tool.input_required else '?'} {closing}"
    return f'{opening} "{{" {_members(tool)} "}}" {closing}'


def _members(tool: ToolSpec) -> str:
    """The members of a JSON object: each required field, then any of the optional ones, in their order."""
    needed = tool.required or (tool.fields if tool.input_required and len(tool.fields) == 1 else ())
    required = [_member(name, tool) for name in tool.fields if name in needed]
    optional = [_member(name, tool) for name in tool.fields if name not in needed]
    if required:
        return " ".join([_SEPARATOR.join(required), *_each_or_not(optional)])
    chains = [" ".join([first, *_each_or_not(optional[n + 1 :])]) for n, first in enumerate(optional)]
    return f"( {' | '.join(chains)} ){'' if tool.input_required else '?'}"


def _member(name: str, tool: ToolSpec) -> str:
    kind = "string" if tool.types.get(name) == "string" else "value"
    return f"{literal(json.dumps(name, ensure_ascii=False) + ': ')} {kind}"


def _each_or_not(members: Sequence[str]) -> list[str]:
    return [f"({_SEPARATOR}{member} )?" for member in members]


def literal(text: str) -> str:
    """``text`` as a quoted GBNF string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", escaped) + '"'
