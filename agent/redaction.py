"""No secret leaves: what is taken out of every text that an error, a tool or a log brings in.

Five kinds are known by shape or by name: query values of URLs, the user part of URLs, authorization
headers, the keys of model services (sk-...), and the values of environment variables whose names say that
they are secret.
"""

from __future__ import annotations

import os
import re

MASK = "***"
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$|SECRET|PASSWORD")
SHORTEST_SECRET = 6  # masking a shorter value would eat ordinary words out of every text

_QUERY_VALUE = re.compile(r"([?&;][\w.\-\[\]%]+=)[^&;#\s'\"<>)]+")
_SECRET_QUERY_VALUE = re.compile(
    r"([?&;][\w.\-]{0,40}(?:key|token|secret|passw|pwd|appid|auth|sig|credential)[\w.\-]{0,40}=)[^&;#\s'\"<>)]+",
    re.IGNORECASE,
)
_URL_USER = re.compile(r"(://)[^/\s@'\"]+@")
_AUTH_HEADER = re.compile(
    r"((?:authorization|api-key)['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic|token)\s+)?[^\s'\",;}]+",
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
    for secret in _environment_secrets():
        text = text.replace(secret, MASK)
    text = query_value.sub(rf"\1{MASK}", text)
    text = _URL_USER.sub(rf"\1{MASK}@", text)
    text = _AUTH_HEADER.sub(rf"\1{MASK}", text)
    text = _SERVICE_KEY.sub(MASK, text)
    return _BEARER.sub(rf"\1{MASK}", text)


def _environment_secrets() -> list[str]:
    """Values of secret environment variables, longest first, so that none is masked in part."""
    values = {
        value.strip().strip("'\"") for name, value in os.environ.items() if _SECRET_NAME.search(name.upper())
    }
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
