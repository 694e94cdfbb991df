"""Feed the readers of replies and the calculator what nobody would think of, and see that promises hold.

    python -m scripts.fuzz --minutes 3 --target reply --seed 1

What breaks a property is made as small as it goes, and written to tests/corpus/TARGET/. Exit: 0 when all
held, 1 with a finding, 2 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402

if TYPE_CHECKING:
    from scripts.fuzzing.search import Finding, Tried
    from scripts.fuzzing.target import Target

TARGETS = ("reply", "calls", "calculator")
FOUND = 1


def main(argv: Sequence[str] | None = None, targets: Mapping[str, Target] | None = None) -> int:
    """Fuzz the chosen targets, ours unless others are given; returns the exit code."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)

    # After the options, because the readers and hypothesis take a second to import.
    from scripts.fuzzing.search import Tried, search

    known = _targets() if targets is None else targets
    chosen = list(known) if args.target == "all" else [args.target]
    number = random.randrange(2**32) if args.seed is None else args.seed  # noqa: S311 - a seed, not a secret
    print(f"seed {number}", file=sys.stderr)
    findings = 0
    for name in chosen:
        tried = Tried(name)
        try:
            finding = search(known[name], args.minutes * 60 / len(chosen), number, tried, args.corpus)
        except KeyboardInterrupt:
            print(f"interrupted: {_told(tried)}", file=sys.stderr)
            return INTERRUPTED
        print(_told(tried) + (", and all held" if finding is None else ""))
        if finding is not None:
            findings += 1
            _show(finding)
    return FOUND if findings else 0


def _targets() -> dict[str, Target]:
    from scripts.fuzzing import calculator, calls, reply

    return {target.name: target for target in (reply.TARGET, calls.TARGET, calculator.TARGET)}


def _told(tried: Tried) -> str:
    return f"{tried.target}: {tried.inputs:,} inputs tried in {tried.rounds:,} rounds"


def _show(finding: Finding) -> None:
    print(f"BROKEN  {finding.broken}\n  input {finding.given!a:.500}\n  is in {finding.path}")


def _minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def parser() -> argparse.ArgumentParser:
    from scripts.fuzzing.corpus import CORPUS

    own = argparse.ArgumentParser(prog="fuzz", description=__doc__.split("\n")[0])
    own.add_argument("--minutes", type=_minutes, default=3.0, metavar="N", help="in all (default 3)")
    own.add_argument("--target", choices=(*TARGETS, "all"), default="all")
    own.add_argument("--seed", type=int, metavar="N", help="repeat a search")
    own.add_argument("--corpus", type=Path, default=CORPUS, metavar="DIR", help=argparse.SUPPRESS)
    return own


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    leave(main())
