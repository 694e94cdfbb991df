"""Markers: the word that tells whose a text is, and how that run is to go."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

# What a run meets. The service reads it from the question's marker, and so needs to remember nothing.
KINDS = ("plain", "two_calls", "slow", "raises", "hangs", "bad_reply", "busy")
_RARE = 40  # one run in so many hangs: each leaves a thread behind for a while

_MARK = re.compile(r"mark-(?P<agent>[0-9a-f]{6})-(?P<run>[0-9a-f]{8})")


@dataclass(frozen=True)
class Mark:
    """``agent`` and ``run`` are numbers; no two runs have the same."""

    agent: int
    run: int

    def __str__(self) -> str:
        return f"mark-{self.agent:06x}-{self.run:08x}"

    @property
    def kind(self) -> str:
        if self.run % _RARE == _RARE - 1:
            return "hangs"
        usual = [kind for kind in KINDS if kind != "hangs"]
        return usual[self.run % len(usual)]

    @property
    def question(self) -> str:
        return f"Which word belongs to {self}?"

    @property
    def answer(self) -> str:
        return f"The word of {self} is here."


def marks_in(text: str) -> Iterator[Mark]:
    """Every marker in ``text``, in order."""
    for found in _MARK.finditer(text):
        yield Mark(int(found["agent"], 16), int(found["run"], 16))


class Marks:
    """Gives out markers. Safe to share between threads, as ``next`` on a count is."""

    def __init__(self) -> None:
        self._agents = itertools.count(1)
        self._runs = itertools.count()

    def new_agent(self) -> int:
        return next(self._agents)

    def new_run(self, agent: int) -> Mark:
        return Mark(agent, next(self._runs))
