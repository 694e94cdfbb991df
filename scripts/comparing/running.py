"""Who is next, and playing it: contenders take turns task by task, each from a warm start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scripts.comparing.arms import ARMS, Arm
from scripts.comparing.journal import Key
from scripts.comparing.outages import FEWEST, Watched, outage
from scripts.comparing.turns import play, tools_for
from scripts.contenders import Attempt
from scripts.figures import Row
from scripts.scoring import Task

WARM_UP = {"en": "Hello!", "zh": "你好！"}


@dataclass(frozen=True)
class Turn:
    task: Task
    arm: Arm
    repeat: int

    @property
    def key(self) -> Key:
        return self.task.id, self.arm.name, self.repeat

    @property
    def head(self) -> tuple[str, str, str]:
        """What a prompt's beginning depends on, whatever the question."""
        return self.arm.name, self.task.lang, self.task.toolset


def turns(tasks: Sequence[Task], names: Sequence[str], repeats: int, first_tasks: Set[str]) -> Iterator[Turn]:
    """Every turn, in order. Who begins changes from task to task, so that nobody always follows the same.

    The extra contenders run the tasks of ``first_tasks`` alone.
    """
    for repeat in range(repeats):
        for number, task in enumerate(tasks):
            arms = [ARMS[name] for name in names if not ARMS[name].extra or task.id in first_tasks]
            shift = number % len(arms) if arms else 0
            yield from (Turn(task, arm, repeat) for arm in arms[shift:] + arms[:shift])


def warm_up(llm: Any, left: Iterable[Turn], weather: Mapping[str, float]) -> Iterator[str]:
    """Ask each contender one thing that is not measured, in each language and with each set of tools.

    llama.cpp reads a new prompt's beginning once, for up to minutes, and has it at hand from then on. Yields
    the name of each before it is asked; what fails here fails again where it is measured, so a dead service
    is not asked for long.
    """
    dead = 0
    for turn in {turn.head: turn for turn in left}.values():
        yield f"warming up: {turn.arm.name}"
        attempt = Watched()
        tools = tools_for(turn.task, weather, attempt.tool_calls)
        with suppress(Exception):  # an agent may raise anything, and will again where it counts
            turn.arm.run(attempt, WARM_UP.get(turn.task.lang, WARM_UP["en"]), llm, tools, max_iterations=1)
        dead = dead + 1 if outage(attempt) else 0
        if dead == FEWEST:
            return


def is_dead(failures: Sequence[str], left: Iterable[Turn]) -> bool:
    """Whether the service is not worth further turns: it failed every contender that has any, one by one.

    ``failures`` are the contenders of the latest runs, back to the last one that it did not fail.
    """
    return len(failures) >= FEWEST and {turn.arm.name for turn in left} <= set(failures)


def play_turn(turn: Turn, model_of: Callable[[Key], Any], weather: Mapping[str, float]) -> Row:
    """Run one turn and score it; ``model_of`` gives the chat model that answers."""
    llm = model_of(turn.key)

    def ask(attempt: Attempt, tools: list[Any]) -> None:
        turn.arm.run(attempt, turn.task.question, llm, tools)

    return play(turn.task, turn.arm.name, weather, ask, turn.repeat)
