"""Open-Meteo: which place a name means, and the weather there now.

Endpoints and fields: https://open-meteo.com/en/docs/geocoding-api and https://open-meteo.com/en/docs
(``current=temperature_2m,weather_code``). The words for weather codes follow WMO table 4677.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.fetch import FetchFailed, fetch_json
from tools.regions import REGION_CODES
from tools.texts import shorten

MAX_PLACES = "100"  # of one name, the most that the service gives: a state's Springfield may be a small one

_CJK = re.compile("[\u3400-\u9fff]")

# What people write, and the code by which the service has it in any language.
_COUNTRY_CODES = {"usa": "us", "uk": "gb", "england": "gb", "uae": "ae", "china": "cn"}

_WORDS = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "heavy drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light showers",
    81: "showers",
    82: "violent showers",
    85: "snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with hail",
    99: "thunderstorm with heavy hail",
}


class UnknownPlace(Exception):
    """The service knows no such place; the message names those of that name in other regions, if any."""


@dataclass(frozen=True)
class Service:
    """Where Open-Meteo is. With an empty URL it is the public service, or with a key the customers' one."""

    geocoding_url: str = ""
    forecast_url: str = ""
    api_key: str = ""

    def ask(self, endpoint: str, query: dict[str, str], deadline: float) -> object:
        """The document of ``endpoint``, which is ``search`` or ``forecast``."""
        key = {"apikey": self.api_key} if self.api_key else {}
        return fetch_json(self.address(endpoint), {**query, **key}, deadline)

    def address(self, endpoint: str) -> str:
        """The URL of ``endpoint``; a setting that is a host alone gets the path that the service has."""
        host = "geocoding-api.open-meteo.com" if endpoint == "search" else "api.open-meteo.com"
        url = self.geocoding_url if endpoint == "search" else self.forecast_url
        url = url or f"https://{'customer-' if self.api_key else ''}{host}"
        _, _, path = url.partition("://")[2].partition("/")
        return url if path else f"{url.rstrip('/')}/v1/{endpoint}"


@dataclass(frozen=True)
class Place:
    """A place as the service names it; coordinates in degrees."""

    name: str
    latitude: float
    longitude: float


def weather_line(service: Service, city: str, deadline: float) -> str:
    """For instance ``Reykjavik, Capital Region, Iceland: 4.2 °C, overcast``.

    Raises ``UnknownPlace`` and ``FetchFailed``. ``deadline`` is a ``time.monotonic()`` moment for both calls.
    """
    place = find_place(service, city, deadline)
    temperature, words = current_conditions(service, place, deadline)
    return f"{place.name}: {temperature:g} °C{', ' if words else ''}{words}"


def find_place(service: Service, city: str, deadline: float) -> Place:
    """The place that ``city`` means; what follows a comma, as in ``Springfield, Illinois``, must fit it."""
    name, _, region = (part.strip() for part in city.replace("，", ",").partition(","))
    query = {
        "name": name,
        "count": MAX_PLACES if region else "1",
        "language": "zh" if _CJK.search(city) else "en",
        "format": "json",
    }
    places = _results(service.ask("search", query, deadline))
    for entry in places:
        if _lies_in(entry, region):
            return _place(entry)
    raise UnknownPlace("; ".join(_place(entry).name for entry in places[:3]))


def _results(document: object) -> list[dict[str, object]]:
    """The list of places. For an unknown name the service leaves it out, and tells its time alone."""
    fields = _object(document)
    results = fields.get("results", [] if "generationtime_ms" in fields else None)
    if not isinstance(results, list):
        raise FetchFailed("gave no usable data")
    return [_object(entry) for entry in results]


def _lies_in(entry: dict[str, object], region: str) -> bool:
    """A code such as CA is a country's and a region's: the service's order, by size, decides between them."""
    areas = {key: _plain(str(entry.get(key))) for key in ("country", "country_code", "admin1", "admin2")}
    code = REGION_CODES.get(areas["country_code"], {}).get(areas["admin1"], "")
    known = {*areas.values(), code}
    wanted = (_plain(part) for part in region.split(","))
    return all(part in known or _COUNTRY_CODES.get(part) in known for part in wanted if part)


def _plain(name: str) -> str:
    """``U.S.A.`` is USA, ``D.C.`` is DC."""
    return name.strip().casefold().replace(".", "")


def _place(entry: dict[str, object]) -> Place:
    parts = [entry.get(key) for key in ("name", "admin1", "country")]
    names = [shorten(part) for part in parts if isinstance(part, str) and part.strip()]
    if not names:
        raise FetchFailed("gave no usable data")
    return Place(
        ", ".join(dict.fromkeys(names)),
        _number(entry.get("latitude"), -90, 90),
        _number(entry.get("longitude"), -180, 180),
    )


def current_conditions(service: Service, place: Place, deadline: float) -> tuple[float, str]:
    """Temperature in °C and a few words for the weather, which may be empty."""
    query = {
        "latitude": str(place.latitude),
        "longitude": str(place.longitude),
        "current": "temperature_2m,weather_code",
    }
    current = _object(_object(service.ask("forecast", query, deadline)).get("current"))
    code = current.get("weather_code")
    # No place on Earth was ever outside these bounds: another number is not a temperature in °C.
    temperature = round(_number(current.get("temperature_2m"), -100, 70), 1) + 0.0
    return temperature, _WORDS.get(code, "") if isinstance(code, int) else ""


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise FetchFailed("gave no usable data")
    return value


def _number(value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise FetchFailed("gave no usable data")
    return float(value)
