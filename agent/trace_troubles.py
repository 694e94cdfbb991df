"""What is wrong with a trace file, in sentences: few, however long the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.redaction import shown
from agent.trace import VERSION

MOST_NAMED = 5  # lines or runs in one sentence; a file that is no trace may have a million

NO_RUN = " holds no run: --trace FILE or AGENT_TRACE_DIR write traces"
_PLAIN_NAME = re.compile(r"\w{1,40}")


@dataclass(frozen=True)
class Later:
    """A run of a later trace version, and the line that says so."""

    run: str
    line: int
    version: object


@dataclass
class Troubles:
    """``nobodys`` are lines that are no records and name no run; ``changed`` are runs with such lines of
    theirs; ``headless`` are runs without their beginning. A sentence is to stand behind the file's path.
    """

    nobodys: list[int] = field(default_factory=list)
    changed: list[tuple[str, list[int]]] = field(default_factory=list)
    later: list[Later] = field(default_factory=list)
    headless: list[str] = field(default_factory=list)

    def first(self) -> str:
        """What is wrong with the first line that is no record of this version; empty where there is none."""
        bad = min((*self.nobodys, *(min(lines) for _, lines in self.changed)), default=0)
        later = min(self.later, key=lambda each: each.line, default=None)
        if later and not 0 < bad < later.line:
            version = shown(later.version)
            return (
                f" was written by a later version (trace version {version}, this one reads {VERSION}): update"
            )
        return f": line {bad} is no record of a trace" if bad else ""

    def all(self) -> Iterator[str]:
        """A sentence for each kind of trouble."""
        if self.nobodys:
            first, *more = self.nobodys
            nor = f", nor {'are' if len(more) > 1 else 'is'} {_numbered(more)}" if more else ""
            yield f": line {first} is no record of a trace{nor}"
        if self.changed:
            runs = [f"{_called(run)} ({_numbered(lines)})" for run, lines in self.changed]
            yield f": left out for lines that are no records of a trace: {_listed(runs)}"
        if self.later:
            runs = [f"{_called(each.run)} (trace version {shown(each.version)})" for each in self.later]
            yield f" was written by a later version where it holds {_listed(runs)}: update"
        if self.headless:
            yield f": left out because the beginning is missing: {_listed([*map(_called, self.headless)])}"


def _listed(items: Sequence[str]) -> str:
    """Some items and how many more there are: ``a, b and 3 more``."""
    more = len(items) - MOST_NAMED
    return ", ".join(items[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _numbered(lines: Sequence[int]) -> str:
    """Lines by their numbers: ``line 3``, ``lines 3, 4 and 9``."""
    return f"line{'s' if len(lines) > 1 else ''} {_listed([*map(str, lines)])}"


def _called(name: str) -> str:
    """A run in a sentence, whatever a changed file calls it."""
    return f"run {name if _PLAIN_NAME.fullmatch(name) else shown(name)}"
