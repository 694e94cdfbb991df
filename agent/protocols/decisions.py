"""What a reply means: the three things that a protocol can read out of it.

A decision is data. Reading a reply runs nothing, writes nothing and never raises; the loop acts on
what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from agent.results import Action


@dataclass(frozen=True)
class ToolSpec:
    """What a reader must know of a tool: its name and what its argument may look like.

    ``fields`` are the argument names. With exactly one the input is text; with several, or none, it is
    arguments by name. ``input_required`` is False where an empty argument is a valid call (Time).
    ``required`` names the fields that a call to a tool with several must give. ``takes`` is the JSON type of
    a single field ("" for none in particular): only text and numbers are written bare. ``types`` are the
    JSON types of all fields that have just one.
    """

    name: str
    fields: tuple[str, ...] = ("tool_input",)
    input_required: bool = True
    required: tuple[str, ...] = ()
    takes: str = "string"
    types: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Act:
    """Run these actions. ``kept`` is the part of the reply that may go back to the model, as its protocol
    stores it: a text, or a message with its tool calls.
    """

    actions: tuple[Action, ...]
    thought: str = ""
    kept: Any = ""


@dataclass(frozen=True)
class Finish:
    """The answer is in hand. ``unformatted``: it came without the label it should have had."""

    answer: str
    thought: str = ""
    kept: Any = ""
    unformatted: bool = False


Fault = Literal["empty", "no_label", "unknown_tool", "bad_call", "misfit", "unclosed", "trailing", "cut"]


@dataclass(frozen=True)
class Malformed:
    """The reply cannot be acted on.

    ``fault`` is its kind; ``detail`` names the piece of the reply at fault (the unknown tool's name, the
    text after the bracket, ...); of a "misfit" it is the form that a call of its tool has. ``kept`` is as in
    Act. The protocol words the correction from it.
    """

    fault: Fault
    detail: str = ""
    thought: str = ""
    kept: Any = ""


Decision = Act | Finish | Malformed


class Verdict(NamedTuple):
    """What was decided, by the text from ``start`` to ``end``.

    ``read_to`` is where more text could still have changed it, if that is not ``end``: nowhere behind a
    closing bracket, and further on where that bracket counts only because a quote was never closed.
    """

    decision: Decision
    start: int
    end: int
    read_to: int | None = None
