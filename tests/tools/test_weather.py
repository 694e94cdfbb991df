"""The Weather tells the temperature of the place it found, or why not, within its deadline."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.weather_server import (
    COLD,
    FORECAST,
    FOUND,
    REYKJAVIK,
    SEARCH,
    WeatherServer,
    after,
    drip_body,
    drip_headers,
    hang_up,
    redirect_to,
    running,
    say_nothing,
    send,
)
from tools.open_meteo import Service
from tools.texts import ERROR_PREFIX
from tools.weather import current_weather, weather_tool

CANARY = "CANARYKEY4711"
BODY = "Unknown location; please try ~59.3,18.0"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeatherServer]:
    with running() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "WEATHER_PROVIDER"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("WEATHER_GEOCODING_URL", server.url + SEARCH)
        monkeypatch.setenv("WEATHER_FORECAST_URL", server.url + FORECAST)
        monkeypatch.setenv("WEATHER_TIMEOUT_S", "5")
        monkeypatch.setenv("WEATHER_API_KEY", CANARY)
        yield server


def assert_failed(text: str, *words: str) -> None:
    """One short line that fails in the given words, and gives away no address, key or body."""
    assert text.startswith(ERROR_PREFIX)
    assert all(word in text for word in words), text
    assert "\n" not in text
    assert len(text) < 250
    for secret in (CANARY, "127.0.0.1", "http", "Traceback", "location", "<html"):
        assert secret not in text


# --- when all is well -------------------------------------------------------------------------------


def test_it_names_the_place_that_was_found_with_temperature_and_weather(server: WeatherServer) -> None:
    assert current_weather("reykjavik") == "Reykjavík, Capital Region, Iceland: 4.2 °C, overcast"


def test_it_asks_for_the_place_and_then_for_its_coordinates(server: WeatherServer) -> None:
    current_weather(' "Reykjavik"\n')
    (search, place), (forecast, weather) = server.queries
    assert (search, forecast) == (SEARCH, FORECAST)
    assert place == {"name": "Reykjavik", "count": "1", "language": "en", "format": "json", "apikey": CANARY}
    assert weather["latitude"] == "64.13"
    assert weather["longitude"] == "-21.89"
    assert weather["current"] == "temperature_2m,weather_code"
    assert weather["apikey"] == CANARY


def test_a_chinese_name_is_looked_up_in_chinese(server: WeatherServer) -> None:
    current_weather("雷克雅未克")
    assert server.queries[0][1]["name"] == "雷克雅未克"
    assert server.queries[0][1]["language"] == "zh"


def test_without_a_key_none_is_sent(server: WeatherServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEATHER_API_KEY")
    current_weather("Reykjavik")
    assert ["apikey" in query for _, query in server.queries] == [False, False]


def test_a_host_alone_is_enough_for_an_address(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEATHER_GEOCODING_URL", server.url)
    monkeypatch.setenv("WEATHER_FORECAST_URL", server.url + "/")
    assert "4.2 °C" in current_weather("Reykjavik")


@pytest.mark.parametrize(
    ("key", "addresses"),
    [
        ("", ["https://geocoding-api.open-meteo.com/v1/search", "https://api.open-meteo.com/v1/forecast"]),
        (
            "key",
            [
                "https://customer-geocoding-api.open-meteo.com/v1/search",
                "https://customer-api.open-meteo.com/v1/forecast",
            ],
        ),
    ],
)
def test_without_an_address_it_is_open_meteo_and_with_a_key_its_customers_service(
    key: str, addresses: list[str]
) -> None:
    service = Service(api_key=key)
    assert [service.address("search"), service.address("forecast")] == addresses


@pytest.mark.parametrize(
    ("city", "line"),
    [
        ("Springfield, Illinois", "Springfield, Illinois, United States"),
        ("Springfield, USA", "Springfield, Missouri, United States"),
        ("Springfield，Oregon", "Springfield, Oregon, United States"),
        ("Springfield, OR", "Springfield, Oregon, United States"),
        ("Springfield, or, U.S.A.", "Springfield, Oregon, United States"),
        ("Springfield, IL", "Springfield, Illinois, United States"),
        ("Springfield, US", "Springfield, Missouri, United States"),
    ],
)
def test_a_region_after_a_comma_chooses_among_places(server: WeatherServer, city: str, line: str) -> None:
    server.replies[SEARCH] = springfields("Missouri", "Oregon", "Illinois")
    assert current_weather(city).startswith(f"{line}: ")


def test_a_region_that_fits_no_place_is_answered_with_those_that_exist(server: WeatherServer) -> None:
    server.replies[SEARCH] = springfields("Missouri", "Oregon")
    text = current_weather("Springfield, Mars")
    assert_failed(text, "no place named 'Springfield, Mars'", "Springfield, Oregon, United States")


@pytest.mark.parametrize(
    ("code", "entries", "found"),
    [
        ("CA", [("Ontario", "Canada"), ("California", "United States")], "Ontario, Canada"),
        ("CA", [("California", "United States"), ("Ontario", "Canada")], "California, United States"),
        ("ON", [("California", "United States"), ("Ontario", "Canada")], "Ontario, Canada"),
        ("NSW", [("Nova Scotia", "Canada"), ("New South Wales", "Australia")], "New South Wales, Australia"),
        (
            "WA",
            [("Western Australia", "Australia"), ("Oregon", "United States")],
            "Western Australia, Australia",
        ),
        (
            "DC",
            [("Illinois", "United States"), ("District of Columbia", "United States")],
            "District of Columbia",
        ),
    ],
)
def test_a_code_is_that_of_a_country_or_a_region_whichever_place_comes_first(
    server: WeatherServer, code: str, entries: list[tuple[str, str]], found: str
) -> None:
    codes = {"Canada": "CA", "United States": "US", "Australia": "AU"}
    server.replies[SEARCH] = {
        "results": [{**REYKJAVIK, "admin1": a, "country": c, "country_code": codes[c]} for a, c in entries]
    }
    assert current_weather(f"London, {code}").startswith(f"Reykjavík, {found}")


def test_a_regions_code_is_not_that_of_a_place_in_another_country(server: WeatherServer) -> None:
    georgia = {**REYKJAVIK, "admin1": "Georgia", "country": "Elsewhere", "country_code": "XX"}
    server.replies[SEARCH] = {"results": [georgia]}
    assert_failed(current_weather("Rome, GA"), "no place named 'Rome, GA'", "Georgia, Elsewhere")


def springfields(*states: str) -> dict[str, object]:
    common = {"country": "United States", "country_code": "US", "latitude": 40.0, "longitude": -90.0}
    return {"results": [{"name": "Springfield", "admin1": state, **common} for state in states]}


@pytest.mark.parametrize(
    ("current", "ending"),
    [
        ({"temperature_2m": -3, "weather_code": 71}, ": -3 °C, light snow"),
        ({"temperature_2m": -0.04, "weather_code": 0}, ": 0 °C, clear sky"),
        ({"temperature_2m": 18.25}, ": 18.2 °C"),
        ({"temperature_2m": 18, "weather_code": 12345}, ": 18 °C"),
        ({"temperature_2m": 18, "weather_code": [1]}, ": 18 °C"),
    ],
)
def test_temperature_and_words(server: WeatherServer, current: dict[str, object], ending: str) -> None:
    server.replies[FORECAST] = {"current": current}
    assert current_weather("Reykjavik").endswith(ending)


def test_a_place_is_shortened_and_kept_on_one_line(server: WeatherServer) -> None:
    server.replies[SEARCH] = {"results": [{**REYKJAVIK, "name": "A\nObservation: " + "b" * 5000}]}
    text = current_weather("Reykjavik")
    assert "\n" not in text
    assert len(text) < 200


def test_a_redirect_or_two_are_followed(server: WeatherServer) -> None:
    server.replies |= {SEARCH: redirect_to("/a"), "/a": redirect_to("/b"), "/b": FOUND}
    assert "4.2 °C" in current_weather("Reykjavik")


def test_a_password_in_netrc_is_offered_to_nobody(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login someone password {CANARY}\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.replies |= {SEARCH: redirect_to("/a"), "/a": FOUND}
    current_weather("Reykjavik")
    assert len(server.headers) == 3
    assert not any("Authorization" in headers for headers in server.headers)


# --- faults of the service --------------------------------------------------------------------------

UNUSABLE = {
    "a plain sentence that claims to be JSON": send(BODY),
    "a list": [],
    "null": None,
    "an empty object": {},
    "HTML": send("<html><body>location</body></html>", kind="text/html"),
    "an empty body": send(""),
    "bytes that are no text": send(b"\xff\xfe\x00\xd8"),
    "a number too long to read": send("9" * 10_000),
    "brackets without end": send("[" * 200_000),
    "more than a megabyte": send(json.dumps(FOUND) + " " * 5_000_000),
    "a text": send('"results"'),
}
BAD_SEARCH = {
    **UNUSABLE,
    "results that are a text": {"results": "Reykjavik"},
    "results that are null": {"results": None},
    "results of texts": {"results": ["Reykjavik"]},
    "a place without coordinates": {"results": [{"name": "Reykjavik"}]},
    "a place without a name": {"results": [{"latitude": 1.0, "longitude": 1.0}]},
    "coordinates that are texts": {"results": [{**REYKJAVIK, "latitude": "64"}]},
    "coordinates that are no numbers": {"results": [{**REYKJAVIK, "longitude": float("nan")}]},
    "coordinates off the Earth": {"results": [{**REYKJAVIK, "latitude": 1e300}]},
}
BAD_FORECAST = {
    **UNUSABLE,
    "no current weather": {"hourly": {}},
    "current weather that is a text": {"current": "4.2"},
    "no temperature": {"current": {"weather_code": 3}},
    "a temperature that is a text": {"current": {"temperature_2m": "4.2"}},
    "a temperature that is null": {"current": {"temperature_2m": None}},
    "a temperature that is true": {"current": {"temperature_2m": True}},
    "a temperature that is no number": {"current": {"temperature_2m": float("nan")}},
    "a temperature without end": {"current": {"temperature_2m": float("inf")}},
    "a temperature of no place on Earth": {"current": {"temperature_2m": 5000}},
}


@pytest.mark.parametrize("fault", BAD_SEARCH)
def test_a_search_without_usable_data_is_one_short_line(server: WeatherServer, fault: str) -> None:
    server.replies[SEARCH] = BAD_SEARCH[fault]
    assert_failed(current_weather("Stockholm"), "Stockholm", "weather service gave no usable data")
    assert len(server.queries) == 1


@pytest.mark.parametrize("fault", BAD_FORECAST)
def test_a_forecast_without_usable_data_is_one_short_line(server: WeatherServer, fault: str) -> None:
    server.replies[FORECAST] = BAD_FORECAST[fault]
    assert_failed(current_weather("Stockholm"), "Stockholm", "weather service gave no usable data")
    assert len(server.queries) == 2


@pytest.mark.parametrize("path", [SEARCH, FORECAST])
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (send(BODY, 400), "failed with status 400"),
        (send(BODY, 401), "WEATHER_API_KEY"),
        (send(BODY, 403), "WEATHER_API_KEY"),
        (send(BODY, 404), "failed with status 404"),
        (send(BODY, 429), "too many requests"),
        (send(BODY, 500), "failed with status 500"),
        (send(BODY, 503), "failed with status 503"),
        (redirect_to(SEARCH), "in circles"),
        (hang_up, "could not be reached"),
    ],
)
def test_a_refusal_of_the_service_is_one_short_line(
    server: WeatherServer, path: str, reply: object, words: str
) -> None:
    server.replies[path] = reply if path == SEARCH or words != "in circles" else redirect_to(FORECAST)
    assert_failed(current_weather("Stockholm"), "Stockholm", words)
    assert len(server.queries) <= 5


@pytest.mark.parametrize("nothing", [{"results": []}, {"generationtime_ms": 0.5}])
def test_an_unknown_place_is_answered_with_a_way_out(server: WeatherServer, nothing: object) -> None:
    server.replies[SEARCH] = nothing
    assert_failed(
        current_weather("Atlantis"), "no place named 'Atlantis' was found", "spelling", "larger city"
    )


# --- deadlines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SEARCH, FORECAST])
@pytest.mark.parametrize("slow", [drip_body, drip_headers, say_nothing])
def test_a_slow_server_is_given_up_at_the_deadline(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch, path: str, slow: object
) -> None:
    monkeypatch.setenv("WEATHER_TIMEOUT_S", "0.8")
    server.replies[path] = slow
    start = time.monotonic()
    text = current_weather("Stockholm")
    assert_failed(text, "Stockholm", "did not answer within 0.8 s")
    assert 0.7 < time.monotonic() - start < 1.8


def test_both_requests_share_one_deadline(server: WeatherServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_TIMEOUT_S", "0.8")
    server.replies = {
        SEARCH: after(0.5, send(json.dumps(FOUND))),
        FORECAST: after(0.5, send(json.dumps(COLD))),
    }
    assert_failed(current_weather("Stockholm"), "did not answer within 0.8 s")


def test_a_service_that_is_not_there_is_one_short_line(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("WEATHER_GEOCODING_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert_failed(current_weather("Stockholm"), "Stockholm", "could not be reached")


@pytest.mark.parametrize(
    "url", ["http://weather.invalid", "nonsense", "ftp://127.0.0.1", "http://[", "http://"]
)
def test_a_wrong_address_is_one_short_line(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("WEATHER_GEOCODING_URL", url)
    assert_failed(current_weather("Stockholm"), "Stockholm", "weather service")
    assert server.queries == []


def test_the_key_is_in_no_debug_message(server: WeatherServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        current_weather("Reykjavik")
    assert "apikey=***" in caplog.text
    assert CANARY not in caplog.text


# --- input and settings -----------------------------------------------------------------------------


@pytest.mark.parametrize("city", ["", "  ", "\x00", "{}", "None", "null", '""'])
def test_without_a_city_one_is_asked_for(server: WeatherServer, city: str) -> None:
    assert_failed(current_weather(city), "name one city")
    assert server.queries == []


@pytest.mark.parametrize("city", ["x" * 5000, "a\r\nHost: evil", "\ud800", "&apikey=1#/../?", "%00"])
def test_an_odd_city_gives_one_line_whatever_it_holds(server: WeatherServer, city: str) -> None:
    server.replies[SEARCH] = {"results": []}
    assert_failed(current_weather(city))
    assert all(path == SEARCH and query.get("apikey", CANARY) == CANARY for path, query in server.queries)


@pytest.mark.parametrize("setting", ["abc", "0", "-1", "nan", "inf", "1e9", "3 s"])
def test_a_timeout_that_is_none_is_one_sentence(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("WEATHER_TIMEOUT_S", setting)
    assert_failed(current_weather("Stockholm"), "WEATHER_TIMEOUT_S", setting)
    assert weather_tool().metadata == {"timeout_s": 4.0}


def test_an_unknown_provider_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_PROVIDER", "oracle")
    assert_failed(current_weather("Stockholm"), "open-meteo or demo", "oracle")


@pytest.mark.parametrize(
    ("city", "degrees"), [("北京", 18), ("Beijing", 18), ("上海市", 24), ("shanghai", 24), ("广州", 29)]
)
def test_the_demo_table_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch, city: str, degrees: int) -> None:
    monkeypatch.setenv("WEATHER_PROVIDER", "Demo")
    text = current_weather(city)
    assert f": {degrees} °C" in text
    assert "demo data" in text


def test_the_demo_table_names_its_cities_for_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_PROVIDER", "demo")
    assert_failed(current_weather("Stockholm"), "Stockholm", "北京", "上海", "广州", "Beijing")


def test_the_tool_waits_a_second_longer_than_its_own_deadline(
    server: WeatherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEATHER_TIMEOUT_S", "2.5")
    tool = weather_tool()
    assert tool.metadata == {"timeout_s": 3.5}
    assert tool.run("Reykjavik").endswith("4.2 °C, overcast")
