"""Run something in a worker thread and wait for it no longer than it may take.

A ``with ThreadPoolExecutor`` block waits for a hung call and holds up the exit of the process; a daemon
thread does neither. The price: a thread past its deadline is abandoned, not killed, so what it was doing
may still take effect.
"""

from __future__ import annotations

import contextvars
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# On Windows a wait cannot be interrupted by Ctrl-C before it ends, so a long wait is many short ones.
# Elsewhere it is one: hundreds of threads that wake up four times a second hold up those with work to do.
SLICE_S = 0.25 if sys.platform == "win32" else threading.TIMEOUT_MAX
# A thread without work waits so long for more: to start one takes longer than most of a step of the loop.
IDLE_S = 1.0
IDLE_NAME = "idle worker"  # not "agent-...", which is the name of a thread that something is done in


class DeadlinePassed(Exception):
    """The call did not return in time; its thread has been left behind."""


class Call(Generic[T]):
    """A function running in a daemon thread of its own, with the caller's context variables."""

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self.name = name
        self._function = function
        self._context = contextvars.copy_context()
        self._running = threading.Lock()  # held until there is an outcome
        self._value: T
        self._error: BaseException | None = None
        self._running.acquire()
        _idle_worker().do(self)

    def work(self) -> None:
        """Call the function; ``end`` then tells whoever waits."""
        try:
            self._value = self._context.run(self._function)
        except BaseException as error:  # whoever waits is the one to judge it
            self._error = error

    def end(self) -> None:
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


class _Worker:
    """A daemon thread that does one call after another, as long as they come."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Call[Any]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._live, name=IDLE_NAME, daemon=True)
        self._thread.start()

    def do(self, call: Call[Any]) -> None:
        self._calls.put(call)

    def _live(self) -> None:
        try:
            while self._does_a_call():
                pass
        finally:
            _idle.pop(self, None)

    def _does_a_call(self) -> bool:
        """Wait for a call and do it; False when none has come."""
        try:
            call = self._calls.get(timeout=IDLE_S)
        except queue.Empty:
            # Whoever has taken this worker from among the idle ones is about to hand over a call.
            return _idle.pop(self, None) is None
        self._thread.name = call.name
        call.work()
        self._thread.name = IDLE_NAME
        _idle[self] = self
        call.end()  # last: whoever waits may look for threads that are still at work
        return True


_idle: dict[_Worker, _Worker] = {}


def _idle_worker() -> _Worker:
    """The one that was at work last, or a new one."""
    try:
        return _idle.popitem()[0]
    except KeyError:
        return _Worker()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_idle.clear)  # a forked process has none of its parent's threads


def run_within(timeout_s: float, function: Callable[[], T], name: str = "agent-worker") -> T:
    """Call ``function()`` in a worker thread. Raises DeadlinePassed when ``timeout_s`` seconds are over."""
    return Call(function, name).result(timeout_s)
