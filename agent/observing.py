"""From whatever a tool returned or raised to a short, clean text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import NamedTuple

from agent.redaction import clean_ends, redact, redact_output
from prompts import Say

MAX_ERROR_CHARS = 300  # of an exception's own text
STRIPPED_CHARS = 100_000  # of more, a blank at the end stays: to take it away would copy all the rest
ERROR_PREFIX = "Error:"  # how a tool that returns its errors as text says that it failed


class Output(NamedTuple):
    """What a tool returned; and, of a run that is played again, what the model was told of it if not all."""

    text: str
    excerpt: str = ""


def to_text(value: object) -> str:
    """Return a tool's result as text: JSON for dicts and lists, bytes decoded, lone surrogates replaced.

    Blanks around it go, but for those at the end of a very long text.
    """
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it, and Python would say so wherever it is collected
        return f"{ERROR_PREFIX} the tool returned a coroutine in place of a result"
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    elif isinstance(value, (dict, list, tuple)):
        value = _json(value)
    text = _encodable("" if value is None else str(value)).lstrip()
    return text.rstrip() if len(text) <= STRIPPED_CHARS else text


def _encodable(text: str) -> str:
    if not text.isascii():  # which a text knows of itself, however long it is
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return text.encode("utf-8", errors="replace").decode("utf-8")
    return text


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # odd keys, a circle, a bottomless nest
        return repr(value)


def shorten(text: str, most: int, say: Say, length: int | None = None) -> str:
    """Cut the middle out of a long text, and say how long it was: ``length``, where some is gone already."""
    if len(text) <= most:
        return text
    note = say("cut_observation", length=length or len(text))
    half = max((most - len(note) - 2) // 2, 1)
    return f"{text[:half]}\n{note}\n{text[-half:]}"


def excerpt(text: str, most: int, say: Say) -> str:
    """What the model is told of a tool's output: no secret, and no more than ``most`` characters."""
    clean = _cleaner(text)
    ends = clean_ends(text, most // 2 + 1, clean) if len(text) > most else None
    return shorten("".join(ends) if ends else clean(text).rstrip(), most, say, len(text))


def clean_output(text: str) -> str:
    """Take secrets out of what a tool returned."""
    return _cleaner(text)(text).rstrip()


def _cleaner(output: str) -> Callable[[str], str]:
    """An error that came as text is treated as an error."""
    return redact if output.startswith(ERROR_PREFIX) else redact_output


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
