"""Settings from the environment and from .env in the working folder; the environment wins over .env.

The command line wins over both: it passes its values on as arguments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from agent.errors import SettingsError
from agent.limits import Price

Switch = Literal["auto", "on", "off"]

DEFAULT_SERVICE_MODEL = "gpt-4o"


@dataclass(frozen=True)
class Settings:
    """What the environment says. Seconds end in _s; an empty text means: not set."""

    api_key: str = field(repr=False)
    base_url: str = field(repr=False)  # it may have a user part
    model: str
    max_tokens: int
    model_timeout_s: float
    grammar: Switch
    examples: Switch
    prices: dict[str, Price]
    local_model_path: str
    trace_dir: str


def load_settings() -> Settings:
    """Read the environment and .env. Raises SettingsError naming the variable that cannot be read."""
    load_env_file()
    return Settings(
        api_key=_text("OPENAI_API_KEY"),
        base_url=service_url(_text("OPENAI_BASE_URL") or _text("OPENAI_API_BASE")),
        model=_text("AGENT_MODEL"),
        max_tokens=int(_number("AGENT_MAX_TOKENS", 512, whole=True)),
        model_timeout_s=_number("AGENT_MODEL_TIMEOUT_S", 60),
        grammar=_switch("AGENT_GRAMMAR"),
        examples=_switch("AGENT_EXAMPLES"),
        prices=_prices(_text("AGENT_PRICES")),
        local_model_path=_text("LOCAL_MODEL_PATH"),
        trace_dir=_text("AGENT_TRACE_DIR"),
    )


def load_env_file(path: Path | None = None) -> None:
    """Put the variables of .env into the environment, where they are not set yet (tools read it too)."""
    path = path or Path(".env")
    if not path.exists():
        return  # most folders have none, and importing its reader would delay the missing key's sentence
    from dotenv import load_dotenv

    try:
        load_dotenv(path, override=False, encoding="utf-8", interpolate=False)
    except (OSError, ValueError):
        raise SettingsError(f"{path} cannot be read as UTF-8 text: save it as UTF-8 or remove it") from None


def service_url(url: str) -> str:
    """Return a service's base URL as the client wants it: no trailing slash, ``/v1`` where no path is given.

    Raises SettingsError for something that is no http(s) URL.
    """
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, a port that is no number
        is_one = False
    if not is_one:
        raise SettingsError("the base URL must look like https://host/v1 (OPENAI_BASE_URL or --base-url)")
    return url.rstrip("/") if parts.path.strip("/") else url.rstrip("/") + "/v1"


def _text(name: str) -> str:
    """A pasted key often brings a newline or quotes along; an HTTP header cannot carry them."""
    return os.environ.get(name, "").strip().strip("'\"").strip()


def _number(name: str, default: float, *, whole: bool = False) -> float:
    text = _text(name)
    if not text:
        return default
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise SettingsError(f"{name} must be a {'whole ' if whole else ''}number above 0, not {text!r}")
    return value


def _switch(name: str) -> Switch:
    text = _text(name).lower() or "auto"
    if text not in get_args(Switch):
        raise SettingsError(f"{name} must be auto, on or off, not {text!r}")
    return cast(Switch, text)


def _prices(text: str) -> dict[str, Price]:
    """``gpt-4o=2.5/10, other=0.1/0.4``: US dollars per million prompt / completion tokens."""
    prices = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        try:
            name, amounts = entry.split("=")
            prompt, completion = (float(amount) for amount in amounts.split("/"))
            if not name.strip() or not all(0 <= amount < float("inf") for amount in (prompt, completion)):
                raise ValueError
        except ValueError:
            raise SettingsError(
                f"AGENT_PRICES: cannot read {entry!r}; write model=prompt/completion in dollars per million"
                " tokens, for example gpt-4o=2.5/10"
            ) from None
        prices[name.strip()] = Price(prompt, completion)
    return prices
