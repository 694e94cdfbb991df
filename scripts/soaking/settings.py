"""The environment of a soak: a model with a price, a key that is none, and nothing of the user's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MODEL = "gpt-4o"
USD_PER_TOKEN = 1e-5
_OWN = {
    "OPENAI_API_KEY": "none",
    "AGENT_MODEL": MODEL,
    "AGENT_PRICES": f"{MODEL}={USD_PER_TOKEN * 1e6:g}/{USD_PER_TOKEN * 1e6:g}",
    "AGENT_GRAMMAR": "off",
    "AGENT_EXAMPLES": "off",
    "AGENT_MODEL_TIMEOUT_S": "60",
    "NO_PROXY": "127.0.0.1",
    "LANGCHAIN_TRACING_V2": "false",
}


@contextmanager
def own_settings() -> Iterator[None]:
    """The soak's settings while the block lasts, then the user's again."""
    before = {name: os.environ.get(name) for name in _OWN}
    os.environ.update(_OWN)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
