"""Decide between our loop and AgentExecutor by numbers of your own: the same tools, model and tasks.

    python -m scripts.compare --model local --out scripts/results/comparison

Rows and tables go to stdout, progress to stderr; --out gets comparison.md, comparison.json, charts, and
every finished run at once, so that a rerun goes on from there. Exit: 0 measured, 1 a recording no longer
fits the code, 2 usage or settings, 130 Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402
from scripts.comparing.arms import ARMS, FIRST_TASKS  # noqa: E402
from scripts.evaluate import choose  # noqa: E402
from scripts.figures import row_line, write_json  # noqa: E402
from scripts.scoring import Task, load_tasks, load_weather, weather_file  # noqa: E402

if TYPE_CHECKING:
    from scripts.comparing.journal import Journal, Key
    from scripts.comparing.running import Turn

UNFIT, MISTAKE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is left to measure, write and show it; returns the exit code."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)
    try:
        return report_only(args) if args.report else compare(args)
    except (OSError, ValueError) as error:
        print(f"compare: {said(error)}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED


def said(error: OSError | ValueError) -> str:
    """A mistake in a sentence; one of the system's own tells a path and not what may be done about it."""
    if isinstance(error, OSError) and error.filename:
        return (
            f"{error.filename} cannot be used ({error.strerror}): look at --out, which is a folder, and at "
            "--scripted, --record, --tasks and --weather, which are files"
        )
    return str(error)


def report_only(args: argparse.Namespace) -> int:
    from scripts.comparing.journal import read

    journal = read(args.out)
    if journal is None or not journal.rows:
        raise ValueError(f"{args.out}: no finished run is in its journal yet")
    write(journal, args)
    return 0


def compare(args: argparse.Namespace) -> int:
    """Raises ValueError or OSError for a mistake of the user's."""
    tasks = load_tasks(args.tasks)
    chosen = choose(tasks, args.only, None)
    weather_path = args.weather or weather_file(args.tasks)
    weather = load_weather(weather_path)
    if args.record and not args.record.resolve().parent.is_dir():
        raise ValueError(f"{args.record}: there is no such folder")

    # After the options, because LangChain takes seconds to import.
    from scripts.comparing import identity, journal

    first_tasks = [task.id for task in tasks[:FIRST_TASKS]]
    model_of, described, known = source(args)
    wanted = turns_of(chosen, first_tasks, known, args)
    header = identity.header(described, args.tasks, weather_path, first_tasks)
    kept = journal.begin(args.out, header, fresh=args.fresh)
    try:
        run_all(left_of(wanted, kept), model_of, weather, kept, warm=not args.scripted)
    except KeyboardInterrupt:
        show(kept)
        print(f"compare: interrupted; {args.out} keeps what is finished: run it again", file=sys.stderr)
        return INTERRUPTED
    write(kept, args)
    return unfit(kept, wanted, known) if known is not None else 0


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


def source(
    args: argparse.Namespace,
) -> tuple[Callable[[Key], Any], dict[str, Any], Mapping[Key, Any] | None]:
    """What gives a turn its model, what that is called, and for a recording the replies that it has."""
    if args.scripted:
        from scripts.comparing.recordings import load_recording

        recording = load_recording(args.scripted)
        return recording.model, recording.identity, recording.replies
    from scripts.comparing import identity
    from scripts.comparing.turns import load

    llm = load(args.model, args.base_url)
    return lambda _: llm, identity.live(args.model, args.base_url, llm), None


def run_all(
    left: Sequence[Turn],
    model_of: Callable[[Key], Any],
    weather: Mapping[str, float],
    kept: Journal,
    *,
    warm: bool,
) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from scripts.comparing.journal import uninterrupted
    from scripts.comparing.running import play_turn, warm_up
    from scripts.evaluate import progress_options

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, **progress_options()) as bar:
        running = bar.add_task("", total=len(left))
        if warm and left:
            for name in warm_up(model_of(left[0].key), left, weather):
                bar.update(running, description=name)
        for turn in left:
            bar.update(running, description=f"{turn.task.id} {turn.arm.name}")
            row = play_turn(turn, model_of, weather)
            with uninterrupted():
                kept.add(row)
            print(row_line(row), flush=True)
            bar.advance(running)


def show(kept: Journal) -> None:
    from scripts.comparing.report import record, terminal

    print(*terminal(record(kept)), sep="\n", flush=True)


def write(kept: Journal, args: argparse.Namespace) -> None:
    """Everything that is written when all is measured. Raises OSError."""
    from scripts.comparing.charts import draw
    from scripts.comparing.recordings import write_recording
    from scripts.comparing.report import markdown, record

    content = record(kept)
    write_json(args.out / "comparison.json", content)
    (args.out / "comparison.md").write_text(markdown(content), encoding="utf-8")
    draw(content["sections"][0]["contenders"], args.out)
    if args.record:
        left_out = write_recording(args.record, content["identity"], kept.rows)
        for key in left_out:
            print(
                f"compare: not recorded, a request of it failed: {' '.join(map(str, key))}", file=sys.stderr
            )
    show(kept)


def unfit(kept: Journal, wanted: Sequence[Turn], known: Mapping[Key, Sequence[Any]]) -> int:
    """Say which runs asked for more or less than the recording has: the code has changed since."""
    from scripts.comparing.journal import key_of

    keys, code = {turn.key for turn in wanted}, 0
    for row in kept.rows:
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


def contenders(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(ARMS):
        raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(ARMS)}")
    return list(dict.fromkeys(names))


def folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a folder")  # which Path takes for the working one
    return Path(text)


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="compare", description=__doc__.split("\n")[0])
    scripts = ROOT / "scripts"
    tasks, out = scripts / "tasks" / "compare.jsonl", scripts / "results" / "comparison"
    own.add_argument("--model", default="local", help="local (default), local-small, or a service's name")
    own.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service")
    own.add_argument("--scripted", type=Path, metavar="FILE", help="recorded replies in place of a model")
    own.add_argument("--record", type=Path, metavar="FILE", help="write the replies for --scripted")
    own.add_argument(
        "--out", type=folder, default=out, metavar="DIR", help="default: scripts/results/comparison"
    )
    own.add_argument("--fresh", action="store_true", help="begin anew, whatever --out holds")
    own.add_argument("--report", action="store_true", help="run nothing: write what --out holds once more")
    own.add_argument("--tasks", type=Path, default=tasks, metavar="FILE", help="default: compare.jsonl")
    own.add_argument("--weather", type=Path, metavar="FILE", help="default: the table beside the tasks")
    own.add_argument("--only", type=lambda text: text.split(","), metavar="ID,ID", help="these tasks")
    own.add_argument(
        "--contenders", type=contenders, default=list(ARMS), metavar="A,B", help=f"of {', '.join(ARMS)}"
    )
    own.add_argument("--repeat", type=positive, default=1, metavar="N", help="for services that vary")
    return own


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves
    # `timeout` and CI end a run with SIGTERM: what was measured is worth as much then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    leave(main())
