"""Decide between our loop and AgentExecutor by numbers of your own: the same tools, model and tasks.

    python -m scripts.compare --model local --out scripts/results/comparison

Rows and tables go to stdout, progress to stderr; --out gets comparison.md, comparison.json, charts, and
every finished run at once, so that a rerun goes on from there. Exit: 0 measured, 1 the service failed runs
(the same command tries them again) or a recording no longer fits the code, 2 usage or settings, 130 Ctrl-C
or SIGTERM.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402
from scripts.comparing.arms import FIRST_TASKS  # noqa: E402
from scripts.comparing.mistakes import blame  # noqa: E402
from scripts.comparing.options import parse  # noqa: E402
from scripts.evaluate import choose  # noqa: E402
from scripts.figures import write_json  # noqa: E402
from scripts.scoring import Task, load_tasks, load_weather, weather_file  # noqa: E402

if TYPE_CHECKING:
    import argparse

    from scripts.comparing.journal import Journal, Key
    from scripts.comparing.running import Turn
    from scripts.comparing.sources import Source
    from scripts.figures import Row

UNFIT, FAILED, MISTAKE = 1, 1, 2
WRITABLE = "name a folder that can be written"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is left to measure, write and show it; returns the exit code."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parse("compare", __doc__.split("\n")[0], argv)
    try:
        return report_only(args) if args.report else compare(args)
    except (OSError, ValueError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED


def report_only(args: argparse.Namespace) -> int:
    from scripts.comparing.journal import NAME, read

    check_record(args.record)
    way_out = "measure first, without --report, or name the folder of a measurement with --out"
    if not (args.out / NAME).exists():
        raise ValueError(f"--report: there is no {NAME} in {args.out}: {way_out}")
    with blame("--out", args.out, "name a folder that can be read"):
        journal = read(args.out)
    if journal is None or not journal.finished:
        raise ValueError(f"--report: no finished run is in the journal of {args.out} yet: {way_out}")
    write(journal, args)
    return 0


def compare(args: argparse.Namespace) -> int:
    """Raises ValueError or OSError for a mistake of the user's."""
    tasks = tasks_of(args)
    chosen = chosen_of(tasks, args)
    weather_path = args.weather or weather_file(args.tasks)
    with blame(
        "--weather", weather_path, "name a file of degrees by city, or put weather.json beside --tasks"
    ):
        weather = load_weather(weather_path)
    check_record(args.record)

    # After the options, because LangChain takes seconds to import.
    from scripts.comparing import identity, journal
    from scripts.comparing.measuring import run_all

    first_tasks = [task.id for task in tasks[:FIRST_TASKS]]
    source = source_of(args)
    wanted = turns_of(chosen, first_tasks, source.replies, args)
    header = identity.header(source.identity, args.tasks, weather_path, first_tasks)
    with blame("--out", args.out, WRITABLE):
        kept = journal.begin(args.out, header, fresh=args.fresh)
    try:
        lost = run_all(left_of(wanted, kept), source, weather, kept)
    except KeyboardInterrupt:
        show(kept)
        print(f"compare: interrupted; {args.out} keeps what is finished: run it again", file=sys.stderr)
        return INTERRUPTED
    if kept.finished:
        write(kept, args)
    code = unfit(kept, wanted, source.replies) if source.replies is not None else 0
    return failed_by_service(lost, wanted, kept, args) or code


def tasks_of(args: argparse.Namespace) -> list[Task]:
    """Raises ValueError for a file that holds none."""
    way_out = "name a file of tasks, as scripts/tasks/compare.jsonl is one"
    with blame("--tasks", args.tasks, way_out):
        tasks = load_tasks(args.tasks)
        if not tasks:
            raise ValueError(f"there is no task in it: {way_out}")
    return tasks


def chosen_of(tasks: list[Task], args: argparse.Namespace) -> list[Task]:
    """Raises ValueError for an id that no task has."""
    try:
        return choose(tasks, args.only, None)
    except ValueError as error:
        raise ValueError(f"--only: {error}: the ids are those of {args.tasks}") from error


def check_record(path: Path | None) -> None:
    """Raises ValueError where a recording could not be written; it is asked before hours of measuring."""
    if path and not path.resolve().parent.is_dir():
        raise ValueError(f"--record {path}: there is no such folder, make it first")
    if path and path.is_dir():
        raise ValueError(f"--record {path} is a folder: name a file in it")


def source_of(args: argparse.Namespace) -> Source:
    """What answers. Raises ValueError, OSError."""
    from scripts.comparing.sources import live, recorded

    if not args.scripted:
        return live(args.model, args.base_url)
    with blame("--scripted", args.scripted, "name a file that --record has written"):
        return recorded(args.scripted)


def turns_of(
    tasks: Sequence[Task],
    first_tasks: Sequence[str],
    known: Mapping[Key, Any] | None,
    args: argparse.Namespace,
) -> list[Turn]:
    """The turns that were asked for, of a recording those that it has. Raises ValueError for none at all."""
    from scripts.comparing.running import turns

    every = turns(tasks, args.contenders, args.repeat, frozenset(first_tasks))
    wanted = [turn for turn in every if known is None or turn.key in known]
    if not wanted:
        raise ValueError("nothing is left to run: no turn fits --only, --contenders and --scripted together")
    return wanted


def left_of(wanted: Sequence[Turn], kept: Journal) -> list[Turn]:
    """The turns that the journal does not have yet."""
    left = [turn for turn in wanted if turn.key not in kept.done]
    if len(left) < len(wanted):
        print(f"compare: {len(wanted) - len(left)} runs are kept, {len(left)} are left", file=sys.stderr)
    return left


def show(kept: Journal) -> None:
    from scripts.comparing.report import record, terminal

    print(*terminal(record(kept)), sep="\n", flush=True)


def write(kept: Journal, args: argparse.Namespace) -> None:
    """Everything that is written when all is measured. Raises OSError."""
    from scripts.comparing.charts import draw
    from scripts.comparing.recordings import write_recording
    from scripts.comparing.report import markdown, record

    content = record(kept)
    with blame("--out", args.out, WRITABLE):
        write_json(args.out / "comparison.json", content)
        (args.out / "comparison.md").write_text(markdown(content), encoding="utf-8")
        for section in content["sections"][:1]:
            draw(section["contenders"], args.out)
    if args.record:
        with blame("--record", args.record, "name a file that can be written"):
            left_out = write_recording(args.record, content["identity"], kept.finished)
        for key in left_out:
            print(
                f"compare: not recorded, a request of it failed: {' '.join(map(str, key))}", file=sys.stderr
            )
    show(kept)


def unfit(kept: Journal, wanted: Sequence[Turn], known: Mapping[Key, Sequence[Any]]) -> int:
    """Say which runs asked for more or less than the recording has: the code has changed since."""
    from scripts.comparing.journal import key_of

    keys, code = {turn.key for turn in wanted}, 0
    for row in kept.finished:
        key = key_of(row)
        if key in keys and len(row.attempt.model_spans) != len(known[key]):
            asked, has = len(row.attempt.model_spans), len(known[key])
            print(
                f"compare: {' '.join(map(str, key))}: {asked} replies asked for, {has} recorded: "
                "record again with --record",
                file=sys.stderr,
            )
            code = UNFIT
    return code


def failed_by_service(
    lost: Sequence[Row], wanted: Sequence[Turn], kept: Journal, args: argparse.Namespace
) -> int:
    """Say how many runs the service failed, and what to do about it; returns the exit code."""
    from scripts.comparing.outages import REASON

    done = kept.done
    left = sum(turn.key not in done for turn in wanted)
    if not left:
        return 0
    what = "the service answers only now"
    if lost:
        first, runs = lost[0], "1 run" if len(lost) == 1 else f"{len(lost)} runs"
        error = first.reason.removeprefix(f"{REASON}: ")
        what = f"{REASON} {runs} (the first, {first.task.id} {first.agent}: {error})"
    again = "the same command without --fresh" if args.fresh else "the same command"
    print(
        f"compare: {what}; {left} of {len(wanted)} are not finished: {again} tries them again",
        file=sys.stderr,
    )
    return FAILED


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    # `timeout` and CI end a run with SIGTERM: what was measured is worth as much then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    leave(main())
