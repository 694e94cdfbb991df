"""Arithmetic that cannot run away: simpleeval with our own tables and nothing of its defaults.

Every operator and function takes plain numbers only and knows the size of its result before it computes
it. Whole numbers are exact; a quotient of whole numbers that comes out even stays whole.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable
from typing import Any

from simpleeval import SimpleEval

from tools.notation import Refused

Number = int | float

# About 4,200 digits: below the 4,300 at which Python refuses to write a whole number out.
MAX_BITS = 14_000

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}


def numbers(values: tuple[object, ...]) -> list[Number]:
    """``values`` if all are real, finite numbers. Raises ``Refused``, and ``OverflowError`` for infinity.

    A number so small that a float holds only a part of its digits is a ``FloatingPointError``.
    """
    checked: list[Number] = []
    for value in values:
        if isinstance(value, complex):
            raise Refused("the result is not a real number, e.g. a root of a negative number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused("a number is expected here; lists go into min, max and sum only")
        if isinstance(value, float) and not math.isfinite(value):
            raise OverflowError
        if 0 < abs(value) < sys.float_info.min:
            raise FloatingPointError
        checked.append(value)
    return checked


def _on_numbers(function: Callable[..., object]) -> Callable[..., Number]:
    """``function`` with numbers alone going in and one real number coming out."""

    def checked(*values: object) -> Number:
        return numbers((function(*numbers(values)),))[0]

    return checked


def _on_list(function: Callable[[list[Number]], object]) -> Callable[..., Number]:
    """``function`` over its arguments, or over the one list that it is given."""

    def checked(*values: object) -> Number:
        items = tuple(values[0]) if len(values) == 1 and isinstance(values[0], list) else values
        if not items:
            raise Refused("min, max and sum need at least one number")
        return numbers((function(numbers(items)),))[0]

    return checked


def _require_bits(bits: float) -> None:
    """Raise ``OverflowError`` before a whole number of that many bits is computed."""
    if bits > MAX_BITS:
        raise OverflowError


def _not_lost(result: Any, *operands: Number) -> Any:
    """``result``, unless it is a zero that comes of operands other than zero: it was too small to hold."""
    if result == 0 and all(operands):
        raise FloatingPointError
    return result


def _multiply(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        _require_bits(left.bit_length() + right.bit_length())
    return _not_lost(left * right, left, right)


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    return _not_lost(left / right, left)


def _power(base: Number, exponent: Number) -> object:
    """A power; that of whole numbers has ``exponent * log2(base)`` bits."""
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1 and exponent > 0:
        _require_bits(exponent * math.log2(abs(base)))
    return _not_lost(base**exponent, base)


def _exp(number: Number) -> object:
    return _not_lost(math.exp(number))


def _factorial(number: Number) -> int:
    """A factorial; the log-gamma function tells its size (``n! = gamma(n + 1)``)."""
    if number < 0 or number != int(number):
        raise Refused("a factorial needs a whole number from 0 on")
    _require_bits(math.lgamma(number + 1) / math.log(2))
    return math.factorial(int(number))


def _round(number: Number, digits: Number = 0) -> Number:
    """Python's ``round`` (halves go to the even neighbour), to at most 300 places on either side."""
    if not isinstance(digits, int) or abs(digits) > 300:
        raise Refused("round takes a number and a whole number of places, as in round(3.14159, 2)")
    return round(number, digits) if digits else round(number)


OPERATORS: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Add: _on_numbers(operator.add),
    ast.Sub: _on_numbers(operator.sub),
    ast.Mult: _on_numbers(_multiply),
    ast.Div: _on_numbers(_divide),
    ast.FloorDiv: _on_numbers(operator.floordiv),
    ast.Mod: _on_numbers(operator.mod),
    ast.Pow: _on_numbers(_power),
    ast.USub: _on_numbers(operator.neg),
    ast.UAdd: _on_numbers(operator.pos),
}

_FROM_MATH = (
    "sqrt",
    "log",
    "log2",
    "log10",
    "exp",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "floor",
    "ceil",
)

# log is the natural logarithm, log(x, base) that to a base; angles are in radians.
FUNCTIONS: dict[str, Callable[..., Number]] = {
    **{name: _on_numbers(getattr(math, name)) for name in _FROM_MATH},
    "exp": _on_numbers(_exp),
    "ln": _on_numbers(math.log),
    "abs": _on_numbers(abs),
    "round": _on_numbers(_round),
    "pow": _on_numbers(_power),
    "factorial": _on_numbers(_factorial),
    "min": _on_list(min),
    "max": _on_list(max),
    "sum": _on_list(sum),
}


class Arithmetic(SimpleEval):
    """simpleeval cut down to an allow-list: numbers, operators, lists, named functions and constants."""

    def __init__(self) -> None:
        super().__init__(operators=OPERATORS, functions=FUNCTIONS, names=CONSTANTS)
        self.nodes = {
            ast.Constant: self._number,
            ast.Name: self._constant,
            ast.UnaryOp: self._eval_unaryop,
            ast.BinOp: self._eval_binop,
            ast.Call: self._call,
            ast.List: self._list,
            ast.Tuple: self._list,
        }

    def _number(self, node: ast.Constant) -> Number:
        """A number as it was written; ``1e-400`` is no zero, although a float cannot hold it."""
        written = self.expr[node.col_offset : node.end_col_offset]
        if node.value == 0 and re.search("[1-9]", written.lower().partition("e")[0]):
            raise FloatingPointError
        return numbers((node.value,))[0]

    def _constant(self, node: ast.Name) -> float:
        if node.id not in CONSTANTS:
            raise Refused(f"the name {node.id[:30]!r} is unknown")
        return CONSTANTS[node.id]

    def _list(self, node: ast.List | ast.Tuple) -> list[Number]:
        return numbers(tuple(self._eval(element) for element in node.elts))

    def _call(self, node: ast.Call) -> Number:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise Refused("only the named functions can be called, with numbers in brackets")
        name = node.func.id
        try:
            result: Number = self._eval_call(node)
        except TypeError as error:
            raise Refused(
                f"{name} cannot take {len(node.args)} numbers (inside its brackets a comma separates)"
            ) from error
        except ValueError as error:
            raise Refused(f"{name} has no real value there") from error
        return result

    def _eval_binop(self, node: ast.BinOp) -> Number:
        """A chain such as ``1+1+1+...`` in a loop: recursion would make its length a matter of the stack."""
        chain: list[ast.BinOp] = []
        operand: ast.expr = node
        while isinstance(operand, ast.BinOp):
            chain.append(operand)
            operand = operand.left
        value: Number = self._eval(operand)
        for link in reversed(chain):
            value = self.operators[type(link.op)](value, self._eval(link.right))
        return value


def evaluate(expression: str) -> Number:
    """The value of ``expression``, which is in Python's notation.

    Raises ``Refused`` with a reason; ``OverflowError`` for a result past ``MAX_BITS``, before it is computed;
    ``FloatingPointError`` for a number too small for a float; and what parsing and arithmetic raise:
    SyntaxError, ValueError, TypeError, ZeroDivisionError, RecursionError, MemoryError, and simpleeval's
    ``InvalidExpression``.
    """
    tree = ast.parse(expression, mode="eval")
    return numbers((Arithmetic().eval(expression, tree.body),))[0]
