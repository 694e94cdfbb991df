"""What a handful of runs can tell: an interval for a share, and a p-value for two that took the same tasks.

Both hold for small counts, where the usual normal approximations do not.
"""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval for a share: where it may lie, given ``successes`` out of ``trials``.

    Both ends are between 0 and 1, and the observed share lies between them. Raises ValueError unless
    0 <= successes <= trials, trials >= 1 and 0 < confidence < 1. Source: E. B. Wilson, "Probable
    inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212; without a
    correction for continuity.
    """
    _demand_counts(successes=successes, trials=trials)
    if trials < 1 or successes > trials:
        raise ValueError(f"{successes} successes out of {trials} trials make no share")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence!r}")
    # From the lower tail: 1 + confidence would round to 2 just below a confidence of 1.
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    lower, upper = _lower_end(successes, trials, z), 1 - _lower_end(trials - successes, trials, z)
    share = successes / trials
    # Where the interval is narrower than a float's last digit, rounding alone would leave the share out.
    return min(lower, share), max(upper, share)


def _lower_end(successes: int, trials: int, z: float) -> float:
    if not successes:  # exactly 0 by the formula, and not a rounding error beside it
        return 0.0
    share, weight = successes / trials, z * z / trials
    spread = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return max(0.0, (share + weight / 2 - spread) / (1 + weight))


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p-value that two contenders are equally good, from the tasks that told them apart.

    ``only_first`` tasks were solved by the first alone, ``only_second`` by the second alone; were the two
    equally good, each such task would fall to either with probability 1/2. The smaller tail of that
    binomial distribution counts twice, up to 1; without any such task the value is 1. Raises ValueError
    unless both are whole numbers from 0. Source: Q. McNemar, "Note on the sampling error of the
    difference between correlated proportions or percentages", Psychometrika 12 (1947), 153-157, in its
    exact binomial form.
    """
    _demand_counts(only_first=only_first, only_second=only_second)
    differing = only_first + only_second
    term = tail = 1
    for successes in range(min(only_first, only_second)):
        # The next of math.comb(differing, ...), from the one before it.
        term = term * (differing - successes) // (successes + 1)
        tail += term
    # Whole numbers until the end, because 2**differing is no float from 1,024 tasks on; and what is too
    # small for a float is still not impossible.
    return min(1.0, max(math.ulp(0.0), 2 * tail / (1 << differing)))


def _demand_counts(**counts: int) -> None:
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"{name} must be a whole number from 0, not {count!r}")
