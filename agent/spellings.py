"""The same secret in other spellings: percent- or backslash-encoded, as an HTML entity, inside base64.

A library quotes a key as it has it at hand: in a URL, in JSON, in the repr of bytes, in a Basic auth
header. Each is found, in any mixture and up to two layers of backslashes, in time that is linear in the text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import codepoint2name

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")  # what no encoding changes (RFC 3986, section 2.3)
_BLANKS = r"(?:\s|\+|\\{1,4}[nrt]|(?i:%(?:25)*(?:0a|0d|09|20))|\\{1,4}u00(?:0[aAdD9]|20)){1,8}"

Finder = tuple[str, re.Pattern[str]]
"""A piece without which a text cannot hold the secret, quick to look for; and what finds it."""


def mask(text: str, secrets: Sequence[str], by: str) -> str:
    """Replace each of ``secrets``, which are not empty, in any of its spellings."""
    for secret in secrets:
        for piece, pattern in _finders(secret):
            if piece in text:
                text = pattern.sub(by, text)
    return text


@lru_cache(maxsize=1024)
def _finders(secret: str) -> tuple[Finder, ...]:
    return (_in_words(secret), *_in_base64(secret))


def _in_words(secret: str) -> Finder:
    pieces = _PLAIN.findall(secret)
    parts = re.split(r"(\s+)", secret)
    pattern = "".join(_BLANKS if part.isspace() else "".join(map(_spelled, part)) for part in parts)
    # What is all digits or all letters may be part of a longer number or word, and is no secret there.
    kin = r"\d" if secret.isdecimal() else r"[^\W\d_]" if secret.isalpha() else ""
    pattern = f"(?<!{kin}){pattern}(?!{kin})" if kin else pattern
    return max(pieces, key=len, default=""), re.compile(pattern)


def _spelled(char: str) -> str:
    """A pattern for one character that is no blank, in all of its spellings."""
    if _PLAIN.fullmatch(char):
        return re.escape(char)
    code, data = ord(char), char.encode("utf-8", errors="surrogateescape")
    units = char.encode("utf-16-be", errors="surrogatepass").hex()
    in_units = "".join(rf"\\{{1,4}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    in_bytes = "".join(rf"\\{{1,4}}x{byte:02x}" for byte in data)
    percent = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in data)
    entity = rf"&(?:{codepoint2name.get(code, 'apos')}|#0{{0,4}}{code}|#x0{{0,4}}{code:x});"
    coded = [
        percent,
        in_units,
        in_bytes,
        rf"\\{{1,4}}u{{?0{{0,4}}{code:x}}}?",
        rf"\\{{1,4}}x{code:02x}",
        entity,
    ]
    plain = r"\\{1,4}" if char == "\\" else rf"\\{{0,4}}{re.escape(char)}"
    return rf"(?:{plain}|(?i:{'|'.join(coded)}))"


def _in_base64(secret: str) -> Iterator[Finder]:
    """``secret`` behind 0, 1 or 2 unknown bytes, as base64 has it: but for the characters that it shares
    with what stands before and after it."""
    data = secret.encode("utf-8", errors="surrogateescape")
    for before in range(3):
        whole = (before + len(data)) // 3 * 3
        coded = base64.b64encode((b"\0" * before + data)[:whole]).decode("ascii")
        inner = coded[(0, 2, 3)[before] :]
        piece = max(re.findall(r"[A-Za-z0-9]+", inner), key=len, default="")
        spelled = re.escape(inner).replace(r"\+", "[+-]").replace("/", "[/_]")
        yield piece, re.compile(spelled)
