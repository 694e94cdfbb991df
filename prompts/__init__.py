"""Everything that is said to the model or about a run: a text file for each prompt and language, and
``messages.json`` for the sentences.

``$name`` marks a value. The loader is strict: a value too few or too many is an error, so no prompt can go
out with a mark that was never filled. A value is inserted as it is; it is never read as a template.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from importlib import resources
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Say = Callable[..., str]

_MARK = re.compile(r"\$([a-z_]+)")
_HAN = r"[\u3400-\u9fff\uf900-\ufaff]"


def language_of(text: str) -> Language:
    """Chinese when the text has a Chinese character in it, else English."""
    # Compiled when first needed: so wide a range takes 2.5 ms.
    return "zh" if not text.isascii() and re.search(_HAN, text) else "en"


@functools.cache
def load(name: str, language: Language) -> str:
    """Return a prompt as it stands in its file. Raises FileNotFoundError for an unknown one."""
    return messages(language).get(name) or _read(language, f"{name}.txt").strip()


@functools.cache
def messages(language: Language) -> dict[str, str]:
    """Return the sentences of a language by name."""
    return dict(json.loads(_read(language, "messages.json")))


def _read(language: Language, file: str) -> str:
    return resources.files(__package__).joinpath(language).joinpath(file).read_text(encoding="utf-8")


def render(name: str, language: Language, /, **values: object) -> str:
    """Return a prompt with its marks filled. Raises KeyError when the values do not match the marks."""
    parts = list(_parts(name, language))
    marks = parts[1::2]
    if set(marks) != set(values):
        raise KeyError(f"prompt {name!r} ({language}) takes {sorted({*marks})}, not {sorted(values)}")
    parts[1::2] = [str(values[mark]) for mark in marks]
    return "".join(parts)


@functools.cache
def _parts(name: str, language: Language) -> tuple[str, ...]:
    """A prompt, cut at its marks: text and the name of a mark in turn, with text at both ends."""
    return tuple(_MARK.split(load(name, language)))


def speaker(language: Language) -> Say:
    """Return ``say(name, **values)``, which renders prompts in one language."""

    def say(name: str, /, **values: object) -> str:
        return render(name, language, **values)

    return say
