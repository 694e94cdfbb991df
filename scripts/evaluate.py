"""Measure agents on a file of tasks: what they solve, and what that takes in tokens and seconds.

    python -m scripts.evaluate --model local --agent ours,executor --json measured.json

Several agents take turns, task by task, so that a machine's moods fall on all of them alike. Rows and
totals go to stdout, progress and ``-v`` to stderr. Exit: 0 measured, 2 usage or settings, 130 Ctrl-C
or SIGTERM (what was measured until then is kept).
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402
from scripts.comparing.turns import load, play  # noqa: E402
from scripts.contenders import AGENTS  # noqa: E402
from scripts.figures import Row, detail_lines, report, row_line, totals_lines, write_json  # noqa: E402
from scripts.scoring import Task, load_tasks, load_weather, weather_file  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)
    try:
        tasks = choose(load_tasks(args.tasks), args.only, args.limit)
        weather = load_weather(args.weather or weather_file(args.tasks))
        if args.json and not args.json.resolve().parent.is_dir():
            raise ValueError(f"{args.json}: there is no such folder")
        llm = load_llm(args)
    except (OSError, ValueError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    rows: list[Row] = []
    interrupted = False
    try:
        run_all(tasks, llm, weather, args, rows)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # First of all, and whatever happened: minutes of measuring are in it.
        content = report(rows, args, interrupted)
        if args.json:
            write_json(args.json, content)
    show_totals(content)
    return 130 if interrupted else 0


def load_llm(args: argparse.Namespace) -> Any:
    return load(args.model, args.base_url)


def measure(task: Task, agent: str, llm: Any, weather: Mapping[str, float], args: argparse.Namespace) -> Row:
    return play(
        task, agent, weather, lambda attempt, tools: AGENTS[agent](attempt, task.question, llm, tools, args)
    )


def run_all(
    tasks: Sequence[Task], llm: Any, weather: Mapping[str, float], args: argparse.Namespace, rows: list[Row]
) -> None:
    from rich.progress import Progress

    with Progress(**progress_options()) as bar:
        running = bar.add_task("", total=len(tasks) * len(args.agent))
        for task in tasks:
            for agent in args.agent:
                bar.update(running, description=f"{task.id} {agent}")
                rows.append(measure(task, agent, llm, weather, args))
                print(row_line(rows[-1]), flush=True)
                if args.verbose:
                    print(*detail_lines(rows[-1]), sep="\n", file=sys.stderr, flush=True)
                bar.advance(running)


def progress_options() -> dict[str, Any]:
    """A bar on stderr, where that is a terminal; rich would lead a redirected stdout to it too."""
    from rich.console import Console

    console = Console(stderr=True)
    return {
        "console": console,
        "disable": not console.is_terminal,
        "redirect_stdout": sys.stdout.isatty(),
        "transient": True,
    }


def show_totals(content: Mapping[str, Any]) -> None:
    print()
    if content["interrupted"]:
        print(f"Interrupted: {len(content['rows'])} runs were measured.")
    for agent, sums in content["totals"].items():
        print(*totals_lines(agent, sums), sep="\n")
    for pair, ratio in content["median_seconds_ratio"].items():
        print(f"median seconds {pair}: {ratio:.2f}")


def choose(tasks: list[Task], only: Sequence[str] | None, limit: int | None) -> list[Task]:
    """Raises ValueError for an id that no task has."""
    if only:
        missing = set(only) - {task.id for task in tasks}
        if missing:
            raise ValueError(f"no task is named {', '.join(sorted(missing))}")
        tasks = [task for task in tasks if task.id in only]
    return tasks[:limit]


def agents(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(AGENTS):
        raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(AGENTS)}")
    return list(dict.fromkeys(names))


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="evaluate", description=__doc__.split("\n")[0])
    dev = ROOT / "scripts" / "tasks" / "dev.jsonl"
    own.add_argument("--tasks", type=Path, default=dev, metavar="FILE", help="one task a line (the dev set)")
    own.add_argument("--weather", type=Path, metavar="FILE", help="default: the table beside the tasks")
    own.add_argument("--model", default="local", help="local (default), local-small, or a service's name")
    own.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service")
    own.add_argument("--agent", type=agents, default=["ours"], help="one or more of ours,executor,bare")
    own.add_argument("--protocol", choices=["text", "tools"], default="text", help="of ours")
    own.add_argument("--language", choices=["auto", "zh", "en"], default="auto", help="of ours")
    own.add_argument("--only", type=lambda text: text.split(","), metavar="ID,ID", help="these tasks")
    own.add_argument("--limit", type=int, metavar="N", help="the first N tasks")
    own.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    own.add_argument("-v", "--verbose", action="store_true", help="each reply and observation, on stderr")
    return own


if __name__ == "__main__":
    # `timeout` and CI end a run with SIGTERM: what was measured is worth as much then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    leave(main())
