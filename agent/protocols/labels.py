"""Where the labels of a reply stand, and what lies between them.

The words are data; one regular expression, bounded in every repetition, finds them at line starts in any
dress. `pieces` cuts a reply along them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

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

_JOINTS = str.maketrans("", "", " _-")  # action input, action_input, Action-Input
_KIND_OF = {word.replace(" ", ""): kind for kind, words in WORDS.items() for word in words}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(word.replace(" ", "[ _-]?") for word in sorted(words, key=len, reverse=True))


_ANY_WORD = _any_of(word for words in WORDS.values() for word in words)
_FENCE = r"^[ \t]{0,40}(?P<NAME>`{3,}|~{3,}(?!~))(?P<NAME_info>[^`\n]*)"
_INDENT = r"[ \t\u3000\u200b\ufeff]{0,40}"
# A quotation or a list, as people write them: "> ", "- ", "1. ".
_MARK = r"(?:(?:>|\d{1,3}、|(?:[-*+•]|\d{1,3}[.)])[ \t])[ \t]{0,3}){0,3}"
# A fence line right above a label belongs to the label's dress, not to what came before it.
_TOKEN = re.compile(
    rf"""
    (?:{_FENCE.replace("NAME", "above")}\n)?
    (?P<line>^{_INDENT}(?P<mark>{_MARK})
    (?P<heading>\#{{1,6}}[ \t]{{0,3}})?(?P<dress>[*_`【]{{0,6}})[ \t]{{0,3}}
    (?P<word>{_ANY_WORD})(?:[ \t]?\d{{1,3}})?(?P<shut>[*_`】]{{0,6}})[ \t]{{0,3}}
    (?P<stop>[:：]|(?=[{re.escape(OPENERS)}])|$|(?<=】)))
    | {_FENCE.replace("NAME", "fence")}$
    """,
    # ASCII: elsewhere İ would pass for i, and the word is none that is known.
    re.MULTILINE | re.IGNORECASE | re.VERBOSE | re.ASCII,
)
# What every label has behind it or around it; most texts of users and tools have none of that.
_NEAR_A_LABEL = re.compile(rf"[:：#*_`{re.escape(OPENERS)}]")
# "Action: Final Answer: 4": the answer's label, behind that of an action.
_ANSWER_BEHIND = re.compile(
    rf"[ \t]{{0,3}}(?P<dress>[*_`]{{0,6}})(?:{_any_of(WORDS['final'])})"
    r"(?P<shut>[*_`]{0,6})[ \t]{0,3}[:：]",
    re.IGNORECASE,
)
# "So the Final Answer: 4", in the middle of a line, is too close to a label to pass as prose.
_INLINE = re.compile(r"(?:Action|Action Input|Final Answer|Observation|行动|最终答案)[ \t]{0,3}[:：]")

_THINKING_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINKING_STARTS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
# How chat templates end a turn: a service that does not know its model's template sends it as text.
_TURN_ENDS = re.compile(
    r"(?:<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end|eos)\|>"
    r"|<｜end▁of▁sentence｜>|<end_of_turn>|<eos>|</s>)\s*"
)
_STOP_WORD = "Observation"
_SHORTEST_CUT = 4


class Piece(NamedTuple):
    """A label and what follows it: the label starts at ``start``, its text spans ``body`` to ``end``.

    ``dress`` is emphasis that the label opened and did not close: ``**`` in ``**Final Answer: 4**``.
    ``mark`` is that of the quotation or list in which the label stands: ``> `` in ``> Final Answer: 4``.
    """

    kind: Kind
    start: int
    body: int
    end: int
    dress: str = ""
    mark: str = ""


def visible(text: str) -> str:
    """The reply without its thinking, the signs of its end, and a stop word that was cut off there."""
    ends = list(_THINKING_ENDS.finditer(text))
    text = text[ends[-1].end() :] if ends else text
    opened = _THINKING_STARTS.search(text)
    text = text[: opened.start()] if opened else text
    text = without_turn_ends(text.replace("\r\n", "\n").replace("\r", "\n").rstrip())
    head, _, last = text.rpartition("\n")
    last = last.strip(" \t*_#`")
    is_cut = len(last) >= _SHORTEST_CUT and _STOP_WORD.startswith(last)
    return head.rstrip() if is_cut else text


def without_turn_ends(text: str) -> str:
    """``text`` without the signs of a turn's end with which it ends; ``</s>`` may close a tag of its own."""
    if "<" not in text:
        return text.rstrip()
    end, closes_a_tag = len(text), "<s>" in text
    for sign in reversed(list(_TURN_ENDS.finditer(text))):
        if sign.end() != end or (closes_a_tag and sign[0].startswith("</s>")):
            break
        end = sign.start()
    return text[:end].rstrip()


def has_inline_label(text: str) -> bool:
    return _INLINE.search(text) is not None


def pieces(text: str) -> list[Piece]:
    """Cut a reply into its labelled pieces, the prose before the first label included.

    A piece ends at the next label, or with the code fence that it stands in. Labels inside a fence that an
    answer opened are part of the answer, and so are labels in a list, unless the answer itself is in one.
    """
    tokens = list(_TOKEN.finditer(text))
    fences = _Fences(tokens)
    found: list[Piece] = []
    current, limit = Piece("prose", 0, 0, 0), len(text)
    for token in tokens:
        label = _label(token)
        fence = fences.around(token.start())
        if label is None or (current.kind == "final" and _is_text_of(current, label, fence)):
            continue
        found.append(_ended(current, min(limit, token.start())))
        current, limit = label, fence[1] if fence else len(text)
    found.append(_ended(current, limit))
    return found


def label_starts(text: str) -> list[int]:
    """Where the lines begin that are read as a label, whatever they stand in."""
    if _NEAR_A_LABEL.search(text) is None:
        return []
    return [token.start("line") for token in _TOKEN.finditer(text) if _label(token)]


def _is_text_of(answer: Piece, label: Piece, fence: tuple[int, int] | None) -> bool:
    """An answer may tell of labels, in a code fence or as a list."""
    return bool(fence and fence[0] >= answer.body) or bool(label.mark and not answer.mark)


def _ended(piece: Piece, end: int) -> Piece:
    return piece._replace(end=max(end, piece.body))


def _label(token: re.Match[str]) -> Piece | None:
    """The piece that a token opens; None for a bare fence or a word that is no label as it stands."""
    if token["word"] is None:
        return None
    kind = _KIND_OF[token["word"].lower().translate(_JOINTS)]
    if token["stop"] == "":
        kind = _kind_without_colon(token, kind)
    elif kind == "finish":
        return None
    if kind == "prose":
        return None
    body, dress = _opened(token)
    behind = _ANSWER_BEHIND.match(token.string, body) if kind == "action" else None
    if behind:
        kind, (body, inner) = "final", _opened(behind)
        dress += inner
    return Piece(kind, token.start("line"), body, body, dress, token["mark"])


def _opened(label: re.Match[str]) -> tuple[int, str]:
    """Where the text of a label starts, and the emphasis that the label leaves open."""
    body, dress = label.end(), label["dress"].replace("【", "")
    if label["shut"]:
        return body, ""
    if dress and label.string.startswith(dress[::-1], body):
        return body + len(dress), ""
    return body, dress


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
