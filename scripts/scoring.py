"""When a task counts as solved: the rules of scripts/tasks/README.md as pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

# What a model says about these is a fact only when it was looked up; arithmetic proves itself.
FACT_TOOLS = ("Weather", "Time")
TOOLSETS = ("", "changed")
CHECKS = {"numbers", "not_numbers", "any", "max_tool_calls"}

# Spelled out, because calendar.month_name follows the machine's locale.
MONTHS = ["January", "February", "March", "April", "May", "June", "July"]
MONTHS += ["August", "September", "October", "November", "December"]

# Not NFKC: it would turn 5² into 52.
_PLAIN = str.maketrans("０１２３４５６７８９．－−：’％", "0123456789.--:'%")
_NUMBER = re.compile(
    r"""(?: \d{1,3}(?:,\d{3})+(?!\d)   # 1,234 but neither "1, 2" nor "1,2345"
          | \d+ | (?<![\w.])(?=\.\d) )  # or .5
        (?: \.\d+ )?                   # "12." ends a sentence
        (?: [eE][+-]?\d+ )?""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Task:
    """One question. ``tools`` are those that a good run uses; ``check`` is described in the README.

    ``toolset`` names the tools that an agent is given ("" for the usual ones); ``reachable`` is False
    where the cap of 6 steps cannot be enough, one call a step.
    """

    id: str
    kind: str
    lang: str
    question: str
    tools: tuple[str, ...]
    check: Mapping[str, Any]
    toolset: str = ""
    reachable: bool = True


def load_tasks(path: Path) -> list[Task]:
    """Read a file of one JSON object a line. Raises ValueError, naming a line that is no task."""
    tasks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            try:
                tasks.append(_task(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: {type(error).__name__}: {error}") from error
    return tasks


def _task(raw: Mapping[str, Any]) -> Task:
    unknown = set(raw["check"]) - CHECKS
    unknown |= {f"{{{name}}}" for name in _placeholders(raw["check"]) if name not in PLACEHOLDERS}
    if unknown or not raw["check"]:
        raise ValueError(f"check has nothing known in it: {sorted(unknown) or 'it is empty'}")
    toolset, reachable = raw.get("toolset", ""), raw.get("reachable", True)
    if toolset not in TOOLSETS or not isinstance(reachable, bool):
        raise ValueError(f"no toolset {toolset!r}, or reachable is neither true nor false: {reachable!r}")
    return Task(
        raw["id"],
        raw["kind"],
        raw["lang"],
        raw["question"],
        tuple(raw["tools"]),
        raw["check"],
        toolset,
        reachable,
    )


def _placeholders(check: Mapping[str, Any]) -> list[str]:
    return re.findall(r"\{(\w*)\}", " ".join(check.get("any", ())))


def weather_file(tasks_file: Path) -> Path:
    """``<stem>_weather.json`` beside the tasks where it exists, else ``weather.json`` beside them."""
    own = tasks_file.with_name(f"{tasks_file.stem}_weather.json")
    return own if own.exists() else tasks_file.with_name("weather.json")


def load_weather(path: Path) -> dict[str, float]:
    """Degrees Celsius by case-folded city. Raises ValueError when the file is no such table."""
    table = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(table, dict) or not all(isinstance(value, int | float) for value in table.values()):
        raise ValueError(f"{path}: not a table of degrees by city")
    return {city.casefold(): degrees for city, degrees in table.items()}


def solved(
    task: Task, answer: str | None, tool_calls: Sequence[str], now: datetime, later: datetime | None = None
) -> tuple[bool, str]:
    """Whether the task is solved, and why not.

    ``tool_calls`` are the names of the tools in the order they were called. ``now`` and ``later`` are
    the local time before and after the run: an answer that was right at any minute between is right.
    """
    if answer is None or not answer.strip():
        return False, "no answer"
    text = answer.translate(_PLAIN)
    reason = next(_complaints(task, text, tool_calls, _minutes(now, later or now)), "")
    return not reason, reason


def _complaints(
    task: Task, text: str, tool_calls: Sequence[str], moments: Sequence[datetime]
) -> Iterator[str]:
    check, found = task.check, numbers_in(text)
    yield from (f"{want:g} is missing" for want in check.get("numbers", ()) if not _has(found, want))
    yield from (f"{bad:g} is wrong" for bad in check.get("not_numbers", ()) if _has(found, bad))
    wanted = check.get("any")
    if wanted is not None and not any(_says(text, term, moments) for term in wanted):
        yield f"none of {', '.join(wanted)}"
    if len(tool_calls) > check.get("max_tool_calls", len(tool_calls)):
        yield f"{len(tool_calls)} tool calls, {check['max_tool_calls']} allowed"
    yield from (
        f"{tool} was not called" for tool in FACT_TOOLS if tool in task.tools and tool not in tool_calls
    )


def numbers_in(text: str) -> list[float]:
    """The numbers that stand in a text, without their signs (the hyphens of a date are none)."""
    return [float(match.replace(",", "")) for match in _NUMBER.findall(text.translate(_PLAIN)) if match]


def _has(found: Sequence[float], want: float) -> bool:
    want = abs(want)
    tolerance = max(0.05, want * 1e-4) + 1e-9
    return any(abs(number - want) <= tolerance for number in found)


def _says(text: str, term: str, moments: Sequence[datetime]) -> bool:
    if not _placeholders({"any": [term]}):
        return term.casefold() in text.casefold()
    pattern = PLACEHOLDERS[term.strip("{}")]
    return any(re.search(pattern(moment), text, re.IGNORECASE) for moment in moments)


def _minutes(now: datetime, later: datetime) -> list[datetime]:
    minutes = int((later - now).total_seconds() // 60) + 1
    return [now + timedelta(minutes=count) for count in range(minutes)] + [later]


def _today(now: datetime) -> str:
    name = MONTHS[now.month - 1]
    month = rf"(?<!\w)(?:{name}|{name[:3]}\.?|{name[:4]}\.?)"
    day = rf"(?<!\d)0?{now.day}"
    ordinal = rf"{day}(?:st|nd|rd|th)?(?!\w)"
    return "|".join(
        [
            rf"{now.year}([-/.])0?{now.month}\1{day}(?!\d)",
            rf"(?<!\d)0?{now.month}\s*月\s*{day}\s*[日号號]",
            rf"{month}\s+(?:the\s+)?{ordinal}",
            rf"{ordinal}\s+(?:(?:day\s+)?of\s+)?{month}(?!\w)",
        ]
    )


def _year(now: datetime) -> str:
    return rf"(?<!\d){now.year}(?!\d)"


def _now_hour(now: datetime) -> str:
    """15:04, 3:04, 15点, 下午3点, 3 PM; not the other half of the day, nor other minutes where told."""
    half, other = ("p", "a") if now.hour >= 12 else ("a", "p")
    not_before = "(?<!上午)(?<!凌晨)(?<!早上)" if half == "p" else "(?<!下午)"
    not_after = rf"(?!(?::\d+)?\s*{other}\.?m)"
    hour = rf"(?<![\d:.]){not_before}0?(?:{now.hour}|{now.hour % 12 or 12})"
    return "|".join(
        [
            rf"{hour}:{now.minute:02}(?!\d){not_after}",
            rf"{hour}\s*[点點时時]\s*(?:0?{now.minute}(?!\d)|(?!\s*\d))",
            rf"{hour}(?::{now.minute:02})?\s*(?:{half}\.?m|o'clock)",
        ]
    )


PLACEHOLDERS: dict[str, Callable[[datetime], str]] = {
    "today": _today,
    "year": _year,
    "now_hour": _now_hour,
}
