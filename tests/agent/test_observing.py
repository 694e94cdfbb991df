"""From a tool's result or exception to a short, clean text."""

from __future__ import annotations

import pytest

from agent.observing import MAX_ERROR_CHARS, clean_output, describe, shorten, to_text
from prompts import Language, speaker


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("value", [Broken(), {"a": Broken()}, [Broken()]])
def test_a_result_that_has_no_text_raises_its_own_exception(value: object) -> None:
    with pytest.raises(RuntimeError, match="no text"):
        to_text(value)


def test_a_bottomless_nest_becomes_text() -> None:
    nest: list[object] = []
    for _ in range(900):
        nest = [nest]

    assert to_text(nest).startswith("[[[")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("length", [2001, 2002, 300_000])
def test_a_long_text_is_cut_to_no_more_than_its_cap(language: Language, length: int) -> None:
    cut = shorten("a" * 10 + "m" * (length - 20) + "z" * 10, 2000, speaker(language))

    assert len(cut) <= 2000
    assert cut.startswith("a" * 10)
    assert cut.endswith("z" * 10)
    assert str(length) in cut


@pytest.mark.parametrize("most", [1, 10, 100])
def test_a_cap_smaller_than_the_note_still_gives_head_and_tail(most: int) -> None:
    cut = shorten("head" + "m" * 1000 + "tail", most, speaker("en"))

    assert (cut[0], cut[-1]) == ("h", "l")
    assert len(cut) <= most + 80


def test_a_text_of_just_the_cap_stays() -> None:
    assert shorten("x" * 2000, 2000, speaker("en")) == "x" * 2000


def test_the_text_of_an_exception_is_one_line_of_at_most_300_characters() -> None:
    text = describe(ValueError("a\nb  c " + "d" * 1000)).removeprefix("ValueError: ")

    assert text.startswith("a b c d")
    assert len(text) == MAX_ERROR_CHARS == 300


def test_an_error_that_came_as_text_is_cleaned_as_an_error() -> None:
    url = "https://h.test/?q=1"

    assert clean_output(f"Error: {url}") == "Error: https://h.test/?q=***"
    assert clean_output(url) == url
