"""The measurement of the loop's own cost that is committed, and what the README shows of it."""

from __future__ import annotations

import json

from scripts.figures import ROOT

CONTENT = json.loads((ROOT / "scripts" / "results" / "bench.json").read_text(encoding="utf-8"))


def test_the_readme_shows_every_goal_as_it_was_measured() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    goals = [goal for measured in CONTENT["measured"] for goal in measured["goals"]]
    lines = [f"| {goal['what']} | {goal['value']:.2f} | {goal['at_most']:g} |" for goal in goals]
    assert [line for line in lines if line not in readme] == []
    assert CONTENT["date"][:10] in readme


def test_the_measurement_is_whole_and_of_full_size() -> None:
    assert not CONTENT["interrupted"]
    assert not CONTENT["settings"]["quick"]
    titles = {measured["title"] for measured in CONTENT["measured"]}
    assert titles == {"steps", "conversation", "observation", "length", "crowd", "startup"}
