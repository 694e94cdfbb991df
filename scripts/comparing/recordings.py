"""Replies as they came from a live model, to be played again: per task, contender and repeat, one line each.

The first line says what was recorded. A recording is a journal without what is measured anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage

from agent.testing import ScriptedModel
from scripts.comparing.identity import digest
from scripts.comparing.journal import Key, key_of
from scripts.figures import Row


@dataclass(frozen=True)
class Recording:
    """What ``--scripted`` plays. ``source`` is what the recording says of its model."""

    path: Path
    source: Mapping[str, Any]
    replies: Mapping[Key, list[dict[str, Any]]]

    @property
    def identity(self) -> dict[str, Any]:
        """As ``scripts.comparing.identity.live`` says of a live model; what is played is no llama.cpp."""
        return {**self.source, "recording": f"{self.path.name} {digest([self.path])}"}

    def model(self, key: Key) -> ScriptedModel:
        """A model that gives the replies of one run in their order."""
        return ScriptedModel(replies=[_message(reply) for reply in self.replies[key]])


def load_recording(path: Path) -> Recording:
    """Read a recording. Raises ValueError for a file that is none; OSError."""
    try:
        source, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
        replies = {
            (line["task"], line["contender"], line["repeat"]): [dict(each) for each in line["replies"]]
            for line in lines
        }
        return Recording(path, dict(source["recorded"]), replies)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no recording ({type(error).__name__}: {error}): write one with --record"
        ) from error


def write_recording(path: Path, identity: Mapping[str, Any], rows: Iterable[Row]) -> list[Key]:
    """Write the runs that can be played again; returns those that cannot, because a request failed."""
    lines, left_out = [json.dumps({"recorded": identity}, ensure_ascii=False)], []
    for row in rows:
        key = key_of(row)
        if len(row.attempt.replies) != len(row.attempt.model_spans):
            left_out.append(key)
            continue
        names = ("task", "contender", "repeat")
        line = dict(zip(names, key, strict=True)) | {"replies": row.attempt.replies}
        lines.append(json.dumps(line, ensure_ascii=False))
    part = path.with_name(path.name + ".part")
    part.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
    os.replace(part, path)
    return left_out


def _message(reply: Mapping[str, Any]) -> AIMessage:
    told = {"token_usage": reply.get("usage", {}), "finish_reason": reply.get("finish_reason", "")}
    return AIMessage(
        content=reply["content"],
        tool_calls=reply.get("tool_calls", []),
        invalid_tool_calls=reply.get("invalid_tool_calls", []),
        response_metadata=told,
    )
