"""Calls without a label of their own: a line that is nothing but a call, and an object of JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from agent.protocols.arguments import closes_for_sure, closing
from agent.protocols.calls import decide, json_call
from agent.protocols.decisions import Malformed, ToolSpec, Verdict
from agent.protocols.labels import OPENERS, Piece

_JSON_START = re.compile(
    r"(?:^[ \t]{0,40}(?:`{3,}|~{3,}(?!~))[^`\n]*\n)?"
    r"^[ \t]{0,40}(?P<tag><tool_call>[ \t]{0,3}\n?[ \t]{0,3})?(?=\{)",
    re.MULTILINE,
)
_TAG_END = "</tool_call>"
_QUOTED = 60


def bare_call(shown: str, piece: Piece, tools: Sequence[ToolSpec]) -> Verdict | None:
    """A line that is nothing but a call of one of our tools, without a label."""
    if not tools:
        return None
    call = _opening_of(tuple(tool.name for tool in tools))
    for match in call.finditer(shown, piece.body, piece.end):
        line_end = shown.find("\n", match.end(), piece.end)
        line_end = line_end if line_end >= 0 else piece.end
        close = closing(shown, match.end(), line_end)
        if close is not None and not shown[close + 1 : line_end].strip(" \t*_`"):
            decision = decide(match[1], shown[match.end() + 1 : close], tools)
            read_to = close if closes_for_sure(shown, match.end(), close) else line_end
            return Verdict(decision, match.start(), close + 1, read_to)
    return None


@lru_cache
def _opening_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """A line that begins with one of these names and an opening bracket, in any dress."""
    any_name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(
        rf"^[ \t]{{0,40}}[*_`]{{0,6}}({any_name})[*_`]{{0,6}}[ \t]{{0,3}}(?=[{re.escape(OPENERS)}])", re.M
    )


def object_call(shown: str, piece: Piece, tools: Sequence[ToolSpec]) -> Verdict | None:
    """`{"action": ..., "action_input": ...}`, bare or fenced with nothing after it, or in tags."""
    start = _JSON_START.search(shown, piece.body, piece.end)
    if start is None:
        return None
    text = shown[start.end() : piece.end]
    found = json_call(text, tools)
    if found is None:
        return None
    decision, end = found
    rest = text[end:].strip(" \t\n`~")
    if start["tag"] and rest.startswith(_TAG_END):
        end = text.index(_TAG_END, end) + len(_TAG_END)
        return Verdict(decision, start.start(), start.end() + end, read_to=start.end())
    if rest:
        decision = Malformed("trailing", rest[:_QUOTED])
    return Verdict(decision, start.start(), piece.end, read_to=piece.end if rest else start.end())
