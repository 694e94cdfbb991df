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
from scripts.fault_matrix.fault import CANARY, KEY, MODEL_TIMEOUT_S, OURS, SHORT_S, Fault, Played
from scripts.fault_matrix.processes import play_process

WAITING_AT_A_TIME = 12
PROCESSES_AT_A_TIME = 3  # each imports LangChain first, which keeps a processor busy
TIMEOUT = "AGENT_MODEL_TIMEOUT_S"
SURROUNDINGS = {
    "OPENAI_API_KEY": KEY,
    "OPENAI_BASE_URL": "",
    "OPENAI_API_BASE": "",
    "AGENT_MODEL": "",
    TIMEOUT: str(MODEL_TIMEOUT_S),
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

    Processes are started first, beside the cells in which nothing happens. Then those that wait are played
    side by side, and at last the others one by one, so that their seconds are their own.
    """
    wanted = [(fault, contender) for fault in faults for contender in contenders]
    cells: dict[tuple[str, str], Cell] = {}

    def play_some(at_a_time: int, meant: Callable[[Fault], bool]) -> None:
        with ThreadPoolExecutor(at_a_time) as pool:
            for cell in pool.map(lambda pair: play_cell(*pair), (pair for pair in wanted if meant(pair[0]))):
                cells[cell.fault.name, cell.contender] = cell
                tell(cell)

    with surroundings(), ThreadPoolExecutor(1) as beside:
        processes = beside.submit(play_some, PROCESSES_AT_A_TIME, lambda fault: bool(fault.process))
        os.environ[TIMEOUT] = str(SHORT_S)
        play_some(WAITING_AT_A_TIME, lambda fault: fault.model_timeout_s == SHORT_S)
        processes.result()
        os.environ[TIMEOUT] = str(MODEL_TIMEOUT_S)
        play_some(WAITING_AT_A_TIME, lambda fault: fault.waits and _is_ordinary(fault))
        play_some(1, lambda fault: not fault.waits and _is_ordinary(fault))
    return [cells[fault.name, contender] for fault, contender in wanted]


def _is_ordinary(fault: Fault) -> bool:
    return not fault.process and fault.model_timeout_s != SHORT_S


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
