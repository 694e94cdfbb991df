"""Arithmetic that is built together with its value, so that nothing has to evaluate it.

Whole numbers are exact. A quotient that does not come out even is a float from there on, and each further
step may be off by half a unit in the last place: ``low`` and ``high`` bound what it may have become.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

ROUNDING = Fraction(1, 2**52)  # twice what IEEE 754 allows one step on doubles
MOST = Fraction(10) ** 250  # far from where a double or the calculator gives up
LEAST = 1 / MOST


@dataclass(frozen=True)
class Term:
    """A text and its value: exactly ``low`` where the calculator has a whole number, else up to ``high``.

    ``binds`` tells how tightly: 1 sum, 2 product, 3 sign, 4 power, 5 number or bracket.
    """

    text: str
    low: Fraction
    high: Fraction
    binds: int = 5

    @property
    def is_whole(self) -> bool:
        return self.low == self.high and self.low.denominator == 1


def _in(term: Term, binds: int) -> str:
    """The text of ``term`` where something that binds so tightly is needed."""
    return term.text if term.binds >= binds else f"({term.text})"


def _term(text: str, ends: list[Fraction], binds: int, *, exact: bool) -> Term:
    low, high = min(ends), max(ends)
    if exact or max(abs(low), abs(high)) > MOST:
        return Term(text, low, high, binds)
    slack = max(abs(low), abs(high)) * ROUNDING
    # As floats, outwards, so that the fractions stay short.
    down, up = math.nextafter(float(low - slack), -math.inf), math.nextafter(float(high + slack), math.inf)
    return Term(text, Fraction(down), Fraction(up), binds)


def _is_tame(term: Term) -> bool:
    """Neither too large for a double nor, because zero is near, too small."""
    if term.is_whole:
        return abs(term.low) < MOST
    return (term.low > LEAST or term.high < -LEAST) and max(abs(term.low), abs(term.high)) < MOST


def _wholes() -> st.SearchStrategy[Term]:
    spell: tuple[Callable[[int], str], ...] = (
        str,
        lambda number: f"{number:,}",
        lambda number: str(number).translate({48 + digit: 0xFF10 + digit for digit in range(10)}),
        lambda number: f"{number:_}",
        lambda number: f"00{number}",
        lambda number: f"({number})",
        lambda number: f"（{number}）",
    )
    number = st.integers(0, 20) | st.integers(0, 10**12)
    return st.builds(
        lambda value, how: Term(how(value), Fraction(value), Fraction(value)), number, st.sampled_from(spell)
    )


def _decimals() -> st.SearchStrategy[Term]:
    def of(number: int, places: int, percent: bool) -> Term:
        value = Fraction(number, 10**places)
        text = f"{number // 10**places}.{number % 10**places:0{places}d}"
        if percent:
            return _term(f"({text}%)", [value / 100], 5, exact=False)
        return _term(text, [value], 5, exact=False)

    return st.builds(of, st.integers(1, 10**9), st.integers(1, 6), st.booleans())


def _added(left: Term, right: Term, sign: str) -> Term:
    text = f"{left.text}{sign}{_in(right, 2)}"
    one = 1 if sign.strip() in "+＋" else -1
    ends = [
        left.low + min(one * right.low, one * right.high),
        left.high + max(one * right.low, one * right.high),
    ]
    return _term(text, ends, 1, exact=left.is_whole and right.is_whole)


def _multiplied(left: Term, right: Term, sign: str) -> Term:
    ends = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    return _term(f"{_in(left, 2)}{sign}{_in(right, 3)}", ends, 2, exact=left.is_whole and right.is_whole)


def _divided(left: Term, right: Term, sign: str) -> Term | None:
    if right.low <= 0 <= right.high:
        return None
    ends = [one / other for one in (left.low, left.high) for other in (right.low, right.high)]
    even = left.is_whole and right.is_whole and ends[0].denominator == 1
    return _term(f"{_in(left, 2)}{sign}{_in(right, 3)}", ends, 2, exact=even)


def _modulo(left: Term, right: Term, sign: str) -> Term | None:
    """Floor division and what it leaves: of whole numbers only, elsewhere a last digit decides all of it."""
    if not (left.is_whole and right.is_whole and right.low):
        return None
    floor = Fraction(left.low // right.low)
    value = floor if sign == "//" else left.low - right.low * floor
    return _term(f"{_in(left, 2)}{sign}{_in(right, 5)}", [value], 2, exact=True)


def _powered(base: Term, exponent: int, sign: str) -> Term | None:
    if base.low <= 0 <= base.high and (not base.is_whole or exponent < 0):
        return None
    if max(abs(base.low), abs(base.high)) ** abs(exponent) > MOST:
        return None
    ends = [base.low**exponent, base.high**exponent]
    text = f"{_in(base, 5)}{_RAISED[exponent] if sign == '²' else f'{sign}({exponent})'}"
    return _term(text, ends, 4, exact=base.is_whole and exponent >= 0)


_RAISED = {
    number: "".join(
        {"-": "⁻"}.get(sign, "⁰¹²³⁴⁵⁶⁷⁸⁹"[ord(sign) - 48]) if sign != "-" else "⁻" for sign in str(number)
    )
    for number in range(-9, 10)
}
_STEPS: tuple[tuple[Callable[[Term, Term, str], Term | None], tuple[str, ...]], ...] = (
    (_added, ("+", " + ", "-", "−", " – ", "＋")),
    (_multiplied, ("*", "×", " x ", " · ", "＊")),
    (_divided, ("/", " ÷ ", "／")),
    (_modulo, ("//", "%")),
)


@st.composite
def sums(draw: st.DrawFn, *, by_zero: bool = False) -> Term:
    """A term of up to eight numbers; ``by_zero`` divides it by nothing at the end."""
    numbers = st.one_of(_wholes(), _wholes(), _decimals())
    term = draw(numbers)
    for _ in range(draw(st.integers(0, 7))):
        made = _step(draw, term, numbers)
        term = made if made is not None and _is_tame(made) and len(made.text) < 900 else term
    if not by_zero:
        return term
    zero = draw(st.sampled_from(("0", "(3-3)", "(0*7)", "0.0", "(2-2.0)")))
    sign = draw(st.sampled_from(("/", " ÷ ", "//", " % ")))
    return Term(f"{_in(term, 2)}{sign}{zero}", Fraction(0), Fraction(0))


def _step(draw: st.DrawFn, term: Term, numbers: st.SearchStrategy[Term]) -> Term | None:
    kind = draw(st.integers(0, 5))
    if kind == 5:
        return Term(f"-{_in(term, 4)}", -term.high, -term.low, 3)
    if kind == 4:
        return _powered(term, draw(st.integers(-9, 9)), draw(st.sampled_from(("^", "**", "²"))))
    step, signs = _STEPS[kind]
    other, sign = draw(numbers), draw(st.sampled_from(signs))
    return step(other, term, sign) if draw(st.booleans()) else step(term, other, sign)
