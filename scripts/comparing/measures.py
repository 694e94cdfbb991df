"""The figures of a comparison: of each contender, of pairs that took the same tasks, of groups of tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agent.results import call_key
from scripts.comparing.arms import ARMS, EXTRA, MAIN
from scripts.contenders import ToolCall
from scripts.figures import Row, totals
from scripts.statistics_exact import mcnemar_exact, wilson

ALL = "All tasks within reach"
DEVELOPED = "Tasks that our prompts were developed with"
NEW = "Tasks that they were not developed with"
OUT_OF_REACH = "Out of reach of the cap, where a step makes one call"
EXTRAS = "Extra contenders, beside those that they differ from"
PAIRED_WITH = {"ours-text": MAIN, "ours-tools": ("executor-tools",)}
COUNTERPARTS = {"executor-default-cap": "executor-react", "ours-raising": "ours-text"}
COUNTERPARTS["executor-raising"] = "executor-react"


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of one contender's rows, at least one. Seconds are sums but for the median."""
    attempts = [row.attempt for row in rows]
    sums = totals(rows)
    retries = [retries_after_error(attempt.tool_calls) for attempt in attempts]
    met = [count for count in retries if count is not None]
    return {
        **sums,
        "solved_interval": wilson(sums["solved"], sums["tasks"]),
        "mean_tokens": (sums["prompt_tokens"] + sums["completion_tokens"]) / len(rows),
        "tool_errors": sum(call.failed for attempt in attempts for call in attempt.tool_calls),
        "runs_with_tool_errors": len(met),
        "retries_after_error": sum(met),
        "mean_retries_after_error": sum(met) / len(met) if met else None,
        "wasted_calls": sum(wasted_calls(attempt.tool_calls) for attempt in attempts),
        "model_s": sum(attempt.model_s for attempt in attempts),
        "tool_s": sum(attempt.tool_s for attempt in attempts),
        "loop_s": sum(attempt.loop_s for attempt in attempts),
        "raised": sum(attempt.raised for attempt in attempts),
    }


def retries_after_error(calls: Sequence[ToolCall]) -> int | None:
    """How often a run called a tool again whose latest call had failed; None where no call failed."""
    failed: dict[str, bool] = {}
    retries = 0
    for call in calls:
        retries += failed.get(call.tool, False)
        failed[call.tool] = call.failed
    return retries if any(call.failed for call in calls) else None


def wasted_calls(calls: Sequence[ToolCall]) -> int:
    """Calls of a run that had been made before: the same tool and, but for blanks, the same input."""
    made = Counter(call_key(call.tool, call.input) for call in calls)
    return sum(made.values()) - len(made)


def of_all(rows: Sequence[Row], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The figures of each contender, on the runs that all of those that have any have finished."""
    own = {name: [row for row in rows if row.agent == name] for name in names}
    keys = [{(row.task.id, row.repeat) for row in each} for each in own.values() if each]
    common = set.intersection(*keys) if keys else set()
    kept = {name: [row for row in each if (row.task.id, row.repeat) in common] for name, each in own.items()}
    return {name: figures(each) for name, each in kept.items() if each}


def sections(
    rows: Sequence[Row], first_tasks: Collection[str], developed: Collection[str]
) -> list[dict[str, Any]]:
    """Groups of tasks, each with the figures of those who took them; groups that nobody took are left out.

    ``first_tasks`` are the ids of those that the extra contenders run, ``developed`` the questions that our
    prompts were developed with.
    """
    reachable = [row for row in rows if row.task.reachable]
    extra = [name for name in EXTRA if any(row.agent == name for row in rows)]
    beside = [name for name in ARMS if name in extra or name in {COUNTERPARTS[each] for each in extra}]
    groups: list[tuple[str, Sequence[Row], Sequence[str]]] = [
        (ALL, reachable, MAIN),
        (DEVELOPED, [row for row in reachable if row.task.question in developed], MAIN),
        (NEW, [row for row in reachable if row.task.question not in developed], MAIN),
        (OUT_OF_REACH, [row for row in rows if not row.task.reachable], MAIN),
        (EXTRAS, [row for row in reachable if row.task.id in first_tasks], beside),
    ]
    return [
        {"title": title, "contenders": each} for title, own, names in groups if (each := of_all(own, names))
    ]


def pairs(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Ours against each other contender, on the reachable tasks that both have taken."""
    reachable = [row for row in rows if row.task.reachable]
    solved = {name: _solved([row for row in reachable if row.agent == name]) for name in MAIN}
    return [
        pair(first, second, solved[first], solved[second])
        for first, others in PAIRED_WITH.items()
        for second in others
        if first != second and solved[first].keys() & solved[second].keys()
    ]


def pair(first: str, second: str, one: Mapping[str, bool], other: Mapping[str, bool]) -> dict[str, Any]:
    """Which tasks one solved and the other did not, and how likely that is if both are equally good."""
    both = [task for task in one if task in other]
    only_first = [task for task in both if one[task] and not other[task]]
    only_second = [task for task in both if other[task] and not one[task]]
    return {
        "first": first,
        "second": second,
        "tasks": len(both),
        "only_first": only_first,
        "only_second": only_second,
        "p": mcnemar_exact(len(only_first), len(only_second)),
    }


def _solved(rows: Sequence[Row]) -> dict[str, bool]:
    """By task, whether more than half of its repeats were solved."""
    repeats: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        repeats[row.task.id].append(row.solved)
    return {task: 2 * sum(each) > len(each) for task, each in repeats.items()}
