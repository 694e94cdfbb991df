"""What a caller hands in, checked before anything is sent: each mistake is a SettingsError."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool

from agent.errors import SettingsError
from agent.limits import Limits, Price
from agent.redaction import shown
from agent.settings import Settings

if TYPE_CHECKING:
    from agent.trace import Trace


def check(what: str, given: object, kind: Any, takes: str, way_out: str = "") -> None:
    """Raise SettingsError for an argument of another kind; None stands for its default."""
    if given is not None and not isinstance(given, kind):
        raise SettingsError(f"{what} takes {takes}, not {shown(given)}{way_out}")


def list_of(what: str, given: Any, items: str) -> list[Any]:
    # A single tool can be iterated over, as every model of pydantic's; its fields are no tools.
    if isinstance(given, BaseTool) or not isinstance(given, Iterable):
        raise SettingsError(f"{what} takes a list of {items}, not {shown(given)}")
    return list(given)


def handlers_of(callbacks: Any) -> list[Any]:
    handlers = [] if callbacks is None else list_of("callbacks", callbacks, "LangChain callback handlers")
    for handler in handlers:
        check("callbacks", handler, BaseCallbackHandler, "a list of LangChain callback handlers")
    return handlers


def trace_to(path: object, folder: str) -> Trace | None:
    check("trace", path, str | os.PathLike, "the path of a file or folder")
    if path is None and not folder:
        return None
    from agent.trace import Trace  # most runs are not traced, and should not wait for it

    return Trace(os.path.join(folder, "") if path is None else path)  # type: ignore[arg-type]  # just checked


def tools_by_default() -> list[BaseTool]:
    try:
        from tools import default_tools
    except ImportError as error:  # a program may have a tools.py of its own
        raise SettingsError(
            f"the default tools cannot be imported, another module may have their name ({error}):"
            " rename it, or hand in tools=[...]"
        ) from error
    return list(default_tools())


def one_of(what: str, value: Any, known: Any) -> Any:
    if not isinstance(value, str) or value not in known:
        raise SettingsError(f"{what} is one of {', '.join(known)}, not {value!r}")
    return value


def price_of(name: str, settings: Settings, limits: Limits, budget: Limits | None) -> Price | None:
    price = settings.prices.get(name)
    capped = limits.max_cost_usd or (budget and budget.max_cost_usd)
    if capped and price is None:
        raise SettingsError(
            f"max_cost_usd needs a price for {name!r}: set AGENT_PRICES={name}=PROMPT/COMPLETION"
            " (US dollars per million tokens)"
        )
    return price
