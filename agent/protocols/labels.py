"""Where the labels of a reply stand, and what lies between them.

The words are data; one regular expression, bounded in every repetition, finds them at line starts in any
dress. `pieces` cuts a reply along them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["prose", "thought", "action", "input", "final", "finish", "observation", "question"]

WORDS: dict[Kind, tuple[str, ...]] = {
    "thought": ("thought", "思考"),
    "action": ("action", "行动", "行動", "动作", "動作"),
    "input": ("action input", "行动输入", "行動輸入", "动作输入", "工具输入", "工具輸入"),
    "final": ("final answer", "最终答案", "最终回答", "最終答案", "最終回答"),
    "finish": ("finish",),
    "observation": ("observation", "工具结果", "工具結果", "观察结果", "观察", "觀察"),
    "question": ("question", "问题", "問題"),
}
OPENERS = "[［【"

_KIND_OF = {word.replace(" ", ""): kind for kind, words in WORDS.items() for word in words}
_ANY_WORD = "|".join(
    word.replace(" ", "[ _-]?")
    for word in sorted((w for words in WORDS.values() for w in words), key=len, reverse=True)
)
_FENCE = r"^[ \t]{0,40}(?P<NAME>`{3,}|~{3,})(?P<NAME_info>[^`\n]*)"
_INDENT = r"[ \t\u3000\u200b\ufeff]{0,40}"
# A fence line right above a label belongs to the label's dress, not to what came before it.
_TOKEN = re.compile(
    rf"""
    (?:{_FENCE.replace("NAME", "above")}\n)?
    (?P<line>^{_INDENT}(?P<heading>\#{{1,6}}[ \t]{{0,3}})?(?P<dress>[*_`【]{{0,6}})[ \t]{{0,3}}
    (?P<word>{_ANY_WORD})(?:[ \t]?\d{{1,3}})?(?P<shut>[*_`】]{{0,6}})[ \t]{{0,3}}
    (?P<stop>[:：]|(?=[{re.escape(OPENERS)}])|$|(?<=】)))
    | {_FENCE.replace("NAME", "fence")}$
    """,
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
# "So the Final Answer: 4", in the middle of a line, is too close to a label to pass as prose.
_INLINE = re.compile(r"(?:Action|Action Input|Final Answer|Observation|行动|最终答案)[ \t]{0,3}[:：]")

_THINKING_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINKING_STARTS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_STOP_WORD = "Observation"
_SHORTEST_CUT = 4


@dataclass(frozen=True)
class Piece:
    """A label and what follows it: the label starts at ``start``, its text spans ``body`` to ``end``.

    ``dress`` is emphasis that the label opened and did not close: ``**`` in ``**Final Answer: 4**``.
    """

    kind: Kind
    start: int
    body: int
    end: int
    dress: str = ""


def visible(text: str) -> str:
    """The reply without its thinking, and without a stop word that was cut off at its end."""
    ends = list(_THINKING_ENDS.finditer(text))
    text = text[ends[-1].end() :] if ends else text
    opened = _THINKING_STARTS.search(text)
    text = text[: opened.start()] if opened else text
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    head, _, last = text.rpartition("\n")
    last = last.strip(" \t*_#`")
    is_cut = len(last) >= _SHORTEST_CUT and _STOP_WORD.startswith(last)
    return head.rstrip() if is_cut else text


def has_inline_label(text: str) -> bool:
    return _INLINE.search(text) is not None


def pieces(text: str) -> list[Piece]:
    """Cut a reply into its labelled pieces, the prose before the first label included.

    A piece ends at the next label, or with the code fence that it stands in. Labels inside a fence that an
    answer opened are part of the answer.
    """
    tokens = list(_TOKEN.finditer(text))
    fences = _Fences(tokens)
    found: list[Piece] = []
    current, limit = Piece("prose", 0, 0, 0), len(text)
    for token in tokens:
        label = _label(token)
        fence = fences.around(token.start())
        if label is None or (current.kind == "final" and fence and fence[0] >= current.body):
            continue
        found.append(_ended(current, min(limit, token.start())))
        current, limit = label, fence[1] if fence else len(text)
    found.append(_ended(current, limit))
    return found


def _ended(piece: Piece, end: int) -> Piece:
    return Piece(piece.kind, piece.start, piece.body, max(end, piece.body), piece.dress)


def _label(token: re.Match[str]) -> Piece | None:
    """The piece that a token opens; None for a bare fence or a word that is no label as it stands."""
    if token["word"] is None:
        return None
    kind = _KIND_OF[re.sub("[ _-]", "", token["word"].lower())]
    if token["stop"] == "":
        kind = _kind_without_colon(token, kind)
    elif kind == "finish":
        return None
    if kind == "prose":
        return None
    start, body, dress = token.start("line"), token.end(), token["dress"].replace("【", "")
    if token["shut"]:
        dress = ""
    elif dress and token.string.startswith(dress[::-1], body):
        body, dress = body + len(dress), ""
    return Piece(kind, start, body, body, dress)


def _kind_without_colon(token: re.Match[str], kind: Kind) -> Kind:
    """Without a colon: `Finish[x]`, 【行动】, a heading or bold line of its own. Anything else is prose."""
    following = token.string[token.end() : token.end() + 1]
    if "【" in token["dress"] and "】" in token["shut"]:
        return kind
    if following and following in OPENERS:
        return "finish" if kind in ("final", "finish") else "prose"
    dressed = token["heading"] or (token["dress"] and token["shut"])
    return kind if dressed and kind != "finish" and following in ("", "\n") else "prose"


class _Fences:
    """The closed code fences of a reply, asked for in reading order."""

    def __init__(self, tokens: list[re.Match[str]]) -> None:
        self._spans = _spans(tokens)
        self._span = next(self._spans, None)

    def around(self, position: int) -> tuple[int, int] | None:
        """Start and end of the fence that holds ``position``; positions must not go backwards."""
        while self._span and self._span[1] <= position:
            self._span = next(self._spans, None)
        return self._span if self._span and self._span[0] <= position else None


def _spans(tokens: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    start, mark = 0, ""
    for token in tokens:
        fence = token["above"] or token["fence"]
        if not fence:
            continue
        if not mark:
            start, mark = token.start(), fence
        elif fence.startswith(mark) and not (token["above_info"] or token["fence_info"] or "").strip():
            yield start, token.start()
            mark = ""
