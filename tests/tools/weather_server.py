"""A real HTTP server on this computer that plays both endpoints of the weather service, and every fault."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SEARCH, FORECAST = "/v1/search", "/v1/forecast"
REYKJAVIK = {
    "name": "Reykjavík",
    "admin1": "Capital Region",
    "country": "Iceland",
    "country_code": "IS",
    "latitude": 64.13,
    "longitude": -21.89,
}
FOUND = {"results": [REYKJAVIK], "generationtime_ms": 0.4}
COLD = {"current": {"time": "2026-12-01T01:00", "temperature_2m": 4.2, "weather_code": 3}}


class WeatherServer(ThreadingHTTPServer):
    """Answers as ``replies`` says: a path's reply is a JSON value, or a function that writes the reply."""

    daemon_threads = False  # so that closing waits for every request: no socket is left open

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: dict[str, object] = {SEARCH: FOUND, FORECAST: COLD}
        self.queries: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: WeatherServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.server.queries.append((parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()}))
        self.server.headers.append(dict(self.headers))
        self.close_connection = True
        reply = self.server.replies[parts.path]
        try:
            if callable(reply):
                reply(self)
            else:
                send(json.dumps(reply))(self)
        except OSError:
            pass  # the client has given up, as it should

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""


Reply = Callable[[Handler], None]


def send(body: str | bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Reply:
    def reply(handler: Handler) -> None:
        content = body.encode("utf-8") if isinstance(body, str) else body
        handler.send_response(status)
        fixed = {"Content-Type": kind, "Content-Length": str(len(content)), "Connection": "close"}
        for name, value in {**fixed, **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return reply


def redirect_to(path: str) -> Reply:
    return send("", 302, Location=path)


def drip_body(handler: Handler) -> None:
    """Headers at once, then a byte each half second, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    _drip(handler)


def drip_headers(handler: Handler) -> None:
    """A header that never ends, a byte each half second."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(handler)


def _drip(handler: Handler) -> None:
    while not handler.server.closing.wait(0.5):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def say_nothing(handler: Handler) -> None:
    """Take the request and never answer."""
    handler.server.closing.wait(30)


def hang_up(handler: Handler) -> None:
    """Close the connection without a word."""


def after(seconds: float, reply: Reply) -> Reply:
    def late(handler: Handler) -> None:
        handler.server.closing.wait(seconds)
        reply(handler)

    return late


@contextmanager
def running() -> Iterator[WeatherServer]:
    server = WeatherServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
