"""Say once that LangChain's own tracing sends every prompt to somebody else.

It is switched on by a variable that may have stood in a shell's profile for years, and shows nowhere.
"""

from __future__ import annotations

import logging
import os
import threading
from urllib.parse import urlsplit

from prompts import Say

# As langchain-core 0.1.53 reads them, in its tracers.context and utils.env.
SWITCHES = ("LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING", "LANGSMITH_TRACING_V2")
_OFF = ("", "0", "false", "False")
_ENDPOINTS = ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT")
_ELSEWHERE = "api.smith.langchain.com"

_log = logging.getLogger("agent")
_once = threading.Lock()  # taken by the first notice of this process, and kept


def tell_of_tracing(say: Say) -> None:
    """Log a warning, which goes to stderr unless logging was set up otherwise; the first time only."""
    switch = next((name for name in SWITCHES if os.environ.get(name, "") not in _OFF), None)
    if switch and _once.acquire(blocking=False):
        _log.warning(say("tracing_is_on", switch=switch, host=_host()))


def _host() -> str:
    """Where the prompts go; never with the user part of an address."""
    given = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    try:
        return urlsplit(given).hostname or _ELSEWHERE
    except ValueError:
        return _ELSEWHERE
