"""The tools of a soak: each says the marker that it was given, after its own manner."""

from __future__ import annotations

import threading

from langchain_core.tools import BaseTool, Tool

DEADLINE_S = 0.2  # of the tool that hangs
SLOW_S = 0.05
HANGS_S = 1.5  # in all: then what the agent has abandoned comes to its end
TOOL_OF = {"slow": "Slow", "raises": "Raising", "hangs": "Hanging"}


def tool_for(kind: str) -> str:
    """The name of the tool that a run of this kind asks for."""
    return TOOL_OF.get(kind, "Echo")


def soak_tools(release: threading.Event) -> list[BaseTool]:
    """Fresh tools; setting ``release`` lets those that hang go."""

    def echo(word: str) -> str:
        return f"echo of {word}"

    def slow(word: str) -> str:
        release.wait(SLOW_S)
        return echo(word)

    def hanging(word: str) -> str:
        release.wait(HANGS_S)
        return echo(word)

    def raising(word: str) -> str:
        raise RuntimeError(f"no echo of {word}")

    late = {"timeout_s": DEADLINE_S}
    return [
        Tool(name="Echo", func=echo, description="Says a word again."),
        Tool(name="Slow", func=slow, description="Says a word again, later."),
        Tool(name="Hanging", func=hanging, description="Says a word again, too late.", metadata=late),
        Tool(name="Raising", func=raising, description="Cannot say a word."),
    ]
