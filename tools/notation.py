"""From arithmetic as people and models write it to the few tokens that Python reads the same way.

Two short pipelines. The steps on text unify characters (full-width forms, ×, ², quotes); then the text
is cut into tokens, of which only known ones pass; the steps on tokens give each sign its meaning
(percent or modulo, factorial, root). Written decisions:

- ``^`` is power, never XOR.
- ``15%`` is 0.15, wherever it stands: ``80 + 15%`` is 80.15. Before a number, a name or a bracket ``%``
  is modulo. ``of`` after a percentage multiplies.
- A comma groups thousands (``1,000``); inside a function's brackets or a list it separates.
- Nothing is multiplied unasked: ``2(3+4)`` lacks an operator and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_CHARS = 1000
MAX_DEPTH = 50


class Refused(Exception):
    """An expression that is not calculated; the message says why, in words for the model."""


# --- text -------------------------------------------------------------------------------------------

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("×·⋅∙∗✕✖", "*"),
        **dict.fromkeys("÷∕⁄", "/"),
        **dict.fromkeys("−–‐‑﹣", "-"),
        "π": " pi ",
        "\u3000": " ",
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def half_width(text: str) -> str:
    """Full-width digits, letters and signs as ASCII. Not NFKC: that turns ``5²`` into 52."""
    return text.translate(_FULL_WIDTH)


def plain_signs(text: str) -> str:
    """Typographic operators as the keyboard has them."""
    return text.translate(_SIGNS)


def raised_digits(text: str) -> str:
    """``5²`` as ``5**(2)``."""
    return _RAISED.sub(lambda match: f"**({match[0].translate(_SUPERSCRIPTS)})", text)


def without_equals_sign(text: str) -> str:
    """Drop what asks for the result, as in ``2+2=`` or ``2+2 = ?``, and a spreadsheet's leading ``=``."""
    return re.sub(r"=\s{0,9}\??$", "", text.removeprefix("=")).strip()


TEXT_STEPS = (half_width, plain_signs, raised_digits, without_equals_sign)

# --- tokens -----------------------------------------------------------------------------------------

_NUMBER = r"(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_GROUPED = r"[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?"
# An x between digits is a multiplication sign, but not that of a hexadecimal number.
_OTHERS = r"(?<!(?<![\d.])0)[xX](?=\d)|[A-Za-z_][A-Za-z_0-9]*|\*\*|//|[-+*/%^!√()\[\],]"
_SEPARATING = re.compile(rf"{_NUMBER}|{_OTHERS}", re.ASCII)
_GROUPING = re.compile(rf"{_GROUPED}|{_NUMBER}|{_OTHERS}", re.ASCII)
_TIMES = ("x", "of")
_CLOSING = {")": "(", "]": "["}


def tokenize(text: str) -> list[str]:
    """``text`` cut into numbers, names, operators and brackets; anything else is refused."""
    tokens: list[str] = []
    brackets = _Brackets()
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = (_SEPARATING if brackets.separate else _GROUPING).match(text, position)
        if match is None:
            raise Refused(f"the character {text[position]!r} means nothing here")
        brackets.read(match[0], after=tokens[-1] if tokens else "")
        tokens.append(_plain_number(match[0]) if _is_number(match[0]) else match[0])
        position = match.end()
    brackets.end()
    return tokens


class _Brackets:
    """The brackets that are open, and whether a comma separates arguments inside them."""

    def __init__(self) -> None:
        self._open: list[tuple[str, bool]] = []

    @property
    def separate(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def read(self, piece: str, after: str) -> None:
        if piece in ("(", "["):
            is_call = _is_name(after) and after.lower() not in _TIMES
            self._open.append((piece, self.separate or piece == "[" or is_call))
        elif piece in _CLOSING and (not self._open or self._open.pop()[0] != _CLOSING[piece]):
            raise Refused(f"there is a {piece!r} without its opening bracket")
        elif piece == "," and not self.separate:
            raise Refused("a comma may only group thousands (1,000) or separate a function's numbers")
        if len(self._open) > MAX_DEPTH:
            raise Refused(f"brackets are nested more than {MAX_DEPTH} deep; calculate it in parts")

    def end(self) -> None:
        if self._open:
            raise Refused(f"a {self._open[-1][0]!r} is not closed")


def _plain_number(piece: str) -> str:
    """A number as Python reads it: no commas or underscores, no leading zeros."""
    digits = piece.replace(",", "").replace("_", "")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def _is_number(piece: str) -> bool:
    return piece[:1].isdigit() or (piece[:1] == "." and len(piece) > 1)


def _is_name(piece: str) -> bool:
    return piece[:1].isalpha() or piece[:1] == "_"


def _starts_operand(piece: str) -> bool:
    return _is_number(piece) or _is_name(piece) or piece in ("(", "[", "√")


def _ends_operand(piece: str) -> bool:
    return _is_number(piece) or _is_name(piece) or piece in (")", "]", "%", "!")


# --- meaning ----------------------------------------------------------------------------------------


def times_words(tokens: list[str]) -> list[str]:
    """``3 x 4`` and ``15% of 80`` with ``*``; ``percent`` as ``%``."""
    words = ["%" if piece.lower() == "percent" else piece for piece in tokens]
    for index in range(1, len(words) - 1):
        before, word, after = words[index - 1 : index + 2]
        is_times = word.lower() == "x" and _ends_operand(before) and (_starts_operand(after) or after in "+-")
        if is_times or (word.lower() == "of" and before == "%"):
            words[index] = "*"
    return words


def postfix_signs(tokens: list[str]) -> list[str]:
    """``5!`` as ``factorial(5)``, and ``15%`` as ``(15/100)`` where ``%`` is not modulo."""
    done: list[str] = []
    for piece, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if piece == "!" or (piece == "%" and not _starts_operand(after)):
            if after in ("!", "%") or not done or not _ends_operand(done[-1]) or done[-1] == "%":
                raise Refused(f"the {piece!r} must follow one number or bracket")
            start = _operand_start(done)
            operand = done[start:]
            done[start:] = (
                ["factorial", "(", *operand, ")"] if piece == "!" else ["(", *operand, "/", "100", ")"]
            )
        else:
            done.append(piece)
    return done


def roots(tokens: list[str]) -> list[str]:
    """``√16`` as ``sqrt(16)``."""
    if tokens.count("√") > MAX_DEPTH:
        raise Refused(f"there are more than {MAX_DEPTH} roots; calculate it in parts")
    done = list(tokens)
    for index in range(len(done) - 1, -1, -1):
        if done[index] == "√":
            end = _operand_end(done, index + 1)
            done[index:end] = ["sqrt", "(", *done[index + 1 : end], ")"]
    return done


def powers(tokens: list[str]) -> list[str]:
    """``^`` as ``**``."""
    return ["**" if piece == "^" else piece for piece in tokens]


TOKEN_STEPS = (times_words, postfix_signs, roots, powers)


def _operand_start(tokens: list[str]) -> int:
    """Where the operand begins with which ``tokens`` end: a number, a name, a bracket or a call."""
    index, depth = len(tokens) - 1, 0
    while True:
        depth += (tokens[index] in _CLOSING) - (tokens[index] in _CLOSING.values())
        if depth == 0:
            break
        index -= 1
    is_call = tokens[index] == "(" and index > 0 and _is_name(tokens[index - 1])
    return index - 1 if is_call else index


def _operand_end(tokens: list[str], start: int) -> int:
    """The index behind the operand that begins at ``start``."""
    if start >= len(tokens) or not _starts_operand(tokens[start]):
        raise Refused("'√' must stand before a number or a bracket")
    is_call = _is_name(tokens[start]) and tokens[start + 1 : start + 2] == ["("]
    index, depth = start + is_call, 0
    while True:
        depth += (tokens[index] in _CLOSING.values()) - (tokens[index] in _CLOSING)
        index += 1
        if depth == 0:
            return index


# --- all of it --------------------------------------------------------------------------------------


def normalize(text: str, functions: Collection[str], constants: Collection[str]) -> str:
    """``text`` as a Python expression of numbers, operators, brackets and the given names alone.

    Raises ``Refused`` for everything else. The caller bounds the length by ``MAX_CHARS``; nothing here
    takes more than some milliseconds for that.
    """
    for text_step in TEXT_STEPS:
        text = text_step(text)
    tokens = tokenize(text)
    for token_step in TOKEN_STEPS:
        tokens = token_step(tokens)
    _check_names(tokens, functions, constants)
    _check_order(tokens, functions)
    return " ".join(piece.lower() if _is_name(piece) else piece for piece in tokens)


def _check_names(tokens: list[str], functions: Collection[str], constants: Collection[str]) -> None:
    for piece, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if _is_name(piece) and piece.lower() not in functions and piece.lower() not in constants:
            raise Refused(f"the name {piece[:30]!r} is unknown")
        if piece.lower() in functions and after != "(":
            raise Refused(f"{piece!r} needs its number in brackets")


def _check_order(tokens: list[str], functions: Collection[str]) -> None:
    """Between two operands stands an operator, and before one not more signs than anybody writes."""
    signs = 0
    for piece, after in zip(tokens, [*tokens[1:], ""], strict=True):
        ends = _ends_operand(piece) and piece != "%" and piece.lower() not in functions
        if ends and _starts_operand(after):
            raise Refused(f"an operator is missing between {piece[:30]!r} and {after[:30]!r}")
        signs = signs + 1 if piece in ("+", "-") else 0
        if signs > MAX_DEPTH:
            raise Refused(f"there are more than {MAX_DEPTH} signs in a row")
