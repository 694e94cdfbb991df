"""What an exception of a model's client means: ask again, ask without a parameter, or give up and say why.

Works on the shape of the exception (a status code, a response, the name of its class), not on its
type alone, so that any LangChain chat model is understood, not only OpenAI's.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
import traceback
from collections.abc import Mapping

from langchain_core.messages import AIMessage
from langchain_core.pydantic_v1 import ValidationError

from agent.observing import describe, to_text, words_of
from agent.redaction import redact
from prompts import Say

BUSY = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
REFUSABLE = ("stop", "temperature", "grammar", "max_tokens")

_TOO_LONG = re.compile(r"context[ _](?:length|size|window)|maximum context|prompt is too long", re.IGNORECASE)
_REFUSES = re.compile(
    r"un(?:supported|recogni[sz]ed|known|expected)|not (?:supported|permitted|allowed|recogni[sz]ed)"
    r"|(?:cannot|failed to) parse",
    re.IGNORECASE,
)
# How services say that they, or their model, have no native tool calls.
_NO_TOOLS = re.compile(r"\btools?\b.{0,80}(?:support|require)|support.{0,80}\btools?\b", re.IGNORECASE)
_HTML = re.compile(r"\s*<(?:!doctype html|html|head|body|title|h1)\b", re.IGNORECASE)
_QUOTED_CHARS = 100  # of a body that cannot be used
_READ_CHARS = 2000  # enough to find the secrets in what is quoted
# Packages that ask services. What none of them raised comes from the code of a model of the caller's own.
_CLIENTS = {
    "aiohttp",
    "anthropic",
    "botocore",
    "cohere",
    "google",
    "groq",
    "h11",
    "http",
    "httpcore",
    "httpx",
}
_CLIENTS |= {"langchain_openai", "mistralai", "ollama", "openai", "requests", "urllib", "urllib3"}
_CONNECTION = re.compile(r"Connect|Timeout|RemoteProtocol|ReadError|WriteError|NetworkError")
_SENTENCES = {
    401: "model_bad_key",
    403: "model_not_allowed",
    404: "model_not_found",
    429: "model_busy",
}


class ModelFailed(Exception):
    """The model or its service cannot be used. ``name`` and ``values`` make a sentence of prompts.messages.

    ``retries`` counts the attempts of this request that brought no reply.
    """

    retries = 0

    def __init__(self, name: str, **values: str) -> None:
        super().__init__(name, values)
        self.name = name
        self.values = values

    def sentence(self, say: Say) -> str:
        return say(self.name, **self.values)


class ContextTooLong(ModelFailed):
    """The request is longer than the model's context."""


class Busy(Exception):
    """An attempt worth repeating, after ``wait_s`` seconds if the server said so; else ``failure``."""

    def __init__(self, failure: ModelFailed, wait_s: float | None = None) -> None:
        super().__init__(failure)
        self.failure = failure
        self.wait_s = wait_s


class Garbled(Exception):
    """A reply came, and its tool calls cannot be read: worth asking once more; else ``failure``."""

    def __init__(self, failure: ModelFailed) -> None:
        super().__init__(failure)
        self.failure = failure


class Refused(Exception):
    """The service does not take ``parameter``; once it has been left out before, it is ``failure``."""

    def __init__(self, parameter: str, failure: ModelFailed) -> None:
        super().__init__(parameter)
        self.parameter = parameter
        self.failure = failure


def judge(error: BaseException, *, with_tools: bool = False) -> ModelFailed | Busy | Garbled | Refused:
    """Say what to make of an exception that came out of a chat model, ``with_tools`` in its request."""
    if isinstance(error, ModelFailed):
        return error
    if _is_about_calls(error):
        return Garbled(ModelFailed("model_calls_unreadable", detail=describe(error)))
    status = _status(error)
    if status is None:
        if _CONNECTION.search(" ".join(kind.__name__ for kind in type(error).__mro__)):
            return Busy(ModelFailed("model_unreachable", detail=_innermost(error)))
        name = "model_unreadable" if _is_of_a_client(error) else "model_raised"
        return ModelFailed(name, detail=describe(error))
    return _judge_status(status, error, with_tools)


def _judge_status(status: int, error: BaseException, with_tools: bool) -> ModelFailed | Busy | Refused:
    failure = ModelFailed(_name(status), detail=f"status {status}: {_own_words(error)}")
    words = f"{getattr(error, 'code', None) or ''} {words_of(error)}"
    if status in (400, 413, 422, 500) and _TOO_LONG.search(words):  # 500: llama.cpp, while it writes
        return ContextTooLong("model_too_long")
    if status in (400, 422) and (parameter := _refused_parameter(error, words)):
        return Refused(parameter, failure)
    if with_tools and (status in (400, 422) or _NO_TOOLS.search(words)):
        return ModelFailed("model_no_tools", **failure.values)
    return Busy(failure, _retry_after(error)) if status in BUSY else failure


def timed_out(error: BaseException) -> bool:
    """Whether it was the client that gave up waiting; a service's own timeout comes with a status."""
    return _status(error) is None and any("Timeout" in kind.__name__ for kind in type(error).__mro__)


def without_reply(body: object) -> ModelFailed | None:
    """What to say of what came with status 200, where there is no reply in it; None where there may be one.

    ``body`` is a text that is no JSON, or what JSON holds: an object may be a model of pydantic's.
    """
    if isinstance(body, str):
        return _no_json(body)
    values = body.model_dump(exclude_unset=True, warnings=False) if hasattr(body, "model_dump") else body
    fields = values if isinstance(values, dict) else {}
    if error := fields.get("error"):
        words = error.get("message") if isinstance(error, dict) else None
        return ModelFailed("model_broken", detail=_excerpt(words or error))
    choices = fields.get("choices")
    if isinstance(choices, list) and choices and all(map(_has_message, choices)):
        return None
    is_empty = "choices" in fields and not choices
    return ModelFailed(
        "model_sent_no_choices" if is_empty else "model_sent_other_json", detail=_excerpt(values)
    )


def _no_json(text: str) -> ModelFailed:
    if not text.strip():
        return ModelFailed("model_sent_nothing")
    name = "model_sent_html" if _HTML.match(text) else "model_sent_no_json"
    return ModelFailed(name, detail=_excerpt(text))


def _has_message(choice: object) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("message"), dict)


def _excerpt(body: object) -> str:
    """How a body begins, on one line and without secrets."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
    line = " ".join(redact(to_text(text[:_READ_CHARS])).split())
    return line if len(line) <= _QUOTED_CHARS else f"{line[:_QUOTED_CHARS]}…"


def _is_about_calls(error: BaseException) -> bool:
    """Whether LangChain stumbled over the tool calls of a reply, as langchain-openai 0.1 does.

    It checks them when it makes its message, or fails in the very functions that read them.
    """
    if isinstance(error, ValidationError) and error.model is AIMessage:
        return any(fault["loc"][0] in ("tool_calls", "invalid_tool_calls") for fault in error.errors())
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].name in ("parse_tool_call", "make_invalid_tool_call")


def _is_of_a_client(error: BaseException) -> bool:
    """Whether a client of some service raised it, or one was at work when it was raised."""
    kinds = [kind.__module__ for kind in type(error).__mro__]
    places = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(name.partition(".")[0] in _CLIENTS for name in (*kinds, *places))


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None) or getattr(
        getattr(error, "response", None), "status_code", None
    )
    return status if isinstance(status, int) else None


def _name(status: int) -> str:
    return _SENTENCES.get(status, "model_broken" if status >= 500 else "model_bad_request")


def _own_words(error: BaseException) -> str:
    """The message inside an error body where there is one, else the exception's text; short and redacted."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return describe(Exception(message)).removeprefix("Exception: ") if message else describe(error)


def _innermost(error: BaseException) -> str:
    """A client wraps "connection refused" in "Connection error."; the innermost cause says more."""
    while (inner := error.__cause__ or error.__context__) is not None and inner is not error:
        error = inner
    return describe(error)


def _refused_parameter(error: BaseException, words: str) -> str:
    named = str(getattr(error, "param", None) or "")
    refuses = _REFUSES.search(words)
    for parameter in REFUSABLE:
        quoted = rf"['\"`]{parameter}['\"`]"
        if named == parameter or re.search(rf"\b{parameter}\b" if refuses else quoted, words):
            return parameter
    return ""


def _retry_after(error: BaseException) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date (RFC 9110, section 10.2.3)."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = str(headers.get("retry-after", "")).strip() if isinstance(headers, Mapping) else ""
    try:
        seconds = float(value)
        return None if math.isnan(seconds) else max(seconds, 0.0)
    except ValueError:
        pass  # no number: a date, then
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):  # no date either
        return None
