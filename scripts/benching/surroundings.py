"""Nothing of the user's own settings is measured: neither variables nor a .env in the working folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_SETTINGS = ("OPENAI_", "AGENT_", "LOCAL_", "LANGCHAIN_", "LANGSMITH_", "PYTHON")
_OWN = {"OPENAI_API_KEY": "none", "NO_PROXY": "*", "AGENT_MODEL_TIMEOUT_S": "120"}


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with our settings alone."""
    others = {name: value for name, value in environment.items() if not name.upper().startswith(_SETTINGS)}
    return others | _OWN


@contextmanager
def own_surroundings() -> Iterator[None]:
    """An empty working folder and no settings of the user's, while the block lasts."""
    folder, before = os.getcwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as empty:
        try:
            os.environ.clear()
            os.environ.update(without_settings(before))
            os.chdir(empty)
            yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
