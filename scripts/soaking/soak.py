"""A soak from its first run to its last: warm up, ask for minutes, see what is left, spend budgets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from agent import Limits, load_model
from agent.results import StopReason
from scripts.soaking.crew import PROTOCOLS, Crew, MakeAgent, Tally, after, together
from scripts.soaking.marks import KINDS, Marks
from scripts.soaking.measured import Measured, Spent
from scripts.soaking.process import Sampler, settle
from scripts.soaking.service import SoakService
from scripts.soaking.settings import MODEL, USD_PER_TOKEN
from scripts.soaking.tools import soak_tools

SAMPLES = 300
REQUESTS_IN_BUDGET = 8  # for each thread, so that all of them are under way when the cap comes
TOKENS_OF_A_REQUEST = 130  # about what the service bills
PATIENCE_S = 20.0  # for threads and files, once the tools that hang have been let go
OVER = frozenset({StopReason.TOKEN_LIMIT, StopReason.COST_LIMIT})


@dataclass(frozen=True)
class Plan:
    """How long, with how many threads. ``patience_s``: what may be waited for what was abandoned."""

    seconds: float
    threads: int
    patience_s: float = PATIENCE_S


def soak(plan: Plan, make_agent: MakeAgent, tell: Callable[[float], None] = lambda share: None) -> Measured:
    """Soak what ``make_agent`` makes. ``tell`` is told the share of the time that has passed.

    Raises what an agent raises: it should raise nothing. KeyboardInterrupt goes through.
    """
    with _stage(make_agent) as (crew, _):
        _warm_up(crew, plan.threads)
    # What warming up has left behind is over when nothing more ends.
    threads, files = settle(1, None, plan.patience_s / 10)
    start, stop = time.monotonic(), threading.Event()
    with _stage(make_agent) as (crew, service), Sampler(plan.seconds / SAMPLES) as sampler:
        clock = threading.Thread(target=after, args=(plan.seconds, stop, tell), daemon=True)
        clock.start()
        crew.work(plan.threads, stop)
        clock.join()
        seconds = time.monotonic() - start
    threads_after, files_after = settle(threads, files, plan.patience_s)
    return Measured(
        runs=crew.tally.runs,
        requests=service.asked,
        seconds=seconds,
        crossed_results=crew.tally.crossed,
        crossed_requests=service.crossed,
        unanswered=crew.tally.unanswered,
        untrimmed=crew.tally.untrimmed,
        memory=sampler.memory,
        threads_before=threads,
        threads_most=sampler.threads_most,
        threads_after=threads_after,
        files_before=files,
        files_after=files_after,
        budgets=[_spend(plan.threads, make_agent, what) for what in ("tokens", "US dollars")],
        complaints=[*crew.tally.complaints, *service.complaints],
    )


@contextmanager
def _stage(make_agent: MakeAgent) -> Iterator[tuple[Crew, SoakService]]:
    release = threading.Event()
    with SoakService() as service:
        llm = load_model(MODEL, service.url)
        try:
            yield Crew(make_agent, llm, soak_tools(release), Marks(), Tally()), service
        finally:
            release.set()


def _warm_up(crew: Crew, threads: int) -> None:
    """Each kind of run once, and all threads at once: imports, caches and pools fill here."""

    def ask(protocol: str) -> None:
        asker = crew.asker(protocol)
        for _ in KINDS:
            asker.ask(crew.marks, crew.tally)

    together([partial(ask, PROTOCOLS[at % len(PROTOCOLS)]) for at in range(threads)], threading.Event())


def _spend(threads: int, make_agent: MakeAgent, what: str) -> Spent:
    """Let all threads run against one agent's budget until each has been told that it is spent."""
    tokens = TOKENS_OF_A_REQUEST * REQUESTS_IN_BUDGET * threads
    unit = 1.0 if what == "tokens" else USD_PER_TOKEN
    # Seconds add up over all runs, and are not what is looked at here.
    cap = {"max_total_tokens": tokens} if what == "tokens" else {"max_cost_usd": tokens * unit}
    budget = Limits(max_seconds=None, **cap)
    with _stage(make_agent) as (crew, service):
        asker, stop = crew.asker("text", budget), threading.Event()

        def ask() -> None:
            # Nobody asks for ever, whatever becomes of the budget.
            for _ in range(REQUESTS_IN_BUDGET):  # of at least two requests
                if asker.ask(crew.marks, crew.tally).stop_reason in OVER:
                    return

        together([ask] * threads, stop)
    return Spent(what, tokens * unit, service.tokens * unit, threads * service.most_tokens * unit)
