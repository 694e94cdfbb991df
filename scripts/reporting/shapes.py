"""Whether a view holds what its dataclass says. A trace that somebody changed may put anything anywhere."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def fitting(view: T) -> T:
    """The view itself. Raises TypeError that names the first field whose value is of another kind."""
    hints = _hints(type(view))  # type: ignore[arg-type]  # mypy does not see that a type[T] is hashable
    for name, hint in hints.items():
        _check(getattr(view, name), hint, name)
    return view


def _check(value: Any, hint: Any, name: str) -> None:
    if not any(_fits(value, each, name) for each in _choices(hint)):
        raise TypeError(f"{name} is {value!r:.80}")


def _fits(value: Any, hint: Any, name: str) -> bool:
    """Whether the value is of one plain kind; what is within it is checked, too, and may raise."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_within(value, get_args(hint), name))
    if hint is float:  # neither inf nor nan can be drawn
        return type(value) in (int, float) and math.isfinite(value)
    if hint in (int, str, bool, NoneType):
        return type(value) is hint
    if is_dataclass(hint) and isinstance(hint, type):
        return isinstance(value, hint) and fitting(value) is value
    return hint is object


def _within(values: tuple[Any, ...], hints: tuple[Any, ...], name: str) -> Iterator[bool]:
    each_hint = (hints[0],) * len(values) if hints[-1] is ... else hints
    for value, hint in zip(values, each_hint, strict=True):
        _check(value, hint, name)
        yield True


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


@lru_cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)
