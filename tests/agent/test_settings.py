"""Settings: what the environment and .env say, and the sentence for what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.limits import Price
from agent.settings import load_settings

NAMES = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "LOCAL_MODEL_PATH", "AGENT_MODEL"]
NAMES += ["AGENT_MAX_TOKENS", "AGENT_MODEL_TIMEOUT_S", "AGENT_GRAMMAR", "AGENT_EXAMPLES", "AGENT_PRICES"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that what .env sets is undone at the end
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = load_settings()

    assert (settings.max_tokens, settings.model_timeout_s) == (512, 60)
    assert (settings.grammar, settings.examples, settings.prices) == ("auto", "auto", {})
    assert (settings.api_key, settings.base_url, settings.model, settings.local_model_path) == ("",) * 4


@pytest.mark.parametrize("name", ["AGENT_MAX_TOKENS", "AGENT_MODEL_TIMEOUT_S"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "inf", "nan"])
def test_a_number_that_cannot_be_meant_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{name} must be a .*number above 0, not '{value}'$"):
        load_settings()


def test_tokens_are_whole_and_seconds_need_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "2.5")
    assert load_settings().model_timeout_s == 2.5
    monkeypatch.setenv("AGENT_MAX_TOKENS", "2.5")
    with pytest.raises(SettingsError, match="AGENT_MAX_TOKENS must be a whole number"):
        load_settings()


@pytest.mark.parametrize("name", ["AGENT_GRAMMAR", "AGENT_EXAMPLES"])
def test_a_switch_is_auto_on_or_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, " ON ")
    assert getattr(load_settings(), name.removeprefix("AGENT_").lower()) == "on"
    monkeypatch.setenv(name, "yes")
    with pytest.raises(SettingsError, match=f"^{name} must be auto, on or off, not 'yes'$"):
        load_settings()


def test_prices_are_read_by_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "gpt-4o=2.5/10, other = 0 / 0.4,")

    assert load_settings().prices == {"gpt-4o": Price(2.5, 10), "other": Price(0, 0.4)}


@pytest.mark.parametrize("entry", ["a", "a=2.5", "a=1/2/3", "a=x/y", "a=1/-2", "a=nan/1", "=1/2"])
def test_a_price_that_cannot_be_read_is_quoted(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", f"fine=1/2,{entry}")
    with pytest.raises(SettingsError, match=f"^AGENT_PRICES: cannot read '{entry}'"):
        load_settings()


@pytest.mark.parametrize("written", ["sk-1\n", " sk-1 ", '"sk-1"', "'sk-1'\r\n"])
def test_a_pasted_key_loses_its_newline_and_quotes(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", written)

    assert load_settings().api_key == "sk-1"


def test_the_environment_wins_over_env_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("AGENT_MODEL=from-file\nAGENT_MAX_TOKENS=7\nAGENT_PRICES=$x=1/2\n")
    monkeypatch.setenv("AGENT_MODEL", "from-environment")
    settings = load_settings()

    assert (settings.model, settings.max_tokens) == ("from-environment", 7)
    assert settings.prices == {"$x": Price(1, 2)}


@pytest.mark.parametrize("data", [b"AGENT_MODEL=caf\xe9", "AGENT_MODEL=x".encode("utf-16")])
def test_an_env_file_that_is_not_utf_8_is_said(folder: Path, data: bytes) -> None:
    (folder / ".env").write_bytes(data)
    with pytest.raises(SettingsError, match=r"^\.env cannot be read as UTF-8 text"):
        load_settings()
