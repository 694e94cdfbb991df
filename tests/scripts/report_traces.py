"""Traces for tests of the report, by the real product: a scripted model, and tools with their faults."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import Tool

from agent import Limits, run_agent
from agent.testing import ScriptedModel
from scripts.reporting.page import page_of
from scripts.reporting.reading import read_all
from scripts.reporting.texts import texts_in
from scripts.reporting.views import RunView
from tests.protocols import calling
from tests.scripted import DONE, actions, cut, failing, probe

HOSTILE = "<script>alert('x')</script></script> \" onload=\"alert(1)\" '><img src=x onerror=alert(2)>"


def record(path: Path, *replies: Any, question: str = "What is it?", **options: Any) -> Path:
    """One run over these replies, traced to ``path``. A script that is too short is a fault of the model."""
    run_agent(question, llm=ScriptedModel(replies=list(replies)), trace=path, **options)
    return path


def view(path: Path, *replies: Any, **options: Any) -> RunView:
    """One run as the page shows it."""
    return read_all([record(path, *replies, **options)]).runs[0]


def page(*paths: Path, language: Any = "en") -> str:
    reading = read_all(paths)
    return page_of(reading.runs, reading.files, reading.not_read, texts_in(language))


def found(run: RunView) -> dict[str, tuple[int, ...]]:
    """The findings of a run by name, with their steps."""
    return {finding.name: finding.steps for finding in run.findings}


def cut_after(path: Path, event: str) -> Path:
    """The trace as a kill -9 right after the last such event leaves it."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if f'"event": "{event}"' in line)
    path.write_text("".join(lines[: last + 1]) + lines[-1][:30], encoding="utf-8")
    return path


@contextmanager
def hanging(name: str = "Weather", timeout_s: float = 0.05) -> Iterator[Tool]:
    """A tool that does not return while the block lasts."""
    over = threading.Event()

    def hang(_: str) -> str:
        over.wait()
        return "too late"

    try:
        yield probe(hang, name, metadata={"timeout_s": timeout_s})
    finally:
        over.set()


def record_all(folder: Path) -> Path:
    """A folder of traces: answered, looping, a tool that is switched off, bad replies, both languages, ..."""
    record(folder / "a.jsonl", *actions("2+2"), DONE, question="What is 2+2?")
    with hanging() as weather:
        record(folder / "b.jsonl", *actions("Lima", "Lima", "Lima", tool="Weather"), DONE, tools=[weather])
    broken = failing(ConnectionError("没有响应"), "Weather")
    asked = actions("北京", "北京市", "北京城", "北京话", "北京人", "北京猿人", tool="Weather")
    record(folder / "c.jsonl", *asked, DONE, question="北京现在多少度？", tools=[broken])
    record(folder / "d.jsonl", HOSTILE, HOSTILE, question=HOSTILE)
    long = probe(lambda given: f"{given} " * 300, "Read")
    record(folder / "e.jsonl", *actions(*range(6), tool="Read"), DONE, tools=[long], question="Read it all.")
    twice = calling(("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": "b"}))
    record(folder / "f.jsonl", twice, AIMessage(content="done"), tools=[probe()], protocol="tools")
    record(folder / "g.jsonl", cut("Thought: so"), cut("Thought: so"), DONE, limits=Limits(at_cap="error"))
    record(folder / "h.jsonl", question="Is anybody there?")
    return folder
