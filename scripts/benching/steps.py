"""What a step costs: ours, AgentExecutor's, and the bare sum of ``llm.invoke`` and ``tool.run``.

The bare calls of the goals run in worker threads like ours, for a deadline is what the threads are for; the
same calls without threads are shown beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent import run_agent
from scripts.benching.measured import Goal, Line, Measured, ratio
from scripts.benching.model import ANSWER, QUESTION, Rehearsed, react_replies
from scripts.benching.timing import Clock, Contender, alternate, timed
from scripts.contenders import Attempt, ask_executor

STEPS = 6  # the cap of a run: five tool calls and an answer
PROTOCOLS = ("text", "tools")
AT_MOST_OF_BARE = 1.3
AT_MOST_OF_EXECUTOR = 0.1


@dataclass(frozen=True)
class Plan:
    repeats: int
    clock: Clock = time.perf_counter


def measure(plan: Plan) -> Measured:
    """Per step, of runs of six: all contenders in one process, in turns."""
    rehearsed = {protocol: Rehearsed(protocol, STEPS) for protocol in PROTOCOLS}
    contenders = [Contender("AgentExecutor", executor(rehearsed["text"], plan.clock), STEPS)]
    for protocol, each in rehearsed.items():
        contenders += [
            Contender(f"ours, {protocol}", timed(each.run_ours, clock=plan.clock), STEPS),
            Contender(f"bare sum of ours, {protocol}", timed(each.run_bare, clock=plan.clock), STEPS),
            Contender(
                f"bare sum without threads, {protocol}",
                timed(each.run_without_threads, clock=plan.clock),
                STEPS,
            ),
            Contender(f"ours, {protocol}, a new agent for each run", anew(each, protocol, plan.clock), STEPS),
        ]
    spreads = alternate(contenders, plan.repeats)
    counts = {"requests a run": STEPS, "tool calls": STEPS - 1}
    goals = []
    for protocol in PROTOCOLS:
        ours, bare = spreads[f"ours, {protocol}"], spreads[f"bare sum of ours, {protocol}"]
        goals += [
            Goal(f"{protocol}: a step over the bare sum", ratio(ours, bare), AT_MOST_OF_BARE),
            Goal(
                f"{protocol}: a step over AgentExecutor's",
                ratio(ours, spreads["AgentExecutor"]),
                AT_MOST_OF_EXECUTOR,
            ),
        ]
    about = "time of a step, with a model that answers at once"
    return Measured("steps", about, [Line("a run of six steps, per step", spreads, counts)], goals)


def executor(rehearsed: Rehearsed, clock: Clock) -> Callable[[], float]:
    """AgentExecutor as scripts.evaluate measures it: built for the run, its requests counted."""
    replies = react_replies(rehearsed.inputs)

    def run() -> None:
        attempt = Attempt()
        ask_executor(attempt, QUESTION, rehearsed.model, [rehearsed.tool], argparse.Namespace())
        if attempt.answer != ANSWER or attempt.requests != STEPS:
            raise AssertionError(f"the run went otherwise: {attempt}")

    return timed(run, lambda: rehearsed.model.play(replies), clock)


def anew(rehearsed: Rehearsed, protocol: str, clock: Clock) -> Callable[[], float]:
    """``run_agent``, which builds all its parts as AgentExecutor's contender does."""

    def run() -> None:
        result = run_agent(QUESTION, llm=rehearsed.model, tools=[rehearsed.tool], protocol=protocol)
        if result.answer != ANSWER or len(result.steps) != STEPS:
            raise AssertionError(f"the run went otherwise: {result.error or result.stop_reason}")

    return timed(run, lambda: rehearsed.model.play(rehearsed.replies), clock)
