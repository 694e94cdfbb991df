"""The call as it is taught, with or without a thought before it, read at a glance.

    Thought: The price is in another currency.
    Action: Calculator[2300 / 7.2]

Most calls come like this. Nothing in them can be read in two ways: no bracket, quote or backslash in the
argument, one label a line, nothing behind the call. So the ways of ``reply`` would all lead to the same
decision in six times the time; a property test holds the two against each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.protocols.calls import decide, says_nothing
from agent.protocols.decisions import Act, ToolSpec

# "<" may begin a tag of thinking or the sign of a turn's end, anywhere in a reply.
_PLAIN_CALL = re.compile(
    r"(?:(?:Thought|思考)[:：](?P<thought>[^\n\r<]*)\n)?"
    r"(?:Action|行动)[:：][ \t]{0,3}(?P<name>[A-Za-z0-9_-]{1,64})"
    r"\[(?P<argument>[^\[\]［］【】\\\"'`“”「」『』＂＇\n\r<]*)\]\s*"
)


def plain_call(text: str, tools: Sequence[ToolSpec]) -> Act | None:
    """The call that ``text`` is, if it is nothing but a plain one of a tool of ours."""
    call = _PLAIN_CALL.fullmatch(text)
    if call is None or says_nothing(call["name"]):
        return None
    decision = decide(call["name"], call["argument"], tools)
    if not isinstance(decision, Act):
        return None  # the long way knows what to say of it
    return Act(decision.actions, (call["thought"] or "").strip(), text.rstrip())
