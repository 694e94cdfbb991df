"""Time: the date and time now, here or in another time zone."""

from __future__ import annotations

import os
from datetime import datetime, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tools.schema import one_text
from tools.texts import error_text, is_nothing, one_line, unquote
from tools.zones import UnknownZone, find_zone

if TYPE_CHECKING:
    from langchain_core.tools import Tool

# Not strftime's, which depend on the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HERE = frozenset(
    {"now", "here", "local", "localtime", "local time", "current", "现在", "本地", "当前", "本地时间"}
)


def local_time(zone: str = "") -> str:
    """Now, for instance as ``2026-12-01 09:30:05 Tuesday, UTC+08:00, Asia/Shanghai``.

    ``zone`` is an IANA key, a large city or an offset such as ``UTC+8``; without one, or with any of the
    ways in which models write no argument, it is this computer's time. An unknown zone is a text that
    starts with ``Error: ``; nothing is raised.
    """
    name = one_line(unquote(zone))
    now = datetime.now(timezone.utc)
    if is_nothing(name) or name.lower() in _HERE:
        return _line(now.astimezone(), _local_name(now))
    try:
        there, key = find_zone(name)
    except UnknownZone as error:
        return error_text(str(error))
    return _line(now.astimezone(there), key)


def _line(moment: datetime, zone: str) -> str:
    offset = moment.strftime("%z")
    return f"{moment:%Y-%m-%d %H:%M:%S} {_WEEKDAYS[moment.weekday()]}, UTC{offset[:3]}:{offset[3:5]}, {zone}"


def _local_name(now: datetime) -> str:
    """The IANA key of this computer's zone where it can be told, otherwise what the system calls it."""
    here = now.astimezone()
    for candidate in (os.environ.get("TZ", "").lstrip(":"), _linked_zone()):
        zone = _zone_or_none(candidate)
        # A TZ that this system does not follow (Windows) would name another clock than the one shown.
        if zone is not None and now.astimezone(zone).utcoffset() == here.utcoffset():
            return candidate
    return one_line(here.tzname() or "local")


def _linked_zone() -> str:
    """What /etc/localtime is a link to, as an IANA key; empty where there is no such link."""
    _, found, key = os.path.realpath("/etc/localtime").replace(os.sep, "/").rpartition("zoneinfo/")
    return key.removeprefix("posix/") if found else ""


def _zone_or_none(key: str) -> tzinfo | None:
    try:
        return ZoneInfo(key) if key else None
    except (ValueError, OSError, KeyError):  # zoneinfo's ways to say that there is none
        return None


def time_tool() -> Tool:
    """The Time as a LangChain ``Tool``. Asking it twice makes sense, so it is marked repeatable."""
    from langchain_core.tools import Tool

    return Tool(
        name="Time",
        func=local_time,
        description=(
            "Tells the current date, time, weekday and time zone. "
            "Input: nothing for the local time, or a time zone, e.g. America/New_York."
        ),
        args_schema=one_text("zone", "e.g. America/New_York; empty for the local time", optional=True),
        metadata={"repeatable": True},
    )
