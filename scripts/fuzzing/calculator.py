"""The calculator: every expression gives a text, and where the value is known, the right one.

An input is an ``expression``. Where it was built together with its value, ``low`` and ``high`` bound the
value as fractions; both are "none" where there is no value (a division by zero).
"""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

from hypothesis import strategies as st

from scripts.fuzzing.mutations import mutated, soup
from scripts.fuzzing.sums import sums
from scripts.fuzzing.target import Input, Target, hold
from tools.calculator import calculate
from tools.notation import MAX_CHARS

MOST_DIGITS = 4300  # of an answer: at more, Python itself refuses to write a number out
MOST_BYTES = 8_000_000  # at work on an expression of at most MAX_CHARS characters
NO_VALUE = "none"
FRAGMENTS = (
    *"0123456789",
    *("+", "-", "*", "/", "//", "%", "**", "^", "(", ")", "[", "]", ",", ".", "!", "√", "=", "= ?", "_"),
    *("×", "÷", "−", "（", "）", "＋", "５", "，", "。", "²", "³", "⁻", "½", "π", "∞", "٣", "\u3000", "\xa0"),
    *(
        "sqrt(",
        "min(",
        "max(",
        "sum([",
        "round(",
        "log(",
        "factorial(",
        "pow(",
        "abs(",
        "exp(",
        "tan(",
        "sum(",
    ),
    *("pi", "e", "E", "x", "X", "of", " percent", "1e308", "1e-308", "e9", "0x", "1_0", "1,000", "9" * 40),
    *(
        " ",
        "\n",
        "\t",
        "\x00",
        "\ud800",
        '"',
        "'",
        "`",
        "lambda",
        "__import__",
        "and",
        "if",
        "True",
        "1j",
        ":",
        "%%",
    ),
)


def check(given: Input) -> None:
    """Hold what is promised of the calculator against one expression."""
    expression = given["expression"]
    tracemalloc.start()
    try:
        said = calculate(expression)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    hold(peak < MOST_BYTES, "memory is bounded", (expression, peak))
    _check_words(said)
    if "low" in given:
        _check_value(said, given["low"], given["high"])


def _check_words(said: str) -> None:
    hold(isinstance(said, str) and said.strip() == said and said, "every expression gives a text", said)
    hold("\n" not in said, "the text is one line", said)
    said.encode("utf-8")
    if not said.startswith("Error: "):
        hold(len(said) <= MOST_DIGITS, "a value is shown in bounded length", len(said))
        hold(_number(said) is not None and said != "-0", "what is no refusal is a number", said)


def _number(said: str) -> Fraction | None:
    try:
        return Fraction(said)
    except ValueError:  # no number
        return None


def _check_value(said: str, low: str, high: str) -> None:
    if low == NO_VALUE:
        hold(said.startswith("Error: "), "what has no value is refused", said)
        return
    shown = _number(said)
    hold(shown is not None, "what has a value is calculated", (said, low))
    rounding = 0 if low == high and Fraction(low).denominator == 1 else abs(Fraction(low)) / 10**14
    right = shown is not None and Fraction(low) - rounding <= shown <= Fraction(high) + rounding
    hold(right, "the value is right", (said, float(Fraction(low)), float(Fraction(high))))


def inputs(seeds: list[Input]) -> st.SearchStrategy[Input]:
    known = [seed["expression"] for seed in seeds]
    texts = st.one_of(soup(FRAGMENTS), mutated(known, FRAGMENTS), st.text(st.characters(), max_size=40))
    long = st.builds(
        lambda head, unit, count: (head + unit * count)[: MAX_CHARS + 1], *_pumped(), st.integers(2, 500)
    )
    return st.one_of(
        st.builds(dict, expression=texts),
        st.builds(dict, expression=long),
        sums().map(lambda term: {"expression": term.text, "low": str(term.low), "high": str(term.high)}),
        sums(by_zero=True).map(lambda term: {"expression": term.text, "low": NO_VALUE, "high": NO_VALUE}),
    )


def _pumped() -> tuple[st.SearchStrategy[str], st.SearchStrategy[str]]:
    units = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=3).map("".join)
    return soup(FRAGMENTS, most=3), units


TARGET = Target("calculator", check, inputs)
