"""One JSON document over HTTP, within a deadline and a size, whatever the server does."""

from __future__ import annotations

import http.client
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import requests
import urllib3

MAX_BODY_BYTES = 1_000_000
MAX_REDIRECTS = 3
_CHUNK_BYTES = 65_536
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a small body cannot unpack to a large one
    "Connection": "close",  # nothing is asked twice; a redirect must not meet a connection that is closing
    "User-Agent": "open-agent-loop",
}

T = TypeVar("T")


class FetchFailed(Exception):
    """No document came. The message is fit for anybody's eyes: no address, no key, nothing of the body."""


class TooLate(FetchFailed):
    """The deadline passed."""


_asking = threading.local()  # ``now`` is True while this thread asks


def _hide_query(record: logging.LogRecord) -> bool:
    """Keep the key out of urllib3's debug messages, which write out the address that was asked.

    urllib3 has no other way to ask without saying so, and its loggers belong to the whole process. So
    their levels and handlers stay as they are, and only what our own requests write is changed.
    """
    if getattr(_asking, "now", False):
        record.msg, record.args = re.sub(r"([?&][^=&\s]+=)[^&\s'\")]+", r"\1***", record.getMessage()), ()
    return True


for _name in ("urllib3.connectionpool", "urllib3.util.retry"):
    logging.getLogger(_name).addFilter(_hide_query)


class _Session(requests.Session):
    """A session that offers no one's netrc password, on the first request or after a redirect."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = MAX_REDIRECTS
        self.auth = lambda request: request

    def rebuild_auth(self, prepared_request: object, response: object) -> None:
        """Leave a redirected request as it is."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, if it ends within ``seconds``; otherwise ``TooLate``.

    A socket's timeout bounds neither a name look-up nor headers that come a byte at a time. So the wait
    is bounded here, and the abandoned thread, a daemon, holds up nobody's exit.
    """
    values: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            values.append(work())
        except Exception as error:
            errors.append(error)

    worker = threading.Thread(target=run, name="tool-fetch", daemon=True)
    worker.start()
    worker.join(seconds)
    if errors:
        raise errors[0]
    if not values:
        raise TooLate
    return values[0]


def fetch_json(url: str, query: Mapping[str, str], deadline: float) -> object:
    """The JSON document at ``url``. ``deadline`` is a ``time.monotonic()`` moment.

    Raises ``TooLate`` and ``FetchFailed``, and nothing else for what a network or a server can do.
    """
    _asking.now = True
    try:
        with _Session() as session:
            remaining = _remaining(deadline)
            with session.get(
                url, params=query, headers=_HEADERS, timeout=(remaining, remaining), stream=True
            ) as response:
                _check_status(response.status_code)
                return json.loads(_read(response, deadline))
    except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError) as error:
        raise TooLate from error
    except requests.TooManyRedirects as error:
        if error.response is not None:
            error.response.close()  # the last of the circle, which requests leaves open
        raise FetchFailed("sent the request round in circles") from error
    except requests.ConnectionError as error:
        raise FetchFailed("could not be reached") from error
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        http.client.HTTPException,
        OSError,
    ) as error:
        raise FetchFailed("could not be asked; check its address in the settings") from error
    except (ValueError, RecursionError) as error:
        raise FetchFailed("gave no usable data") from error
    finally:
        _asking.now = False


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TooLate
    return remaining


def _check_status(status: int) -> None:
    if status in (401, 403):
        raise FetchFailed("refused the request; check WEATHER_API_KEY")
    if status == 429:
        raise FetchFailed("has had too many requests for now")
    if status >= 400:
        raise FetchFailed(f"failed with status {status}")


def _read(response: requests.Response, deadline: float) -> bytes:
    """The body. ``read1`` gives what has arrived, so that a body that drips is noticed at every drop."""
    body = bytearray()
    while chunk := response.raw.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise FetchFailed("gave no usable data (far too much of it)")
        _remaining(deadline)
    return bytes(body)
