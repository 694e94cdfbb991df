"""The charts show what is there: every value counted once, bars within their box, whatever the numbers."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scripts.reporting import charts
from scripts.reporting.reading import read_all
from tests.scripted import DONE, actions
from tests.scripts.report_traces import record, record_all, view

counts = st.lists(st.none() | st.integers(0, 10**12), max_size=60)


@given(counts)
def test_every_value_is_in_one_bin(values: list[int | None]) -> None:
    drawn = charts.histogram(values)
    known = [value for value in values if value is not None]

    assert len(drawn.bins) <= charts.MOST_BINS
    assert drawn.unknown == len(values) - len(known)
    for each in drawn.bins:
        assert each.count == sum(each.low <= value <= each.high for value in known)
    assert sum(each.count for each in drawn.bins) == len(known)


@given(counts)
def test_bars_stay_within_their_box(values: list[int | None]) -> None:
    for each in charts.histogram(values).bins:
        assert 0 <= each.height <= charts.HISTOGRAM_HEIGHT
        assert each.x + each.width <= charts.HISTOGRAM_WIDTH + 0.1


def test_small_numbers_have_bins_of_their_own() -> None:
    drawn = charts.histogram([1, 2, 2, 6])

    assert [(each.low, each.high, each.count) for each in drawn.bins] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 0),
        (4, 4, 0),
        (5, 5, 0),
        (6, 6, 1),
    ]
    assert drawn.median == 2


def test_stop_reasons_are_counted_the_most_frequent_first(tmp_path: Path) -> None:
    runs = read_all([record_all(tmp_path)]).runs
    (first, most, whole), *others = charts.stop_reasons(runs)

    assert (first, whole) == ("final_answer", 1.0)
    assert most + sum(count for _, count, _ in others) == len(runs)
    assert all(part == round(count / most, 4) for _, count, part in others)


def test_a_column_is_as_high_as_its_share(tmp_path: Path) -> None:
    run = view(tmp_path / "t.jsonl", *actions("1", "2", "3"), DONE)
    columns = charts.strip(run.steps)

    for column in columns:
        share = (column.step.tokens or 0) / max(step.tokens or 0 for step in run.steps)
        assert abs(column.prompt + column.completion - charts.STRIP_HEIGHT * share) < 0.02
        assert column.model + column.tools <= charts.STRIP_HEIGHT + 0.02
    assert columns[-1].x + columns[-1].width <= charts.STRIP_WIDTH


def test_a_run_without_steps_has_no_columns() -> None:
    assert charts.strip(()) == ()


def test_many_steps_still_fit(tmp_path: Path) -> None:
    run = view(record(tmp_path / "t.jsonl", DONE).with_name("u.jsonl"), DONE)
    columns = charts.strip(run.steps * 400)

    assert columns[-1].x + columns[-1].width <= charts.STRIP_WIDTH
