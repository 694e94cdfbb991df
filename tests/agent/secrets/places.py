"""Where a secret lies, how a tool or a service then quotes it, and how to find it in a text again."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

CANARY = "canary7f3a9b4c"  # in one piece in every spelling, but for base64
ODD = f'+/="\\ü {CANARY}'
LINES = f"-----BEGIN KEY-----\n{CANARY}Zm9vYmFyYmF6\nMIIBVgIBADANBgkqhki{CANARY}\n-----END KEY-----"
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")


@dataclass(frozen=True)
class Place:
    """One place. ``{address}`` in the environment is that of the model service, host and port."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    quoted: tuple[str, ...] = (f"refused for {CANARY}.",)
    in_env_file: bool = False
    set_late: bool = False  # by the tool itself, long after everything has been imported and made


def _named(name: str) -> Place:
    return Place(name, {name: CANARY})


PLACES = (
    Place("OPENAI_API_KEY", {"OPENAI_API_KEY": CANARY}),
    Place("OPENAI_API_KEY and a newline", {"OPENAI_API_KEY": f" '{CANARY}'\n"}),
    Place("user part of OPENAI_BASE_URL", {"OPENAI_BASE_URL": f"http://user:{CANARY}@{{address}}/v1"}),
    Place("password of a proxy", {"HTTPS_PROXY": f"http://user:{CANARY}@127.0.0.1:9"}),
    Place("password of a database", {"DATABASE_URL": f"postgresql://me:{CANARY}@db.test/x"}),
    _named("WEATHER_API_KEY"),
    _named("maps_key"),
    _named("Hub_Token"),
    _named("APP_SECRET"),
    _named("DB_PASSWORD"),
    Place("a variable of several lines", {"SSH_KEY": LINES}, (LINES, repr(LINES), *LINES.split("\n")[1:3])),
    Place(
        "a value that is written in escapes",
        {"ODD_KEY": ODD},
        (
            *(ODD, quote(ODD), quote_plus(ODD), quote(ODD, safe=""), quote(quote(ODD))),
            *(json.dumps(ODD), json.dumps(json.dumps(ODD)), json.dumps(ODD).replace("/", r"\/")),
            *(
                json.dumps(ODD, ensure_ascii=False),
                repr(ODD),
                ascii(ODD),
                repr(ODD.encode()),
                html.escape(ODD),
            ),
        ),
    ),
    Place(
        "base64 of user:secret",
        {"BASIC_TOKEN": CANARY},
        tuple(base64.b64encode(f"{user}:{CANARY}".encode()).decode() for user in ("a", "me", "you", "user")),
    ),
    Place("query of a URL", quoted=(f"GET https://h.test/x?q=1&appid={CANARY} failed",)),
    Place("user part of a URL", quoted=(f"https://me:{CANARY}@h.test/x is away", f"ftp://{CANARY}@h.test")),
    Place(
        "an authorization header",
        quoted=(
            f"Authorization: Bearer {CANARY}",
            f"{{'Authorization': 'Basic {CANARY}', 'X-Api-Key': '{CANARY}'}}",
            f"[(b'authorization', b'Basic {CANARY}')]",
            json.dumps(json.dumps({"Proxy-Authorization": f"Basic {CANARY}"})),
        ),
    ),
    Place("the key of a model service", quoted=(f"Incorrect API key provided: sk-{CANARY}.",)),
    Place(".env", {"FILE_TOKEN": CANARY}, in_env_file=True),
    Place("set after everything was made", {"LATE_KEY": CANARY}, set_late=True),
)


def holds_canary(text: str) -> bool:
    """Whether the canary can be read in a text, also out of base64."""
    return CANARY in text or any(map(_decodes_to_canary, _BASE64.findall(text)))


def _decodes_to_canary(run: str) -> bool:
    plain = run.replace("-", "+").replace("_", "/")
    starts = (plain[at:] for at in range(4))
    return any(CANARY.encode() in _decoded(start + "A" * (-len(start) % 4)) for start in starts)


def _decoded(run: str) -> bytes:
    try:
        return base64.b64decode(run)
    except (binascii.Error, ValueError):
        return b""
