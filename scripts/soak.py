"""Many threads, for minutes: does anything cross from run to run, grow, or stay behind?

    python -m scripts.soak --minutes 10 --threads 32

A service on this machine plays the model: no key and no network are needed. Progress goes to stderr, one
table to stdout. Exit: 0 when every demand holds, 1 when one does not, 2 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402

FELL_SHORT = 1
LINES = 10  # of progress, where there is no terminal
BAR = 40


def main(argv: Sequence[str] | None = None, make_agent: Callable[..., Any] | None = None) -> int:
    """Soak the agent, or what ``make_agent`` makes in its place; returns the exit code."""
    args = parser().parse_args(argv)

    # After the options, because LangChain takes seconds to import.
    from agent import Agent
    from scripts.soaking.measured import broken_demands, table
    from scripts.soaking.settings import own_settings
    from scripts.soaking.soak import Plan, soak

    plan = Plan(args.minutes * 60, args.threads, args.patience)
    print(f"{args.threads} threads, {args.minutes:g} minutes", file=sys.stderr)
    try:
        with own_settings():
            seen = soak(plan, make_agent or Agent, progress(args.minutes))
    except KeyboardInterrupt:
        print("\ninterrupted: nothing was measured to its end", file=sys.stderr)
        return INTERRUPTED
    print(table(seen))
    for words in seen.complaints:
        print(f"  {words}", file=sys.stderr)
    broken = broken_demands(seen)
    for name in broken:
        print(f"FALLS SHORT  {name}", file=sys.stderr)
    return FELL_SHORT if broken else 0


def progress(minutes: float) -> Callable[[float], None]:
    """Shows how much of the time has passed: a bar on a terminal, elsewhere a line now and then."""
    is_terminal = sys.stderr.isatty()
    told = 0

    def tell(share: float) -> None:
        nonlocal told
        if is_terminal:
            bar = "#" * round(share * BAR)
            end = "\n" if share >= 1 else ""
            print(
                f"\r[{bar:<{BAR}}] {share * minutes:.1f} of {minutes:g} min",
                end=end,
                file=sys.stderr,
                flush=True,
            )
        elif int(share * LINES) > told:
            told = int(share * LINES)
            print(f"{share:.0%} of {minutes:g} min", file=sys.stderr, flush=True)

    return tell


def _above_zero(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    return number


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n")[0])
    own.add_argument("--minutes", type=_above_zero(float), default=10.0, metavar="N")
    own.add_argument("--threads", type=_above_zero(int), default=32, metavar="N")
    own.add_argument(
        "--patience", type=_above_zero(float), default=20.0, metavar="S", help="seconds for leftovers to end"
    )
    return own


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    leave(main())
