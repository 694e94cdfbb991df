"""What was measured, as lines for a terminal, as a Markdown table and as JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from typing import Any

from scripts.fault_matrix.fault import GIVEN_UP_S, LIMITS, MODEL_TIMEOUT_S, OURS, SHORT_S, Played
from scripts.fault_matrix.matrix import Cell
from scripts.figures import machine, versions

TITLES = {"text": "ours, `text`", "tools": "ours, `tools`", "executor": "AgentExecutor"}
KINDS = ("answered", "answered at a limit", "stopped with a reason", "raised", "hung")
READING = (
    "Each cell was measured: how the run ended, the requests that reached the model (attempts without a reply"
    " included), the tokens of the replies (– where none were told), seconds. In every row all three meet the"
    " same model, service and tool. A scripted model counts a token for four characters of the messages, a"
    " service a hundred for every request and the same for its reply.",
    f"All have {LIMITS.max_iterations} steps where nothing else is said, the same timeout for one request"
    f" ({MODEL_TIMEOUT_S:g} s; {SHORT_S:g} s where nothing comes), and the same seconds in all."
    " AgentExecutor at its best: `handle_parsing_errors=True`, `max_iterations=6`, `max_execution_time`, with"
    " `create_react_agent`, or `create_tool_calling_agent` where the fault is one of native calls. Where its"
    " cap on steps is what stopped it, its default of 15 was measured too; it then returns a sentence about"
    " the cap as if it were the answer. Whoever has done"
    f" nothing for {GIVEN_UP_S:g} s is given up. Of whole processes, the seconds count from the hang or the"
    " signal to the end of the process.",
)


def cell_line(cell: Cell) -> str:
    """One cell on a terminal."""
    mark = (
        "--"
        if cell.played is None
        else "NO"
        if cell.falls_short
        else "ok"
        if cell.contender in OURS
        else "  "
    )
    return f"{mark}  {cell.fault.group:<13} {cell.fault.name:<46} {cell.contender:<8}  {_words(cell)}"


def totals(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """For each contender: how often it ended in which way, and what all its cells used together."""
    sums = {}
    for contender in dict.fromkeys(cell.contender for cell in cells):
        own = [cell for cell in cells if cell.contender == contender and cell.played]
        kinds = Counter(_kind(cell.played) for cell in own if cell.played)
        sums[contender] = {
            "faults": len(own),
            **{kind: kinds[kind] for kind in KINDS},
            "requests": sum(cell.played.requests for cell in own if cell.played),
            "tokens": sum(cell.played.tokens or 0 for cell in own if cell.played),
            "seconds": round(sum(cell.played.seconds for cell in own if cell.played), 2),
            "with findings against it": sum(bool(cell.broken) for cell in own),
        }
    return sums


def markdown(cells: Sequence[Cell], seconds: float) -> str:
    """The whole table, with what it was measured on."""
    contenders = list(dict.fromkeys(cell.contender for cell in cells))
    lines = ["# Faults", "", *_introduction(seconds), ""]
    lines += _table(["", *(TITLES[name] for name in contenders)], _total_rows(totals(cells)))
    for group, own in groupby(cells, key=lambda cell: cell.fault.group):
        rows = [
            [name, *(_words(cell) for cell in row)]
            for name, row in groupby(own, key=lambda cell: cell.fault.name)
        ]
        lines += ["", f"## {group[:1].upper()}{group[1:]}", ""]
        lines += _table(["fault", *(TITLES[name] for name in contenders)], rows)
    return "\n".join(lines) + "\n"


def as_json(cells: Sequence[Cell], seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "machine": machine(),
        "versions": versions(),
        "totals": totals(cells),
        "cells": [_as_dict(cell) for cell in cells],
    }


def _as_dict(cell: Cell) -> dict[str, Any]:
    contract = cell.fault.contract
    return {
        "group": cell.fault.group,
        "fault": cell.fault.name,
        "contender": cell.contender,
        "contract": {
            "outcomes": list(contract.outcomes),
            "most_requests": contract.most_requests,
            "most_seconds": contract.most_seconds,
        },
        "does_not_apply": cell.fault.skips.get(cell.contender),
        **_measured(cell.played),
        "findings": list(cell.broken),
        "at_default_of_15": _measured(cell.at_default) or None,
    }


def _measured(played: Played | None) -> dict[str, Any]:
    if played is None:
        return {}
    names = ("outcome", "answer", "error", "requests", "tokens", "seconds", "tool_runs")
    return {name: _writable(value) for name, value in asdict(played).items() if name in names}


def _writable(value: object) -> object:
    """Half of a character pair cannot be written to a file; here it is one of the faults."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _introduction(seconds: float) -> Iterator[str]:
    now = datetime.now().astimezone()
    where, found = machine(), versions()
    load = where["load"]
    yield f"Written by `python -m scripts.faults` on {now:%Y-%m-%d %H:%M %z}, in {seconds:.0f} s."
    yield (
        f"Machine: {where['system']}, {where['cpus']} processors"
        + (f", load {load[0]:.1f} (others' work beside it)" if load else "")
        + ". "
        + ", ".join(f"{name} {version}" for name, version in found.items() if name != "xllamacpp")
        + "."
    )
    for paragraph in READING:
        yield ""
        yield paragraph


def _total_rows(sums: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    names = list(next(iter(sums.values()), {}))
    return [[name, *(f"{own[name]:,}" for own in sums.values())] for name in names]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _words(cell: Cell) -> str:
    """One cell in words: the outcome, what it took, and what is to be said against it."""
    if cell.played is None:
        return f"({cell.fault.skips[cell.contender]})"
    words = f"{cell.played.outcome}; {_figures(cell.played)}"
    if cell.at_default:
        words += f" (by default {_figures(cell.at_default)})"
    said = "; ".join(cell.broken)
    if not said:
        return words
    return f"{words}. FALLS SHORT: {said}" if cell.falls_short else f"{words}; {said}"


def _figures(played: Played) -> str:
    tokens = "–" if played.tokens is None else f"{played.tokens:,}"
    plural = "" if played.requests == 1 else "s"
    return f"{played.requests} request{plural}, {tokens} tokens, {played.seconds:.2f} s"


def _kind(played: Played) -> str:
    if played.outcome in ("answered", "exited 0"):
        return "answered"
    begins = {"answered": "answered at a limit", "raised": "raised", "hung": "hung"}
    return begins.get(re.split(r"\W", played.outcome)[0], "stopped with a reason")
