"""The embedded model reads the beginning of every request once, and finds it on disk ever after.

System message and worked examples are the same in every run, and reading them takes a laptop's processor
the better part of a minute. llama.cpp can write a slot's state to a file and read it back in a moment. All
of this is a help: whatever goes wrong here costs time, never a run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from agent.client import Request
from agent.deadline import DeadlinePassed, run_within
from agent.local_model import LocalServer, server_of
from agent.weights import prompt_cache_dir

PRIME_TIMEOUT_S = 300.0
KEPT_FILES = 6  # about 50 MB each with the 1.5B model; the least recently used go first

_log = logging.getLogger("agent")
_lock = threading.Lock()


def prime(llm: BaseChatModel, head: Request) -> None:
    """Have the embedded model read ``head`` before the run's clock starts; any other model is left alone."""
    server = server_of(llm)
    if server is None:
        return
    with _lock:
        body = _body(llm, head)
        name = _file_name(server, body)
        if name in server.primed:
            return
        slot = len(server.primed) % server.slots
        server.primed.add(name)
        try:
            run_within(PRIME_TIMEOUT_S, lambda: _prime(server, body, name, slot), "agent-prime")
        except (DeadlinePassed, OSError, ValueError) as error:
            _log.info("the embedded model's prompt cache was not used: %s", type(error).__name__)


def _body(llm: Any, head: Request) -> dict[str, Any]:
    """The head as the client will send it, word for word: one sign more, and nothing is found again."""
    messages, _ = llm._create_message_dicts([*head.messages, HumanMessage(content=".")], None)
    return {"messages": messages, **({"tools": list(head.tools)} if head.tools else {})}


def _file_name(server: LocalServer, body: dict[str, Any]) -> str:
    """Names what the state depends on: the weights, the build of llama.cpp, and the text."""
    import xllamacpp

    text = json.dumps([server.path.name, server.path.stat().st_size, xllamacpp.__version__, body])
    return f"{server.path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.kv"


def _prime(server: LocalServer, body: dict[str, Any], name: str, slot: int) -> None:
    folder = prompt_cache_dir()
    if (folder / name).is_file() and _slot_action(server, "restore", slot, name).get("n_restored"):
        (folder / name).touch()
        return
    server.post("/v1/chat/completions", {**body, "max_tokens": 1, "temperature": 0, "id_slot": slot})
    part = f"{name}.{threading.get_ident()}.part"
    if _slot_action(server, "save", slot, part).get("n_saved"):
        (folder / part).replace(folder / name)
    (folder / part).unlink(missing_ok=True)
    _forget_oldest(folder)


def _slot_action(server: LocalServer, action: str, slot: int, name: str) -> dict[str, Any]:
    return server.post(f"/slots/{slot}?action={action}", {"filename": name})


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.kv"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[KEPT_FILES:]:
        file.unlink(missing_ok=True)
