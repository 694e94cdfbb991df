"""Many runs at once against a service that takes its time, beside as many bare requests."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import Agent, Limits, load_model
from scripts.benching.measured import Goal, Line, Measured, ratio
from scripts.benching.model import ANSWER, QUESTION, Asked, Immediate, react_replies
from scripts.benching.steps import PROTOCOLS
from scripts.benching.timing import Contender, alternate

ROOT = Path(__file__).resolve().parent.parent.parent
AT_MOST = 1.2
ENDS_WITHIN_S = 30.0


@dataclass(frozen=True)
class Plan:
    repeats: int
    sizes: Sequence[int] = (1, 8, 64, 512)
    latency_s: float = 0.2


def measure(plan: Plan) -> Measured:
    """Runs of one request each, so that a run asks for as much as a bare ``llm.invoke``.

    Hundreds of connections at once may fail for reasons of the machine's: a round in which one did does not
    count, and is told of.
    """
    with slow_service(plan.latency_s) as url:
        llm = load_model("gpt-4o", base_url=f"{url}/v1")
        lines = [_line(plan, size, llm, url) for size in plan.sizes]
    most = lines[-1]
    goals = [
        Goal(f"{protocol}: {most.what}, over as many bare requests", _over_bare(most, protocol), AT_MOST)
        for protocol in PROTOCOLS
    ]
    about = f"time until the last of so many runs has ended; the service takes {plan.latency_s * 1e3:g} ms"
    return Measured("crowd", about, lines, goals)


def _line(plan: Plan, size: int, llm: Any, url: str) -> Line:
    before = told_by(url)
    contenders = [each for protocol in PROTOCOLS for each in _contenders(protocol, size, llm)]
    failures: list[str] = []
    spreads = alternate(contenders, plan.repeats, failures=failures)
    after = told_by(url)
    counts = {"requests": after["requests"] - before["requests"], "at once at most": after["most_at_once"]}
    return Line(f"{size} at once", spreads, counts, failures)


def _over_bare(line: Line, protocol: str) -> float | None:
    ours, bare = (line.spreads.get(f"{name}, {protocol}") for name in ("ours", "bare"))
    return ratio(ours, bare) if ours and bare else None


def _contenders(protocol: str, size: int, llm: Any) -> list[Contender]:
    """Each run has an agent of its own, which is there before it starts; all share the model's client."""
    request = first_request(protocol)

    def new_agent() -> Agent:
        # Without a cap on its seconds: on a busy machine the last of hundreds waits for minutes.
        return Agent(llm=llm, protocol=protocol, limits=Limits(max_seconds=None))

    def ask_ours(agent: Agent) -> None:
        result = agent.run(QUESTION)
        if result.answer != ANSWER:
            raise AssertionError(f"the run went otherwise: {result.error or result.stop_reason}")

    def ask_bare(messages: Any) -> None:
        llm.invoke(messages, **request.options)

    return [
        Contender(
            f"ours, {protocol}",
            lambda: at_once(ask_ours, [new_agent() for _ in range(size)]),
        ),
        Contender(
            f"bare, {protocol}", lambda: at_once(ask_bare, [list(request.messages) for _ in range(size)])
        ),
    ]


def at_once(ask: Callable[[Any], None], asked: Sequence[Any]) -> float:
    """Seconds that a thread for each takes, from when all may start until the last has ended.

    Raises what was raised in one of them.
    """
    start = threading.Barrier(len(asked) + 1)
    raised: list[BaseException] = []

    def work(each: Any) -> None:
        try:
            start.wait()
            ask(each)
        except BaseException as error:  # told to whoever waits for all of them
            raised.append(error)

    threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in asked]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:  # no more threads to be had: those that wait for the others would wait for ever
        start.abort()
        raise
    start.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    if raised:
        raise raised[0]
    return seconds


def first_request(protocol: str) -> Asked:
    """The request that a run with the default tools begins with."""
    model = Immediate()
    model.play(react_replies([]))
    Agent(llm=model, protocol=protocol).run(QUESTION)
    return model.asked[0]


@contextmanager
def slow_service(latency_s: float) -> Iterator[str]:
    """The address of a slow service, while the block lasts."""
    command = [sys.executable, "-m", "scripts.benching.slow_service", str(latency_s)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"  # type: ignore[union-attr]  # a pipe
        finally:
            process.stdin.close()  # type: ignore[union-attr]  # a pipe
            process.wait(ENDS_WITHIN_S)


def told_by(url: str) -> dict[str, int]:
    """What the service counted: ``requests`` so far, and how many waited at once at most."""
    with urllib.request.urlopen(f"{url}/asked") as answer:  # noqa: S310 - our own service
        counts: dict[str, int] = json.load(answer)
    return counts
