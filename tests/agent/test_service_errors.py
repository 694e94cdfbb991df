"""Whose fault a failed request is: a service's, which is looked at, or that of the code of a model."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
import requests
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult

from agent import run_agent
from agent.service_errors import ModelFailed, judge
from agent.testing import ScriptedModel, ScriptError
from prompts import Language, speaker
from tests.protocols import DIALECTS, TEXT, Dialect
from tests.service import Service, html

SAID: dict[Language, str] = {"en": "the model raised ", "zh": "模型的代码抛出了异常："}
UNREADABLE: dict[Language, str] = {"en": "answer cannot be read", "zh": "看不懂模型服务返回的内容"}
REQUEST = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
each_language = pytest.mark.parametrize("language", list(SAID))


class OwnModel(BaseChatModel):
    """A chat model as a user writes one: it asks ``url`` and reads the reply with code of its own."""

    url: str = ""
    client: Any = requests

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        body = self.client.post(self.url, json={"messages": []}, timeout=10).json()
        return ChatResult(generations=body["no such thing"])


@each_dialect
@each_language
def test_a_script_that_ran_out_is_no_services_fault(dialect: Dialect, language: Language) -> None:
    model = ScriptedModel(replies=[dialect.call("2+2")])
    result = run_agent("2+2?", llm=model, language=language, protocol=dialect.protocol)

    assert (result.stop_reason, result.usage.requests, result.usage.retries) == ("model_error", 1, 1)
    assert result.error == f"{SAID[language]}ScriptError: request 2, but the script ends with reply 1"


@each_language
@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("the pipeline has no such adapter"), "ValueError: the pipeline has no such adapter"),
        (ValueError(), "ValueError"),
        (KeyError("choices"), "KeyError: 'choices'"),
        (NotImplementedError("no stop words"), "NotImplementedError: no stop words"),
        (
            RuntimeError("at http://user:hidden@db.test/?key=abcdef"),
            "RuntimeError: at http://***@db.test/?key=***",
        ),
        (RuntimeError("x" * 1000), f"RuntimeError: {'x' * 299}…"),
    ],
)
def test_what_the_code_of_a_model_raised_is_told_without_secrets(
    language: Language, error: Exception, shown: str
) -> None:
    result = run_agent("2+2?", llm=ScriptedModel(replies=[error]), language=language)

    assert (result.stop_reason, result.error) == ("model_error", f"{SAID[language]}{shown}")


def test_a_key_in_what_a_model_raised_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "canary-4711-value")
    result = run_agent("2+2?", llm=ScriptedModel(replies=[ValueError("bad canary-4711-value")]))

    assert result.error == "the model raised ValueError: bad ***"


@each_language
@pytest.mark.parametrize("client", [requests, httpx], ids=lambda client: client.__name__)
def test_a_body_that_a_client_cannot_read_is_the_services(language: Language, client: Any) -> None:
    with Service([html]) as service:
        result = run_agent("2+2?", llm=OwnModel(url=service.url, client=client), language=language)

    assert result.stop_reason == "model_error"
    assert UNREADABLE[language] in (result.error or "")
    assert "OPENAI_BASE_URL" in (result.error or "")


def test_a_body_that_a_models_own_code_cannot_read_is_the_models() -> None:
    with Service(["Final Answer: 4"]) as service:
        result = run_agent("2+2?", llm=OwnModel(url=f"{service.url}/chat/completions"))

    assert result.error == "the model raised KeyError: 'no such thing'"


@pytest.mark.parametrize(
    "error",
    [
        openai.APIResponseValidationError(httpx.Response(200, request=REQUEST), None),
        httpx.DecodingError("bad gzip"),
        httpx.TooManyRedirects("20 redirects", request=REQUEST),
        requests.exceptions.InvalidURL("no host"),
        requests.exceptions.JSONDecodeError("no JSON", "<html>", 0),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_of_a_clients_own_kind_is_the_services(error: Exception) -> None:
    verdict = judge(error)
    name = verdict.name if isinstance(verdict, ModelFailed) else ""

    assert name in ("model_unreadable", "model_bad_request")  # the latter: it has a status


def test_json_that_no_client_read_is_the_models() -> None:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("<html>")

    verdict = judge(raised.value)
    assert isinstance(verdict, ModelFailed)
    assert verdict.sentence(speaker("en")).startswith("the model raised JSONDecodeError: ")


def test_a_recorded_failure_keeps_its_sentence() -> None:
    """Traces of earlier versions name it for everything that had no status."""
    failure = ModelFailed("model_unreadable", detail="ValueError: x")

    assert "cannot be read: check that OPENAI_BASE_URL" in failure.sentence(speaker("en"))


def test_a_script_that_ran_out_is_still_told_to_the_test() -> None:
    model = ScriptedModel(replies=[])
    run_agent("2+2?", llm=model, protocol=TEXT.protocol)

    with pytest.raises(ScriptError):
        model.assert_done()
