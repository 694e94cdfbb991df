"""The HTTP clients under a chat model: as OpenAI's library makes its own, but with one TLS context for both.

Left to itself the library reads the certificates of all authorities twice, for a client that is asked and
for an asynchronous one that hardly ever is; that took longer than everything else at a model's start.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import httpx
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient


class _Client(DefaultHttpxClient):
    """It closes its connections when nobody can use it any more: models are never closed."""

    def __del__(self) -> None:
        with suppress(Exception):  # one that was never built whole, or a process at its end
            self.close()


class _AsyncClient(DefaultAsyncHttpxClient):
    """The same; only a running event loop can close its connections."""

    def __del__(self) -> None:
        with suppress(Exception):
            loop = asyncio.get_running_loop()
            loop.create_task(self.aclose())  # noqa: RUF006 - the loop holds it; there is nobody to wait for it


def make_clients(**options: Any) -> dict[str, Any]:
    """A client of each kind, named as ChatOpenAI takes them. ``options`` are those of httpx's clients.

    As with httpx's own, the environment names authorities and proxies, unless ``trust_env`` is False.

    Raises:
        ImportError, ValueError: a proxy that httpx cannot use.
        OSError: a file of certificates that cannot be read.
    """
    tls = httpx.create_ssl_context(trust_env=options.get("trust_env", True))
    return {
        "http_client": _Client(verify=tls, **options),
        "http_async_client": _AsyncClient(verify=tls, **options),
    }
