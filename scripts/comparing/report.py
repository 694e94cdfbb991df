"""What a comparison says, from its journal: one record of everything, and that record as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scripts.comparing.arms import ARMS
from scripts.comparing.charts import CHARTS
from scripts.comparing.claims import ORIGIN, claims
from scripts.comparing.journal import Journal
from scripts.comparing.measures import pairs, sections
from scripts.comparing.notes import RECORDED, left_out, notes
from scripts.comparing.outages import count
from scripts.comparing.tables import aligned, cells, kind_cells, markdown_table, pair_cells
from scripts.figures import ROOT
from scripts.scoring import load_tasks

NO_TABLE = "No task has been finished by all of its contenders yet."
DEVELOPED_WITH = ROOT / "scripts" / "tasks" / "dev.jsonl"


def record(journal: Journal) -> dict[str, Any]:
    """Everything that comparison.json holds."""
    developed = {task.question for task in load_tasks(DEVELOPED_WITH)}
    rows = journal.finished
    groups = sections(rows, journal.header["first_tasks"], developed)
    identity = journal.header["identity"]
    return {
        **journal.header,
        "runs": len(rows),
        "failed_by_service": count(journal.rows),
        "repeats": 1 + max((row.repeat for row in rows), default=0),
        "contenders": {name: ARMS[name].what for name in ARMS if any(row.agent == name for row in rows)},
        "sections": groups,
        "pairs": pairs(rows),
        "claims": [asdict(claim) for claim in claims(groups, recorded="recording" in identity)],
        "notes": [*notes(identity)],
    }


def terminal(content: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    for section in content["sections"]:
        yield from ("", section["title"], *aligned(cells(section["contenders"])))
    if content["pairs"]:
        yield from ("", *aligned([line[:4] for line in pair_cells(content["pairs"])]))
    for remark in _remarks(content):
        yield from ("", remark)
    yield from ("", "Claims of the original design", ORIGIN)
    for claim in content["claims"]:
        yield from (f"  {claim['claimed']}", f"    measured: {claim['measured']}")
    if RECORDED in content["notes"]:
        yield from ("", RECORDED)


def markdown(content: Mapping[str, Any]) -> str:
    """The same as a page, with the charts beside it."""
    return "\n".join(_page(content)) + "\n"


def _page(content: Mapping[str, Any]) -> Iterator[str]:
    identity = content["identity"]
    yield from ("# Our loop and AgentExecutor, measured", "")
    yield (
        f"{content['runs']} runs of {identity['model']}, from {content['began'][:10]}, on "
        f"{content['machine']['cpus']} processors ({content['machine']['system']}). "
        "Every run, reply and tool call is in journal.jsonl, every figure in comparison.json."
    )
    yield from ("", *markdown_table([["setting", "value"], *_settings(content)], words=True), "")
    yield from (
        *markdown_table([["contender", "what it is"], *map(list, content["contenders"].items())], words=True),
        "",
    )
    for remark in _remarks(content):
        yield from (remark, "")
    for section in content["sections"]:
        yield from (f"## {section['title']}", "", *markdown_table(cells(section["contenders"])), "")
        yield from (*markdown_table(kind_cells(section["contenders"])), "")
    if content["sections"]:
        yield from (*(f"![{title}]({name}.svg)" for name, title in CHARTS.items()), "")
    if content["pairs"]:
        yield from ("## Task by task", "", *markdown_table(pair_cells(content["pairs"]), words=True), "")
    yield from ("## What the original design claims", "", ORIGIN, "", *_claims(content["claims"]), "")
    yield from ("## How it was measured", "", *(f"- {note}" for note in content["notes"]))


def _remarks(content: Mapping[str, Any]) -> Iterator[str]:
    """What must be known of the tables: what is not in them, and why there is none."""
    if content["failed_by_service"]:
        yield left_out(content["failed_by_service"])
    if not content["sections"]:
        yield NO_TABLE


def _settings(content: Mapping[str, Any]) -> Iterator[list[str]]:
    identity = content["identity"]
    yield from ([name, _setting(name, identity)] for name in identity if identity[name] not in ("", None))
    yield from ([name, str(content["versions"][name])] for name in ("python", "commit"))
    yield ["repeats", str(content["repeats"])]


def _setting(name: str, identity: Mapping[str, Any]) -> str:
    """A setting, and what "auto" came to: a grammar and examples are on where llama.cpp answers."""
    value = str(identity[name])
    if name in ("grammar", "examples") and value == "auto" and identity.get("llama.cpp") is not None:
        return f"auto ({'on' if identity['llama.cpp'] else 'off'})"
    return value


def _claims(found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    table = [["claim", "measured", "what that is"]]
    table += [[claim["claimed"], claim["measured"], claim["note"]] for claim in found]
    return markdown_table(table, words=True)
