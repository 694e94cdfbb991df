"""What is seen of an attempt's model, by the same handler whoever asks it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from scripts.contenders import Attempt


class Watch(BaseCallbackHandler):
    """Counts an attempt's requests and tokens, keeps its replies, and times the model."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._began: dict[UUID, float] = {}

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **_: Any) -> None:
        self._began[run_id] = time.perf_counter()

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id)
        usage = (response.llm_output or {}).get("token_usage")
        self._attempt.count(usage)
        self._attempt.replies.append(_kept(response.generations[0][0].message, usage))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id)

    def _end(self, run_id: UUID) -> None:
        self._attempt.model_spans.append((self._began.pop(run_id), time.perf_counter()))


def _kept(message: Any, usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """A reply as data; what it does not have is left out."""
    parts = {
        "content": message.content,
        "finish_reason": (message.response_metadata or {}).get("finish_reason"),
        "tool_calls": getattr(message, "tool_calls", None),
        "invalid_tool_calls": getattr(message, "invalid_tool_calls", None),
        "usage": {name: count for name, count in (usage or {}).items() if isinstance(count, int)},
    }
    return {name: part for name, part in parts.items() if part or name == "content"}
