"""What a reply means: the three things that a protocol can read out of it.

A decision is data. Reading a reply runs nothing, writes nothing and never raises; the loop acts on
what was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent.results import Action


@dataclass(frozen=True)
class ToolSpec:
    """What a reader must know of a tool: its name and what its argument may look like.

    ``fields`` are the argument names. With exactly one the input is text; with several, or none, it is
    arguments by name. ``input_required`` is False where an empty argument is a valid call (Time).
    ``required`` names the fields that a call to a tool with several must give. ``takes`` is the JSON type of
    a single field ("" for none in particular): only text and numbers are written bare.
    """

    name: str
    fields: tuple[str, ...] = ("tool_input",)
    input_required: bool = True
    required: tuple[str, ...] = ()
    takes: str = "string"


@dataclass(frozen=True)
class Act:
    """Run these actions. ``kept`` is the part of the reply that may go back to the model."""

    actions: tuple[Action, ...]
    thought: str = ""
    kept: str = ""


@dataclass(frozen=True)
class Finish:
    """The answer is in hand. ``unformatted``: it came without the label it should have had."""

    answer: str
    thought: str = ""
    kept: str = ""
    unformatted: bool = False


Fault = Literal["empty", "no_label", "unknown_tool", "bad_call", "unclosed", "trailing", "cut"]


@dataclass(frozen=True)
class Malformed:
    """The reply cannot be acted on.

    ``fault`` is its kind; ``detail`` names the piece of the reply at fault (the unknown tool's name, the
    text after the bracket, ...). ``kept`` is as in Act. The protocol words the correction from it.
    """

    fault: Fault
    detail: str = ""
    thought: str = ""
    kept: str = ""


Decision = Act | Finish | Malformed
