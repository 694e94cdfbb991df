"""The two statistics against published values, another computation, and what holds for any counts."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.statistics_exact import mcnemar_exact, wilson

COUNTS = st.integers(0, 400)
CONFIDENCES = st.floats(0, 1, exclude_min=True, exclude_max=True)
# How often, out of how often.
SHARES = st.integers(1, 10**15).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # at the ends of the scale: z**2 / (n + z**2), with z = 1.959964
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (17, 30, 0.3920, 0.7262),
    ],
)
def test_the_interval_is_the_published_one(successes: int, trials: int, lower: float, upper: float) -> None:
    assert wilson(successes, trials) == pytest.approx((lower, upper), abs=5e-5)


@given(
    SHARES, st.sampled_from([(0.90, 1.6448536269514722), (0.95, 1.959963984540054), (0.99, 2.5758293035489)])
)
def test_at_its_ends_the_share_is_as_far_away_as_the_confidence_says(
    counts: tuple[int, int], level: tuple[float, float]
) -> None:
    """Each end p solves (share - p)**2 = z**2 * p * (1 - p) / n, which defines the interval."""
    (successes, trials), (confidence, z) = counts, level
    share = Fraction(successes, trials)
    for end in wilson(successes, trials, confidence):
        p = Fraction(end)
        distance = float((share - p) ** 2)
        assert distance == pytest.approx(z * z * float(p * (1 - p) / trials), rel=1e-3, abs=1e-13)


@given(SHARES, CONFIDENCES)
def test_the_interval_contains_the_share_and_stays_on_the_scale(
    counts: tuple[int, int], confidence: float
) -> None:
    lower, upper = wilson(*counts, confidence)
    assert 0 <= lower <= counts[0] / counts[1] <= upper <= 1


@given(SHARES, CONFIDENCES)
def test_failures_have_the_mirrored_interval(counts: tuple[int, int], confidence: float) -> None:
    successes, trials = counts
    lower, upper = wilson(successes, trials, confidence)
    assert wilson(trials - successes, trials, confidence) == pytest.approx((1 - upper, 1 - lower), abs=1e-12)


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_more_confidence_and_fewer_trials_both_widen_the_interval(counts: tuple[int, int]) -> None:
    def width(successes: int, trials: int, confidence: float) -> float:
        lower, upper = wilson(successes, trials, confidence)
        return upper - lower

    successes, trials = counts
    usual = width(successes, trials, 0.95)
    assert width(successes, trials, 0.99) > usual > width(successes * 10, trials * 10, 0.95)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (10, 2, 0.03857421875),
        (1, 9, 0.021484375),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (0, 0, 1),
        (8, 8, 1),
        (3, 4, 1),
    ],
)
def test_the_p_value_is_the_one_that_is_counted_by_hand(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_exact(only_first, only_second) == p


@given(COUNTS, COUNTS)
def test_the_p_value_is_the_chance_of_what_is_at_least_as_uneven(first: int, second: int) -> None:
    """Counted over both tails at once, in fractions; a balanced outcome takes in everything."""
    total = first + second
    uneven = [k for k in range(total + 1) if abs(2 * k - total) >= abs(first - second)]
    chance = Fraction(sum(math.comb(total, k) for k in uneven), 2**total)
    assert mcnemar_exact(first, second) == pytest.approx(float(chance), rel=1e-12)


@given(COUNTS, COUNTS)
def test_neither_contender_is_favoured(first: int, second: int) -> None:
    assert 0 < mcnemar_exact(first, second) == mcnemar_exact(second, first) <= 1


def test_a_further_win_of_the_better_one_lowers_the_p_value() -> None:
    values = [mcnemar_exact(wins, 3) for wins in range(4, 60)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def test_big_numbers_do_not_overflow() -> None:
    assert mcnemar_exact(20_000, 20_100) == pytest.approx(0.6209, abs=1e-3)  # |z| = 99 / sqrt(40,100)
    assert 0 < mcnemar_exact(5_000, 0) < 1e-300
    assert wilson(5 * 10**15, 10**16) == pytest.approx((0.5, 0.5), abs=1e-7)


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"),
    [
        *((1, 0, 0.95), (0, 0, 0.95), (3, 2, 0.95), (-1, 2, 0.95), (1, -2, 0.95)),
        *((0.5, 2, 0.95), (True, 2, 0.95), ("1", 2, 0.95)),
        *((1, 2, 0), (1, 2, 1), (1, 2, 95), (1, 2, math.nan)),
    ],
)
def test_counts_that_make_no_share_are_refused(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"whole number|no share|between 0 and 1"):
        wilson(successes, trials, confidence)


@pytest.mark.parametrize(("first", "second"), [(-1, 2), (2, -1), (1.5, 2), (True, 2), (2, None)])
def test_what_is_no_number_of_tasks_is_refused(first: int, second: int) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 0"):
        mcnemar_exact(first, second)
