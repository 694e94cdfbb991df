"""An OpenAI-compatible model service on this machine that replies by script, with the faults of real ones.

    with Service(["Action: Time[]", status(429), "Final Answer: noon"]) as service:
        ...                                  # point a client at service.url
        assert len(service.requests) == 3    # the bodies, as they came

Replies are given in order, one for each request; ``itertools.repeat(reply)`` gives the same for ever. A
text becomes a chat completion; anything else is a function that is handed the connection.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHARS_PER_TOKEN = 4  # so that usage is a fixed function of the texts
WAIT_S = 60.0  # for a request that is expected; only a failing test waits as long


class Service:
    """The service, while its ``with`` block lasts. ``requests`` and ``headers`` record what was asked."""

    def __init__(
        self, replies: Iterable[str | Reply] = (), *, model: str = "gpt-4o", owned_by: str = "tests"
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.model_lists = 0  # how often GET /v1/models was asked
        self.models = [{"id": model, "object": "model", "created": 1, "owned_by": owned_by}]
        self.closing = threading.Event()
        self._replies = iter(replies)
        self._arrived = threading.Condition()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Service:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()  # waits for the connections, which ``closing`` has let go

    def record(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply:
        """Note a request and return the reply that is its turn."""
        with self._arrived:
            self.requests.append(body)
            self.headers.append(headers)
            self._arrived.notify_all()
            return next(self._replies, status(400, {"error": {"message": "the script has no more replies"}}))

    def wait_for_request(self, number: int = 1) -> None:
        """Return when so many requests have come; fail when they do not come."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= number, WAIT_S):
                raise AssertionError(f"request {number} never came; there were {len(self.requests)}")


class Connection(BaseHTTPRequestHandler):
    """One request; HTTP/1.0, so that a connection ends with it. A reply function writes to it."""

    server: _Server
    timeout = WAIT_S

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.service.record(body, dict(self.headers))
        with suppress(ConnectionError):  # the client has gone
            (completion(_until(reply, body.get("stop"))) if isinstance(reply, str) else reply)(self)

    def do_GET(self) -> None:
        service = self.server.service
        service.model_lists += 1
        with suppress(ConnectionError):  # the client has gone
            self.send(200, {"object": "list", "data": service.models})

    def send(self, code: int, content: object, headers: dict[str, str] | None = None) -> None:
        """Answer with JSON, or with a text as it is."""
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        kind = "text/html" if isinstance(content, str) else "application/json"
        self.send_response(code)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def wait(self, seconds: float) -> bool:
        """Do nothing for a while; True when the service closes meanwhile."""
        return self.server.service.closing.wait(seconds)

    def log_message(self, *_: object) -> None:
        """Say nothing: stderr is what tests look at."""


Reply = Callable[[Connection], None]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # of connections that wait; in a queue of five some are lost
    daemon_threads = False  # so that closing waits for them, and no socket is left open

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.service = service

    def handle_error(self, *_: object) -> None:
        """A client that goes away is not worth a traceback."""


def completion(content: object, *, usage: bool = True, **fields: object) -> Reply:
    """A chat completion. ``content`` is a text, None or a list of blocks; ``fields`` change its choice."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message, **fields}
    return raw_completion([choice], usage=_usage(str(content)) if usage else None)


def tool_calls(*calls: object, content: object = None, **fields: object) -> Reply:
    """A chat completion that calls tools, each call as it goes over the wire; see ``wire_call``."""
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message, **fields}
    return raw_completion([choice], usage=_usage(json.dumps(calls)))


def wire_call(arguments: object, name: str = "Calculator", call_id: str = "a") -> dict[str, Any]:
    """A call of a function, as a service writes it; ``arguments`` of the right kind are a text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def raw_completion(choices: object, *, usage: object = None) -> Reply:
    """A chat completion with these choices, for example none."""
    body = {"id": "1", "object": "chat.completion", "created": int(time.time()), "model": "scripted"}
    return status(200, body | {"choices": choices} | ({"usage": usage} if usage else {}))


def status(code: int, content: object = None, headers: dict[str, str] | None = None) -> Reply:
    """An answer with this status: JSON, or a text sent as HTML."""
    if content is None:
        content = {"error": {"message": f"scripted {code}", "type": "scripted"}}
    return lambda connection: connection.send(code, content, headers)


def refusal(parameter: str) -> Reply:
    """How OpenAI's service refuses a parameter that a model does not take."""
    words = f"Unsupported parameter: '{parameter}' is not supported with this model."
    error = {
        "message": words,
        "type": "invalid_request_error",
        "param": parameter,
        "code": "unsupported_parameter",
    }
    return status(400, {"error": error})


def context_too_long() -> Reply:
    """How OpenAI's service says that the messages do not fit."""
    words = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    return status(400, {"error": {"message": words, "code": "context_length_exceeded", "param": "messages"}})


def body(text: str, kind: str) -> Reply:
    """An answer of status 200 with this text, whatever its content type promises."""
    return lambda connection: connection.send(200, text, {"Content-Type": kind})


def html(connection: Connection) -> None:
    """What a web page answers that is no model service."""
    connection.send(200, "<!doctype html><title>Welcome</title><p>It works!</p>")


def error_body(connection: Connection) -> None:
    """Status 200, but the body is an error."""
    connection.send(200, {"error": {"message": "the backend is away", "code": 502}})


def drop(connection: Connection) -> None:
    """Close the connection without an answer."""
    connection.close_connection = True


def never(connection: Connection) -> None:
    """Take the request and say nothing until the service closes."""
    while not connection.wait(1.0):
        pass


def drip(interval_s: float = 0.05) -> Reply:
    """Answer one byte at a time, for ever: each wait of the client is short, the whole is not."""

    def reply(connection: Connection) -> None:
        connection.send_response(200)
        connection.send_header("Content-Type", "application/json")
        connection.end_headers()
        while not connection.wait(interval_s):
            connection.wfile.write(b" ")

    return reply


def _until(text: str, stop: str | list[str] | None) -> str:
    words = [stop] if isinstance(stop, str) else stop or ()
    ends = [text.find(word) for word in words if word in text]
    return text[: min(ends)] if ends else text


def _usage(content: str) -> dict[str, int]:
    completion = len(content) // CHARS_PER_TOKEN
    return {"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion}
