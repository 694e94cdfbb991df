"""Requests: each can be put together again message for message, and none is in the page twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from agent import Limits, load_model, run_agent
from agent.testing import ScriptedModel
from scripts.reporting.reading import read_all
from scripts.reporting.views import Exchange, RunView
from scripts.services import Service, status
from tests.protocols import DIALECTS, Dialect
from tests.scripted import DONE, probe
from tests.scripts.report_traces import page, record, view

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


def exchanges(run: RunView) -> list[Exchange]:
    return [each for step in run.steps for each in step.exchanges]


def sent_again(run: RunView) -> list[list[tuple[str, str]]]:
    """The messages of every request, put together as a reader of the page would."""
    sent: list[list[tuple[str, str]]] = []
    for each in exchanges(run):
        before = sent[each.before - 1][: each.keep] if each.keep else []
        sent.append([*before, *((message.role, message.text) for message in each.messages)])
        assert len(sent[-1]) == each.length
    return sent


@each_dialect
def test_every_request_can_be_put_together_again(tmp_path: Path, dialect: Dialect) -> None:
    replies = [*dialect.calls(*range(9), tool="Probe"), dialect.answer()]
    model = ScriptedModel(replies=replies)
    long = probe(lambda given: f"{given}: " + "so on " * 60)
    limits = Limits(max_iterations=12)
    path = tmp_path / "t.jsonl"
    run_agent("Long?", llm=model, tools=[long], protocol=dialect.protocol, limits=limits, trace=path)

    put_together = sent_again(read_all([path]).runs[0])
    assert len(put_together) == len(model.requests) == 10
    for shown, sent in zip(put_together, model.requests, strict=True):
        assert [role for role, _ in shown] == [message.type for message in sent]
        assert all(holds(text, message) for (_, text), message in zip(shown, sent, strict=True))


def holds(text: str, message: BaseMessage) -> bool:
    """Whether all of a message is in a text: its own words, and its calls after it."""
    calls = getattr(message, "tool_calls", [])
    return text.startswith(str(message.content)) and all(call["id"] in text for call in calls)


@each_dialect
def test_a_page_grows_with_its_steps_and_not_with_their_square(tmp_path: Path, dialect: Dialect) -> None:
    def size(steps: int) -> int:
        replies = [*dialect.calls(*range(steps), tool="Probe"), dialect.answer()]
        long = probe(lambda given: f"{given}: " + "so on " * 60)
        limits = Limits(max_iterations=steps + 1)
        options = {"tools": [long], "protocol": dialect.protocol, "limits": limits}
        return len(page(record(tmp_path / f"{steps}.jsonl", *replies, **options)))

    few, some, many = size(8), size(16), size(24)
    assert many - some == pytest.approx(some - few, rel=0.1)


def test_what_another_run_was_sent_too_is_in_the_page_once(tmp_path: Path) -> None:
    instructions = "Be short, and say please; this is long enough to be looked for."
    paths = [
        record(tmp_path / f"{number}.jsonl", DONE, question=f"{number}?", instructions=instructions)
        for number in range(5)
    ]

    assert page(*paths).count(instructions) == 1


def test_failed_attempts_are_told_with_their_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-tests-only-1")
    monkeypatch.setattr("agent.client.BACKOFF_S", 0.001)
    path = tmp_path / "t.jsonl"
    with Service([status(429), status(503), DONE]) as service:
        run_agent("Busy?", llm=load_model("gpt-4o", base_url=service.url), trace=path)

    (run,) = read_all([path]).runs
    (only,) = exchanges(run)
    assert (only.retries, len(only.attempts), only.reply) == (2, 2, DONE)
    assert "429" in only.attempts[0]
    assert "503" in only.attempts[1]


def test_a_request_that_failed_says_why(tmp_path: Path) -> None:
    (only,) = exchanges(view(tmp_path / "t.jsonl", RuntimeError("the line is dead")))

    assert only.reply is None
    assert "the line is dead" in (only.failure or "")


@each_dialect
def test_what_else_was_sent_is_shown(tmp_path: Path, dialect: Dialect) -> None:
    run = view(tmp_path / "t.jsonl", dialect.answer(), protocol=dialect.protocol)
    extras = {name: message.text for name, message in exchanges(run)[0].extras}

    expected = {"text": ("stop", "Observation"), "tools": ("tools", "Calculator")}[dialect.protocol]
    assert expected[1] in extras[expected[0]]
