"""A secret that is by chance a word of the trace's own format: the trace can still be read, and hides it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage
from langchain_core.pydantic_v1 import BaseModel
from langchain_core.tools import BaseTool, StructuredTool

from agent import Agent, Limits, replay
from agent import client as client_module
from agent.events import RequestFailed
from agent.limits import LimitReached
from agent.record_shapes import OUTSIDE, REFERENCE, REQUEST_FAILED, TOOL, Named, Shape
from agent.recorded import read_trace
from agent.records import SHAPES, cleaned, cleaned_record, failure_from, record_of
from agent.redaction import MASK, NO_SECRETS, SHORTEST_SECRET
from agent.results import StopReason
from agent.service_errors import ContextTooLong, ModelFailed
from agent.testing import ScriptedModel
from prompts import messages
from tests.agent.random_runs.faults import Fault
from tests.protocols import DIALECTS, TOOLS, Dialect, broken, calling
from tests.scripted import failing, probe

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


def words_in(shape: Shape, seen: tuple[int, ...] = ()) -> Iterator[str]:
    """Every key and every value that a shape declares to be the format's own."""
    if id(shape) in seen:
        return
    inside: Any = ()
    if isinstance(shape, frozenset):
        yield from shape
    elif isinstance(shape, dict):
        yield from shape
        inside = shape.values()
    elif isinstance(shape, list):
        inside = shape
    elif isinstance(shape, Named):
        inside = [shape.of]
    for each in inside:
        yield from words_in(each, (*seen, id(shape)))


WORDS = sorted(
    word
    for word in {word for shape in SHAPES.values() for word in words_in(shape)}
    if len(word) >= SHORTEST_SECRET and word not in NO_SECRETS
)
MODEL_WORDS = [name for name in messages("en") if name.startswith("model_")]


class Inner(BaseModel):
    depth: int = 3


class Outer(BaseModel):
    inner: Inner
    way: str


def tools_of(word: str, over: threading.Event) -> list[BaseTool]:
    def dig(inner: Any, way: str) -> str:
        return f"{way} is {word}"

    return [
        probe(lambda given: f"{given} is {word} " + "and more " * 10),
        failing(LookupError(f"no {word}"), "Bad"),
        probe(lambda _: str(over.wait()), "Slow", metadata={"timeout_s": 0.01, "repeatable": True}),
        StructuredTool.from_function(dig, name="Dig", description=f"Digs {word}.", args_schema=Outer),
    ]


def script(dialect: Dialect, word: str) -> list[Any]:
    """Three runs: each kind of tool call, an answer at a limit, and a model that fails."""
    given = {"inner": {"depth": 1}, "way": word}, {word: word}
    if dialect.protocol == "text":
        dug = [AIMessage(content=f"Action: Dig[{json.dumps(each)}]") for each in given]
    else:
        raw = {"id": "r", "type": "function", "function": {"name": "Dig", "arguments": json.dumps(given[0])}}
        fine = calling(("Dig", given[0]), ids="r")
        dug = [fine.copy(update={"additional_kwargs": {"tool_calls": [raw]}}), calling(("Dig", given[1]))]
        dug[1] = dug[1].copy(update={"invalid_tool_calls": [broken("Dig", f"{{{word}", "b")]})
    calls = [dialect.call(word, "Probe"), dialect.call(word, "Bad"), dialect.call("x", "Slow"), *dug]
    return [
        *(Fault("429").build(), *calls[:4], dialect.answer(f"It is {word}.")),
        *(
            calls[4],
            dialect.call("y", "Probe"),
            dialect.unreadable,
            dialect.cut(),
            calls[0],
            dialect.answer(),
        ),
        *(Fault("too long").build(), Fault("401").build()),
    ]


def record(path: Path, dialect: Dialect, word: str) -> None:
    over = threading.Event()
    agent = Agent(
        llm=ScriptedModel(replies=script(dialect, word)),
        tools=tools_of(word, over),
        protocol=dialect.protocol,
        memory=ConversationBufferWindowMemory(return_messages=True),
        limits=Limits(max_iterations=5),
        budget=Limits(max_total_tokens=100_000),
        instructions=f"Mind {word}.",
        trace=path,
    )
    try:
        reasons = [agent.run(f"Is {word} {number}?").stop_reason for number in range(3)]
    finally:
        over.set()
    assert reasons == ["final_answer", "max_iterations", "model_error"]


@pytest.fixture(autouse=True)
def _priced_and_without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.0)
    monkeypatch.setenv("AGENT_PRICES", "scripted=1/2")


def outside(shape: Shape, value: Any) -> Iterator[Any]:
    """What of a record is not the format's own: keys, and whole values."""
    if isinstance(shape, dict) and isinstance(value, dict):
        yield from (key for key in value if key not in shape)
        for key, each in value.items():
            yield from outside(shape.get(key, OUTSIDE), each)
    elif isinstance(shape, list) and isinstance(value, list):
        for each in value:
            yield from outside(shape[0], each)
    elif isinstance(shape, Named) and isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from outside(shape.of, each)
    elif not (shape in (TOOL, REFERENCE) or (isinstance(shape, frozenset) and value in shape)):
        yield value


def records_in(path: Path) -> list[dict[str, Any]]:
    """All records of a file, without their clock."""
    runs = read_trace(path)
    return [{name: each[name] for name in each if name != "t"} for run in runs for each in run.records]


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
    started, returned = (next(each for each in found if each["event"] == name) for name in KEPT)
    assert (started["question"], started["instructions"]) == (f"Is {MASK} 0?", f"Mind {MASK}.")
    assert returned["text"].startswith(f"{MASK} is {MASK} and more")
    assert [tool["name"] for tool in started["tools"]] == ["Probe", "Bad", "Slow", "Dig"]


KEPT = ("run_started", "tool_returned")


@each_dialect
def test_every_part_of_every_record_has_its_place_in_the_shapes(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    record(path, dialect, "canary")

    found = records_in(path)
    assert {each["event"] for each in found} == set(SHAPES)
    for each in found:
        assert strangers(SHAPES[each["event"]], each, each["event"]) == []


def strangers(shape: Shape, value: Any, place: str) -> list[str]:
    """Places in a record that no shape tells of: a new field, say."""
    if isinstance(shape, dict) and isinstance(value, dict):
        new = [f"{place}.{key}" for key in value if key not in shape]
        inside = ((shape[key], each, f"{place}.{key}") for key, each in value.items() if key in shape)
        return [*new, *(one for part in inside for one in strangers(*part))]
    if isinstance(shape, list) and isinstance(value, list):
        return [one for each in value for one in strangers(shape[0], each, place)]
    if isinstance(shape, frozenset) and value not in shape:
        return [f"{place}={value!r}"]
    return []


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
        assert set(made.get("values", ())) <= set(_marks())


def _marks() -> Mapping[str, Any]:
    marks = REQUEST_FAILED["values"]
    assert isinstance(marks, dict)
    return marks


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
    ("made", "kept"),
    [
        ({"event": "reply", "metadata": {"finish_reason": "length", "length": "length"}}, {0, 1}),
        ({"event": "reply", "metadata": {"finish_reason": "a length"}}, {0}),
        ({"event": "length", "length": "length"}, set()),
        ({"event": "tool_started", "tool": "length", "input": {"length": "length"}}, {0}),
    ],
)
def test_only_words_in_their_own_place_are_kept(
    made: dict[str, Any], kept: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "length")
    clean = json.dumps(cleaned_record(made, frozenset({"length"})))

    assert clean.count("length") == ({0, 1} == kept) + ("tool_started" in clean)
    assert clean.count(MASK) == json.dumps(made).count("length") - clean.count("length")
