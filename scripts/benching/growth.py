"""Whether a run costs more, the longer the conversation, the tool's output or the run itself is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent import Agent
from agent.memory import new_window
from scripts.benching.measured import Goal, Line, Measured, ratio
from scripts.benching.model import ANSWER, QUESTION, Immediate, Rehearsed, react_replies
from scripts.benching.steps import PROTOCOLS
from scripts.benching.timing import Clock, Contender, Spread, alternate, timed

FLAT = 1.25  # the worst size over the smallest: what is left for noise


@dataclass(frozen=True)
class Plan:
    repeats: int
    turns: Sequence[int] = (10, 100, 1_000, 10_000)
    characters: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)
    steps: Sequence[int] = (10, 50, 100, 400)
    clock: Clock = time.perf_counter


def measure(plan: Plan) -> list[Measured]:
    return [conversation(plan), observation(plan), length(plan)]


def conversation(plan: Plan) -> Measured:
    """A run of one step, in an Agent that has lived so long, and on a memory that was handed in so full."""
    lived = Line(
        "after so many turns", alternate([_lived(n, plan.clock) for n in plan.turns], plan.repeats), {}
    )
    full = Line(
        "a memory with so many turns", alternate([_full(n, plan.clock) for n in plan.turns], plan.repeats), {}
    )
    goals = [_flat(f"{line.what}, worst over fewest", line.spreads) for line in (lived, full)]
    return Measured("conversation", "time of a run of one step", [lived, full], goals)


def _lived(turns: int, clock: Clock) -> Contender:
    model, replies = Immediate(), react_replies([])
    agent = Agent(llm=model, tools=[])
    run = _one_answer(agent, model)
    for _ in range(turns):
        model.play(replies)
        run()
    return Contender(f"{turns:,} turns", timed(run, lambda: model.play(replies), clock))


def _full(turns: int, clock: Clock) -> Contender:
    """Our agent trims a memory of this process to its window, so it is filled again before each run."""
    model, replies, memory = Immediate(), react_replies([]), new_window()
    messages: list[BaseMessage] = [HumanMessage(content=QUESTION), AIMessage(content=ANSWER)] * turns

    def prepare() -> None:
        model.play(replies)
        memory.chat_memory.messages = list(messages)

    run = _one_answer(Agent(llm=model, tools=[], memory=memory), model)
    return Contender(f"{turns:,} turns", timed(run, prepare, clock))


def _one_answer(agent: Agent, model: Immediate) -> Callable[[], None]:
    def run() -> None:
        if agent.run(QUESTION).answer != ANSWER or len(model.asked) != 1:
            raise AssertionError("the run went otherwise")

    return run


def observation(plan: Plan) -> Measured:
    """A tool that says so much; what the model gets of it is cut to ``max_observation_chars``."""
    text = "The wind turns to the north-west later, with rain on the coast. " * (max(plan.characters) // 60)

    def rehearsed(size: int) -> Rehearsed:
        return Rehearsed("text", 2, lambda _: text[:size])

    lines = _beside_bare(plan, [(f"{n:,} characters", rehearsed(n)) for n in plan.characters])
    goal = _flat_over_bare("observation, worst over smallest, both over their bare sums", lines)
    return Measured("observation", "time of a step of two, one of which calls the tool", lines, [goal])


def length(plan: Plan) -> Measured:
    """A run of so many steps. The tools protocol sends every step, so there the bare sum grows as well."""
    lines: list[Line] = []
    goals: list[Goal] = []
    for protocol in PROTOCOLS:
        own = _beside_bare(plan, [(f"{protocol}, {n} steps", Rehearsed(protocol, n)) for n in plan.steps])
        goals.append(_flat_over_bare(f"{protocol}: worst over shortest, both over their bare sums", own))
        lines += own
    ours = {line.what: line.spreads["ours"] for line in lines if line.what.startswith("text")}
    goals.append(_flat("text: a step of the worst over one of the shortest", ours))
    return Measured("length", "time of a step, in runs of so many", lines, goals)


def _beside_bare(plan: Plan, runs: Sequence[tuple[str, Rehearsed]]) -> list[Line]:
    """All sizes take turns too, or a mood of the machine would pass for growth."""
    contenders = []
    for what, each in runs:
        contenders += [Contender(f"ours {what}", timed(each.run_ours, clock=plan.clock), each.steps)]
        contenders += [Contender(f"bare {what}", timed(each.run_bare, clock=plan.clock), each.steps)]
    spreads = alternate(contenders, plan.repeats)
    return [
        Line(
            what,
            {"ours": spreads[f"ours {what}"], "bare sum": spreads[f"bare {what}"]},
            {"requests": len(each.requests), "messages in the last": len(each.requests[-1].messages)},
        )
        for what, each in runs
    ]


def _flat(what: str, spreads: Mapping[str, Spread]) -> Goal:
    smallest, *larger = spreads.values()
    return Goal(what, max(ratio(each, smallest) for each in larger), FLAT)


def _flat_over_bare(what: str, lines: Sequence[Line]) -> Goal:
    smallest, *larger = (ratio(line.spreads["ours"], line.spreads["bare sum"]) for line in lines)
    return Goal(what, max(larger) / smallest, FLAT)
