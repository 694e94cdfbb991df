"""The search: rounds of examples until the time is over or a property breaks, which is then minimised."""

from __future__ import annotations

import faulthandler
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from scripts.fuzzing.corpus import CORPUS, found, known, read_found, write_found
from scripts.fuzzing.target import Broken, Input, Target

ROUND = 200  # examples between two looks at the clock
HANG_S = 120.0  # for one input, which takes milliseconds; then the process ends, and says where it was


@dataclass(frozen=True)
class Finding:
    """An input, minimised, with the property that it breaks, and the file that holds it."""

    broken: str
    given: Input
    path: Path


@dataclass
class Tried:
    """What has been tried of a target so far: kept up to date, so that Ctrl-C can tell."""

    target: str
    inputs: int = 0
    rounds: int = 0
    _last: Input = field(default_factory=dict)
    _broken: str = ""

    @property
    def last(self) -> Input:
        return self._last

    def check(self, check: Callable[[Input], None], given: Input) -> None:
        """Try one input. Whatever is raised but Broken is broken too: nothing may be raised."""
        self.inputs += 1
        try:
            check(given)
        except Exception as error:
            named = str(error) if isinstance(error, Broken) else f"nothing is raised: {error!r:.200}"
            self._last, self._broken = given, named
            raise

    def finding(self, corpus: Path) -> Finding:
        """What broke last, which is the smallest: hypothesis ends with it."""
        return Finding(self._broken, self._last, write_found(self.target, self._last, self._broken, corpus))


def search(
    target: Target, seconds: float, number: int, tried: Tried, corpus: Path = CORPUS
) -> Finding | None:
    """Try the corpus, then examples until the seconds are over; None when all held.

    ``number`` is the seed: the same one tries the same inputs, as far as the time goes.
    """
    end = time.monotonic() + seconds
    seeds = [line["input"] for line in known(target.name, corpus)]
    seeds += [read_found(path) for path in found(target.name, corpus)]
    with _Watch() as watch:

        def check(given: Input) -> None:
            watch.on(given)
            target.check(given)

        try:
            for each in seeds:
                tried.check(check, each)
            while time.monotonic() < end:
                _round(target, seeds, number + tried.rounds, lambda given: tried.check(check, given))
                tried.rounds += 1
        except Exception:
            if not tried.last:  # the search itself is at fault
                raise
            return tried.finding(corpus)
    return None


def _round(target: Target, seeds: list[Input], number: int, check: Callable[[Input], None]) -> None:
    @seed(number)
    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs(seeds))
    def run(given: Input) -> None:
        check(given)

    run()


class _Watch:
    """Ends the process when one input takes for ever: code in C may never let another thread have a say.

    The input is in a file by then, named in the traceback's first line.
    """

    def __enter__(self) -> _Watch:
        self._file = tempfile.NamedTemporaryFile(
            "w", prefix="fuzz-hang-", suffix=".txt", encoding="utf-8", delete=False
        )
        print(f"an input that hangs is left in {self._file.name}", file=sys.stderr)
        return self

    def on(self, given: Input) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(ascii(given))
        self._file.flush()
        faulthandler.dump_traceback_later(HANG_S, exit=True, file=sys.__stderr__ or sys.stderr)

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._file.close()
        Path(self._file.name).unlink(missing_ok=True)
