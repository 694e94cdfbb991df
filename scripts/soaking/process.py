"""What this process holds: memory, threads, open files. By the standard library alone, where it can tell."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

_STATM = Path("/proc/self/statm")
_FILES = Path("/proc/self/fd")
POLL_S = 0.05


def memory_bytes() -> int:
    """Resident memory; where the system does not tell, what Python has allocated since the first call."""
    if _STATM.exists():
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]


def open_files() -> int | None:
    """How many file descriptors are open; None where the system does not tell."""
    # One is that of the folder which is being read.
    return len(list(_FILES.iterdir())) - 1 if _FILES.exists() else None


def settle(threads: int, files: int | None, patience_s: float) -> tuple[int, int | None]:
    """Wait until no more threads and files than these are left, or patience is; return what is left."""
    end = time.monotonic() + patience_s

    def is_over() -> bool:
        gc.collect()
        return threading.active_count() <= threads and (files is None or (open_files() or 0) <= files)

    _wait_for(is_over, end)
    return threading.active_count(), open_files()


def _wait_for(is_over: Callable[[], bool], end: float) -> None:
    while not is_over() and time.monotonic() < end:
        time.sleep(POLL_S)  # neither a foreign thread's end nor a descriptor's can be awaited


class Sampler:
    """Notes memory and threads, a few hundred times in all, while its ``with`` block lasts."""

    def __init__(self, every_s: float) -> None:
        self.memory: list[int] = []
        self.threads_most = 0
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self.memory.append(memory_bytes())
            self.threads_most = max(self.threads_most, threading.active_count())
            if self._stop.wait(self._every_s):
                return
