"""What the loop itself costs: a step, its growth, many runs at once, start-up; each beside the bare calls.

    python -m scripts.bench --json measured.json

Everything runs on this machine, with models that answer by script: no key and no network are needed. The
contenders take turns in one process, so ratios of medians hold on a busy machine too. Tables go to stdout.
Exit: 0 measured, 1 a goal was missed (only with --check), 2 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402

if TYPE_CHECKING:
    from scripts.benching.growth import Plan
    from scripts.benching.measured import Measured
    from scripts.benching.timing import Clock

SECTIONS = ("step", "growth", "crowd", "startup")
MISSED = 1
MISTAKE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write; returns the exit code."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)
    if args.json and not args.json.resolve().parent.is_dir():
        print(f"bench: {args.json}: there is no such folder", file=sys.stderr)
        return MISTAKE
    target = args.json.resolve() if args.json else None

    # After the options, because LangChain takes seconds to import.
    from scripts.benching.measured import goal_line, table
    from scripts.figures import machine

    found = machine()  # its load is that of others: later it would be our own
    seen: list[Measured] = []
    interrupted = False
    try:
        for measured in measure(args):
            seen.append(measured)
            print(*table(measured), "", sep="\n", flush=True)
    except KeyboardInterrupt:
        print("interrupted: what was measured until then is kept", file=sys.stderr)
        interrupted = True
    finally:
        # First of all, and whatever happened: minutes of measuring are in it.
        if target:
            write(target, seen, args, found, interrupted)
    missed = [goal for measured in seen for goal in measured.goals if not goal.ok]
    for goal in missed:
        print(goal_line(goal).strip(), file=sys.stderr)
    if interrupted:
        return INTERRUPTED
    return MISSED if missed and args.check else 0


def measure(args: argparse.Namespace) -> Iterator[Measured]:
    """One measurement after the other, as far as they were asked for."""
    from scripts.benching import crowd, growth, startup, steps
    from scripts.benching.surroundings import own_surroundings
    from scripts.benching.timing import one_processor

    clock = time.process_time if args.cpu else time.perf_counter
    with own_surroundings():
        with one_processor(not args.unpinned):
            if "step" in args.only:
                yield steps.measure(steps.Plan(20 if args.quick else 200, clock))
            if "growth" in args.only:
                yield from growth.measure(quick_growth(clock) if args.quick else growth.Plan(20, clock=clock))
        if "crowd" in args.only:
            yield crowd.measure(crowd.Plan(3, sizes=(1, 8, 64)) if args.quick else crowd.Plan(5))
        if "startup" in args.only:
            yield startup.measure(startup.Plan(2 if args.quick else 7))


def quick_growth(clock: Clock) -> Plan:
    from scripts.benching.growth import Plan

    return Plan(5, turns=(10, 100, 1_000), characters=(1_000, 10_000, 100_000), steps=(10, 50), clock=clock)


def write(
    path: Path,
    seen: Sequence[Measured],
    args: argparse.Namespace,
    machine: Mapping[str, object],
    interrupted: bool,
) -> None:
    from scripts.figures import versions, write_json

    content = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "interrupted": interrupted,
        "settings": {"only": args.only, "quick": args.quick, "cpu": args.cpu, "unpinned": args.unpinned},
        "machine": machine,
        "versions": versions(),
        "measured": [each.as_record() for each in seen],
    }
    write_json(path, content)


def sections(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(SECTIONS):
        raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(SECTIONS)}")
    return names


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="bench", description=__doc__.split("\n")[0])
    own.add_argument("--only", type=sections, default=[*SECTIONS], help=f"some of {','.join(SECTIONS)}")
    own.add_argument("--quick", action="store_true", help="fewer and smaller: a minute, and rougher figures")
    own.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    own.add_argument(
        "--unpinned", action="store_true", help="steps and growth on any processor, not on one alone"
    )
    own.add_argument(
        "--cpu", action="store_true", help="steps and growth in processor time: for a busy machine"
    )
    own.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    return own


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    leave(main())
