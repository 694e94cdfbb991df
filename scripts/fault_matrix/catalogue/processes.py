"""Faults of a whole process: each starts ``python -m agent``, or a process with AgentExecutor in it."""

from __future__ import annotations

import sys
from functools import partial

from scripts.fault_matrix.demands import NO_TRACEBACK
from scripts.fault_matrix.fault import CONTENDERS, Contract, Fault

_process = partial(Fault, group="process", over_http=True, waits=True)
_NO_SIGNALS = dict.fromkeys(CONTENDERS, "no SIGINT to send on Windows") if sys.platform == "win32" else {}

PROCESSES = (
    _process(
        "a hung tool, then the process's end",
        process="exit",
        contract=Contract(("exited 0",), 2, 0.5, [NO_TRACEBACK]),
    ),
    _process(
        "Ctrl-C in a model call",
        process="interrupt model",
        skips=_NO_SIGNALS,
        contract=Contract(("exited 130",), 1, 0.0, [NO_TRACEBACK]),
    ),
    _process(
        "Ctrl-C in a hung tool",
        process="interrupt tool",
        skips=_NO_SIGNALS,
        contract=Contract(("exited 130",), 1, 0.0, [NO_TRACEBACK]),
    ),
)
