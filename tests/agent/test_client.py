"""What a model service may do to a request: which sentence, after how many requests and how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent import client as client_module
from agent.client import Client, Reply, Request
from agent.limits import LimitReached
from agent.models import load_model
from agent.results import StopReason
from agent.service_errors import ContextTooLong, ModelFailed
from prompts import LANGUAGES, speaker
from tests import service as playing
from tests.service import (
    WAIT_S,
    Connection,
    Service,
    completion,
    context_too_long,
    drip,
    drop,
    raw_completion,
    refusal,
    status,
)

KEY = "sk-canary-7f3a9b"
HI = Request([HumanMessage(content="hi")], stop=["\nObservation:"])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_PROXY", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.01)


def ask(service: Service, *, timeout_s: float = 30.0, left_s: float = 60.0) -> Reply:
    return Client(load_model("gpt-4o", service.url), timeout_s).ask(HI, lambda: left_s)


def test_a_reply_with_its_usage_and_the_parameters_of_the_request() -> None:
    with Service(["Final Answer: 4\nObservation: made up"]) as service:
        reply = ask(service)
        sent = service.requests[0]
    assert (reply.text, reply.finish_reason) == ("Final Answer: 4", "stop")
    assert (reply.usage.requests, reply.usage.prompt_tokens, reply.usage.retries) == (1, 100, 0)
    assert (sent["temperature"], sent["max_tokens"], sent["stop"]) == (0, 512, ["\nObservation:"])
    assert sent["model"] == "gpt-4o"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the service sends wrong types
@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "one two"),
        ([{"type": "text", "text": None}, {"type": "image"}], ""),
        (None, ""),
        ("\n\n", "\n\n"),
        ("half \ud83d", "half ?"),
    ],
)
def test_odd_content_is_text_and_missing_usage_is_unknown(sent: Any, text: str) -> None:
    with Service([completion(sent, usage=False, finish_reason="length")]) as service:
        reply = ask(service)
    assert (reply.text, reply.finish_reason) == (text, "length")
    assert reply.usage.total_tokens is None


@pytest.mark.parametrize(
    ("reply", "sentence", "requests"),
    [
        (status(401), "model_bad_key", 1),
        (status(403), "model_not_allowed", 1),
        (status(404), "model_not_found", 1),
        (status(404, "<h1>not here</h1>"), "model_not_found", 1),
        (status(400), "model_bad_request", 1),
        (status(429), "model_busy", 3),
        (status(500), "model_broken", 3),
        (status(503, "<h1>Bad gateway</h1>"), "model_broken", 3),
        (drop, "model_unreachable", 3),
        (playing.html, "model_sent_html", 1),
        (playing.error_body, "model_broken", 1),
        (status(200, {"error": "no model is loaded"}), "model_broken", 1),
        (status(200, "data: {}"), "model_sent_no_json", 1),
        (playing.body("{not json", "application/json"), "model_sent_no_json", 1),
        (status(200, ""), "model_sent_nothing", 1),
        (playing.body("", "application/json"), "model_sent_nothing", 1),
        (raw_completion([]), "model_sent_no_choices", 1),
        (raw_completion(None), "model_sent_no_choices", 1),
        (raw_completion("many"), "model_sent_other_json", 1),
        (status(200, {}), "model_sent_other_json", 1),
        (status(200, []), "model_sent_other_json", 1),
        (status(200, 5), "model_sent_other_json", 1),
        (status(200, {"message": {"content": "hi"}}), "model_sent_other_json", 1),
        (status(200, {"choices": [{"message": None}]}), "model_sent_other_json", 1),
    ],
)
def test_a_fault_is_a_sentence_after_so_many_requests(
    reply: playing.Reply, sentence: str, requests: int
) -> None:
    with Service(repeat(reply)) as service:
        with pytest.raises(ModelFailed) as caught:
            ask(service)
        assert len(service.requests) == requests
    assert (caught.value.name, caught.value.retries) == (sentence, requests)
    for said in _sentences(caught.value):
        assert KEY not in said
        assert "\n" not in said


@pytest.mark.parametrize(
    ("sent", "excerpt"),
    [
        ("<!DOCTYPE html>\n<title>Sign in</title>", "(<!DOCTYPE html> <title>Sign in</title>)"),
        ({"error": {"message": "the backend is away"}}, "(the backend is away)"),
        ({"choices": []}, '({"choices": []})'),
        ({"result": "x" * 500}, '({"result": "' + "x" * 88 + "…)"),
        (f"{'.' * 95}{KEY}", f"({'.' * 95}***)"),
    ],
)
def test_what_came_in_place_of_a_reply_is_quoted_briefly(sent: Any, excerpt: str) -> None:
    with Service([status(200, sent)]) as service, pytest.raises(ModelFailed) as caught:
        ask(service)
    for said in _sentences(caught.value):
        assert excerpt in said.replace("（", "(").replace("）", ")")
        assert "Error:" not in said


def test_a_server_that_echoes_the_key_does_not_get_it_shown() -> None:
    words = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    with Service([status(401, words)]) as service, pytest.raises(ModelFailed) as caught:
        ask(service)
    assert all(KEY not in said and "***" in said for said in _sentences(caught.value))


def test_a_server_that_is_not_there() -> None:
    with Service() as service:
        pass
    with pytest.raises(ModelFailed, match="model_unreachable") as caught:
        ask(service)
    assert caught.value.retries == 3
    assert "refused" in caught.value.sentence(speaker("en")).lower()


@pytest.mark.parametrize("fault", [status(429), status(500), drop], ids=["429", "500", "dropped"])
def test_a_passing_fault_is_asked_again_and_counted_apart(fault: playing.Reply) -> None:
    with Service([fault, fault, "ok"]) as service:
        reply = ask(service)
    assert (reply.text, reply.usage.requests, reply.usage.retries) == ("ok", 1, 2)


def test_retry_after_is_waited_for() -> None:
    busy = status(429, headers={"Retry-After": "0.3"})
    with Service([busy, "ok"]) as service:
        started = time.monotonic()
        assert ask(service).text == "ok"
        assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize("after", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_retry_after_that_does_not_fit_ends_at_once(after: str) -> None:
    with Service([status(429, headers={"Retry-After": after})]) as service:
        with pytest.raises(ModelFailed, match="model_busy"):
            ask(service)
        assert len(service.requests) == 1


@pytest.mark.parametrize("after", ["soon", "-5", "nan", "Fri, 31 Dec 1999 23:59:59 GMT"])
def test_a_retry_after_that_says_nothing_is_no_obstacle(after: str) -> None:
    with Service([status(429, headers={"Retry-After": after}), "ok"]) as service:
        assert ask(service).text == "ok"


def test_parameters_that_are_refused_are_left_out_and_stay_out() -> None:
    with Service([refusal("stop"), refusal("temperature"), refusal("max_tokens"), "a", "b"]) as service:
        client = Client(load_model("gpt-4o", service.url), 30.0)
        first, second = (client.ask(HI, lambda: 60.0) for _ in range(2))
        sent = service.requests
    assert (first.text, first.usage.retries, second.text, second.usage.retries) == ("a", 3, "b", 0)
    assert "stop" in sent[0]
    assert [("stop" in body, "temperature" in body, "max_tokens" in body) for body in sent[1:]] == [
        (False, True, True),
        (False, False, True),
        (False, False, False),
        (False, False, False),
    ]
    assert sent[-1]["max_completion_tokens"] == 512


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ("Unrecognized request argument supplied: grammar", "grammar"),
        ("Failed to parse grammar", "grammar"),
        ("stop is not supported by this model", "stop"),
    ],
)
def test_a_refusal_in_a_services_own_words_is_understood(words: str, parameter: str) -> None:
    request = Request(HI.messages, HI.stop, grammar='root ::= "x"')
    with Service([status(400, {"error": {"message": words}}), "ok"]) as service:
        assert Client(load_model("gpt-4o", service.url), 30.0).ask(request, lambda: 60.0).text == "ok"
        assert [parameter in body for body in service.requests] == [True, False]


def test_words_that_refuse_nothing_are_no_refusal() -> None:
    with Service([status(400, {"error": {"message": "stop: the account is closed"}})]) as service:
        with pytest.raises(ModelFailed, match="model_bad_request"):
            ask(service)
        assert len(service.requests) == 1


def test_a_parameter_refused_twice_is_a_failure() -> None:
    with Service(repeat(refusal("stop"))) as service:
        with pytest.raises(ModelFailed, match="model_bad_request"):
            ask(service)
        assert len(service.requests) == 2


def test_runs_that_share_a_client_may_all_be_refused_at_once() -> None:
    everyone = threading.Barrier(3)

    def refused_together(connection: Connection) -> None:
        everyone.wait(WAIT_S)
        refusal("stop")(connection)

    with Service(chain(repeat(refused_together, 3), repeat("ok"))) as service:
        client = Client(load_model("gpt-4o", service.url), 30.0)
        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(lambda _: client.ask(HI, lambda: 60.0), range(3)))
    assert [(reply.text, reply.usage.retries) for reply in replies] == [("ok", 1)] * 3


def test_no_stop_words_no_stop_parameter() -> None:
    with Service(["ok"]) as service:
        Client(load_model("gpt-4o", service.url), 30.0).ask(Request(HI.messages), lambda: 60.0)
        assert "stop" not in service.requests[0]


@pytest.mark.parametrize(
    "refusal",
    [context_too_long(), status(500, {"error": {"message": "Context size has been exceeded.", "code": 500}})],
    ids=["at once", "by llama.cpp while it writes"],
)
def test_a_context_that_is_too_long_is_told_apart(refusal: playing.Reply) -> None:
    with Service(repeat(refusal)) as service:
        with pytest.raises(ContextTooLong):
            ask(service)
        assert len(service.requests) == 1


@pytest.mark.parametrize("reply", [drip(), playing.never], ids=["dripping", "silent"])
def test_the_deadline_is_for_the_whole_call(reply: playing.Reply) -> None:
    with Service(chain([reply], repeat("late"))) as service:
        with pytest.raises(ModelFailed, match="model_timeout") as caught:
            ask(service, timeout_s=0.5)
        assert "0.5" in caught.value.sentence(speaker("en"))
        assert len(service.requests) == 1


@pytest.mark.parametrize(("left_s", "raised"), [(60.0, ModelFailed), (0.2, LimitReached)])
def test_a_client_that_gives_up_first_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, left_s: float, raised: type[Exception]
) -> None:
    """Its timeout has the same length as the deadline, and either may come first."""
    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "0.2")
    monkeypatch.setattr("agent.client.run_within", lambda timeout_s, call, name: call())
    with Service(chain([playing.never], repeat("late"))) as service:
        with pytest.raises(raised):
            ask(service, timeout_s=0.2, left_s=left_s)
        assert len(service.requests) == 1


def test_the_time_of_the_run_ends_a_call_as_a_limit() -> None:
    with Service([playing.never]) as service:
        with pytest.raises(LimitReached) as caught:
            ask(service, left_s=0.5)
        assert caught.value.reason is StopReason.TIME_LIMIT
        with pytest.raises(LimitReached):
            ask(service, left_s=0.0)
        assert len(service.requests) == 1


def _sentences(failure: ModelFailed) -> Iterator[str]:
    return (failure.sentence(speaker(language)) for language in LANGUAGES)
