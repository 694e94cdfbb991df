"""A result as a notebook shows it: the answer, and beneath it the steps to unfold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.results import RunResult, Step

_CELL = ' style="text-align:left;vertical-align:top;white-space:pre-wrap"'


def as_html(result: RunResult) -> str:
    """A self-contained piece of HTML; whatever a model or a tool wrote stays text in it."""
    answer = f"<p{_CELL}>{escape(result.answer)}</p>" if result.answer else ""
    error = f"<p{_CELL}><em>{escape(result.error)}</em></p>" if result.error else ""
    head = "".join(f"<th{_CELL}>{name}</th>" for name in ("step", "thought", "did", "came back", "used"))
    rows = "".join(_row(step) for step in result.steps)
    return (
        f"{answer}{error}<details><summary>{escape(_summary(result))}</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>"
    )


def _summary(result: RunResult) -> str:
    forced = ", asked for" if result.forced else ""
    asked = "1 request" if result.usage.requests == 1 else f"{result.usage.requests} requests"
    used = f"{asked}, {_tokens(result.usage.total_tokens)}, {result.duration_s:.1f} s"
    return f"{result.stop_reason}{forced}: {used} ({result.model}, {result.protocol})"


def _row(step: Step) -> str:
    used = f"{_tokens(step.usage.total_tokens)}, {step.duration_s:.1f} s"
    cells = (str(step.number), step.thought, "\n".join(_did(step)), "\n".join(_came_back(step)), used)
    return f"<tr>{''.join(f'<td{_CELL}>{escape(cell)}</td>' for cell in cells)}</tr>"


def _did(step: Step) -> Iterator[str]:
    for action in step.actions:
        given = action.input
        shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        yield f"{action.tool}[{shown}]"


def _came_back(step: Step) -> Iterator[str]:
    yield from (seen.text for seen in step.observations)
    if step.error:
        yield step.error


def _tokens(count: int | None) -> str:
    return "? tokens" if count is None else f"{count:,} tokens"
