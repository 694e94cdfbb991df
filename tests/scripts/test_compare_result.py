"""The comparison that is committed: its journal, its page and the README say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from scripts.comparing.journal import read
from scripts.comparing.measures import ALL
from scripts.comparing.report import markdown, record
from scripts.comparing.tables import markdown_table, pair_cells, summary_cells
from scripts.figures import ROOT

FOLDER = ROOT / "scripts" / "results" / "comparison"
CONTENT = json.loads((FOLDER / "comparison.json").read_text(encoding="utf-8"))


def shown_tables() -> Iterator[str]:
    (every,) = (section for section in CONTENT["sections"] if section["title"] == ALL)
    yield from markdown_table(summary_cells(every["contenders"]))
    yield from markdown_table([line[:4] for line in pair_cells(CONTENT["pairs"])])


def test_every_figure_follows_from_the_journal() -> None:
    journal = read(FOLDER)
    assert journal is not None
    assert json.loads(json.dumps(record(journal))) == CONTENT


def test_the_page_shows_these_figures() -> None:
    assert (FOLDER / "comparison.md").read_text(encoding="utf-8") == markdown(CONTENT)


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_a_readme_shows_these_figures(name: str) -> None:
    readme = (ROOT / name).read_text(encoding="utf-8")
    assert [line for line in shown_tables() if line not in readme] == []
    assert CONTENT["began"][:10] in readme
    assert "scripts/results/comparison/solved.svg" in readme
