"""Measure agents on a file of tasks: what they solve, and what that takes in tokens and seconds.

    python -m scripts.evaluate --model local --agent ours,executor --json measured.json

Several agents take turns, task by task, so that a machine's moods fall on all of them alike. Rows and
totals go to stdout, progress and ``-v`` to stderr. Exit: 0 measured, 2 usage or settings, 130 Ctrl-C
or SIGTERM (what was measured until then is kept).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

from scripts.scoring import Task, load_tasks, load_weather, solved, weather_file  # noqa: E402

PACKAGES = ("langchain", "langchain-core", "langchain-openai", "openai", "xllamacpp")

# The usual ReAct prompt for AgentExecutor: its slots and labels are LangChain's, the words are ours.
REACT_PROMPT = """Answer the question below as well as you can. These tools are at your disposal:

{tools}

Keep to this format:

Question: the question that has to be answered
Thought: think about what to do next
Action: the tool to use, one of [{tool_names}]
Action Input: what goes into the tool
Observation: what the tool returned
... (Thought, Action, Action Input and Observation may come as often as needed)
Thought: I know the final answer now
Final Answer: the answer to the question

Begin!

Question: {input}
Thought:{agent_scratchpad}"""
EXECUTOR_GAVE_UP = "Agent stopped due to iteration limit or time limit."


@dataclass(frozen=True)
class ToolCall:
    tool: str
    input: str
    output: str
    seconds: float


@dataclass
class Attempt:
    """One agent's run of one task. A step holds at least ``raw_reply`` and ``observations``."""

    answer: str | None = None
    stop_reason: str = ""
    error: str | None = None
    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    def count(self, usage: Mapping[str, int] | None) -> None:
        """Add one reply's token counts, or note that the server told none."""
        self.requests += 1
        for name in ("prompt_tokens", "completion_tokens"):
            known, new = getattr(self, name), (usage or {}).get(name)
            setattr(self, name, None if known is None or new is None else known + new)


@dataclass(frozen=True)
class Row:
    task: Task
    agent: str
    solved: bool
    reason: str
    attempt: Attempt


# --- the measured tools: our own, as a stranger would bring them; each call is kept for the score


def measured_tools(weather: Mapping[str, float], calls: list[ToolCall]) -> list[Any]:
    """LangChain Tools named Calculator, Weather and Time that record each call in ``calls``."""
    from langchain_core.tools import Tool

    from tools import default_tools

    product = {tool.name: tool for tool in default_tools()}
    calculator, clock = product["Calculator"], product["Time"]

    def look_up(city: str) -> str:
        degrees = weather.get(city.strip().casefold())
        return f"No weather data for {city}." if degrees is None else f"{degrees:g}°C"

    return [
        Tool(name=name, description=description, func=recorded(name, function, calls))
        for name, description, function in (
            ("Calculator", "Works out an arithmetic expression, such as 7*(3+1).", calculator.run),
            ("Weather", "Current temperature in a city, in °C. The input is the city's name.", look_up),
            ("Time", "The local date and time at this moment. Takes no input.", lambda _: clock.run("")),
        )
    ]


def recorded(name: str, function: Callable[[str], Any], calls: list[ToolCall]) -> Callable[[str], str]:
    def call(text: str = "") -> str:
        start = time.perf_counter()
        output = "(raised)"
        try:
            output = str(function(text))
        finally:
            calls.append(ToolCall(name, text, output, time.perf_counter() - start))
        return output

    return call


# --- the agents: each fills an attempt, which keeps what was counted even when the agent raises


def ask_ours(attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace) -> None:
    from agent import run_agent

    result = run_agent(question, llm=llm, tools=tools, protocol=args.protocol, language=args.language)
    attempt.answer, attempt.stop_reason = result.answer, str(result.stop_reason)
    attempt.error = result.error
    attempt.requests = result.usage.requests
    attempt.prompt_tokens = result.usage.prompt_tokens
    attempt.completion_tokens = result.usage.completion_tokens
    attempt.steps = [asdict(step) for step in result.steps]


def ask_bare(attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace) -> None:
    reply = llm.invoke(question)
    attempt.count(reply.response_metadata.get("token_usage"))
    attempt.answer = str(reply.content)
    attempt.steps = [{"raw_reply": attempt.answer, "observations": []}]


def ask_executor(
    attempt: Attempt, question: str, llm: Any, tools: list[Any], args: argparse.Namespace
) -> None:
    from langchain.agents import AgentExecutor, create_react_agent
    from langchain_core.prompts import PromptTemplate

    executor = AgentExecutor(
        agent=create_react_agent(llm, tools, PromptTemplate.from_template(REACT_PROMPT)),
        tools=tools,
        max_iterations=6,
        handle_parsing_errors=True,
        return_intermediate_steps=True,
        stream_runnable=False,  # streaming loses the token counts
    )
    replies: list[str] = []
    result = executor.invoke({"input": question}, {"callbacks": [_counter(attempt, replies)]})
    gave_up = result["output"] == EXECUTOR_GAVE_UP
    attempt.stop_reason = "max_iterations" if gave_up else "final_answer"
    attempt.answer = None if gave_up else result["output"]
    texts = [str(text) for _, text in result["intermediate_steps"]]
    # A final answer is a reply without an observation.
    attempt.steps = [
        {"raw_reply": reply, "observations": [] if text is None else [{"text": text}]}
        for reply, text in zip_longest(replies, texts)
    ]


def _counter(attempt: Attempt, replies: list[str]) -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            attempt.count((response.llm_output or {}).get("token_usage"))
            replies.append(response.generations[0][0].text)

    return Counter()


AGENTS: dict[str, Callable[..., None]] = {"ours": ask_ours, "executor": ask_executor, "bare": ask_bare}


def measure(task: Task, agent: str, llm: Any, weather: Mapping[str, float], args: argparse.Namespace) -> Row:
    """Run one task afresh and score it. Whatever an agent raises, but Ctrl-C, is its failure."""
    attempt = Attempt()
    tools = measured_tools(weather, attempt.tool_calls)
    before, start = datetime.now(), time.perf_counter()
    try:
        AGENTS[agent](attempt, task.question, llm, tools, args)
    except Exception as error:
        attempt.error = f"{type(error).__name__}: {error}"
    attempt.seconds = time.perf_counter() - start
    names = [call.tool for call in attempt.tool_calls]
    good, reason = solved(task, attempt.answer, names, before, datetime.now())
    return Row(task, agent, good, reason, attempt)


# --- what is shown


def row_line(row: Row) -> str:
    attempt = row.attempt
    called = ",".join(call.tool for call in attempt.tool_calls) or "-"
    answer = " ".join((attempt.answer or "").split())
    shortened = answer if len(answer) <= 60 else answer[:59] + "…"
    why = "" if row.solved else f"  <- {row.reason}" + (f" ({attempt.error})" if attempt.error else "")
    return (
        f"{row.task.id:<5} {'ok' if row.solved else 'NO':<3} {row.agent:<9} {called:<32} "
        f"{attempt.requests:>2} req {attempt.tokens:>6} tok {attempt.seconds:>6.1f} s  {shortened}{why}"
    )


def detail_lines(row: Row) -> Iterator[str]:
    yield f"--- {row.task.id} {row.agent}: {row.task.question}"
    for step in row.attempt.steps:
        yield f"<<< {step['raw_reply']}"
        yield from (f">>> {seen['text']}" for seen in step["observations"])
        if step.get("error"):
            yield f"!!! {step['error']}"


def totals(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of one agent's rows; seconds and tokens are sums but for the median."""
    attempts = [row.attempt for row in rows]
    tokens, right = sum(attempt.tokens for attempt in attempts), sum(row.solved for row in rows)
    kinds = Counter(row.task.kind for row in rows)
    kinds_right = Counter(row.task.kind for row in rows if row.solved)
    return {
        "tasks": len(rows),
        "solved": right,
        "kinds": {kind: [kinds_right[kind], number] for kind, number in kinds.items()},
        "prompt_tokens": sum(attempt.prompt_tokens or 0 for attempt in attempts),
        "completion_tokens": sum(attempt.completion_tokens or 0 for attempt in attempts),
        "unanswered": sum(attempt.answer is None for attempt in attempts),
        "runs_without_counts": sum(None in (a.prompt_tokens, a.completion_tokens) for a in attempts),
        "tokens_per_solved": round(tokens / right, 1) if right else None,
        "requests": sum(attempt.requests for attempt in attempts),
        "tool_calls": sum(len(attempt.tool_calls) for attempt in attempts),
        "median_s": statistics.median(attempt.seconds for attempt in attempts),
        "total_s": sum(attempt.seconds for attempt in attempts),
    }


def totals_lines(agent: str, sums: Mapping[str, Any]) -> Iterator[str]:
    yield f"{agent}: solved {sums['solved']}/{sums['tasks']}, {sums['unanswered']} without an answer"
    yield "  " + "  ".join(f"{kind} {good}/{number}" for kind, (good, number) in sums["kinds"].items())
    yield (
        f"  tokens: {sums['prompt_tokens']} prompt + {sums['completion_tokens']} completion, "
        f"{sums['tokens_per_solved'] or '-'} per solved task"
    )
    if sums["runs_without_counts"]:
        yield f"  {sums['runs_without_counts']} runs without token counts are missing from these sums"
    yield f"  {sums['requests']} requests, {sums['tool_calls']} tool calls"
    yield f"  seconds: median {sums['median_s']:.2f}, total {sums['total_s']:.1f}"


def ratios(rows: Sequence[Row], agents: Sequence[str]) -> dict[str, float]:
    """Median seconds of the first agent over each other's, on the tasks that both finished."""
    seconds = {agent: {r.task.id: r.attempt.seconds for r in rows if r.agent == agent} for agent in agents}
    first, *others = agents
    result = {}
    for other in others:
        both = seconds[first].keys() & seconds[other].keys()
        if both:
            medians = [statistics.median(seconds[agent][i] for i in both) for agent in (first, other)]
            result[f"{first}/{other}"] = medians[0] / medians[1]
    return result


def report(rows: Sequence[Row], args: argparse.Namespace, interrupted: bool) -> dict[str, Any]:
    """Everything that ``--json`` writes; not the service's address, which may hold a password."""
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "interrupted": interrupted,
        "settings": {name: value for name, value in vars(args).items() if name != "base_url"},
        "machine": machine(),
        "versions": versions(),
        "totals": {
            agent: totals(own) for agent in args.agent if (own := [row for row in rows if row.agent == agent])
        },
        "median_seconds_ratio": ratios(rows, args.agent),
        "rows": [asdict(row) for row in rows],
    }


def machine() -> dict[str, Any]:
    """Seconds mean little without the load: others' work on the same processors slows every run."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "load": load,
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
        found["commit"] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found["commit"] = "unknown"
    return found


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write beside the file and move into place: whoever reads it never sees half of it."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, ensure_ascii=False, indent=1, default=str) + "\n", encoding="utf-8")
    part.replace(path)


# --- the command line


def main(argv: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
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
    # Imported here, although the agents use them: what a process pays once is no part of a run.
    import langchain.agents
    import langchain.memory  # noqa: F401

    from agent import load_model

    return load_model(args.model, base_url=args.base_url)


def run_all(
    tasks: Sequence[Task], llm: Any, weather: Mapping[str, float], args: argparse.Namespace, rows: list[Row]
) -> None:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    # rich would lead a redirected stdout to the terminal too.
    redirect = sys.stdout.isatty()
    with Progress(
        console=console, disable=not console.is_terminal, redirect_stdout=redirect, transient=True
    ) as bar:
        running = bar.add_task("", total=len(tasks) * len(args.agent))
        for task in tasks:
            for agent in args.agent:
                bar.update(running, description=f"{task.id} {agent}")
                rows.append(measure(task, agent, llm, weather, args))
                print(row_line(rows[-1]), flush=True)
                if args.verbose:
                    print(*detail_lines(rows[-1]), sep="\n", file=sys.stderr, flush=True)
                bar.advance(running)


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
    own.add_argument("--tasks", type=Path, default=ROOT / "scripts" / "tasks" / "dev.jsonl", metavar="FILE")
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
    sys.exit(main())
