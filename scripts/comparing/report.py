"""What a comparison says, from its journal: one record of everything, and that record as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scripts.comparing.arms import ARMS
from scripts.comparing.charts import CHARTS
from scripts.comparing.claims import claims
from scripts.comparing.journal import Journal
from scripts.comparing.measures import pairs, sections
from scripts.comparing.notes import RECORDED, notes
from scripts.comparing.tables import aligned, cells, kind_cells, markdown_table, pair_cells
from scripts.figures import ROOT
from scripts.scoring import load_tasks

DEVELOPED_WITH = ROOT / "scripts" / "tasks" / "dev.jsonl"


def record(journal: Journal) -> dict[str, Any]:
    """Everything that comparison.json holds."""
    developed = {task.question for task in load_tasks(DEVELOPED_WITH)}
    groups = sections(journal.rows, journal.header["first_tasks"], developed)
    identity = journal.header["identity"]
    return {
        **journal.header,
        "runs": len(journal.rows),
        "repeats": 1 + max((row.repeat for row in journal.rows), default=0),
        "contenders": {name: ARMS[name].what for name in ARMS if any(r.agent == name for r in journal.rows)},
        "sections": groups,
        "pairs": pairs(journal.rows),
        "claims": [asdict(claim) for claim in claims(groups, recorded="recording" in identity)],
        "notes": [*notes(identity)],
    }


def terminal(content: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    for section in content["sections"]:
        yield from ("", section["title"], *aligned(cells(section["contenders"])))
    if content["pairs"]:
        yield from ("", *aligned([line[:4] for line in pair_cells(content["pairs"])]))
    yield from ("", "Claims of the original design")
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
    for section in content["sections"]:
        yield from (f"## {section['title']}", "", *markdown_table(cells(section["contenders"])), "")
        yield from (*markdown_table(kind_cells(section["contenders"])), "")
    yield from (f"![{title}]({name}.svg)" for name, title in CHARTS.items())
    yield ""
    if content["pairs"]:
        yield from ("## Task by task", "", *markdown_table(pair_cells(content["pairs"]), words=True), "")
    yield from ("## What the original design claims", "", *_claims(content["claims"]), "")
    yield from ("## How it was measured", "", *(f"- {note}" for note in content["notes"]))


def _settings(content: Mapping[str, Any]) -> Iterator[list[str]]:
    yield from ([name, str(value)] for name, value in content["identity"].items() if value not in ("", None))
    yield from ([name, str(content["versions"][name])] for name in ("python", "commit"))
    yield ["repeats", str(content["repeats"])]


def _claims(found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    table = [["claim", "measured", "what that is"]]
    table += [[claim["claimed"], claim["measured"], claim["note"]] for claim in found]
    return markdown_table(table, words=True)
