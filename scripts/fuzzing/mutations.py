"""Texts that come near to what the readers know: mixes of fragments, and known texts with small changes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from scripts.fuzzing.target import Input

_RARE = 30  # to one
Change = tuple[int, int, str]  # where, how many characters go, what comes in their place


def soup(fragments: Sequence[str], *, most: int = 30) -> st.SearchStrategy[str]:
    """Fragments in any order."""
    return st.lists(st.sampled_from(fragments), max_size=most).map("".join)


def mutated(texts: Sequence[str], fragments: Sequence[str]) -> st.SearchStrategy[str]:
    """One of ``texts`` with up to four changes; sometimes cut off, sometimes followed by another."""
    known = st.sampled_from([*texts, ""])
    changes: st.SearchStrategy[list[Change]] = st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 12), st.sampled_from([*fragments, ""])), max_size=4
    )

    def combine(text: str, done: list[Change], more: str) -> str:
        return _changed(text, done) + more

    return st.builds(combine, known, changes, st.just("") | known)


def often(
    usual: Sequence[st.SearchStrategy[Input]], rare: st.SearchStrategy[Input]
) -> st.SearchStrategy[Input]:
    """One of the usual ones, and now and then the ``rare`` one, which costs more time."""
    choice = st.integers(0, _RARE)
    return choice.flatmap(lambda drawn: rare if drawn == _RARE else st.one_of(*usual))


def _changed(text: str, changes: Sequence[Change]) -> str:
    for at, gone, new in changes:
        place = at % (len(text) + 1)
        text = text[:place] + new + text[place + gone :]
    return text
