"""What random models and tools raise: services' errors as clients raise them, and garbage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import openai
from langchain_core.tools import ToolException

_REQUEST = httpx.Request("POST", "http://service.test/v1/chat/completions")


@dataclass(frozen=True)
class Fault:
    """An exception to be, by name: a new one each time, since a raised one keeps its traceback."""

    name: str

    def build(self) -> BaseException:
        return FAULTS[self.name]()


class Silent(Exception):
    """Has no words, not even for those who ask."""

    def __str__(self) -> str:
        raise ValueError("no words")


class SilentService(Silent):
    """The same, from a service."""

    status_code = 500


class Odd(Exception):
    """Looks like a service's error, and every part of it has another shape."""

    status_code = 503
    body = "no dict"
    param: object = ["stop"]
    code = 7

    def __init__(self) -> None:
        super().__init__("odd", {"message": b"\xff"})
        self.response = httpx.Response(503, headers={"retry-after": "nan"})


class ListedHeaders(Exception):
    """A service's error whose headers are pairs."""

    status_code = 429

    def __init__(self) -> None:
        super().__init__("too many requests")
        self.response = type("Response", (), {"status_code": 429, "headers": [("retry-after", "0")]})()


def _status(
    status: int, message: str, kind: type[openai.APIStatusError], after: str | None = None, param: str = ""
) -> Callable[[], BaseException]:
    def build() -> BaseException:
        headers = {} if after is None else {"retry-after": after}
        response = httpx.Response(status, headers=headers, request=_REQUEST)
        body = {"message": message, "param": param or None, "code": None}
        return kind(f"Error code: {status} - {message}", response=response, body=body)

    return build


def _refusing(parameter: str) -> Callable[[], BaseException]:
    words = f"Unsupported parameter: '{parameter}' is not supported with this model."
    return _status(400, words, openai.BadRequestError, param=parameter)


FAULTS: dict[str, Callable[[], BaseException]] = {
    "429": _status(429, "slow down", openai.RateLimitError),
    "429, at once": _status(429, "slow down", openai.RateLimitError, after="0"),
    "429, in an hour": _status(429, "slow down", openai.RateLimitError, after="3600"),
    "500": _status(500, "oops", openai.InternalServerError),
    "503, some day": _status(503, "oops", openai.InternalServerError, after="soon"),
    "401": _status(401, "who are you?", openai.AuthenticationError),
    "404": _status(404, "no such model", openai.NotFoundError),
    "too long": _status(400, "This model's maximum context length is 8192 tokens.", openai.BadRequestError),
    "no stop": _refusing("stop"),
    "no temperature": _refusing("temperature"),
    "no max_tokens": _refusing("max_tokens"),
    "no grammar": _refusing("grammar"),
    "bad request": _status(400, "no", openai.BadRequestError),
    "no tools": _status(400, "this model does not support tools", openai.BadRequestError),
    "connection": lambda: openai.APIConnectionError(request=_REQUEST),
    "timeout": lambda: openai.APITimeoutError(_REQUEST),
    "garbage": lambda: RuntimeError({"half": "\ud83d"}, b"\xff", None),
    "words": lambda: ValueError("Final Answer: 1\nAction: Alpha[x]"),
    "no words": Silent,
    "a service's, no words": SilentService,
    "odd": Odd,
    "listed headers": ListedHeaders,
    "tool": lambda: ToolException("nothing found"),
    "key": lambda: KeyError("x"),
    "assertion": lambda: AssertionError("no"),
    "recursion": lambda: RecursionError("too deep"),
    "stop iteration": StopIteration,
    "exit": lambda: SystemExit(3),
    "generator": GeneratorExit,
    "cancelled": asyncio.CancelledError,
    "ctrl-c": KeyboardInterrupt,
}
INTERRUPT = Fault("ctrl-c")
OF_A_MODEL = [Fault(name) for name in FAULTS if name not in ("tool", "ctrl-c")]
OF_A_TOOL = [
    Fault(name) for name in ("words", "tool", "garbage", "no words", "key", "exit", "generator", "cancelled")
]
