"""The Time always tells date, time, weekday, offset and zone; an unknown zone is a text with a way out."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.clock import local_time, time_tool
from tools.texts import ERROR_PREFIX

LINE = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<day>[MTWFS][a-z]+day), "
    r"UTC(?P<offset>[+-]\d\d:\d\d), (?P<zone>\S.*)"
)


def read(text: str) -> tuple[datetime, str]:
    """The moment that a line tells and its zone; fails unless every part of the line is there and right."""
    match = LINE.fullmatch(text)
    assert match, text
    moment = datetime.fromisoformat(match["moment"].replace(" ", "T") + match["offset"])
    assert match["day"] == ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"][moment.weekday()] + "day"
    return moment, match["zone"]


def assert_now_in(text: str, zone: str) -> None:
    moment, named = read(text)
    assert named == zone
    assert abs(datetime.now(timezone.utc) - moment) < timedelta(seconds=5)
    assert moment.utcoffset() == datetime.now(ZoneInfo(zone)).utcoffset()


@pytest.mark.parametrize(
    "nothing",
    ["", "  ", "{}", "[]", "()", "None", "null", "NULL", '""', "''", "now", "Local", "现在", "'{}'"],
)
def test_every_spelling_of_no_argument_is_local_time(nothing: str) -> None:
    moment, _ = read(local_time(nothing))
    assert abs(datetime.now(timezone.utc) - moment) < timedelta(seconds=5)
    assert moment.utcoffset() == datetime.now().astimezone().utcoffset()


def test_no_argument_at_all_is_local_time() -> None:
    assert read(local_time())[1] == read(local_time(""))[1]


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Asia/Shanghai", "Asia/Shanghai"),
        ("asia/shanghai", "Asia/Shanghai"),
        (" 'ASIA/SHANGHAI'\n", "Asia/Shanghai"),
        ("Asia/Beijing", "Asia/Shanghai"),
        ("beijing", "Asia/Shanghai"),
        ("Beijing time", "Asia/Shanghai"),
        ("北京", "Asia/Shanghai"),
        ("北京市", "Asia/Shanghai"),
        ("北京时间", "Asia/Shanghai"),
        ("new york", "America/New_York"),
        ("New_York", "America/New_York"),
        ("纽约", "America/New_York"),
        ("San  Francisco", "America/Los_Angeles"),
        ("mumbai", "Asia/Kolkata"),
        ("Katmandu", "Asia/Katmandu"),
        ("JST", "Asia/Tokyo"),
        ("utc", "UTC"),
        ("Z", "UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
    ],
)
def test_a_zone_is_found_by_key_or_by_city(name: str, zone: str) -> None:
    assert_now_in(local_time(name), zone)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC+8", 8.0),
        ("utc +8", 8.0),
        ("UTC+08:00", 8.0),
        ("GMT+5:30", 5.5),
        ("+0530", 5.5),
        ("UTC-3", -3.0),
        ("UTC−3", -3.0),
        ("UTC-3:30", -3.5),
        ("ＵＴＣ＋８", 8.0),
        ("UTC+14", 14.0),
        ("UTC-12", -12.0),
        ("UTC+0", 0.0),
    ],
)
def test_an_offset_is_a_zone(name: str, hours: float) -> None:
    moment, zone = read(local_time(name))
    assert zone == "fixed offset"
    assert moment.utcoffset() == timedelta(hours=hours)
    assert abs(datetime.now(timezone.utc) - moment) < timedelta(seconds=5)


@pytest.mark.parametrize("name", ["UTC+15", "UTC-13", "UTC+25", "UTC+8:75", "UTC+99:99", "+14:01"])
def test_an_offset_that_no_clock_has_is_refused(name: str) -> None:
    text = local_time(name)
    assert text.startswith(ERROR_PREFIX)
    assert "UTC-12:00 to UTC+14:00" in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [("CST", "Asia/Shanghai"), ("cst", "America/Chicago"), ("IST", "Asia/Kolkata"), ("BST", "Europe/London")],
)
def test_an_abbreviation_of_several_zones_asks_which_is_meant(name: str, meant: str) -> None:
    text = local_time(name)
    assert text.startswith(ERROR_PREFIX)
    assert meant in text


@pytest.mark.parametrize(
    "name",
    [
        "../etc/passwd",
        "/etc/passwd",
        "..\\..\\windows",
        "Asia/../../etc/passwd",
        "C:\\Windows",
        "Asia",
        "Asia/",
        "/",
        ".",
        "..",
        "a\x00b",
        "\ud800",
        "Mars",
        "Factory",
        "zone.tab",
        "__init__.py",
        "x" * 5000,
        "UTC+",
        "UTC+eight",
        "UTC+٨",
        "8",
        "[[]]",
        '{"zone": 1}',
        "<script>",
    ],
)
def test_an_unknown_zone_is_one_short_line_with_an_example(name: str) -> None:
    text = local_time(name)
    assert text.startswith(f"{ERROR_PREFIX}unknown time zone")
    assert "use e.g. Asia/Shanghai" in text
    assert len(text) < 150
    assert "\n" not in text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_the_time_or_an_error(name: str) -> None:
    text = local_time(name)
    assert text.startswith(ERROR_PREFIX) or LINE.fullmatch(text)


def test_every_zone_and_every_place_of_the_table_tells_the_time() -> None:
    from tools.zones import _PLACES

    names = [*available_timezones() - {"Factory", "localtime"}]
    names += [place for places in _PLACES.values() for place in places.split()]
    refused = {name for name in names if local_time(name).startswith(ERROR_PREFIX)}
    assert refused == {"EST", "MST"} & set(names), "these two are keys, and mean several zones"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="TZ is followed on POSIX alone")
@pytest.mark.parametrize(
    ("setting", "zone"), [("Asia/Kathmandu", "Asia/Kathmandu"), (":Asia/Kathmandu", "Asia/Kathmandu")]
)
def test_local_time_follows_tz(monkeypatch: pytest.MonkeyPatch, setting: str, zone: str) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", setting)
        time.tzset()
        text = local_time("")
    time.tzset()
    assert_now_in(text, zone)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="TZ is followed on POSIX alone")
def test_a_tz_that_is_no_key_still_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XYZ-7:45")
        time.tzset()
        text = local_time("")
    time.tzset()
    moment, zone = read(text)
    assert moment.utcoffset() == timedelta(hours=7, minutes=45)
    assert zone == "XYZ"


def test_zones_are_found_without_the_systems_database() -> None:
    """As on Windows: the interpreter starts with an empty search path, only the tzdata package is left."""
    program = "from tools.clock import local_time; print(local_time('Asia/Kathmandu'))"
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        env=_environment_without_system_zones(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert_now_in(run.stdout.strip(), "Asia/Kathmandu")


def _environment_without_system_zones() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONTZPATH": "", "PYTHONPATH": os.pathsep.join(sys.path)}


def test_the_tool_is_repeatable_and_takes_text() -> None:
    tool = time_tool()
    assert tool.name == "Time"
    assert tool.metadata == {"repeatable": True}
    assert read(tool.run("UTC+8"))[0].utcoffset() == timedelta(hours=8)
    assert read(tool.run(""))
