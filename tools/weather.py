"""Weather: the name of a city in, its temperature now out.

Settings are read from the environment at each call:

- ``WEATHER_PROVIDER``: ``open-meteo`` (default) or ``demo``, a table of three cities for trying things out;
- ``WEATHER_TIMEOUT_S``: seconds for everything that one call does, 3 by default;
- ``WEATHER_GEOCODING_URL``, ``WEATHER_FORECAST_URL``: the service's endpoints, or only their host;
- ``WEATHER_API_KEY``: for the customers' service; sent as ``apikey``, and shown nowhere.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING

from tools.schema import one_text
from tools.texts import error_text, is_nothing, one_line, shorten, unquote

if TYPE_CHECKING:
    from langchain_core.tools import Tool

DEFAULT_TIMEOUT_S = 3.0
MAX_TIMEOUT_S = 60.0
MAX_CITY_CHARS = 100

# A city's names, in Chinese and English, and a temperature in °C.
_DEMO = (("北京", "Beijing", 18), ("上海", "Shanghai", 24), ("广州", "Guangzhou", 29))


class BadSetting(Exception):
    """A setting that only its owner can put right."""


def current_weather(city: str) -> str:
    """The temperature in °C and the weather in ``city`` now, with the name of the place that was found.

    Never raises for what a city's name, a setting, the network or the service is; a failure is one line
    that starts with ``Error: ``, without address, key or anything that the service wrote about it.
    """
    name = one_line(unquote(city))
    if is_nothing(name):
        return error_text("no city was given; name one city")
    if len(name) > MAX_CITY_CHARS:
        return error_text(f"'{shorten(name)}' is too long for a city; give its name alone")
    try:
        return _demo_weather(name) if _provider() == "demo" else _service_weather(name, timeout_s())
    except BadSetting as error:
        return error_text(str(error))


def _demo_weather(city: str) -> str:
    wanted = city.removesuffix("市").casefold()
    for chinese, english, degrees in _DEMO:
        if wanted in (chinese, english.casefold()):
            return f"{chinese} ({english}): {degrees} °C (demo data, not measured)"
    known = ", ".join(f"{chinese} ({english})" for chinese, english, _ in _DEMO)
    return error_text(f"the demo data has no weather for '{shorten(city)}'; supported cities: {known}")


def _service_weather(city: str, timeout: float) -> str:
    from tools.fetch import FetchFailed, TooLate, within
    from tools.open_meteo import Service, UnknownPlace, weather_line

    settings = ("WEATHER_GEOCODING_URL", "WEATHER_FORECAST_URL", "WEATHER_API_KEY")
    service = Service(*(_setting(name) for name in settings))
    place = f"'{shorten(city)}'"
    deadline = time.monotonic() + timeout
    try:
        return within(timeout, lambda: weather_line(service, city, deadline))
    except UnknownPlace as error:
        instead = f", only {error}" if str(error) else ""
        return error_text(
            f"no place named {place} was found{instead}; check the spelling or name a larger city nearby"
        )
    except TooLate:
        return error_text(
            f"the weather service did not answer within {timeout:g} s for {place}; do without it or try later"
        )
    except FetchFailed as error:
        return error_text(f"no weather for {place}: the weather service {error}")


def _setting(name: str) -> str:
    return os.environ.get(name, "").strip()


def _provider() -> str:
    provider = _setting("WEATHER_PROVIDER").lower() or "open-meteo"
    if provider not in ("open-meteo", "demo"):
        raise BadSetting(f"WEATHER_PROVIDER must be open-meteo or demo, not '{shorten(provider)}'")
    return provider


def timeout_s() -> float:
    """Seconds that one call may take. Raises ``BadSetting`` unless it is a number above 0, up to 60."""
    text = _setting("WEATHER_TIMEOUT_S")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT_S
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise BadSetting(
            f"WEATHER_TIMEOUT_S must be a number of seconds above 0, up to {MAX_TIMEOUT_S:g}, "
            f"not '{shorten(text)}'"
        )
    return seconds


def weather_tool() -> Tool:
    """The Weather as a LangChain ``Tool``. Its runner should wait a second longer than it does itself."""
    from langchain_core.tools import Tool

    try:
        seconds = timeout_s()
    except BadSetting:  # each call will say so
        seconds = DEFAULT_TIMEOUT_S
    return Tool(
        name="Weather",
        func=current_weather,
        description=(
            "Tells the current temperature in °C and the weather in one city. "
            "Input: the name of the city, in any language, e.g. Reykjavik."
        ),
        args_schema=one_text("city", "e.g. Reykjavik"),
        metadata={"timeout_s": seconds + 1},
    )
