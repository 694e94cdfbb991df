"""What a target of the fuzzer is, and how a property of it says that it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

Input = dict[str, Any]  # nothing but what JSON holds, so that a finding can be written down

SECRET = "zq7secret"  # noqa: S105 - stands where no reader may take anything from


class Broken(AssertionError):
    """A property does not hold. The message names it, and what was seen instead."""


@dataclass(frozen=True)
class Target:
    """Something to feed: ``check`` raises Broken, or whatever the code under test should not have raised.

    ``inputs`` makes inputs from scratch and out of ``seeds``, the inputs of the corpus.
    """

    name: str
    check: Callable[[Input], None]
    inputs: Callable[[list[Input]], SearchStrategy[Input]]


def hold(holds: object, promise: str, seen: object = "") -> None:
    """Raise Broken with ``promise``, unless it holds."""
    if not holds:
        raise Broken(f"{promise}: {seen!r:.300}" if seen != "" else promise)
