"""From whatever a tool returned or raised to a short, clean text."""

from __future__ import annotations

import inspect
import json

from agent.redaction import redact, redact_output
from prompts import Say

MAX_ERROR_CHARS = 300  # of an exception's own text
ERROR_PREFIX = "Error:"  # how a tool that returns its errors as text says that it failed


def to_text(value: object) -> str:
    """Return a tool's result as text: JSON for dicts and lists, bytes decoded, lone surrogates replaced."""
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it, and Python would say so wherever it is collected
        return f"{ERROR_PREFIX} the tool returned a coroutine in place of a result"
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    elif isinstance(value, (dict, list, tuple)):
        value = _json(value)
    text = "" if value is None else str(value)
    return text.encode("utf-8", errors="replace").decode("utf-8").strip()


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # odd keys, a circle, a bottomless nest
        return repr(value)


def shorten(text: str, most: int, say: Say) -> str:
    """Cut the middle out of a long text, and say how long it was."""
    if len(text) <= most:
        return text
    note = say("cut_observation", length=len(text))
    half = max((most - len(note) - 2) // 2, 1)
    return f"{text[:half]}\n{note}\n{text[-half:]}"


def clean_output(text: str) -> str:
    """Take secrets out of what a tool returned; an error that came as text is treated as an error."""
    return redact(text) if text.startswith(ERROR_PREFIX) else redact_output(text)


def words_of(error: BaseException) -> str:
    """An exception's own text, whole and with its secrets: for reading, never for showing."""
    try:
        return str(error).encode("utf-8", errors="replace").decode("utf-8")
    except Exception:  # an exception whose __str__ raises must not end the run
        return ""


def describe(error: BaseException) -> str:
    """One line for an exception: its class and its own words, without secrets and without a traceback."""
    words = " ".join(redact(words_of(error)).split())
    if len(words) > MAX_ERROR_CHARS:
        words = words[: MAX_ERROR_CHARS - 1] + "…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
