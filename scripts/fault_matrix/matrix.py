"""Playing the whole matrix: which cells, in which order, in what surroundings."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from scripts.fault_matrix.contenders import CAP, DEFAULT_ITERATIONS, play
from scripts.fault_matrix.fault import CANARY, KEY, OURS, Fault, Played
from scripts.fault_matrix.processes import play_process

WAITING_AT_A_TIME = 12
PROCESSES_AT_A_TIME = 2  # each imports LangChain first, which keeps a processor busy
SURROUNDINGS = {
    "OPENAI_API_KEY": KEY,
    "OPENAI_BASE_URL": "",
    "OPENAI_API_BASE": "",
    "AGENT_MODEL": "",
    "AGENT_MAX_TOKENS": "512",
    "AGENT_EXAMPLES": "off",
    "AGENT_GRAMMAR": "off",
    "AGENT_PRICES": "scripted=1000/1000",
    "FAULTS_API_TOKEN": CANARY,
    "NO_PROXY": "*",
    "LANGCHAIN_TRACING_V2": "false",
}


@dataclass(frozen=True)
class Cell:
    """One fault with one contender: what came of it, and how it falls short of its contract.

    The contract is ours. Of AgentExecutor only the demands are asked that concern what it did with the
    fault, and only where it came back. at_default: its run with its default cap on steps, where that is
    what stopped it.
    """

    fault: Fault
    contender: str
    played: Played | None = None  # None where the fault does not apply
    broken: Sequence[str] = ()
    at_default: Played | None = None

    @property
    def falls_short(self) -> bool:
        return self.contender in OURS and bool(self.broken)


def play_all(
    faults: Sequence[Fault], contenders: Sequence[str], tell: Callable[[Cell], None] = lambda cell: None
) -> list[Cell]:
    """Play every fault with every contender; returns the cells in that order.

    Those that wait are played side by side, the others one by one, so that their seconds are their own. The
    processes are started beside all of this.
    """
    wanted = [(fault, contender) for fault in faults for contender in contenders]
    cells: dict[tuple[str, str], Cell] = {}

    def keep(cell: Cell) -> None:
        cells[cell.fault.name, cell.contender] = cell
        tell(cell)

    with surroundings(), ThreadPoolExecutor(PROCESSES_AT_A_TIME) as processes:
        begun = [processes.submit(play_cell, *pair) for pair in wanted if pair[0].process]
        for timeout_s in sorted({fault.model_timeout_s for fault, _ in wanted}):
            os.environ["AGENT_MODEL_TIMEOUT_S"] = str(timeout_s)
            here = [p for p in wanted if p[0].model_timeout_s == timeout_s and not p[0].process]
            with ThreadPoolExecutor(WAITING_AT_A_TIME) as beside:
                for cell in beside.map(lambda pair: play_cell(*pair), (p for p in here if p[0].waits)):
                    keep(cell)
            for fault, contender in here:
                if not fault.waits:
                    keep(play_cell(fault, contender))
        for future in begun:
            keep(future.result())
    return [cells[fault.name, contender] for fault, contender in wanted]


def play_cell(fault: Fault, contender: str) -> Cell:
    if contender in fault.skips:
        return Cell(fault, contender)
    played = play_process(fault, contender) if fault.process else play(fault, contender)
    if contender in OURS:
        return Cell(fault, contender, played, fault.contract.broken_by(played))
    demands = [d for d in fault.contract.demands if d.of_all and (d.always or played.came_back)]
    findings = [words for demand in demands if (words := demand.broken_by(played))]
    capped = played.outcome == CAP and fault.runs == 1 and fault.limits.max_iterations == 6
    at_default = play(fault, contender, max_iterations=DEFAULT_ITERATIONS) if capped else None
    return Cell(fault, contender, played, findings, at_default)


@contextmanager
def surroundings() -> Iterator[None]:
    """The environment that the faults are played in, whatever this one is; put back afterwards."""
    before = dict(os.environ)
    handler = logging.NullHandler()  # what our log says of a memory is no part of the table
    logging.getLogger("agent").addHandler(handler)
    os.environ.update(SURROUNDINGS)
    for name in list(os.environ):
        if (name.upper().endswith("_PROXY") and name != "NO_PROXY") or name == "SSL_CERT_FILE":
            del os.environ[name]
    try:
        # Nothing here speaks TLS, and reading all certificates for each client takes most of its time.
        with tempfile.TemporaryDirectory() as no_certificates:
            os.environ["SSL_CERT_DIR"] = no_certificates
            yield
    finally:
        logging.getLogger("agent").removeHandler(handler)
        os.environ.clear()
        os.environ.update(before)
