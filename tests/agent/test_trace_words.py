"""A secret that is by chance a word of the trace's own format: the trace can still be read, and hides it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent import client as client_module
from agent import replay
from agent.events import RequestFailed
from agent.limits import LimitReached
from agent.record_shapes import REQUEST_FAILED
from agent.records import SHAPES, cleaned, cleaned_record, failure_from, record_of
from agent.redaction import MASK
from agent.results import StopReason
from agent.service_errors import ContextTooLong, ModelFailed
from prompts import messages
from tests.agent.format_words import WORDS, outside, record, records_in, strangers, words_in
from tests.protocols import DIALECTS, TOOLS, Dialect
from tests.scripted import probe

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)

ENDS = ("last_request", "run_ended")


@pytest.fixture(autouse=True)
def _priced_and_without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.0)
    monkeypatch.setenv("AGENT_PRICES", "scripted=1/2")


@each_dialect
@pytest.mark.parametrize("word", WORDS)
def test_a_secret_that_is_a_word_of_the_format_leaves_the_trace_whole_and_is_masked_in_outside_text(
    tmp_path: Path, dialect: Dialect, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", word)
    path = tmp_path / "t.jsonl"
    record(path, dialect, word)

    assert replay(path).difference is None
    found = records_in(path)
    left = [part for each in found for part in outside(SHAPES[each["event"]], each)]
    assert [part for part in left if cleaned(part) != part] == []
    names = ("run_started", "tool_returned")
    started, returned = (next(each for each in found if each["event"] == name) for name in names)
    assert (started["question"], started["instructions"]) == (f"Is {MASK} 0?", f"Mind {MASK}.")
    assert returned["text"].startswith(f"{MASK} is {MASK} and more")
    assert [tool["name"] for tool in started["tools"]] == ["Probe", "Bad", "Slow", "Dig"]
    ends = [each.get("stop_reason", each.get("reason")) for each in found if each["event"] in ENDS]
    assert ends == ["final_answer", "max_iterations", "max_iterations", "model_error"]


@each_dialect
def test_every_part_of_every_record_has_its_place_in_the_shapes(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    record(path, dialect, "canary")

    found = records_in(path)
    assert {each["event"] for each in found} == set(SHAPES)
    for each in found:
        assert strangers(SHAPES[each["event"]], each, each["event"]) == []


MODEL_WORDS = [name for name in messages("en") if name.startswith("model_")]
FAILURES = (
    LimitReached(StopReason.TIME_LIMIT),
    ContextTooLong("model_too_long"),
    *(
        ModelFailed(name, **dict.fromkeys(re.findall(r"\$(\w+)", messages("en")[name]), "x"))
        for name in MODEL_WORDS
    ),
)


@pytest.mark.parametrize("word", [*words_in(REQUEST_FAILED), "request_failed"])
def test_a_failed_request_is_told_again_whatever_word_is_secret(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", word)
    for failure in FAILURES:
        made = record_of(RequestFailed(failure))
        again = failure_from(cleaned_record(made))
        assert type(again) is type(failure)
        assert vars(again) == {**vars(failure), "retries": 0}
        assert strangers(SHAPES["request_failed"], made, "request_failed") == []


# --- the names of tools ------------------------------------------------------------------------------


def test_a_secret_that_is_a_tools_name_stays_where_it_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "Calculator")
    path = tmp_path / "t.jsonl"
    TOOLS.play(TOOLS.call("2+2"), TOOLS.answer("4"), trace=path, question="Is Calculator it?")

    assert replay(path).difference is None
    started = records_in(path)[0]
    assert (started["question"], started["tools"][0]["name"]) == (f"Is {MASK} it?", "Calculator")


@each_dialect
def test_a_name_that_no_tool_has_or_with_a_secret_in_it_is_masked(
    tmp_path: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "canary7f3a")
    path = tmp_path / "t.jsonl"
    tools = [probe(name="Ask_canary7f3a"), probe()]
    dialect.play(dialect.call("x", "canary7f3a"), dialect.answer(), tools=tools, trace=path)

    assert "canary7f3a" not in path.read_text(encoding="utf-8")


# --- where only some values are words ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "clean"),
    [
        (
            {"event": "reply", "metadata": {"finish_reason": "length", "length": "length"}},
            {"event": "reply", "metadata": {"finish_reason": "length", MASK: MASK}},
        ),
        (
            {"event": "reply", "metadata": {"finish_reason": "a length"}},
            {"event": "reply", "metadata": {"finish_reason": f"a {MASK}"}},
        ),
        ({"event": "length", "length": "length"}, {"event": MASK, MASK: MASK}),
        (
            {"event": "tool_started", "tool": "length", "input": {"length": "length"}},
            {"event": "tool_started", "tool": "length", "input": {MASK: MASK}},
        ),
        (
            {"event": "request", "add": [{"type": "length", "content": ["length", {"type": "length"}]}]},
            {"event": "request", "add": [{"type": MASK, "content": [MASK, {"type": MASK}]}]},
        ),
    ],
)
def test_only_words_in_their_own_place_are_kept(
    made: dict[str, Any], clean: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "length")

    assert cleaned_record(made, frozenset({"length"})) == clean


def test_of_a_schema_its_standards_words_stay_and_the_users_names_go(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {
        "type": "object",
        "properties": {"definitions": {"$ref": "#/definitions/Inner", "default": "definitions"}},
        "definitions": {"Inner": {"title": "definitions"}},
    }
    monkeypatch.setenv("DB_PASSWORD", "definitions")
    (tool,) = cleaned_record({"event": "run_started", "tools": [{"schema": schema}]})["tools"]

    assert tool["schema"] == {
        "type": "object",
        "properties": {MASK: {"$ref": "#/definitions/Inner", "default": MASK}},
        "definitions": {"Inner": {"title": MASK}},
    }
