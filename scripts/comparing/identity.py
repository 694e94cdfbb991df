"""What makes two measurements one: the same model, tasks, code and libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripts.figures import PACKAGES, ROOT, machine, versions

# What decides how a run goes and how it is scored; the rest of the project may change meanwhile.
CODE = (
    "agent/**/*.py",
    "tools/**/*.py",
    "prompts/**/*",
    "scripts/contenders.py",
    "scripts/changed_rules.py",
    "scripts/scoring.py",
    "scripts/comparing/arms.py",
    "scripts/comparing/bracket.py",
    "scripts/comparing/turns.py",
    "scripts/comparing/watch.py",
)


def header(model: dict[str, Any], tasks: Path, weather: Path, first_tasks: list[str]) -> dict[str, Any]:
    """The first line of a journal. ``model`` is what ``describe`` says of it."""
    known = versions()
    return {
        "kind": "comparison",
        "began": datetime.now().astimezone().isoformat(timespec="seconds"),
        "identity": {
            **model,
            "tasks": f"{tasks.name} {digest([tasks])}",
            "weather": f"{weather.name} {digest([weather])}",
            "code": digest(sorted(path for pattern in CODE for path in ROOT.glob(pattern))),
            **{name: known[name] for name in PACKAGES},
        },
        "first_tasks": first_tasks,
        "machine": machine(),
        "versions": known,
    }


def digest(files: Iterable[Path]) -> str:
    """Twelve hexadecimal digits that change with any of the files; caches and folders do not count."""
    whole = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:12]


def live(name: str, base_url: str | None, llm: Any) -> dict[str, Any]:
    """What answers in a live measurement, without a key, a path or the user part of an address.

    "llama.cpp" is None where the service does not say now what it is.
    """
    from agent.models import choose, is_llama_cpp, name_of
    from agent.settings import load_settings

    settings = load_settings()
    choice = choose(name, base_url, settings)
    return {
        "model": name_of(llm),
        "file": choice.path.name if choice.path else "",
        "host": choice.host or urlsplit(choice.base_url).hostname,
        "llama.cpp": is_llama_cpp(llm) or (False if _answers(llm) else None),
        "temperature": getattr(llm, "temperature", None),
        "max_tokens": settings.max_tokens,
        "model_timeout_s": settings.model_timeout_s,
        "grammar": settings.grammar,
        "examples": settings.examples,
    }


def _answers(llm: Any) -> bool:
    """Whether the service is there at all; OpenAI's own is not asked, as ``is_llama_cpp`` does not ask it."""
    from agent.models import ASK_OWNER_TIMEOUT_S, OPENAI_URL
    from scripts.comparing.outages import is_out

    client: Any = getattr(getattr(llm, "client", None), "_client", None)
    if client is None or urlsplit(str(client.base_url)).hostname == urlsplit(OPENAI_URL).hostname:
        return True
    try:
        client.get("/models", cast_to=object, options={"max_retries": 0, "timeout": ASK_OWNER_TIMEOUT_S})
    except Exception as error:  # a model list that is missing or refused is an answer too
        return not is_out(error)
    return True
