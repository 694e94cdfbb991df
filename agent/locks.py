"""One process at a time: a lock file that the operating system frees when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

POLL_S = 0.1


@contextmanager
def locked(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file ``path`` for the length of the block; waits for another holder.

    ``on_wait`` is called once if there is something to wait for. The file is gone afterwards.
    Where the file system knows no locks (some network folders), the block runs without one.

    Raises:
        OSError: the lock file cannot be made.
    """
    handle = _acquire(path, on_wait)
    try:
        yield
    finally:
        _release(handle, path)


def _acquire(path: Path, on_wait: Callable[[], None]) -> BinaryIO:
    waited = False
    while True:
        handle = path.open("a+b")
        # An earlier holder may have removed the file between our opening and locking it: such a
        # lock protects nothing, because the next process makes a new file.
        if _try_lock(handle) and _is_at(handle, path):
            return handle
        handle.close()
        if not waited:
            waited = True
            on_wait()
        time.sleep(POLL_S)


def _release(handle: BinaryIO, path: Path) -> None:
    # POSIX: remove while still locked, or we could remove the next holder's file.
    # Windows: an open file cannot be removed, and one that somebody else holds cannot either.
    if os.name == "nt":
        handle.close()
    with suppress(OSError):  # it stays then, which does no harm
        path.unlink()
    handle.close()


def _is_at(handle: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: BinaryIO) -> bool:
        handle.seek(0)
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: BinaryIO) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # no locks on this file system: better unlocked than not at all
        return True
