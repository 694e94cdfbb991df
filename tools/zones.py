"""From the names that people and models give a place or an offset to a time zone.

The IANA database (https://www.iana.org/time-zones) answers for its own keys and for every city that ends
one of them; the table here adds large cities and countries that it lists under another city's name.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from tools.texts import shorten

_REGIONS = frozenset(
    (
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Europe",
        "Indian",
        "Pacific",
    )
)

# zone: names of places that keep its time
_PLACES = {
    "Asia/Shanghai": "beijing peking shanghai guangzhou shenzhen chengdu hangzhou wuhan nanjing tianjin "
    "suzhou xi'an xian qingdao chongqing kunming harbin lhasa china "
    "中国 北京 上海 广州 深圳 成都 杭州 武汉 南京 天津 苏州 西安 青岛 重庆 昆明 哈尔滨 拉萨",
    "Asia/Hong_Kong": "hkt 香港",
    "Asia/Macau": "macao 澳门",
    "Asia/Taipei": "台北 taiwan 台湾",
    "Asia/Tokyo": "jst osaka kyoto yokohama nagoya sapporo japan 东京 大阪 京都 横滨 名古屋 札幌 日本",
    "Asia/Seoul": "kst busan korea south_korea 首尔 釜山 韩国",
    "Asia/Singapore": "新加坡",
    "Asia/Bangkok": "thailand 曼谷 泰国",
    "Asia/Ho_Chi_Minh": "hanoi vietnam 河内 胡志明市 越南",
    "Asia/Kuala_Lumpur": "malaysia 吉隆坡 马来西亚",
    "Asia/Manila": "philippines 马尼拉 菲律宾",
    "Asia/Jakarta": "雅加达",
    "Asia/Kolkata": "mumbai bombay delhi new_delhi bangalore bengaluru chennai hyderabad pune india "
    "孟买 新德里 德里 班加罗尔 加尔各答 印度",
    "Asia/Karachi": "islamabad lahore pakistan 卡拉奇 伊斯兰堡 巴基斯坦",
    "Asia/Dubai": "abu_dhabi uae 迪拜 阿布扎比 阿联酋",
    "Asia/Riyadh": "jeddah mecca saudi_arabia 利雅得 沙特",
    "Asia/Tehran": "iran 德黑兰 伊朗",
    "Asia/Jerusalem": "israel 耶路撒冷 以色列",
    "Europe/Istanbul": "ankara turkey 伊斯坦布尔 安卡拉 土耳其",
    "Europe/London": "edinburgh manchester liverpool uk britain england united_kingdom 伦敦 英国",
    "Europe/Dublin": "ireland 都柏林 爱尔兰",
    "Europe/Paris": "lyon marseille france 巴黎 法国",
    "Europe/Berlin": "munich frankfurt hamburg cologne germany 柏林 慕尼黑 法兰克福 汉堡 德国",
    "Europe/Madrid": "barcelona spain 马德里 巴塞罗那 西班牙",
    "Europe/Rome": "milan naples turin florence italy 罗马 米兰 意大利",
    "Europe/Zurich": "geneva basel bern switzerland 苏黎世 日内瓦 瑞士",
    "Europe/Vienna": "austria 维也纳 奥地利",
    "Europe/Amsterdam": "rotterdam the_hague netherlands 阿姆斯特丹 荷兰",
    "Europe/Brussels": "antwerp belgium 布鲁塞尔 比利时",
    "Europe/Stockholm": "gothenburg sweden 斯德哥尔摩 瑞典",
    "Europe/Oslo": "bergen norway 奥斯陆 挪威",
    "Europe/Copenhagen": "denmark 哥本哈根 丹麦",
    "Europe/Helsinki": "finland 赫尔辛基 芬兰",
    "Europe/Moscow": "saint_petersburg st_petersburg 莫斯科 圣彼得堡",
    "Europe/Warsaw": "krakow poland 华沙 波兰",
    "Europe/Prague": "czechia 布拉格 捷克",
    "Europe/Athens": "greece 雅典 希腊",
    "Europe/Lisbon": "porto portugal 里斯本 葡萄牙",
    "Europe/Kiev": "kyiv ukraine 基辅 乌克兰",
    "Africa/Cairo": "alexandria egypt 开罗 埃及",
    "Africa/Johannesburg": "cape_town pretoria durban south_africa 约翰内斯堡 开普敦 南非",
    "Africa/Lagos": "abuja nigeria 拉各斯 尼日利亚",
    "Africa/Nairobi": "kenya 内罗毕 肯尼亚",
    "Africa/Casablanca": "rabat morocco 卡萨布兰卡 摩洛哥",
    "America/New_York": "nyc boston washington washington_dc washington,_d.c. philadelphia miami atlanta "
    "纽约 波士顿 华盛顿 费城 迈阿密 亚特兰大",
    "America/Chicago": "houston dallas austin san_antonio minneapolis new_orleans "
    "芝加哥 休斯顿 达拉斯 奥斯汀",
    "America/Denver": "salt_lake_city 丹佛",
    "America/Phoenix": "凤凰城",
    "America/Los_Angeles": "la san_francisco seattle san_diego las_vegas san_jose silicon_valley "
    "洛杉矶 旧金山 西雅图 圣地亚哥 拉斯维加斯 硅谷",
    "Pacific/Honolulu": "hawaii 檀香山 夏威夷",
    "America/Toronto": "ottawa montreal 多伦多 渥太华 蒙特利尔",
    "America/Vancouver": "温哥华",
    "America/Mexico_City": "墨西哥城",
    "America/Sao_Paulo": "rio_de_janeiro rio brasilia 圣保罗 里约热内卢 巴西利亚",
    "America/Argentina/Buenos_Aires": "argentina 布宜诺斯艾利斯 阿根廷",
    "America/Lima": "peru 利马 秘鲁",
    "Australia/Sydney": "canberra 悉尼 堪培拉",
    "Australia/Melbourne": "墨尔本",
    "Australia/Brisbane": "布里斯班",
    "Australia/Perth": "珀斯",
    "Pacific/Auckland": "wellington christchurch new_zealand 奥克兰 惠灵顿 新西兰",
    "UTC": "z zulu",
}

# Abbreviations that mean several zones, or only half of a year.
_AMBIGUOUS = {
    "cst": "Asia/Shanghai, America/Chicago or America/Havana",
    "cdt": "America/Chicago or America/Havana",
    "ist": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
    "bst": "Europe/London or Asia/Dhaka",
    "pst": "America/Los_Angeles or Asia/Manila",
    "ast": "America/Halifax or Asia/Riyadh",
    "sst": "Asia/Singapore or Pacific/Pago_Pago",
    "est": "America/New_York, America/Panama or Australia/Sydney",
    "edt": "America/New_York or America/Toronto",
    "mst": "America/Denver, America/Phoenix or Asia/Kuala_Lumpur",
    "mdt": "America/Denver or America/Edmonton",
    "pdt": "America/Los_Angeles or America/Vancouver",
}

_OFFSET = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_FURTHEST_WEST, _FURTHEST_EAST = timedelta(hours=-12), timedelta(hours=14)


class UnknownZone(Exception):
    """No time zone is meant by that name; the message says so in words for the model."""


def find_zone(name: str) -> tuple[tzinfo, str]:
    """The time zone that ``name`` means, and its name: an IANA key, or ``fixed offset``.

    ``name`` is a key in any case, a city, or an offset such as ``UTC+8``. Raises ``UnknownZone``.
    """
    wanted = _folded(name)
    if offset := _OFFSET.fullmatch(wanted.replace("_", "")):
        return _fixed(offset, name), "fixed offset"
    if wanted in _AMBIGUOUS:
        raise UnknownZone(f"{shorten(name)} can mean {_AMBIGUOUS[wanted]}; name one of these")
    key = _key(wanted)
    if key is None:
        raise UnknownZone(f"unknown time zone '{shorten(name)}', use e.g. Asia/Shanghai")
    return _load(key, name), key


def _key(wanted: str) -> str | None:
    """The IANA key of a name; ``Beijing time`` and ``Asia/Beijing`` mean Beijing."""
    known = _known_names()
    place = re.sub("(_time|市?时间|市)$", "", wanted)
    region, _, city = place.rpartition("/")
    return known.get(wanted) or known.get(place) or (known.get(city) if region.title() in _REGIONS else None)


def _folded(name: str) -> str:
    """``name`` as the tables spell it: half-width, lower case, an underscore for blanks."""
    return re.sub(r"\s+", "_", unicodedata.normalize("NFKC", name).strip().casefold().replace("−", "-"))


def _fixed(offset: re.Match[str], name: str) -> timezone:
    sign, hours, minutes = offset.groups(default="0")
    span = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    if int(minutes) > 59 or not _FURTHEST_WEST <= span <= _FURTHEST_EAST:
        raise UnknownZone(f"'{shorten(name)}' is no offset of any clock; use one from UTC-12:00 to UTC+14:00")
    return timezone(span)


@lru_cache(maxsize=1)
def _known_names() -> dict[str, str]:
    """Every accepted name and its IANA key. Only keys of the database are ever opened as files."""
    keys = sorted(available_timezones() - {"Factory", "localtime"}, key=lambda key: (-len(key), key))
    cities = {key.rpartition("/")[2].casefold(): key for key in keys if key.split("/")[0] in _REGIONS}
    places = {place: zone for zone, names in _PLACES.items() for place in names.split()}
    return {**cities, **places, **{key.casefold(): key for key in keys}}


def _load(key: str, name: str) -> ZoneInfo:
    try:
        return ZoneInfo(key)
    except (ValueError, OSError, KeyError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise UnknownZone(f"unknown time zone '{shorten(name)}', use e.g. Asia/Shanghai") from error
