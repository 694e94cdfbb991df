"""What a comparison writes: a page, tables, charts and recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.comparing.charts import CHARTS, draw
from scripts.comparing.claims import ORIGIN
from scripts.comparing.journal import Journal
from scripts.comparing.measures import of_all
from scripts.comparing.outages import REASON
from scripts.comparing.recordings import load_recording, write_recording
from scripts.comparing.report import markdown, record, terminal
from scripts.comparing.tables import aligned, markdown_table
from scripts.figures import Row
from tests.scripts.compare_rows import row

ROWS = [
    row("bare", good=False),
    row("ours-text", completion_tokens=None),
    row("executor-react", raised=True, good=False, seconds=2.5),
]


def journal(*rows: Row, **identity: object) -> Journal:
    header = {
        "began": "2026-12-02T10:00:00+00:00",
        "identity": {"model": "small", "file": "", "temperature": 0.0, **identity},
        "first_tasks": ["t1"],
        "machine": {"cpus": 2, "system": "Linux"},
        "versions": {"python": "3.11.7", "commit": "abc"},
    }
    return Journal(Path("journal.jsonl"), header, list(rows))


def test_the_page_holds_every_figure_pair_claim_and_note() -> None:
    page = markdown(record(journal(*ROWS)))
    assert "3 runs of small, from 2026-12-02, on 2 processors (Linux)." in page
    assert "| temperature | 0.0 |" in page
    assert "| file |" not in page
    assert "| ours-text | 1/1 | 21%-100% | 100+ | 0+ | 100+ | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| executor-react | 0/1 | 0%-79% | 100 | 10 | - |" in page
    assert "| ours-text : bare | 1 | 1 : 0 | 1 | t1 | - |" in page
    assert "| The bare model does 42 % of its tasks, the hand-written agent 91 %. | bare 0% (0 of 1;" in page
    assert all(f"]({name}.svg)" in page for name in CHARTS)
    assert "Wilson's interval" in page


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ({"llama.cpp": True}, "llama.cpp takes no grammar beside native tools"),
        ({"recording": "few.jsonl 1"}, "played from a recording"),
    ],
)
def test_a_note_stands_where_it_holds(identity: dict[str, object], said: str) -> None:
    assert said in markdown(record(journal(*ROWS, **identity)))
    assert said not in markdown(record(journal(*ROWS)))


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ({"grammar": "auto", "examples": "auto", "llama.cpp": True}, "auto (on)"),
        ({"grammar": "auto", "examples": "auto", "llama.cpp": False}, "auto (off)"),
        ({"grammar": "auto", "examples": "auto", "llama.cpp": None}, "auto"),
        ({"grammar": "off", "examples": "off", "llama.cpp": True}, "off"),
        ({"grammar": "on", "examples": "on", "llama.cpp": False}, "on"),
    ],
)
def test_the_page_says_what_auto_came_to(identity: dict[str, object], said: str) -> None:
    page = markdown(record(journal(*ROWS, **identity)))
    assert f"| grammar | {said} |\n| examples | {said} |\n" in page


def test_whose_claims_they_are_stands_where_they_begin() -> None:
    content = record(journal(*ROWS))
    page, lines = markdown(content), list(terminal(content))
    assert "This project began with a written design" in ORIGIN
    assert f"## What the original design claims\n\n{ORIGIN}\n\n| claim |" in page
    assert lines[lines.index("Claims of the original design") + 1] == ORIGIN


def test_a_run_that_the_service_failed_is_beside_the_tables_and_in_none() -> None:
    lost = replace(row("bare", "t2"), reason=f"{REASON}: away", solved=False)
    content = record(journal(*ROWS, lost))
    assert (content["runs"], content["failed_by_service"]) == (3, {"bare": 1})
    assert content["sections"] == record(journal(*ROWS))["sections"]
    note = "Not in any figure: 1 run that the service failed (bare 1). The same command tries"
    page = markdown(content)
    assert page.index(note) < page.index("## All tasks within reach")
    assert any(line.startswith(note) for line in terminal(content))
    assert "Not in any figure" not in markdown(record(journal(*ROWS)))


def test_the_record_can_be_written_as_json() -> None:
    content = record(journal(*ROWS))
    assert json.loads(json.dumps(content))["sections"][0]["contenders"]["bare"]["solved"] == 0
    assert content["contenders"].keys() == {"bare", "ours-text", "executor-react"}


def test_the_terminal_gets_the_same_in_aligned_columns() -> None:
    lines = list(terminal(record(journal(*ROWS))))
    heading = next(line for line in lines if line.startswith("contender"))
    first = next(line for line in lines if line.startswith("bare"))
    assert heading.index("solved") + len("solved") == first.index("0/1") + len("0/1")
    assert any(line.startswith("ours-text : executor-react") for line in lines)


def test_a_table_survives_what_its_cells_hold() -> None:
    assert list(aligned([["a", "b"], ["longer", "1"]])) == ["a       b", "longer  1"]
    assert list(markdown_table([["a"], ["x | y\nz"]])) == ["| a |", "| --- |", "| x \\| y z |"]


def test_the_same_figures_give_the_same_charts(tmp_path: Path) -> None:
    contenders = of_all(ROWS, ["bare", "ours-text", "executor-react"])
    (tmp_path / "again").mkdir()
    drawn, again = draw(contenders, tmp_path), draw(contenders, tmp_path / "again")
    assert sorted(path.name for path in drawn) == sorted(
        f"{name}.{kind}" for name in CHARTS for kind in ("png", "svg")
    )
    for one, other in zip(drawn, again, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
        assert one.stat().st_size > 1000
    assert b"<dc:date>" not in (tmp_path / "solved.svg").read_bytes()


REPLIES = [
    {"content": "城市", "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "finish_reason": "stop"}
]


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    known = row("bare", replies=REPLIES, model_spans=[(1.0, 2.0)])
    failed = row("ours-text", replies=[], model_spans=[(1.0, 2.0)])
    assert write_recording(file, {"model": "small"}, [known, failed]) == [("t1", "ours-text", 0)]
    recording = load_recording(file)
    assert recording.replies == {("t1", "bare", 0): REPLIES}
    assert recording.identity["model"] == "small"
    assert recording.identity["recording"].startswith("few.jsonl ")
    reply = recording.model(("t1", "bare", 0)).invoke("?")
    assert reply.content == "城市"
    assert reply.response_metadata["token_usage"] == {"prompt_tokens": 9, "completion_tokens": 2}


@pytest.mark.parametrize("content", ["", "{}", "no json", '{"recorded": {}}\n{"task": "t1"}\n'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "few.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"is no recording.*--record"):
        load_recording(file)
