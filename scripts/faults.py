"""Play every known fault and measure what becomes of it: with our two protocols, and with AgentExecutor.

    python -m scripts.faults --markdown scripts/results/faults.md

Scripted models and local servers play the faults: no key and no network are needed. Each cell goes to stdout
as it is measured. Exit: 0 when ours keep every contract, 1 when one falls short, 2 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402

CONTENDERS = ("text", "tools", "executor")
FELL_SHORT, USAGE = 1, 2


def main(argv: Sequence[str] | None = None, faults: Sequence[Any] | None = None) -> int:
    """Play the faults, those of the catalogue unless others are given; returns the exit code."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)
    for path in filter(None, (args.markdown, args.json)):
        if not path.resolve().parent.is_dir():
            print(f"faults: {path}: there is no such folder", file=sys.stderr)
            return USAGE
    start = time.monotonic()

    # After the options, because LangChain takes seconds to import.
    from scripts.fault_matrix.catalogue import CATALOGUE
    from scripts.fault_matrix.matrix import play_all
    from scripts.fault_matrix.report import cell_line

    wanted = [fault for fault in (CATALOGUE if faults is None else faults) if _is_meant(fault, args.only)]
    if not wanted:
        print(f"faults: no fault is named like {args.only!r}", file=sys.stderr)
        return USAGE
    _mind_interrupts()
    try:
        cells = play_all(wanted, args.contender, lambda cell: print(cell_line(cell), flush=True))
    except KeyboardInterrupt:
        return INTERRUPTED
    return _report(cells, time.monotonic() - start, args)


def _report(cells: Sequence[Any], seconds: float, args: argparse.Namespace) -> int:
    """Write down and sum up what was measured; returns the exit code."""
    from scripts.fault_matrix.report import as_json, cell_line, markdown, totals
    from scripts.figures import write_json

    if args.markdown:
        args.markdown.write_text(markdown(cells, seconds), encoding="utf-8")
    if args.json:
        write_json(args.json, as_json(cells, seconds))
    print(f"\n{len({cell.fault.name for cell in cells})} faults in {seconds:.0f} s")
    for contender, own in totals(cells).items():
        print(f"  {contender}: " + ", ".join(f"{value:,} {name}" for name, value in own.items()))
    short = [cell for cell in cells if cell.falls_short]
    for cell in short:
        print(f"FALLS SHORT  {cell_line(cell)}", file=sys.stderr)
    return FELL_SHORT if short else 0


def _is_meant(fault: Any, only: str) -> bool:
    return only.casefold() in f"{fault.group}: {fault.name}".casefold()


def _mind_interrupts() -> None:
    """Processes that are started here must not inherit that SIGINT is ignored, as it is in the background."""
    with suppress(ValueError):  # not the main thread
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _contenders(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(CONTENDERS):
        raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(CONTENDERS)}")
    return [name for name in CONTENDERS if name in names]


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="faults", description=__doc__.split("\n")[0])
    names = ",".join(CONTENDERS)
    own.add_argument(
        "--contender", type=_contenders, default=list(CONTENDERS), help=f"of {names}: one or more"
    )
    own.add_argument("--only", default="", metavar="WORDS", help="faults with these words in group or name")
    own.add_argument("--markdown", type=Path, metavar="FILE", help="write the table")
    own.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    return own


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    leave(main())
