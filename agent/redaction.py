"""No secret leaves: what is taken out of every text that an error, a tool or a service brings in.

Known by their shape: query values of URLs, the user part of URLs, authorization headers, the keys of model
services (sk-...). Known by their place, and looked up at each use: the values of environment variables whose
names say that they are secret, and the passwords and keys in the URLs of any variable. Those are found however
a text spells them; see ``agent.spellings``. A secret that is only an argument, or that has been cut in two, is
not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

from agent.spellings import mask

MASK = "***"
SHORTEST_SECRET = 6  # masking a shorter value would eat ordinary words out of every text
SHORTEST_PART = 16  # of a line of a secret, or of a user without a password: short ones are words and names
# What people write into MAPS_KEY and its like to say that there is none, or where it is to come from.
NO_SECRETS = frozenset(
    "changeme default disabled enabled optional password private public required secret undefined".split()
)

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$|SECRET|PASSWORD")
_QUERY_VALUE = re.compile(r"([?&;][\w.\-\[\]%]+=)[^&;#\s'\"<>)]+")
_SECRET_QUERY_VALUE = re.compile(
    r"((?:[?&;]|\\u0026)[\w.\-]{0,40}(?:key|token|secret|passw|pwd|appid|auth|sig|credential)[\w.\-]{0,40}=)"
    r"([^&;#\s'\"<>)\\]+)",
    re.IGNORECASE,
)
_URL_USER = re.compile(r"(://)([^/\s'\"]+)@")
_AUTH_HEADER = re.compile(
    r"((?:authorization|api-key)\\{0,4}['\"]?\s*[:=,]\s*b?\\{0,4}['\"]?)"
    r"(?:(?:bearer|basic|token|digest|negotiate)\s+)?[^\s'\",;}\\]+",
    re.IGNORECASE,
)
# Keys of model services, wherever they come from; a word like sk-learn has no digit.
_SERVICE_KEY = re.compile(r"\bsk-(?=[\w\-]{0,80}\d)[\w\-]{8,}")
_BEARER = re.compile(r"\b(bearer\s+)[\w.\-+/=~]{6,}", re.IGNORECASE)


def redact(text: str) -> str:
    """Return ``text`` with every known secret replaced by ``***``."""
    return _redact(text, _QUERY_VALUE)


def redact_output(text: str) -> str:
    """Like redact, for what a tool returned as its result.

    A search result is full of URLs whose query values are data, so only those go whose names say secret.
    """
    return _redact(text, _SECRET_QUERY_VALUE)


def _redact(text: str, query_value: re.Pattern[str]) -> str:
    text = mask(text, _environment_secrets(), MASK)
    text = query_value.sub(rf"\1{MASK}", text)
    text = _URL_USER.sub(rf"\1{MASK}@", text)
    text = _AUTH_HEADER.sub(rf"\1{MASK}", text)
    text = _SERVICE_KEY.sub(MASK, text)
    return _BEARER.sub(rf"\1{MASK}", text)


def _environment_secrets() -> list[str]:
    """The secrets of the environment as it is now, longest first, so that none is masked in part."""
    found: set[str] = set()
    for name in list(os.environ):  # other threads may set and remove variables meanwhile
        value = os.environ.get(name, "")
        if _SECRET_NAME.search(name.upper()):
            found.update(_parts(value.strip().strip("'\"").strip()))
        if "://" in value:
            found.update(_in_urls(value))
    known = (value for value in found if len(value) >= SHORTEST_SECRET and value.lower() not in NO_SECRETS)
    return sorted(known, key=len, reverse=True)


def _parts(value: str) -> Iterator[str]:
    """A value as a whole, and the lines of one that has several: a message may quote but one of them."""
    yield value
    lines = value.split("\n")
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= SHORTEST_PART)


def _in_urls(value: str) -> Iterator[str]:
    """Passwords and keys in the URLs of a value, as they are sent."""
    for _, user_part in _URL_USER.findall(value):
        user, colon, password = user_part.partition(":")
        if colon or len(user) >= SHORTEST_PART:  # a token may stand in the place of a user
            yield unquote(password if colon else user)
    yield from (unquote(secret) for _, secret in _SECRET_QUERY_VALUE.findall(value))
