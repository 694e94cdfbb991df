"""What is seen of an attempt's model, by the same handler whoever asks it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from scripts.comparing.outages import Sent, Watched
from scripts.contenders import Attempt


class Watch(BaseCallbackHandler):
    """Counts an attempt's requests and tokens, keeps its replies, times the model, and knows how it ended."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._began: dict[UUID, float] = {}
        self._sent: dict[UUID, Sent] = {}

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **more: Any) -> None:
        self._sent[run_id] = Sent(with_tools=bool((more.get("invocation_params") or {}).get("tools")))
        if isinstance(self._attempt, Watched):
            self._attempt.latest = self._sent[run_id]
        self._began[run_id] = time.perf_counter()

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id)
        usage = (response.llm_output or {}).get("token_usage")
        self._attempt.count(usage)
        self._attempt.replies.append(_kept(response.generations[0][0].message, usage))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, error)

    def _end(self, run_id: UUID, error: BaseException | None = None) -> None:
        sent = self._sent.pop(run_id)
        sent.error, sent.under_way = error, False
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
