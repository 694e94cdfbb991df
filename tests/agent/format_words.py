"""The words of the trace's format, and runs that come upon one of them everywhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage
from langchain_core.pydantic_v1 import BaseModel
from langchain_core.tools import BaseTool, StructuredTool

from agent import Agent, Limits
from agent.record_shapes import OUTSIDE, REFERENCE, TOOL, Named, Shape
from agent.recorded import read_trace
from agent.records import SHAPES
from agent.redaction import NO_SECRETS, SHORTEST_SECRET
from agent.testing import ScriptedModel
from tests.agent.random_runs.faults import Fault
from tests.protocols import Dialect, broken, calling
from tests.scripted import failing, probe


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
