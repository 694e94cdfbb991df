"""A comparison as tables: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Cells = Sequence[Sequence[str]]

HEADINGS = [
    "contender", "solved", "95 %", "prompt", "completion", "per solved", "requests", "tool calls",
    "tool errors", "retries", "wasted", "model s", "tool s", "loop s", "median s", "raised",
]  # fmt: skip
SUMMARY = [
    "contender", "solved", "95 %", "per solved", "requests", "tool calls", "wasted", "median s", "raised",
]  # fmt: skip


def cells(contenders: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """A heading and a line for each contender."""
    return [HEADINGS, *([name, *_line(own)] for name, own in contenders.items())]


def _line(own: Mapping[str, Any]) -> Iterator[str]:
    low, high = own["solved_interval"]
    yield f"{own['solved']}/{own['tasks']}"
    yield f"{low:.0%}-{high:.0%}"
    incomplete = "+" if own["runs_without_counts"] else ""
    yield from (f"{own[name]:,}{incomplete}" for name in ("prompt_tokens", "completion_tokens"))
    yield "-" if own["tokens_per_solved"] is None else f"{own['tokens_per_solved']:,.0f}{incomplete}"
    yield from (f"{own[name]:,}" for name in ("requests", "tool_calls", "tool_errors"))
    yield from (f"{own[name]:,}" for name in ("retries_after_error", "wasted_calls"))
    yield from (f"{own[name]:,.1f}" for name in ("model_s", "tool_s", "loop_s"))
    yield f"{own['median_s']:.2f}"
    yield str(own["raised"])


def summary_cells(contenders: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The columns that decide, for a page that has room for no more."""
    table = cells(contenders)
    chosen = [HEADINGS.index(heading) for heading in SUMMARY]
    return [[line[column] for column in chosen] for line in table]


def kind_cells(contenders: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """What each contender solved of each kind of task."""
    kinds = list(dict.fromkeys(kind for own in contenders.values() for kind in own["kinds"]))
    lines = (
        [name, *("/".join(map(str, own["kinds"].get(kind, ("-", "-")))) for kind in kinds)]
        for name, own in contenders.items()
    )
    return [["contender", *kinds], *lines]


def pair_cells(pairs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A heading and a line for each pair."""
    lines = (
        [
            f"{pair['first']} : {pair['second']}",
            str(pair["tasks"]),
            f"{len(pair['only_first'])} : {len(pair['only_second'])}",
            f"{pair['p']:.2g}",
            " ".join(pair["only_first"]) or "-",
            " ".join(pair["only_second"]) or "-",
        ]
        for pair in pairs
    )
    return [["pair", "tasks", "solved alone", "p", "only the first", "only the second"], *lines]


def aligned(table: Cells) -> Iterator[str]:
    """Lines for a terminal: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        rest = (text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *rest)).rstrip()


def markdown_table(table: Cells, *, words: bool = False) -> Iterator[str]:
    """``words``: all columns to the left; else all but the first are figures, to the right."""
    heading, *lines = table
    yield _row(heading)
    yield _row(["---", *("---" if words else "---:" for _ in heading[1:])])
    yield from map(_row, lines)


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(text.replace("|", "\\|").split()) for text in texts) + " |"
