"""Of a long output both ends alone are read, and they are as clean as if all of it had been."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import observing, replay
from agent.observing import ERROR_PREFIX, clean_output, excerpt, to_text
from agent.redaction import SHORTEST_EDGE, clean_ends, redact, redact_output
from prompts import speaker
from tests.agent.secrets.places import CANARY, LINES, ODD, PLACES, holds_canary
from tests.protocols import DIALECTS, Dialect
from tests.scripted import probe

SAY = speaker("en")
WORDS = "an ordinary sentence of words, and 12 more. "
BARE = "k3y/+=&%\xfc\\#z9-unbroken"
QUOTED = sorted({text for place in PLACES for text in place.quoted})
SHAPES = [
    *QUOTED,
    *(BARE, quote(BARE, safe=""), json.dumps(BARE), ascii(BARE), "auroraborealis", "8642097531"),
    *(f"?key={'v' * 300}", f"://{'u' * 300}@h", f"://{'u' * 90} {'u' * 90}@h", "sk-" + "a" * 79 + "1"),
    *(f"authorization{' ' * 50}:{' ' * 50}Basic{' ' * 50}{CANARY}", f'"api-key\\\\": b\\\\"{CANARY}\\\\"'),
    *("Bearer\n\n\t" + "x" * 200, "X-API-KEY , token  abcdefg", "AUTHORIZATION=Negotiate\tabcdefg"),
    *("?a=b&c=d;e=f", "\\u0026sig=abc", "a=b c='d' e=\"f\"", "%25" * 4 + "2B", "token secret basic b' "),
]
CHINESE = "\u5929\u6c14\uff0c\u6674\u3002"
FILLERS = [
    WORDS,
    CHINESE,
    "words\n",
    "a",
    "\xe9",
    '"',
    "b' ",
    "=",
    "://",
    "bearer ",
    "token: ",
    "\\",
    "%",
]


@pytest.fixture(autouse=True, scope="module")
def secrets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        values = {"A_KEY": CANARY, "B_KEY": BARE, "C_KEY": "auroraborealis", "D_KEY": "8642097531"}
        values |= {"E_KEY": ODD, "F_KEY": LINES, "G_KEY": "two words"}
        for name, value in values.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each text that is looked through for secrets."""
    lengths: list[int] = []

    def counting(text: str) -> str:
        lengths.append(len(text))
        return redact_output(text)

    monkeypatch.setattr(observing, "redact_output", counting)
    return lengths


def windows(text: str, shown: int) -> int:
    """Characters that are read at each end."""
    lengths: list[int] = []
    clean_ends(text, shown, lambda end: lengths.append(len(end)) or end)  # type: ignore[func-returns-value]
    return lengths[0]


@pytest.mark.parametrize("clean", [redact, redact_output])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_at_a_cut_is_as_clean_as_if_all_had_been_read(
    shape: str, clean: Callable[[str], str]
) -> None:
    words = WORDS * 3000
    reach, shown = windows(words, 200), 200
    places = random.Random(shape).sample(range(len(shape)), min(len(shape), 25))
    for cut in (reach, shown, reach - SHORTEST_EDGE):
        for at in places:
            first, last = cut - at, len(words) - cut - at
            text = words[:first] + shape + words[first:last] + shape + words[last:]
            ends = clean_ends(text, shown, clean)
            assert ends is not None
            whole = clean(text)
            assert whole.startswith(ends[0])
            assert whole.rstrip().endswith(ends[1])


def test_a_secret_of_many_short_lines_is_not_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "\n".join(f"{number:010}" for number in range(300))
    monkeypatch.setenv("H_KEY", secret)
    words = WORDS * 10_000
    cut = windows(words, 200)
    for at in range(1, len(secret), 100):
        text = words[: cut - at] + secret + words + secret + words[at - cut :]
        assert "00000000" not in excerpt(text, 400, SAY)
        assert "00000000" not in "".join(clean_ends(text, 200, redact_output) or ())


PARTS = st.lists(
    st.tuples(st.sampled_from([*SHAPES, *FILLERS]), st.integers(1, 400)), min_size=3, max_size=30
)


@given(PARTS, st.sampled_from([1, 40, 200]), st.sampled_from([redact, redact_output]))
def test_the_ends_of_any_text_are_as_clean_as_if_all_had_been_read(
    parts: list[tuple[str, int]], shown: int, clean: Callable[[str], str]
) -> None:
    """A word is between them: of headers in a chain, it is the first that says which of them is a value."""
    text = "".join(f"{part} word. " * times for part, times in parts)
    ends = clean_ends(text, shown, clean)
    if ends is not None:
        head, tail = ends
        whole = clean(text)
        assert min(len(head), len(tail)) >= shown
        assert whole.startswith(head)
        assert whole.rstrip().endswith(tail)


@given(PARTS, st.sampled_from([1, 40, 200]))
def test_no_known_secret_is_at_the_ends_of_any_text(parts: list[tuple[str, int]], shown: int) -> None:
    text = "".join(part * times for part, times in parts)
    for clean in (redact, redact_output):
        assert CANARY not in "".join(clean_ends(text, shown, clean) or ())


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_long_output_full_of_secrets_shows_none(quoted: str) -> None:
    for spare in range(40):
        assert not holds_canary(excerpt("x" * spare + f" {quoted} " * 3000 + "y" * spare, 300, SAY))


@pytest.mark.parametrize("begin", ["", ERROR_PREFIX])
@pytest.mark.parametrize("times", [30, 30_000])
def test_the_note_says_how_long_the_output_was_with_its_secrets(times: int, begin: str) -> None:
    text = begin + f"{CANARY} and more. " * times

    told = excerpt(text, 200, SAY)
    assert f"{len(text)} characters" in told
    assert len(told) <= 200


@pytest.mark.parametrize("filler", [WORDS, '{"a":"word"},', CHINESE, f"{CANARY} is "])
def test_of_a_long_output_no_more_is_read_the_longer_it_is(filler: str, read: list[int]) -> None:
    amounts = []
    for length in (200_000, 2_000_000):
        read.clear()
        excerpt((filler * length)[:length], 2000, SAY)
        amounts.append(sum(read))

    assert amounts[0] == amounts[1] < 100_000


@pytest.mark.parametrize("text", ["x" * 100_000, f"https://{'u' * 100_000}@h.test", f"{'=' * 100_000} end"])
def test_what_goes_on_without_a_pause_is_read_as_a_whole(text: str, read: list[int]) -> None:
    told = excerpt(text, 100, SAY)

    assert read == [len(text)]
    assert "uuuu" not in told


@pytest.mark.parametrize("blanks", [" ", "\n", "\r\n \u3000", "\n" * 3000])
@pytest.mark.parametrize("words", [WORDS, "x", CHINESE])
def test_blanks_at_the_end_are_told_of_no_output_and_cost_no_copy_of_a_long_one(
    words: str, blanks: str
) -> None:
    short, long = (words * times + blanks for times in (10, 200_000))

    assert to_text(short) == short.rstrip()
    assert to_text(long) is long
    assert to_text(f"\n {ERROR_PREFIX} {long}").startswith(ERROR_PREFIX)
    assert clean_output(to_text(long)) == long.rstrip()
    told = excerpt(to_text(long), 1000, SAY)
    assert long.rstrip().endswith(told[-400:])
    assert len(told) <= 1000


def test_a_long_output_of_nothing_but_blanks_is_none() -> None:
    assert to_text(" \n" * 200_000) == ""


def test_an_output_without_blanks_keeps_both_ends() -> None:
    told = excerpt("a" * 50_000 + "z" * 50_000, 100, SAY)

    assert (told[0], told[-1]) == ("a", "z")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
@pytest.mark.parametrize("times", [1, 20, 150, 20_000])
def test_an_output_with_secrets_is_played_again_as_it_was(
    tmp_path: Path, dialect: Dialect, times: int
) -> None:
    """The trace holds the whole output without its secrets, so its length is another one."""
    path = tmp_path / "t.jsonl"
    output = f"sunny for {CANARY}{LINES}, and warm. " * times + "So it says."
    replies = [dialect.call("x", tool="Probe"), dialect.answer()]
    played, _ = dialect.play(*replies, tools=[probe(lambda _: output)], trace=path)

    again = replay(path)
    seen = played.steps[0].observations[0].text
    assert again.difference is None
    assert again.steps[0][0].observations[0].text == seen
    assert CANARY not in path.read_text(encoding="utf-8")
    assert (f"{len(output)} characters" in seen) == (times >= 150)
