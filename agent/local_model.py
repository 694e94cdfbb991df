"""The embedded model: llama.cpp in this process, behind its own OpenAI-compatible endpoint.

The server listens on the loopback address, on a free port, and asks for a random key, because it lets
any web page ask. It lives as long as the process; one file is loaded once.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.deadline import Call
from agent.errors import SettingsError
from agent.weights import prompt_cache_dir

CONTEXT_TOKENS = 16_384  # shared by all slots; 28 kB a token with the 1.5B model
SLOTS = 4  # requests served side by side, each with a prompt cache of its own
LOAD_TIMEOUT_S = 600.0
PATIENCE_S = 300.0  # for one of our own requests to it


@dataclass
class LocalServer:
    """A loaded model. ``url`` is its address without a path; ``primed`` names the prompts it has read."""

    path: Path
    url: str
    key: str = field(repr=False)
    native: Any = field(repr=False)
    slots: int = SLOTS
    primed: set[str] = field(default_factory=set)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the server, past any proxy. Raises OSError or ValueError; a refusal is an empty answer."""
        import requests

        with requests.Session() as session:
            session.trust_env = False
            headers = {"Authorization": f"Bearer {self.key}"}
            answer = session.post(self.url + path, json=body, headers=headers, timeout=PATIENCE_S)
        return dict(answer.json()) if answer.ok else {}


_servers: dict[Path, LocalServer] = {}
_lock = threading.Lock()


def serve(path: Path) -> LocalServer:
    """Load a GGUF file (2 to 5 s), once per process, and return its server.

    Raises SettingsError when the file is no model that llama.cpp can load.
    """
    path = path.resolve()
    with _lock:
        if path not in _servers:
            # In a worker thread: native code would keep Ctrl-C waiting on the main one.
            if not _servers:
                atexit.register(_leave)
            _servers[path] = Call(lambda: _start(path), "agent-load-model").result(LOAD_TIMEOUT_S)
        return _servers[path]


def server_of(llm: Any) -> LocalServer | None:
    """The server of this process that answers for a chat model, if one does."""
    url = str(getattr(llm, "openai_api_base", None) or "")
    return next((server for server in _servers.values() if url.startswith(server.url)), None)


def _leave() -> None:
    """End the process here when a request has been left behind.

    llama.cpp cannot be taken down in the middle of a reply: the interpreter would hang or crash at its end. A
    plain exit cannot tell its code here, so it is 0, or 1 after an exception.
    """
    if any(thread.name.startswith("agent-model") for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # closed, or none: nothing to flush
                stream.flush()
        os._exit(1 if hasattr(sys, "last_type") else 0)


def _start(path: Path) -> LocalServer:
    import xllamacpp

    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.kv_unified = True
    params.api_keys = [key]
    params.verbosity = -1  # its log would mix with the agent's own words on stderr
    params.ui = False
    params.endpoint_slots = False
    params.slot_save_path = _slot_folder()
    params.port = 0
    try:
        native = xllamacpp.Server(params)
    except Exception as error:
        raise SettingsError(
            f"llama.cpp cannot load {path.name}: is it a complete GGUF file? ({error})"
        ) from None
    return LocalServer(path, native.listening_address, key, native)


def _slot_folder() -> str:
    """Where slots are saved; empty, which means nowhere, on a disk that cannot be written."""
    folder = prompt_cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return f"{folder}/"
