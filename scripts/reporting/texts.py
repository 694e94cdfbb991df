"""The words of the page: a JSON file a language in texts/, with ``$name`` where a value goes."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

from prompts import Language

FOLDER = Path(__file__).parent / "texts"
_MARK = re.compile(r"\$([a-z_]+)")


class Texts:
    """The words of one language. ``say`` is strict: a value too few or too many is a KeyError."""

    def __init__(self, language: Language, sentences: dict[str, str]) -> None:
        self.language = language
        self._sentences = sentences

    def say(self, name: str, /, **values: object) -> str:
        """The sentence ``name`` with its marks filled; with ``count=1`` ``name_one``, where there is one."""
        text = self._sentences[name]
        if values.get("count") == 1:
            text = self._sentences.get(f"{name}_one", text)
            values = values if "$count" in text else {k: v for k, v in values.items() if k != "count"}
        marks = set(_MARK.findall(text))
        if marks != set(values):
            raise KeyError(f"text {name!r} ({self.language}) takes {sorted(marks)}, not {sorted(values)}")
        return _MARK.sub(lambda mark: _written(values[mark[1]]), text)

    def knows(self, name: str) -> bool:
        return name in self._sentences

    def reason(self, stop_reason: str) -> str:
        """A stop reason in a word or two; one that is not known here as it stands."""
        return self._sentences.get(f"reason_{stop_reason}", stop_reason)


def _written(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)


@lru_cache
def texts_in(language: Language) -> Texts:
    """Raises OSError where the file is missing."""
    path = FOLDER / f"{language}.json"
    return Texts(language, json.loads(path.read_text(encoding="utf-8")))


def groups_of(numbers: tuple[int, ...]) -> list[tuple[str, int]]:
    """Step numbers with neighbours drawn together: ("1", 1), ("3–5", 3); each with its first."""
    groups: list[list[int]] = []
    for number in sorted(set(numbers)):
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [(f"{g[0]}–{g[-1]}" if len(g) > 1 else str(g[0]), g[0]) for g in groups]
