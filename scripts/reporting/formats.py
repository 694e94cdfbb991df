"""How numbers, times and paths stand in the page. What is not known is a question mark."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath

from scripts.reporting.texts import Texts

PATH_CHARS = 44  # of a path in the table: a file of AGENT_TRACE_DIR and the beginning of its folder


def whole(count: float | None) -> str:
    return "?" if count is None else f"{count:,.0f}" if isinstance(count, float) else f"{count:,}"


def short(count: int) -> str:
    return f"{count / 1000:g}k" if count >= 10_000 else f"{count:,}"


def dollars(cost: float | None) -> str:
    return "—" if cost is None else f"${cost:,.4f}"


def seconds(value: float | None, texts: Texts) -> str:
    if value is None:
        return "?"
    if value < 0.9995:
        return texts.say("ms", value=f"{value * 1000:.0f}")
    return texts.say("s", value=f"{value:.1f}" if value < 99.95 else f"{value:,.0f}")


def moment(started: str) -> str:
    """A recorded time to the second, with its zone; one that cannot be read stands as it is."""
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M:%S %Z}"
    except ValueError:
        return started or "—"


def path_end(path: str, most: int = PATH_CHARS) -> str:
    """The end of a path: the file's name, and the folders before it for which there is room."""
    *folders, end = PurePath(path).parts or ("",)
    if len(end) > most:
        return "…" + end[-(most - 1) :]
    for folder in reversed(folders):
        longer = str(PurePath(folder, end))
        if len(longer) > most - 2:
            return f"…/{end}"
        end = longer
    return end
