"""Which model answers: what the environment and the caller say, and the sentence when there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.models import OPENAI_URL, choose, is_llama_cpp, load_model, name_of
from agent.settings import Settings, load_settings, service_url
from agent.testing import ScriptedModel
from agent.weights import MODELS
from tests.service import Service

KEY = "sk-canary-7f3a9b"
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "LOCAL_MODEL_PATH", "AGENT_MODEL")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*VARIABLES, "AGENT_MAX_TOKENS", "AGENT_MODEL_TIMEOUT_S", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "")  # so that what .env sets is undone at the end
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("AGENT_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [None, "local", "local-small", "gpt-4o"])
def test_without_key_address_and_file_the_ways_out_are_named(name: str | None) -> None:
    with pytest.raises(SettingsError) as caught:
        load_model(name)
    for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "scripts/run.py"):
        assert way in str(caught.value)
    assert ("--small" in str(caught.value)) is (name == "local-small")


def test_a_key_alone_means_gpt_4o_at_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f' "{KEY}"\n')
    settings = load_settings()
    choice = choose(None, None, settings)
    assert settings.api_key == KEY
    assert (choice.name, choice.base_url, choice.host) == ("gpt-4o", OPENAI_URL, "api.openai.com")
    assert choose(None, None, replace(settings, model="gpt-4o-mini")).name == "gpt-4o-mini"
    assert choose("other", None, replace(settings, model="gpt-4o-mini")).name == "other"


def test_of_the_addresses_the_argument_wins_then_openai_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://old:1/v1")
    assert choose(None, None, load_settings()).host == "old"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:pw@new:1/v1/")
    settings = load_settings()
    assert choose(None, None, settings).host == "new"
    assert choose("m", "http://given:1", settings).base_url == "http://given:1/v1"
    client = load_model("m").client._client
    assert str(client.base_url) == "http://new:1/v1/"
    assert client.default_headers["Authorization"] == "Basic dXNlcjpwdw=="  # user:pw


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("", ""),
        ("http://h:1", "http://h:1/v1"),
        ("http://h:1/", "http://h:1/v1"),
        ("http://h:1/v1/", "http://h:1/v1"),
        ("https://h/api/openai", "https://h/api/openai"),
    ],
)
def test_a_base_url_as_the_client_wants_it(given: str, used: str) -> None:
    assert service_url(given) == used


@pytest.mark.parametrize(
    "given", ["localhost:11434", "ftp://h/v1", "http://", "h", "http://[::1", "http://h:port"]
)
def test_what_is_no_base_url_is_said(given: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL"):
        service_url(given)


def test_the_embedded_model_is_used_once_its_file_is_whole(folder: Path) -> None:
    file = folder / MODELS["local"].file
    file.write_bytes(b"part of it")
    with pytest.raises(SettingsError):
        choose(None, None, load_settings())
    with file.open("r+b") as whole:
        whole.truncate(MODELS["local"].size)
    choice = choose(None, None, load_settings())
    assert (choice.name, choice.path, choice.host) == ("local", file, "this process")


def test_a_model_file_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_MODEL_PATH", "own.gguf")
    with pytest.raises(SettingsError, match="LOCAL_MODEL_PATH names no file"):
        choose(None, None, load_settings())
    (folder / "own.gguf").write_bytes(b"GGUF")
    assert choose(None, None, load_settings()).path == Path("own.gguf")


def test_env_file_fills_what_the_environment_leaves_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("OPENAI_API_KEY=sk-from-file\nAGENT_MODEL=from-file\n", encoding="utf-8-sig")
    monkeypatch.setenv("AGENT_MODEL", "from-outside")
    settings = load_settings()
    assert (settings.api_key, settings.model) == ("sk-from-file", "from-outside")


def test_the_model_is_asked_at_temperature_0_with_a_cap_and_without_own_retries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENT_MAX_TOKENS", "99")
    with Service(["hello"]) as service:
        llm = load_model("some-model", service.url)
        assert llm.invoke("hi").content == "hello"
        sent, headers = service.requests[0], service.headers[0]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("some-model", 0, 99)
    assert headers["Authorization"] == "Bearer none"
    assert (llm.max_retries, llm.request_timeout, name_of(llm)) == (0, 60, "some-model")


@pytest.mark.parametrize(("owner", "is_one"), [("llamacpp", True), ("library", False)])
def test_who_owns_the_model_is_asked_once_per_address(owner: str, is_one: bool) -> None:
    with Service(owned_by=owner) as service:
        assert [is_llama_cpp(load_model("m", service.url)) for _ in range(3)] == [is_one] * 3
        assert service.model_lists == 1


def test_who_owns_the_model_is_not_asked_where_nobody_can_say(settings: Settings) -> None:
    assert not is_llama_cpp(ScriptedModel())
    assert not is_llama_cpp(load_model("gpt-4o"))
    with Service() as service:
        gone = load_model("m", service.url)
    assert not is_llama_cpp(gone)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return load_settings()


def test_a_proxy_that_the_client_cannot_use_is_said(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:1")
    with pytest.raises(SettingsError, match="proxy"):
        load_model("gpt-4o")
