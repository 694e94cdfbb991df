"""Run something in a worker thread and wait for it no longer than it may take.

A ``with ThreadPoolExecutor`` block waits for a hung call and holds up the exit of the process; a daemon
thread does neither. The price: a thread past its deadline is abandoned, not killed, so what it was doing
may still take effect.

Each call has a thread of its own. To use one again would save 0.1 ms, and hand over whatever a tool left in
it: thread-local connections of another user, a closed event loop, a blocked signal.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

# On Windows a wait cannot be interrupted by Ctrl-C before it ends, so a long wait is many short ones.
# Elsewhere it is one: hundreds of threads that wake up four times a second hold up those with work to do.
SLICE_S = 0.25 if sys.platform == "win32" else threading.TIMEOUT_MAX

# One thread starts at a time. Hundreds of runs at once would otherwise all wait for the interpreter's own
# lock, each waking up 200 times a second to ask for it; here most of them sleep, and those that are under
# way end first. A signal handler may run the agent in the midst of a start, hence RLock.
_turnstile = threading.RLock()


def _free_turnstile() -> None:
    """In a forked process: whoever was in it is in the parent, and would never leave it."""
    global _turnstile  # noqa: PLW0603 - one for the whole process is the point
    _turnstile = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_free_turnstile)


class DeadlinePassed(Exception):
    """The call did not return in time; its thread has been left behind."""


class Call(Generic[T]):
    """A function running in its own daemon thread, with the caller's context variables."""

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self._function = function
        self._running = threading.Lock()  # held until there is an outcome
        self._value: T
        self._error: BaseException | None = None
        self._running.acquire()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._work,), name=name, daemon=True)
        with _turnstile:
            thread.start()

    def _work(self) -> None:
        try:
            self._value = self._function()
        except BaseException as error:  # whoever waits is the one to judge it
            self._error = error
        finally:
            self._running.release()

    def result(self, timeout_s: float) -> T:
        """Return what the function returned, or raise what it raised; DeadlinePassed after ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while not self._running.acquire(timeout=min(max(end - time.monotonic(), 0), SLICE_S)):
            if time.monotonic() >= end:
                raise DeadlinePassed
        self._running.release()
        if self._error is not None:
            raise self._error
        return self._value


def run_within(timeout_s: float, function: Callable[[], T], name: str = "agent-worker") -> T:
    """Call ``function()`` in a worker thread. Raises DeadlinePassed when ``timeout_s`` seconds are over."""
    return Call(function, name).result(timeout_s)
