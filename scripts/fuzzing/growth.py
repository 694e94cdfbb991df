"""Does a function's time grow with its input's length, or with the square of it?

Milliseconds say more about the machine than about the code, so one length is compared with its double.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

CLEAR_S = 0.002  # of processor time: below, the clock says more about itself than about the function
LONGEST = 40_000  # characters
DOUBLINGS = 4  # a square shows as 256 times the time, a line as sixteen
MOST = 64
TRIES = 3  # a busy machine spoils one measurement, and hardly three


def grows_too_fast(read: Callable[[str], object], head: str, unit: str, tail: str) -> bool:
    """Whether ``head`` + many times ``unit`` + ``tail`` takes ``read`` more than linear time."""

    def seconds(length: int, rounds: int = 1) -> float:
        text = head + unit * (length // len(unit) + 1) + tail
        return min(_seconds(read, text) for _ in range(rounds))

    length = 250
    while seconds(length) < CLEAR_S:
        length *= 2
        if length > LONGEST:
            return False
    return all(seconds(length << DOUBLINGS) > MOST * seconds(length, 3) for _ in range(TRIES))


def _seconds(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its turns come when they come
    try:
        start = time.process_time()
        read(text)
        return time.process_time() - start
    finally:
        gc.enable()
