"""The first place where two records part, in a sentence that a person can act on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.differences import AROUND_CHARS, SHOWN_CHARS, difference

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "kind": ({"event": "a"}, {"event": "b"}, "recorded is a, now comes b"),
    "number": ({"event": "a", "n": 1}, {"event": "a", "n": 2}, "a.n: recorded 1, now 2"),
    "text": (
        {"event": "a", "t": "same x"},
        {"event": "a", "t": "same y"},
        'a.t from character 6: recorded "same x", now "same y"',
    ),
    "longer": (
        {"event": "a", "t": "x"},
        {"event": "a", "t": "xy"},
        'a.t from character 2: recorded "x", now "xy"',
    ),
    "missing": ({"event": "a", "x": 1}, {"event": "a"}, "a.x: recorded 1, now nothing"),
    "new": ({"event": "a"}, {"event": "a", "x": None}, "a.x: recorded nothing, now null"),
    "list": ({"event": "a", "x": [1, [2]]}, {"event": "a", "x": [1, [3]]}, "a.x 2 1: recorded 2, now 3"),
    "shorter": ({"event": "a", "x": [1, 2]}, {"event": "a", "x": [1]}, "a.x 2: recorded 2, now nothing"),
    "types": ({"event": "a", "x": "1"}, {"event": "a", "x": 1}, 'a.x: recorded "1", now 1'),
    "first": (
        {"event": "a", "x": {"y": 1, "z": 1}, "w": 1},
        {"event": "a", "w": 2, "x": {"z": 2, "y": 2}},
        "a.x.y: recorded 1, now 2",
    ),
    "Chinese": (
        {"event": "a", "t": "二"},
        {"event": "a", "t": "三"},
        'a.t from character 1: recorded "二", now "三"',
    ),
    "lines": (
        {"event": "a", "t": "a\nb"},
        {"event": "a", "t": "a\nc"},
        'a.t from character 3: recorded "a\\nb", now "a\\nc"',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_difference_is_said(case: str) -> None:
    recorded, now, said = CASES[case]
    assert difference(recorded, now) == said


def test_of_long_texts_only_the_place_is_shown() -> None:
    one, other = "x" * 5000 + "A" + "y" * 5000, "x" * 5000 + "B" + "y" * 5000
    said = difference({"event": "a", "t": one}, {"event": "a", "t": other})

    assert "from character 5001: " in said
    assert f'"…{"x" * AROUND_CHARS}Ay' in said
    assert f'"…{"x" * AROUND_CHARS}By' in said
    assert len(said) < 2 * SHOWN_CHARS + 80


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
_records = st.dictionaries(st.text(max_size=3), _json, max_size=4).map(
    lambda record: {**record, "event": "a"}
)


@given(_records, _records)
def test_any_two_that_differ_are_told_apart_in_one_line(one: dict[str, Any], other: dict[str, Any]) -> None:
    if one != other:
        said = difference(one, other)
        assert "recorded " in said
        assert ", now " in said
