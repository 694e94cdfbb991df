"""Whose doing it is that a request has no reply: the service's, or the contender's that sent it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import Tool

from agent import Limits, load_model
from agent.testing import ScriptedModel
from scripts.comparing.arms import ARMS, Asked
from scripts.comparing.outages import REASON, Sent, Watched, failed, outage
from scripts.comparing.turns import play
from scripts.contenders import run_ours
from scripts.figures import Row
from scripts.scoring import Task
from tests.service import Reply, Service, context_too_long, drop, error_body, html, never, refusal, status

ULM = Task("w1", "weather", "en", "How warm is it in Ulm?", ("Weather",), {"numbers": [7]})
ALL = ["bare", "ours-text", "ours-tools", "executor-react", "executor-bracket", "executor-tools"]
AT_ONCE = {"Retry-After": "0"}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567")
    monkeypatch.chdir(tmp_path)  # no .env of the user's
    monkeypatch.setattr("agent.client.BACKOFF_S", 0.0)
    monkeypatch.setattr("openai._base_client.BaseClient._calculate_retry_timeout", lambda *_: 0.0)


def asked(name: str, model: Any) -> Row:
    return play(
        ULM, name, {"ulm": 7}, lambda attempt, tools: ARMS[name].run(attempt, ULM.question, model, tools)
    )


def answered(name: str, reply: str | Reply) -> Row:
    """A run of a contender whose service gives one and the same reply."""
    with Service(iter(lambda: reply, None)) as service:
        return asked(name, load_model("gpt-4o", base_url=service.url))


def says(number: int, words: str, **more: str) -> Reply:
    return status(number, {"error": {"message": words, **more}}, AT_ONCE)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "reply",
    [
        says(503, "Loading model"),
        says(500, "oops"),
        says(429, "You exceeded your current quota", code="insufficient_quota"),
        says(401, "Incorrect API key provided"),
        says(403, "not for you"),
        says(404, "The model `gpt-4o` does not exist", code="model_not_found"),
        says(402, "Insufficient Balance"),
        says(400, "API key not valid. Please pass a valid API key."),
        says(400, "gpt-4o is not a valid model ID"),
        says(400, "Model Not Exist"),
        drop,
        html,
        error_body,
    ],
)
def test_what_the_service_does_to_everybody_is_its_failure(name: str, reply: Reply) -> None:
    row = answered(name, reply)
    assert failed(row), row
    assert not row.solved
    assert "canary" not in row.reason
    assert row.attempt.error  # what happened is kept too


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "reply",
    [
        context_too_long(),
        says(500, "Context size has been exceeded."),
        says(400, "messages: roles must alternate"),
        says(422, "this cannot be processed"),
        refusal("temperature"),
    ],
    ids=["context", "context-500", "roles", "422", "temperature"],
)
def test_what_a_service_refuses_of_a_request_is_the_contenders_doing(name: str, reply: Reply) -> None:
    row = answered(name, reply)
    assert row.reason == "no answer", row


@pytest.mark.parametrize("name", ["ours-tools", "executor-tools"])
@pytest.mark.parametrize("code", [400, 404, 500])
def test_who_asks_with_tools_where_there_are_none_is_not_failed(name: str, code: int) -> None:
    reply = says(code, "tools param requires --jinja flag; this model does not support tools")
    assert answered(name, reply).reason == "no answer"


def test_the_same_words_are_the_services_failure_where_no_tools_were_sent() -> None:
    assert failed(answered("bare", says(500, "tools are not supported right now")))


@pytest.mark.parametrize("name", ALL)
def test_a_request_without_a_reply_in_its_time_is_the_services_failure(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "0.2")
    assert failed(answered(name, never))


def test_a_limit_of_ours_is_a_result_although_no_reply_came() -> None:
    def ask(attempt: Any, tools: list[Any]) -> None:
        limits = Limits(max_seconds=0.3)
        run_ours(attempt, ULM.question, load_model("gpt-4o", base_url=url), tools, "text", limits=limits)

    with Service([never, never]) as service:
        url = service.url
        row = play(ULM, "ours-text", {}, ask)
    assert (row.attempt.stop_reason, row.reason) == ("time_limit", "no answer")


def test_a_service_that_fails_the_last_request_at_the_cap_fails_the_run() -> None:
    replies = [*[f"Action: Weather[{city}]" for city in "abcdef"], *[says(503, "away")] * 3]
    with Service(replies) as service:
        row = asked("ours-text", load_model("gpt-4o", base_url=service.url))
    assert row.attempt.stop_reason == "max_iterations"
    assert failed(row)


def test_a_service_that_recovers_while_it_is_asked_again_fails_nothing() -> None:
    with Service([says(503, "away"), "Final Answer: 7"]) as service:
        row = asked("ours-text", load_model("gpt-4o", base_url=service.url))
    assert row.attempt.answer == "7"
    assert not failed(row)


def raising(error: Exception) -> list[Any]:
    def look_up(_: str) -> str:
        raise error

    return [Tool(name="Weather", description="Weather of a city.", func=look_up)]


@pytest.mark.parametrize(
    "error", [ConnectionError("the weather is away"), TimeoutError("slow"), ValueError("x")]
)
def test_what_a_tool_raises_is_no_failure_of_the_model_service(error: Exception) -> None:
    model = ScriptedModel(replies=["Action: Weather\nAction Input: Ulm"])

    def ask(attempt: Any, _: list[Any]) -> None:
        ARMS["executor-react"].ask(Asked(attempt, ULM.question, model, raising(error), 6))

    row = play(ULM, "executor-react", {}, ask)
    assert (row.attempt.raised, row.reason) == (True, "no answer")
    assert type(error).__name__ in str(row.attempt.error)


@pytest.mark.parametrize("name", ALL)
def test_a_recording_that_ends_too_early_is_no_outage(name: str) -> None:
    assert asked(name, ScriptedModel()).reason == "no answer"


@pytest.mark.parametrize("name", ALL)
def test_all_contenders_say_an_outage_in_the_same_words(name: str) -> None:
    assert answered(name, says(401, "no such key")).reason == (
        f"{REASON}: the model service refused the key: check OPENAI_API_KEY (status 401: no such key)"
    )


@pytest.mark.parametrize(
    ("stop_reason", "is_outage"), [("model_error", True), ("time_limit", False), ("max_iterations", False)]
)
def test_a_request_still_under_way_counts_where_it_was_given_up(stop_reason: str, is_outage: bool) -> None:
    attempt = Watched(stop_reason=stop_reason)
    attempt.latest = Sent(with_tools=False)
    assert bool(outage(attempt)) is is_outage


def test_a_run_with_an_answer_is_finished_whatever_failed() -> None:
    attempt = Watched(answer="7")
    attempt.latest = Sent(with_tools=False, under_way=False, error=ConnectionError("gone"))
    assert outage(attempt) == ""
