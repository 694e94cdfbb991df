"""The figures of a measurement: rows, totals, ratios, and what machine and versions they are from."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from scripts.contenders import Attempt
from scripts.scoring import Task

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("langchain", "langchain-core", "langchain-openai", "openai", "xllamacpp")


@dataclass(frozen=True)
class Row:
    task: Task
    agent: str
    solved: bool
    reason: str
    attempt: Attempt
    repeat: int = 0


def row_line(row: Row) -> str:
    attempt = row.attempt
    called = ",".join(call.tool for call in attempt.tool_calls) or "-"
    answer = " ".join((attempt.answer or "").split())
    shortened = answer if len(answer) <= 60 else answer[:59] + "…"
    why = "" if row.solved else f"  <- {row.reason}" + (f" ({attempt.error})" if attempt.error else "")
    return (
        f"{row.task.id:<5} {'ok' if row.solved else 'NO':<3} {row.agent:<20} {called:<32} "
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
