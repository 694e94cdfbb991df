"""Reading a reply of the text protocol: what does the model want done?

    visible text -> labelled pieces -> the first piece that decides -> its call -> its argument

`read_reply` is pure and total: every string gives a decision. It is linear in the reply's length: no
stretch of it is searched twice for a closing bracket, and no pattern runs back over what it has read.
It is tolerant in dress (bold, fences, quotes, widths, case) and strict in meaning: what might be half
a call is not run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.protocols.arguments import closes_for_sure, closing
from agent.protocols.calls import decide, is_answer, resolve, says_nothing, unknown
from agent.protocols.calls_in_text import CALL_MARK
from agent.protocols.decisions import Decision, Finish, Malformed, ToolSpec, Verdict
from agent.protocols.labels import Piece, has_inline_label, pieces, visible, without_turn_ends
from agent.protocols.plain import plain_call
from agent.protocols.unlabelled import bare_call, object_call

_OPENER = re.compile(r"[\[［【(（{\n]")
_BRACKET = re.compile(r"[\[［【(（{]")
# What may go on with the argument after its close: 2+2)*3, 2)², 2)x3, a second bracket, a closing quote.
_GOES_ON = re.compile(
    r"[.,]?(?:[-+*/%^=<>!&|~×÷−·√\d²³¹⁰⁴-⁹½¼¾\[\](){}［］【】（）\"'`“”‘’「」]|[xX][ \t]{0,3}\d)"
)
_OBJECT = re.compile(r"(?:[`~]{3,}[\w-]*\s{1,9})?\[?\s{0,9}\{")
_CALL_KEY = re.compile(
    r"[\"'](?:action|action_input|tool|tool_name|tool_input|function|arguments)[\"']\s{0,9}:"
)
# On the line of an answer's label no other label is looked for.
_LABELLED_CALL = re.compile(
    r"[*_`]{0,6}(?:Action|行动)[*_`]{0,6}[ \t]{0,3}[:：][ \t*_`]{0,6}[\w-]{1,64}[\[［(（]"
)
_FENCE_LINE = re.compile(r"`{3,}[\w-]*[ \t]*\n")
_QUOTE_MARK = re.compile(r"^>[ \t]?", re.MULTILINE)
_QUOTED = 60


def read_reply(text: str, tools: Sequence[ToolSpec], *, cut: bool = False) -> Decision:
    """Read what ``text`` decides, given the tools that the model may call.

    ``cut``: the token limit ended the reply (finish_reason "length"). Then only what was complete before
    the cut decides; anything that reaches the end of the text is Malformed("cut").
    """
    # Wherever it was cut: behind a plain call's bracket there is nothing more to come of it.
    return plain_call(text, tools) or read_at_length(text, tools, cut=cut)


def read_at_length(text: str, tools: Sequence[ToolSpec], *, cut: bool = False) -> Decision:
    """The same for every reply, in whatever dress: a plain call is not looked for first."""
    shown = visible(text)
    parts = pieces(shown)
    verdict = _first_verdict(shown, parts, tools)
    decision = verdict.decision
    read_to = verdict.end if verdict.read_to is None else verdict.read_to
    # A label with nothing behind it yet may have been on its way to become text.
    certain_to = parts[-1].start if parts[-1].body >= len(shown) else len(shown)
    if cut and read_to >= certain_to:
        decision = Malformed("cut")
    return replace(
        decision,
        thought=_thought(shown, parts, verdict.start),
        kept=_kept(shown, parts, verdict.end),
    )


def _first_verdict(shown: str, parts: Sequence[Piece], tools: Sequence[ToolSpec]) -> Verdict:
    for number, piece in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        verdict = _judge(shown, piece, following, tools)
        if verdict is not None:
            return verdict
    return _undecided(shown, parts, tools)


def _judge(shown: str, piece: Piece, following: Piece | None, tools: Sequence[ToolSpec]) -> Verdict | None:
    """What one piece decides; None when it decides nothing (a thought, an invented observation, ...)."""
    if piece.kind in ("prose", "thought"):
        if _BRACKET.search(shown, piece.body, piece.end) is None:
            return None
        return bare_call(shown, piece, tools) or object_call(shown, piece, tools)
    if piece.kind == "action":
        return _action(shown, piece, following, tools)
    if piece.kind == "finish":
        return _bracketed(shown, shown[piece.start : piece.body], piece.body, piece, tools)
    return _answer(shown, piece) if piece.kind == "final" else None


def _answer(shown: str, piece: Piece) -> Verdict | None:
    answer = _undressed(shown[piece.body : piece.end], piece.dress)
    if piece.mark.startswith(">"):
        answer = _QUOTE_MARK.sub("", answer)
    if CALL_MARK.match(answer) or _LABELLED_CALL.match(answer):
        return Verdict(Malformed("bad_call", answer[:_QUOTED]), piece.start, piece.end)
    return Verdict(Finish(answer), piece.start, piece.end) if answer else None


def _undressed(text: str, dress: str) -> str:
    """Without the signs of a turn's end, and the emphasis that closes what the label opened."""
    return without_turn_ends(text.strip()).removesuffix(dress[::-1]).rstrip()


def _action(shown: str, piece: Piece, following: Piece | None, tools: Sequence[ToolSpec]) -> Verdict | None:
    """`Name[arg]`, `Name(arg)`, a JSON call, or a name whose argument follows under its own label."""
    start = piece.end - len(shown[piece.body : piece.end].lstrip())
    as_json = (
        object_call(shown, piece._replace(body=start), tools) if shown[start : start + 1] in "{`" else None
    )
    if as_json:
        return as_json
    fence = _FENCE_LINE.match(shown, start, piece.end)
    start = fence.end() if fence else start
    opener = _OPENER.search(shown, start, piece.end)
    name_end = opener.start() if opener else piece.end
    name = without_turn_ends(shown[start:name_end])
    if says_nothing(name):
        return None
    if opener and opener[0] != "\n":
        return _bracketed(shown, name, name_end, piece, tools)
    if following is not None and following.kind == "input":
        raw = _undressed(shown[following.body : following.end], following.dress)
        return Verdict(decide(name, raw, tools), piece.start, following.end)
    return Verdict(decide(name, "", tools), piece.start, name_end)


def _bracketed(shown: str, name: str, opener: int, piece: Piece, tools: Sequence[ToolSpec]) -> Verdict:
    """The call whose argument opens at ``opener``. Its name comes first: an unknown tool has no argument."""
    if resolve(name, tools) is None and not is_answer(name):
        return Verdict(unknown(name, tools), piece.start, piece.end)
    close = closing(shown, opener, piece.end)
    if close is None:
        return Verdict(Malformed("unclosed", shown[opener : piece.end][:_QUOTED]), piece.start, piece.end)
    rest = _goes_on(shown, name, opener, close, piece.end)
    if rest:
        return Verdict(Malformed("trailing", rest[:_QUOTED]), piece.start, piece.end)
    # A brace opens the argument and belongs to it: Name{"city": "x"}.
    raw = shown[opener : close + 1] if shown[opener] == "{" else shown[opener + 1 : close]
    end = close + 1 + _emphasis(shown, close + 1)
    read_to = close if closes_for_sure(shown, opener, close) else piece.end
    return Verdict(decide(name, raw, tools), piece.start, end, read_to)


def _goes_on(shown: str, name: str, opener: int, close: int, end: int) -> str:
    """What follows the close on its line, if it could belong to the argument; "" otherwise.

    A bracket that closes nothing says that the argument may have ended there.
    """
    line_end = shown.find("\n", close, end)
    rest = without_turn_ends(shown[close + 1 : line_end if line_end >= 0 else end].strip())
    opened = name[: len(name) - len(name.lstrip("*_`"))]
    rest = rest.removeprefix(opened[::-1]).lstrip()
    if not rest.strip("*_`"):
        return ""
    closes_more = closing(shown[opener] + rest, 0, len(rest) + 1) is not None
    return rest if closes_more or _GOES_ON.match(rest) else ""


def _emphasis(shown: str, start: int) -> int:
    """The length of the emphasis (`**`, a tick) at ``start``: it closes the call's own."""
    rest = shown[start : start + 6]
    return len(rest) - len(rest.lstrip("*_`"))


def _undecided(shown: str, parts: Sequence[Piece], tools: Sequence[ToolSpec]) -> Verdict:
    """No piece decided: nothing was said, or a label or call could not be read, or it is plain prose."""
    prose = shown.strip()
    labelled = [shown[piece.start : piece.end] for piece in parts if piece.kind != "prose"]
    if not prose:
        fault = Malformed("empty")
    elif labelled:
        fault = Malformed("bad_call", labelled[-1][:_QUOTED].strip())
    elif has_inline_label(prose) or _has_call_markup(prose, tools):
        fault = Malformed("bad_call", prose[:_QUOTED].strip())
    else:
        fault = Malformed("no_label", prose)
    return Verdict(fault, len(shown) if labelled else 0, len(shown))


def _has_call_markup(prose: str, tools: Sequence[ToolSpec]) -> bool:
    """Tags of a call, an object that is one, our name before a bracket: no answer, even the second time."""
    if CALL_MARK.search(prose) or (_OBJECT.match(prose) and _CALL_KEY.search(prose)):
        return True
    names = [tool.name.lower() for tool in tools]
    said = prose.lower()
    return any(f"{name}[" in said or said.lstrip("*_`").startswith(f"{name}(") for name in names)


def _thought(shown: str, parts: Sequence[Piece], until: int) -> str:
    thoughts = (
        _undressed(shown[piece.body : min(piece.end, until)], piece.dress)
        for piece in parts
        if piece.kind in ("prose", "thought") and piece.body < until
    )
    return "\n".join(thought for thought in thoughts if thought)


def _kept(shown: str, parts: Sequence[Piece], until: int) -> str:
    """The reply up to what decided, without the observations and questions that it made up."""
    told = "".join(
        shown[piece.start : min(piece.end, until)]
        for piece in parts
        if piece.kind not in ("observation", "question") and piece.start < until
    )
    return without_turn_ends(told.strip())
