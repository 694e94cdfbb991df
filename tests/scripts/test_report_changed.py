"""Traces that somebody changed: a number that cannot be is not known, and no page is lost for anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Limits
from scripts.reporting.amounts import MOST, amount_in, count_in, span, told
from scripts.reporting.reading import read_all
from tests.scripted import DONE, actions, failing, probe
from tests.scripts.report_traces import page, record

Records = list[dict[str, Any]]
WRONG: tuple[Any, ...] = ("many", -1, True, float("nan"), 10**30, [1], {"no": 1})
AMOUNTS = {
    "run_ended": ("duration_s", "usage.total_tokens", "usage.requests", "usage.cost_usd"),
    "reply": ("metadata.token_usage.prompt_tokens", "metadata.token_usage.completion_tokens", "retries"),
    "tool_started": ("timeout_s",),
    "tool_returned": ("duration_s",),
    "tool_raised": ("duration_s",),
    "step": ("duration_s", "number", "usage.total_tokens"),
    "step_started": ("number",),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """A run with a result, a failure, a bad reply and a last request."""
    path = tmp_path_factory.mktemp("real") / "t.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_PRICES", "scripted=2.5/10")
        replies = [*actions("a", tool="Probe"), "not readable [", *actions("b", tool="Bad"), DONE]
        tools = [probe(), failing(ValueError("boom"), "Bad")]
        record(path, *replies, tools=tools, limits=Limits(max_iterations=3))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, records: Records) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def changed(
    records: Records, event: str, place: str, change: Callable[[dict[str, Any], str], Any]
) -> Records:
    """A copy in which every record of an event has been changed at a place, ``usage.cost_usd``."""
    copy: Records = json.loads(json.dumps(records))
    *way, last = place.split(".")
    for each in copy:
        if each["event"] == event:
            holder = each
            for name in way:
                holder = holder[name]
            change(holder, last)
    return copy


@pytest.mark.parametrize("wrong", [*WRONG, None], ids=repr)
def test_an_amount_of_a_wrong_kind_costs_no_run(tmp_path: Path, records: Records, wrong: Any) -> None:
    for event, places in AMOUNTS.items():
        for place in places:
            odd = changed(records, event, place, lambda holder, name: holder.__setitem__(name, wrong))
            reading = read_all([write(tmp_path / "odd.jsonl", odd)])

            assert (reading.not_read, len(reading.runs)) == ((), 1), f"{event}.{place}"


def test_an_amount_that_is_missing_costs_no_run(tmp_path: Path, records: Records) -> None:
    paths = [
        write(
            tmp_path / f"{event}.{place}.jsonl",
            changed(records, event, place, lambda holder, name: holder.pop(name)),
        )
        for event, places in AMOUNTS.items()
        for place in places
    ]

    assert read_all(paths).not_read == ()
    assert "<h2>Timelines</h2>" in page(*paths)


def test_what_is_known_is_shown_in_place_of_what_cannot_be(tmp_path: Path, records: Records) -> None:
    whole = read_all([write(tmp_path / "t.jsonl", records)]).runs[0]
    odd = records
    for name in ("duration_s", "usage.total_tokens", "usage.requests", "usage.cost_usd"):
        odd = changed(odd, "run_ended", name, lambda holder, key: holder.__setitem__(key, -5))
    run = read_all([write(tmp_path / "t.jsonl", odd)]).runs[0]

    assert (run.requests, run.tokens) == (whole.requests, whole.tokens)
    assert run.cost_usd == pytest.approx(whole.cost_usd)
    assert run.duration_s == pytest.approx(whole.duration_s, abs=1)


def test_a_clock_that_goes_backwards_leaves_seconds_unknown(tmp_path: Path, records: Records) -> None:
    odd = changed(records, "reply", "t", lambda holder, name: holder.__setitem__(name, -3.0))
    path = write(tmp_path / "t.jsonl", odd)

    assert {each.seconds_s for step in read_all([path]).runs[0].steps for each in step.exchanges} == {None}
    assert "· ?" in page(path)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a record, however deep."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*way, key)
        yield from places(each, (*way, key))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_changed_the_other_run_is_shown(tmp_path: Path, records: Records, seed: int) -> None:
    good = write(tmp_path / "good.jsonl", records)
    everywhere = [(number, way) for number, each in enumerate(records) for way in places(each)]
    odd = []
    for count, (number, way) in enumerate(everywhere[seed::9]):
        copy: Records = json.loads(json.dumps(records))
        holder: Any = copy[number]
        for key in way[:-1]:
            holder = holder[key]
        holder[way[-1]] = WRONG[(count + seed) % len(WRONG)]
        odd.append(write(tmp_path / f"odd-{count}.jsonl", copy))
    reading = read_all([good, *odd])

    assert odd
    assert reading.runs[0].file == str(good)
    assert all("\n" not in sentence for sentence in reading.not_read)
    assert page(good, *odd).count('<article class="timeline"') == len(reading.runs)


@pytest.mark.parametrize("wrong", [*WRONG, None, "", 1.5], ids=repr)
def test_only_a_whole_number_counts(wrong: Any) -> None:
    assert count_in(wrong) is None
    assert amount_in(wrong) == (1.5 if wrong == 1.5 else None)


def test_amounts_are_what_they_are_told_to_be() -> None:
    assert (count_in(0), count_in(7), amount_in(7), amount_in(MOST)) == (0, 7, 7.0, float(MOST))
    assert (span(1.0, 3.5), span(3.5, 1.0), span("a", 1.0)) == (2.5, None, None)
    assert told({"a": None}, "a", count_in, 3) is None
    assert (
        told({"a": -1}, "a", count_in, 3),
        told({}, "a", count_in, 3),
        told({"a": 5}, "a", count_in, 3),
    ) == (3, 3, 5)
