"""Calculator: one arithmetic expression in, one number out.

``notation`` reads the expression, ``arithmetic`` computes it; here it is bounded, worded and shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpleeval import InvalidExpression

from tools.arithmetic import CONSTANTS, FUNCTIONS, Number, evaluate
from tools.notation import MAX_CHARS, Refused, normalize
from tools.schema import one_text
from tools.texts import error_text, is_nothing, shorten, unquote

if TYPE_CHECKING:
    from langchain_core.tools import Tool

SYNTAX = (
    "Write numbers with + - * / // % ^ and brackets, without words or variables; "
    f"functions: {' '.join(FUNCTIONS)}; constants: {' '.join(CONSTANTS)}"
)
# Floats carry 15 to 17 significant digits; 15 are always right, and show 0.1+0.2 as 0.3.
SIGNIFICANT_DIGITS = 15
MAX_WHOLE_FLOAT = 10**SIGNIFICANT_DIGITS
_TOO_LARGE = (
    "the result, or a number on the way to it, is too large; whole numbers may have up to 4,200 digits, "
    "numbers with a fraction or an exponent go up to 1e308"
)
_REASONS: dict[type[Exception], str] = {
    ZeroDivisionError: "division by zero; use another divisor",
    OverflowError: _TOO_LARGE,
    MemoryError: _TOO_LARGE,
    FloatingPointError: "the result, or a number on the way to it, is too small: nearer to 0 than 1e-307",
    RecursionError: "it is nested too deeply; calculate it in parts",
}


def calculate(expression: str) -> str:
    """The value of an arithmetic expression, or a text that starts with ``Error: `` and says what is legal.

    Whole numbers are exact and may have about 4,200 digits; others are shown with 15 significant digits.
    Never raises for what the expression holds, and never runs it as Python code.
    """
    if len(expression) > MAX_CHARS:
        return error_text(f"the expression is longer than {MAX_CHARS} characters; calculate it in parts")
    if is_nothing(expression):
        return error_text("no expression was given; write one such as 2+3*4")
    try:
        text = " ".join(unquote(expression).split())
        return format_number(evaluate(normalize(text, FUNCTIONS, CONSTANTS)))
    except (*_REASONS, Refused, SyntaxError, ValueError, TypeError, InvalidExpression) as error:
        return error_text(f"cannot calculate '{shorten(expression)}': {_reason(error)}")


def _reason(error: Exception) -> str:
    """Why there is no value, and the way out; what was not understood is shown all that is legal."""
    if isinstance(error, Refused):
        return f"{error}. {SYNTAX}"
    return _REASONS.get(type(error), f"it is not a complete expression. {SYNTAX}")


def format_number(number: Number) -> str:
    """A whole number in full, any other with 15 significant digits; never ``-0``."""
    if isinstance(number, float) and number.is_integer() and abs(number) < MAX_WHOLE_FLOAT:
        number = int(number)
    return str(number) if isinstance(number, int) else format(number, f".{SIGNIFICANT_DIGITS}g")


def calculator_tool() -> Tool:
    """The Calculator as a LangChain ``Tool``."""
    from langchain_core.tools import Tool

    return Tool(
        name="Calculator",
        func=calculate,
        description=(
            "Calculates one arithmetic expression of numbers, e.g. 23*47 or sqrt(2)^3 or 15% of 80. "
            "Input: the expression alone, without words, units or variables."
        ),
        args_schema=one_text("expression", "e.g. (3+4)*2"),
    )
