"""The embedded model: llama.cpp in this process, behind its own OpenAI-compatible endpoint.

The server listens on the loopback address, on a free port, and asks for a random key, because it lets
any web page ask. It lives as long as the process; one file is loaded once.
"""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import Any

from agent.deadline import Call
from agent.errors import SettingsError

CONTEXT_TOKENS = 16_384  # shared by all slots; 28 kB a token with the 1.5B model
SLOTS = 4  # requests served side by side, each with a prompt cache of its own
LOAD_TIMEOUT_S = 600.0

_servers: dict[Path, tuple[Any, str, str]] = {}
_lock = threading.Lock()


def serve(path: Path) -> tuple[str, str]:
    """Load a GGUF file (2 to 5 s) and return the base URL and the key of its endpoint.

    Raises SettingsError when the file is no model that llama.cpp can load.
    """
    path = path.resolve()
    with _lock:
        if path not in _servers:
            key = secrets.token_hex(16)
            # In a worker thread: native code would keep Ctrl-C waiting on the main one.
            server = Call(lambda: _start(path, key), "agent-load-model").result(LOAD_TIMEOUT_S)
            _servers[path] = (server, f"{server.listening_address}/v1", key)
        _, url, key = _servers[path]
        return url, key


def _start(path: Path, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.kv_unified = True
    params.api_keys = [key]
    params.verbosity = -1  # its log would mix with the agent's own words on stderr
    params.ui = False
    params.endpoint_slots = False
    params.port = 0
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise SettingsError(
            f"llama.cpp cannot load {path.name}: is it a complete GGUF file? ({error})"
        ) from None
