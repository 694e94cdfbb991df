"""What answers the contenders: a live model, or a recording of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.comparing.journal import Key

# More than a warm-up can ask for: each contender in two languages with two sets of tools, a few times each.
_GREETINGS = 500


@dataclass(frozen=True)
class Source:
    """``model_of`` gives a turn its chat model; ``greeter`` answers while contenders are warmed up.

    With a recording that is what imports whatever they import when first used.
    ``identity`` is what a journal says of it; ``replies`` are those of a recording, by turn.
    """

    model_of: Callable[[Key], Any]
    greeter: Any
    identity: dict[str, Any]
    replies: Mapping[Key, Sequence[Any]] | None = None


def live(model: str, base_url: str | None) -> Source:
    """Raises ValueError when the model cannot be had."""
    from scripts.comparing import identity
    from scripts.comparing.turns import load

    llm = load(model, base_url)
    return Source(lambda _: llm, llm, identity.live(model, base_url, llm))


def recorded(path: Path) -> Source:
    """Raises ValueError for a file that is no recording; OSError."""
    from agent.testing import ScriptedModel
    from scripts.comparing.recordings import load_recording

    recording = load_recording(path)
    greeter = ScriptedModel(replies=["Final Answer: Hello!"] * _GREETINGS)
    return Source(recording.model, greeter, recording.identity, recording.replies)
