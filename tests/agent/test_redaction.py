"""Redaction: no secret in any text that goes on, and nothing else taken out of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from agent.redaction import redact, redact_output

Masked = Callable[[str], str]
SECRET = "canary-4711"
BY_SHAPE = [
    f"GET http://h.test/data?appid={SECRET}&key={SECRET}#part",
    f"GET /data?units=c&access_token={SECRET};sig={SECRET}",
    f"cannot reach https://me:{SECRET}@h.test/x",
    f"socks5h://{SECRET}@h.test:1080",
    f"Authorization: Bearer {SECRET}",
    f"{{'authorization': 'Basic {SECRET}', 'x-api-key': '{SECRET}'}}",
    f'"Proxy-Authorization": "{SECRET}"',
    f"api-key={SECRET}",
    f"sent bearer {SECRET}.abc",
    f"Incorrect API key provided: sk-{SECRET}.",
]


@pytest.mark.parametrize("text", BY_SHAPE)
@pytest.mark.parametrize("masked", [redact, redact_output])
def test_a_secret_known_by_its_shape_is_masked(masked: Masked, text: str) -> None:
    assert SECRET not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize(
    "name", ["MAPS_KEY", "HUB_TOKEN", "my_secret", "DB_PASSWORD", "SECRET_SAUCE", "PASSWORD"]
)
@pytest.mark.parametrize("masked", [redact, redact_output])
def test_the_value_of_a_secret_environment_variable_is_masked(
    masked: Masked, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, f" '{SECRET}'\n")

    assert masked(f"the value is {SECRET}!") == "the value is ***!"


def test_a_secret_that_holds_another_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("B_KEY", f"{SECRET}-long")

    assert redact(f"{SECRET}-long") == "***"


@pytest.mark.parametrize(
    ("name", "value"), [("MAPS_URL", SECRET), ("KEYBOARD", SECRET), ("SHORT_KEY", "data")]
)
def test_other_variables_and_ordinary_words_stay(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    assert redact(f"a {value} is a {value}") == f"a {value} is a {value}"


def test_query_values_are_data_in_a_result_and_hidden_in_an_error() -> None:
    text = "see https://h.test/search?q=weather&page=2"

    assert redact_output(text) == text
    assert redact(text) == "see https://h.test/search?q=***&page=***"


@pytest.mark.parametrize(
    "text",
    [
        "mail me@h.test",
        "ratio 3:4 = 0.75",
        "is it? yes=no",
        "the bearer of news",
        "task-123456789",
        "sk-learn-tools",
    ],
)
@pytest.mark.parametrize("masked", [redact, redact_output])
def test_what_only_looks_alike_stays(masked: Masked, text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "piece", ["x", "&key", "://", "a:", "?key=", "authorization ", "bearer ", "sk-", " sk-a"]
)
def test_a_large_text_is_read_at_once(piece: str) -> None:
    started = time.process_time()
    redact_output(piece * (200_000 // len(piece)))

    assert time.process_time() - started < 5
