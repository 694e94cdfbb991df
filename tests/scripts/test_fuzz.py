"""The fuzzer finds what is planted, makes it small, writes it down, and finds nothing where nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts import fuzz
from scripts.fuzzing import calculator, calls, reply
from scripts.fuzzing.corpus import found, read_found, write_found
from scripts.fuzzing.growth import grows_too_fast
from scripts.fuzzing.sums import Term, sums
from scripts.fuzzing.target import Broken, Input, Target, hold

QUICK = ["--minutes", "0.01", "--seed", "1"]
Check = Any


def planted(check: Check) -> Target:
    """A target whose ``check`` is at fault."""
    return Target("planted", check, lambda seeds: st.builds(dict, text=st.text()))


def run(check: Check, corpus: Path, *more: str) -> int:
    return fuzz.main([*QUICK, "--corpus", str(corpus), "--target", "all", *more], {"planted": planted(check)})


def long_ones(given: Input) -> None:
    hold(len(given["text"]) < 5, "no text is long", given["text"])


def test_a_finding_is_made_small_written_down_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(long_ones, tmp_path) == fuzz.FOUND
    (path,) = found("planted", tmp_path)
    assert len(read_found(path)["text"]) == 5
    assert "no text is long" in json.loads(path.read_text(encoding="utf-8"))["broken"]
    out = capsys.readouterr().out
    assert "BROKEN  no text is long" in out
    assert str(path) in out


def test_what_is_raised_is_a_finding_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fragile(given: Input) -> None:
        given["text"].encode("ascii")

    assert run(fragile, tmp_path) == fuzz.FOUND
    assert "nothing is raised: UnicodeEncodeError" in capsys.readouterr().out


def test_where_all_holds_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda given: None, tmp_path) == 0
    assert "and all held" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_what_was_found_before_is_tried_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_found("planted", {"text": "a\ud800bcdef"}, "no text is long", tmp_path)
    assert run(long_ones, tmp_path) == fuzz.FOUND
    assert "1 inputs tried in 0 rounds" in capsys.readouterr().out


def test_an_interrupt_says_what_was_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = []

    def interrupted(given: Input) -> None:
        tried.append(given)
        if len(tried) == 3:
            raise KeyboardInterrupt

    assert run(interrupted, tmp_path) == 130
    assert "interrupted: planted: 3 inputs tried" in capsys.readouterr().err


def test_the_same_seed_tries_the_same(tmp_path: Path) -> None:
    def first(seed: str) -> list[Input]:
        seen: list[Input] = []
        run(seen.append, tmp_path, "--seed", seed)
        return seen[:50]

    assert first("1") == first("1")
    assert first("1") != first("2")


@pytest.mark.parametrize(
    "target", [reply.TARGET, calls.TARGET, calculator.TARGET], ids=lambda each: each.name
)
def test_our_own_targets_are_tried(
    target: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz.main([*QUICK, "--corpus", str(tmp_path), "--target", target.name]) == 0, capsys.readouterr()


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--minutes", "nan"], ["--target", "all of them"]])
def test_what_cannot_be_meant_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        fuzz.main(arguments)


def squared(text: str) -> int:
    return sum(text.count("b", at) for at in range(len(text)))


def test_a_square_is_told_from_a_line() -> None:
    assert grows_too_fast(squared, "", "a", "")
    assert not grows_too_fast(lambda text: [ord(char) for char in text], "", "a", "")


@settings(max_examples=200, deadline=None)
@given(sums())
def test_a_sum_comes_with_its_value(term: Term) -> None:
    assert term.low <= term.high
    calculator.check({"expression": term.text, "low": str(term.low), "high": str(term.high)})


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [("2+2", "5", "5"), ("7/2", "3", "13/4"), ("1/0", "0", "1"), ("2+2", "none", "none")],
)
def test_a_wrong_value_is_noticed(expression: str, low: str, high: str) -> None:
    with pytest.raises(Broken):
        calculator.check({"expression": expression, "low": low, "high": high})


def test_a_value_is_held_to_the_last_digits_that_are_shown() -> None:
    third = Fraction(1, 3)
    calculator.check({"expression": "1/3", "low": str(third), "high": str(third)})
    off = third + Fraction(1, 10**12)
    with pytest.raises(Broken, match="the value is right"):
        calculator.check({"expression": "1/3", "low": str(off), "high": str(off)})


HANGING = """
import sys
from hypothesis import strategies as st
from scripts import fuzz
from scripts.fuzzing import search
from scripts.fuzzing.target import Target

def check(given):
    while given["text"]:  # and the interpreter's lock need not be let go
        pass

search.HANG_S = 0.3
target = Target("planted", check, lambda seeds: st.builds(dict, text=st.just("around and around")))
sys.exit(fuzz.main(["--corpus", sys.argv[1], "--target", "all"], {"planted": target}))
"""


def test_an_input_that_hangs_ends_the_process_and_is_left_in_a_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGING, str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=fuzz.ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "is left in" in line]
    left = Path(line.rpartition(" is left in ")[2])
    try:
        assert "around and around" in left.read_text(encoding="utf-8")
    finally:
        left.unlink()
