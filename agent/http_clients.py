"""The HTTP clients under a chat model: as OpenAI's library makes its own, but for three things.

They share one TLS context. Left to itself the library reads the certificates of all authorities twice, for a
client that is asked and for an asynchronous one that hardly ever is; that took longer than everything else at
a model's start.

And they keep every connection that they may open, and for a minute. With more open than are kept (100 of
1,000 in the library), or where one's time is over (5 s in the library, while a tool may take longer),
httpcore 1.0.9 closes one that it has just handed to another thread: that request fails with a bad file
descriptor, or waits for a reply that never comes.

And hundreds of requests at once are spread over several pools: a pool looks at each of its connections at
every request, so one with 512 of them takes five times as long.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from contextlib import suppress
from typing import Any

import httpx
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

_CONNECTIONS = 1000  # as many as OpenAI's library opens
_CROWD = 32  # requests at once that share a pool
_KEPT_S = 60.0  # far below the minutes after which routers forget a connection


class _Client(DefaultHttpxClient):
    """It opens another one beside it for requests that are more than _CROWD at once.

    And it closes its connections when nobody can use it any more: models are never closed.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._options = options
        self._counting = threading.Lock()
        self._others: list[httpx.Client] = []
        self._under_way = [0]  # requests of this one, and of each of the others

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        number = self._enter()
        try:
            if number == 0:
                return super().send(request, **options)
            return self._others[number - 1].send(request, **options)
        finally:
            with self._counting:
                self._under_way[number] -= 1

    def _enter(self) -> int:
        """The first one with room, so that few requests share few connections."""
        with self._counting:
            number = next((n for n, count in enumerate(self._under_way) if count < _CROWD), None)
            if number is None:
                number = len(self._under_way)
                self._others.append(DefaultHttpxClient(**self._options))
                self._under_way.append(0)
            self._under_way[number] += 1
            return number

    def close(self) -> None:
        for each in self._others:
            each.close()
        super().close()

    def __del__(self) -> None:
        with suppress(Exception):  # one that was never built whole, or a process at its end
            self.close()


class _AsyncClient(DefaultAsyncHttpxClient):
    """The same; only a running event loop can close its connections."""

    def __del__(self) -> None:
        with suppress(Exception):  # no loop is running, or it was never built whole
            loop = asyncio.get_running_loop()
            loop.create_task(self.aclose())  # noqa: RUF006 - the loop holds it; there is nobody to wait for it


def make_clients(tls: ssl.SSLContext, *, ours: bool = False) -> dict[str, Any]:
    """A client of each kind, named as ChatOpenAI takes them.

    As with OpenAI's own, the environment names proxies, and OPENAI_PROXY is LangChain's word for one; but
    requests to ``ours``, a server in this process, must not leave it.

    Raises:
        ImportError, ValueError: a proxy that httpx cannot use.
    """
    proxy = None if ours else os.environ.get("OPENAI_PROXY") or None
    limits = httpx.Limits(
        max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS, keepalive_expiry=_KEPT_S
    )
    options: dict[str, Any] = {"verify": tls, "trust_env": not ours, "proxy": proxy, "limits": limits}
    return {"http_client": _Client(**options), "http_async_client": _AsyncClient(**options)}
