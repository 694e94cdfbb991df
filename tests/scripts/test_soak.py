"""A short soak of the agent holds every demand; each demand falls to something that deserves it."""

from __future__ import annotations

import mmap
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from agent import Agent, RunResult
from agent.memory import new_window
from scripts import soak
from scripts.soaking.marks import KINDS, Mark, Marks, marks_in
from scripts.soaking.measured import DEMANDS, Measured, Spent, broken_demands, table
from scripts.soaking.service import fault_of, read_request, reply_to

SHORT = ["--minutes", "0.02", "--threads", "3"]
HOARDED_BYTES = 16_000_000
IMPATIENT = [*SHORT, "--patience", "0.5"]

GOOD = Measured(
    runs=10,
    requests=20,
    seconds=1.0,
    crossed_results=0,
    crossed_requests=0,
    unanswered=0,
    untrimmed=0,
    memory=[100_000_000] * 20,
    threads_before=1,
    threads_most=9,
    threads_after=1,
    files_before=5,
    files_after=5,
    budgets=[Spent("tokens", cap=100, spent=120, in_flight=30)],
)


class Contender:
    """An agent, until a subclass does something about it."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.agent = Agent(**options)

    def run(self, question: str) -> RunResult:
        return self.agent.run(question)


class Crossing(Contender):
    """All of them remember in one place, and each run answers with the one before."""

    window = new_window()
    last: RunResult | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "memory": Crossing.window})

    def run(self, question: str) -> RunResult:
        result = super().run(question)
        before, Crossing.last = Crossing.last, result
        return before or result


class Hoarding(Contender):
    """Each run leaves something behind of everything."""

    hoard: ClassVar[list[Any]] = []
    release = threading.Event()

    def run(self, question: str) -> RunResult:
        # Fresh from the system, since freed memory of earlier tests may be lying about; and enough to show
        # in a process that has loaded a model.
        pages = mmap.mmap(-1, HOARDED_BYTES)
        pages.write(b"x" * HOARDED_BYTES)
        Hoarding.hoard += [pages, b"x" * HOARDED_BYTES, socket.socket()]
        threading.Thread(target=Hoarding.release.wait, daemon=True).start()
        result = super().run(question)
        self.options["memory"].chat_memory.messages *= 7
        return result


class Spending(Contender):
    """Knows of no budget."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "budget": None})


@pytest.fixture
def clean() -> Iterator[None]:
    Hoarding.release = threading.Event()
    yield
    Hoarding.release.set()
    for each in Hoarding.hoard:
        if not isinstance(each, bytes):
            each.close()
    Hoarding.hoard.clear()


def fallen(err: str) -> set[str]:
    return {line.removeprefix("FALLS SHORT  ") for line in err.splitlines() if line.startswith("FALLS SHORT")}


def test_a_short_soak_of_the_agent_holds_every_demand(capsys: pytest.CaptureFixture[str]) -> None:
    code = soak.main(SHORT)
    out, err = capsys.readouterr()
    assert (code, fallen(err)) == (0, set()), err
    assert "crossed results" in out
    assert "100% of 0.02 min" in err
    assert "\r" not in err, "a bar where there is no terminal"


@pytest.mark.parametrize(
    ("contender", "broken"),
    [
        (
            Crossing,
            {
                "every run ends with its own answer",
                "no word of another run is in a result",
                "no word of another run is in a request",
            },
        ),
        (Hoarding, {"memory is flat", "threads end", "files are closed", "the conversation stays trimmed"}),
        (Spending, {"a budget holds"}),
    ],
)
@pytest.mark.usefixtures("clean")
def test_what_crosses_hoards_or_spends_falls_short(
    contender: type[Contender], broken: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main(IMPATIENT, contender) == soak.FELL_SHORT
    assert broken <= fallen(capsys.readouterr().err)


def test_an_interrupted_soak_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted(Contender):
        def run(self, question: str) -> RunResult:
            raise KeyboardInterrupt

    assert soak.main(IMPATIENT, Interrupted) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "demand"),
    [
        ({"runs": 0}, "runs were made"),
        ({"unanswered": 1}, "every run ends with its own answer"),
        ({"crossed_results": 1}, "no word of another run is in a result"),
        ({"crossed_requests": 1}, "no word of another run is in a request"),
        ({"untrimmed": 1}, "the conversation stays trimmed"),
        ({"memory": [100_000_000] * 10 + [130_000_000] * 10}, "memory is flat"),
        ({"threads_after": 2}, "threads end"),
        ({"files_after": 6}, "files are closed"),
        ({"budgets": [Spent("tokens", cap=100, spent=131, in_flight=30)]}, "a budget holds"),
        ({"budgets": [Spent("tokens", cap=100, spent=99, in_flight=30)]}, "a budget holds"),
    ],
)
def test_each_demand_falls_to_its_own_figure(change: dict[str, Any], demand: str) -> None:
    assert broken_demands(GOOD) == []
    assert broken_demands(replace(GOOD, **change)) == [demand]
    assert demand in DEMANDS


def test_the_first_tenth_may_fill_caches() -> None:
    assert broken_demands(replace(GOOD, memory=[10_000_000, 10_000_000, *[100_000_000] * 18])) == []
    assert "100.0 MB" in table(GOOD)


def test_a_system_that_does_not_tell_its_files_is_believed() -> None:
    assert broken_demands(replace(GOOD, files_before=None, files_after=None)) == []


def test_every_kind_of_run_comes_and_no_marker_comes_twice() -> None:
    marks = Marks()
    given = [marks.new_run(agent=1) for _ in range(100)]
    assert {mark.kind for mark in given} == set(KINDS)
    assert len({*map(str, given)}) == 100
    assert [*marks_in(" ".join(mark.answer for mark in given))] == given


def body(number: int, *contents: str) -> dict[str, Any]:
    """A request of agent ``number``; after its question, contents take turns."""
    roles = ["user", "assistant"] * len(contents)
    system = {"role": "system", "content": f"Tools.\n\nYou are agent {number} ."}
    told = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]
    return {"messages": [system, *told]}


OWN, EARLIER, OTHER = Mark(1, 6), Mark(1, 0), Mark(2, 1)


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        ([OWN.question], ""),
        ([EARLIER.question, EARLIER.answer, OWN.question], ""),
        ([OWN.question, f"Action: Echo[{OWN}]", f"Observation: echo of {OWN}"], ""),
        ([OWN.question, f"Action: Echo[{OWN}]", f"Observation: echo of {EARLIER}"], "holds"),
        ([OTHER.question, OTHER.answer, OWN.question], "another agent"),
        ([EARLIER.question, OTHER.answer, OWN.question], "not of one run"),
        ([*[EARLIER.question, EARLIER.answer] * 6, OWN.question], "has 12 messages"),
        ([OTHER.question], "by agent 1"),
    ],
)
def test_the_service_sees_what_does_not_belong_in_a_request(contents: list[str], fault: str) -> None:
    told = fault_of(read_request(body(1, *contents)))
    assert bool(told) == bool(fault)
    assert fault in told


def test_the_service_answers_from_the_request_alone() -> None:
    asked = read_request(body(1, OWN.question))
    assert reply_to(asked) == reply_to(asked) == f"Thought: {OWN} first.\nAction: Echo[0 {OWN}]"
    asked = read_request(body(1, OWN.question, "Action: ...", "Observation: ..."))
    assert reply_to(asked) == f"Thought: {OWN} it is.\nFinal Answer: {OWN.answer}"
