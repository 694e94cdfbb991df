"""``python -m agent``: the command line, and a way out that waits for nobody.

What has been given up must not hold up the exit: a tool or a model call past its deadline sits in a
daemon thread of ours, and the embedded server may still be working on its request. With such a thread left,
or after Ctrl-C, the process ends on the spot (``os._exit``), once everything has been written. Otherwise it
ends as Python processes do, so that exit handlers run (a tool's, a tracer's), but for no longer than
EXIT_GRACE_S: a tool may have left a thread behind that Python would wait for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

EXIT_GRACE_S = 2.0
INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    _mind_interrupts()
    search_here_last()
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # while the above was imported, or a line was being written
        code = INTERRUPTED
    leave(code)


def _run(arguments: Sequence[str]) -> int:
    from agent.options import parse

    try:
        options = parse(arguments)
    except SystemExit as end:  # --help, --version or a mistake
        return int(end.code or 0)
    from agent.cli import main as answer

    return answer(options)


def leave(code: int) -> NoReturn:
    """Flush, and end the process; Ctrl-C from here on ends it at once, without a traceback."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    if code == INTERRUPTED or _has_abandoned_threads():
        os._exit(code)
    end = threading.Timer(EXIT_GRACE_S, os._exit, (code,))
    end.daemon = True
    end.start()
    sys.exit(code)


def search_here_last() -> None:
    """Let a tools.py or a prompts folder of the user's not be taken for ours.

    ``python -m`` searches the working folder before all else. ``--tools`` finds its module there anyway.
    """
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    with suppress(OSError):  # the working folder may be gone
        here = os.getcwd()
        if sys.path[:1] == [here] != [ours]:
            sys.path[:] = [*sys.path[1:], ours, here]


def _mind_interrupts() -> None:
    """The first Ctrl-C raises KeyboardInterrupt; if that is not enough, the second ends the process.

    Where SIGINT is ignored (a job in the background of a shell), it stays so.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def on_interrupt(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_interrupt)


def _has_abandoned_threads() -> bool:
    return any(thread.name.startswith("agent-") for thread in threading.enumerate())


def _flush(stream: Any) -> None:
    """Write out what is buffered; where nobody reads any more, see that Python's own flush does not fail."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # no descriptor to be had: then Python may complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
