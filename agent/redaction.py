"""No secret leaves: what is taken out of every text that an error, a tool or a service brings in.

Known by their shape: query values of URLs, the user part of URLs, authorization headers, the keys of model
services (sk-...). Known by their place, and looked up at each use: the values of environment variables
whose names say that they are secret, and the passwords and keys in the URLs of any variable. A value is found
however a text spells it: percent- or backslash-encoded, as an HTML entity, inside base64. What is never found
is a secret that was only ever an argument, or that has been cut in two. All of it is linear in the text.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from html.entities import codepoint2name
from itertools import islice
from urllib.parse import unquote

MASK = "***"
SHOWN_CHARS = 80
SHORTEST_SECRET = 6  # masking a shorter value would eat ordinary words out of every text
SHORTEST_PART = 16  # of a line of a secret, or of a user without a password: short ones are words and names
SHORTEST_EDGE = 512  # looked at beside a cut where no secret is longer: some lines of any text
LONGEST_SPELLING = 104  # of a blank, as _BLANKS has it: eight times eight backslashes and u000a
# What people write into MAPS_KEY and its like to say that there is none, or where it will come from.
NO_SECRETS = {"changeme", "default", "disabled", "enabled", "optional", "password"}
NO_SECRETS |= {"private", "public", "required", "secret", "undefined"}

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$|SECRET|PASSWORD")
_QUERY_VALUE = re.compile(r"([?&;][\w.\-\[\]%]+=)[^&;#\s'\"<>)]+")
_SECRET_QUERY_VALUE = re.compile(
    r"((?:[?&;]|\\u0026)[\w.\-]{0,40}(?:key|token|secret|passw|pwd|appid|auth|sig|credential)[\w.\-]{0,40}=)"
    r"([^&;#\s'\"<>)\]\\]+)",
    re.IGNORECASE,
)
_URL_USER = re.compile(r"(://)([^/\s'\"]+)@")
_AUTH_HEADER = re.compile(
    r"((?:authorization|api-key)\\{0,7}['\"]?\s*[:=,]\s*(?:b?\\{0,7}['\"])?)"
    r"(?:(?:bearer|basic|token|digest|negotiate)\s+)?[^\s'\",;}\]\\]+",
    re.IGNORECASE,
)
# Keys of model services, wherever they come from; a word like sk-learn has no digit.
_SERVICE_KEY = re.compile(r"\bsk-(?=[\w\-]{0,80}\d)[\w\-]{8,}")
_BEARER = re.compile(r"\b(bearer\s+)[\w.\-+/=~]{6,}", re.IGNORECASE)

# What each shape is masked with; and small letters of which a text holds some wherever it has that shape:
# looking for them takes a fraction of what the pattern does.
_SHAPES = (
    (("://",), _URL_USER, rf"\1{MASK}@"),
    (("author", "-key"), _AUTH_HEADER, rf"\1{MASK}"),
    (("sk-",), _SERVICE_KEY, MASK),
    (("bearer",), _BEARER, rf"\1{MASK}"),
)

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")  # what no encoding changes (RFC 3986, section 2.3)
_BLANKS = r"(?:\s|\+|\\{1,8}[nrt]|(?i:%(?:25){0,4}(?:0a|0d|09|20))|\\{1,8}u00(?:0[aAdD9]|20)){1,8}"

# What ends a key, a token or a user part, and how many of them are more than any shape has within.
_PAUSE = re.compile(r"[\s'\"\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]+")
_PAUSES = 8

Finder = tuple[str, re.Pattern[str]]
"""A piece without which a text cannot hold the secret, quick to look for; and what finds the secret."""


def redact(text: str) -> str:
    """Return ``text`` with every known secret replaced by ``***``."""
    return _redact(text, _QUERY_VALUE)


def redact_output(text: str) -> str:
    """Like redact, for what a tool returned as its result.

    A search result is full of URLs whose query values are data, so only those go whose names say secret.
    """
    return _redact(text, _SECRET_QUERY_VALUE)


def clean_ends(text: str, shown: int, clean: Callable[[str], str]) -> tuple[str, str] | None:
    """Both ends of a long text, cleaned by redact or redact_output: ``shown`` characters of each, or more.

    Blanks at its very end are left out.
    They are as clean as if all of it had been read, however long it is. None where less cannot be read: the
    text is short, there is too little left of an end without its secrets, or something goes on for so long
    that it may be a secret which began, or ends, where nobody looked.
    """
    edge = _edge(_environment_secrets())
    reach = 2 * (shown + edge)
    while 2 * reach <= len(text):
        if _pauses(text[reach - edge : reach]) and _pauses(text[-reach : edge - reach]):
            # A mask may be twice as long as what it stands for: of a clean text two edges are none too many.
            head, tail = clean(text[:reach])[: -2 * edge], clean(text[-reach:])[2 * edge :].rstrip()
            if min(len(head), len(tail)) >= shown:
                return head, tail
        reach *= 4
    return None


def _pauses(text: str) -> bool:
    """Whether whatever shape lies across one end of a text is over before the other."""
    return sum(1 for _ in islice(_PAUSE.finditer(text), _PAUSES)) == _PAUSES


def shown(value: object) -> str:
    """How a value begins, for a sentence that quotes it; cut only when the secrets are out of it."""
    return redact(repr(value))[:SHOWN_CHARS]


def _redact(text: str, query_value: re.Pattern[str]) -> str:
    if len(text) < SHORTEST_SECRET:
        return text
    for secret in _environment_secrets():
        for piece, pattern in _finders(secret):
            if piece in text:
                text = pattern.sub(MASK, text)
    lowered = text.lower()
    for pieces, pattern, masked in ((("=",), query_value, rf"\1{MASK}"), *_SHAPES):
        if any(piece in lowered for piece in pieces):
            text = pattern.sub(masked, text)
    return text


# --- which values are secret -------------------------------------------------------------------------


def _environment_secrets() -> tuple[str, ...]:
    """The secrets of the environment as it is now, longest first, so that none is masked in part."""
    # What lies under it, at one go: to ask for each variable takes longer than all else that is done for a
    # short text, and other threads may set and remove variables meanwhile.
    return _secrets_among(tuple(os.environ._data.items()))  # type: ignore[attr-defined]  # no public way


@lru_cache(maxsize=8)
def _secrets_among(variables: tuple[tuple[str | bytes, str | bytes], ...]) -> tuple[str, ...]:
    found: set[str] = set()
    for name, value in (map(os.fsdecode, variable) for variable in variables):
        if _SECRET_NAME.search(name.upper()):
            found.update(_parts(value.strip().strip("'\"").strip()))
        if "://" in value:
            found.update(_in_urls(value))
    known = (value for value in found if len(value) >= SHORTEST_SECRET and value.lower() not in NO_SECRETS)
    return tuple(sorted(known, key=len, reverse=True))


def _parts(value: str) -> Iterator[str]:
    """A value as a whole, and the lines of one that has several: a message may quote but one of them."""
    yield value
    lines = [line.strip() for line in value.split("\n")]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORTEST_PART)


def _in_urls(value: str) -> Iterator[str]:
    """Passwords and keys in the URLs of a value, as they are sent."""
    for _, user_part in _URL_USER.findall(value):
        user, colon, password = user_part.partition(":")
        if colon or len(user) >= SHORTEST_PART:  # a token may stand in the place of a user
            yield unquote(password if colon else user)
    yield from (unquote(secret) for _, secret in _SECRET_QUERY_VALUE.findall(value))


@lru_cache(maxsize=8)
def _edge(secrets: tuple[str, ...]) -> int:
    """Characters beside a cut that may belong to a secret which has been cut in two."""
    spelled = (len(secret) + LONGEST_SPELLING * len(_PLAIN.sub("", secret)) for secret in secrets)
    return max(spelled, default=0) + SHORTEST_EDGE


# --- how a value may be spelled ----------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _finders(secret: str) -> tuple[Finder, ...]:
    return (_in_words(secret), *_in_base64(secret))


def _in_words(secret: str) -> Finder:
    # Alike characters in a row are one part: a pattern for each could be matched in endlessly many ways.
    parts = re.findall(r"\s+|\\+|[^\s\\]", secret)
    pattern = "".join(_BLANKS if part.isspace() else _spelled(part) for part in parts)
    # What is all digits or all letters may be part of a longer number or word, and is no secret there.
    kin = r"\d" if secret.isdecimal() else r"[^\W\d_]" if secret.isalpha() else ""
    pattern = f"(?<!{kin}){pattern}(?!{kin})" if kin else pattern
    return max(_PLAIN.findall(secret), key=len, default=""), re.compile(pattern)


def _spelled(part: str) -> str:
    """A pattern for a character, or for backslashes in a row, under up to three layers of backslashes."""
    char = part[0]
    if _PLAIN.fullmatch(char):
        return re.escape(char)
    code, data = ord(char), char.encode("utf-8", errors="surrogateescape")
    units = re.findall("....", char.encode("utf-16-be", errors="surrogatepass").hex())
    coded = (
        "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in data),
        "".join(rf"\\{{1,8}}u{unit}" for unit in units),
        "".join(rf"\\{{1,8}}x{byte:02x}" for byte in data),
        rf"\\{{1,8}}[ux]0{{0,4}}{code:x}",
        rf"&(?:{codepoint2name.get(code, 'apos')}|#0{{0,4}}{code}|#x0{{0,4}}{code:x});",
    )
    if char == "\\":
        return rf"(?:\\{{1,{8 * len(part)}}}|(?:(?i:{'|'.join(coded)})){{{len(part)}}})"
    return rf"(?:\\{{0,7}}{re.escape(char)}|(?i:{'|'.join(coded)}))"


def _in_base64(secret: str) -> Iterator[Finder]:
    """The secret behind 0, 1 or 2 unknown bytes; without the characters that it shares with others."""
    data = secret.encode("utf-8", errors="surrogateescape")
    for before in range(3):
        whole = (before + len(data)) // 3 * 3
        coded = base64.b64encode((b"\0" * before + data)[:whole]).decode("ascii")[(0, 2, 3)[before] :]
        piece = max(re.findall(r"[A-Za-z0-9]+", coded), key=len, default="")
        yield piece, re.compile(re.escape(coded).replace(r"\+", "[+-]").replace("/", "[/_]"))
