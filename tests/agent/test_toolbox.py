"""The toolbox: whatever a tool does becomes an observation, and no tool is called for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
from langchain_core.tools import BaseTool, ToolException

from agent import Limits
from agent.limits import LimitReached
from agent.results import Action, Observation
from agent.toolbox import Toolbox
from prompts import speaker
from tests.scripted import failing, probe
from tools import default_tools


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Nameless(BaseException):
    """Derived from BaseException, as a library's own way out may be."""


class Box:
    """A toolbox as one run uses it: a step is a call of each input."""

    def __init__(self, *tools: BaseTool, seconds_left: float = 60, **limits: Any) -> None:
        self.toolbox = Toolbox(tools, Limits(**limits), speaker("en"))
        self._first = tools[0].name
        self._seconds_left = seconds_left

    def step(self, *inputs: Any, tool: str = "") -> list[Observation]:
        actions = [Action(tool or self._first, given) for given in inputs]
        return list(self.toolbox.run(actions, lambda: self._seconds_left))

    def call(self, given: Any = "x", tool: str = "") -> Observation:
        return self.step(given, tool=tool)[0]

    @property
    def has_ended(self) -> bool:
        try:
            self.toolbox.check()
        except LimitReached:
            return True
        return False


class Counted:
    """A tool's function that counts its calls; it fails as often as it is told."""

    def __init__(self, outcomes: Sequence[bool] = ()) -> None:
        self.inputs: list[str] = []
        self._outcomes = iter(outcomes)

    def __call__(self, given: str) -> str:
        self.inputs.append(given)
        if not next(self._outcomes, True):
            raise ValueError("no luck")
        return f"result of {given}"


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError("city"), "KeyError: 'city'"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (StopIteration(), "StopIteration"),
        (Nameless("left"), "Nameless: left"),
        (Unprintable(), "Unprintable"),
        (ToolException("unhandled"), "ToolException: unhandled"),
        (ValueError("two\n  lines\ud800"), "ValueError: two lines?"),
    ],
)
def test_an_exception_becomes_its_class_and_its_words(error: BaseException, words: str) -> None:
    seen = Box(failing(error)).call()

    assert (seen.text, seen.ok, seen.ran) == (f"Probe failed: {words}", False, True)


def test_a_long_exception_is_told_in_short() -> None:
    seen = Box(failing(ValueError("no " * 5000))).call()

    assert len(seen.text) < 350
    assert seen.text.endswith("…")


def test_ctrl_c_in_a_tool_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        Box(failing(KeyboardInterrupt())).call()


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        (4, "4"),
        (float("nan"), "nan"),
        (True, "True"),
        (b"caf\xc3\xa9 \xff", "café �"),
        ("a\ud800b", "a?b"),
        ({"当地": datetime(2031, 8, 14)}, '{"当地": "2031-08-14 00:00:00"}'),
        ([1, "二"], '[1, "二"]'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ("  padded\n", "padded"),
    ],
)
def test_a_result_of_any_type_becomes_text(result: object, text: str) -> None:
    seen = Box(probe(lambda _: result)).call()

    assert (seen.text, seen.ok) == (text, True)


def test_a_circular_result_becomes_text() -> None:
    circle: dict[str, object] = {"name": "round"}
    circle["self"] = circle

    assert "round" in Box(probe(lambda _: circle)).call().text


@pytest.mark.parametrize("result", ["", None, " \n", b""])
def test_an_empty_result_reads_as_a_fact(result: object) -> None:
    seen = Box(probe(lambda _: result)).call("Nowhere")

    assert seen.text == 'Probe returned nothing for "Nowhere": there is no data.'
    assert seen.ok


def test_a_huge_result_is_cut_to_its_head_and_tail_and_says_so() -> None:
    text = Box(probe(lambda _: "head" + "x" * 300_000 + "tail")).call().text

    assert len(text) <= 2000
    assert text.startswith("head")
    assert text.endswith("tail")
    assert "300008 characters" in text


def test_an_error_that_came_as_text_is_a_failure_in_its_own_words() -> None:
    seen = Box(*default_tools()).call("1/0")

    assert seen.text.startswith("Error: ")
    assert not seen.ok


def test_what_a_tool_makes_of_its_own_exception_is_its_result() -> None:
    tool = failing(ToolException("try another city"), handle_tool_error=True)

    assert Box(tool).call().text == "try another city"


@pytest.mark.parametrize(
    ("box", "seconds"),
    [
        ({"tool_timeout_s": 0.1}, "0.1"),
        ({"metadata": {"timeout_s": 0.1}}, "0.1"),
        ({"seconds_left": 0.1}, "0.1"),
        ({"metadata": {"timeout_s": 0.1}, "tool_timeout_s": 30, "seconds_left": 30}, "0.1"),
    ],
)
def test_a_hung_tool_is_left_behind_at_the_shortest_deadline(
    box: dict[str, Any], seconds: str, released: threading.Event
) -> None:
    tool = probe(lambda _: released.wait(60), metadata=box.pop("metadata", None))
    seen = Box(tool, **box).call()

    assert seen.text.startswith(f"Probe did not finish within {seconds} s")
    assert "may still take effect" in seen.text
    assert (seen.ok, seen.duration_s < 10) == (False, True)


@pytest.mark.parametrize("seconds_left", [0, -3])
def test_a_tool_is_not_called_when_the_time_of_the_run_is_over(seconds_left: float) -> None:
    asked: list[str] = []
    seen = Box(probe(lambda given: asked.append(given) or "late"), seconds_left=seconds_left).call()

    assert asked == []
    assert (seen.text, seen.ok, seen.ran) == (
        "Probe was not called: the time of this run is over.",
        False,
        False,
    )


def test_a_tool_has_its_own_deadline_even_when_it_is_longer(released: threading.Event) -> None:
    tool = probe(lambda _: released.wait(0.3), metadata={"timeout_s": 30})

    assert Box(tool, tool_timeout_s=0.05).call().text == "False"


def test_a_tool_that_fails_three_times_is_switched_off_and_the_model_is_told() -> None:
    tool = Counted([False] * 9)
    box = Box(probe(tool))
    first, second, third, fourth = (box.call(given) for given in "abcd")

    assert first.text == "Probe failed: ValueError: no luck"
    assert "switched off" not in second.text
    assert "has failed 3 times and is now switched off" in third.text
    assert fourth.text == "Probe is switched off for this run and was not called. Answer with what is known."
    assert (fourth.ok, fourth.ran, tool.inputs) == (False, False, ["a", "b", "c"])


def test_only_its_own_success_resets_the_failures_of_a_tool() -> None:
    shaky, steady = Counted([False, False, True, False, False, False]), Counted()
    box = Box(probe(shaky), probe(steady, "Other"))
    for given in "abcde":
        box.call(given)
        box.call(given, tool="Other")

    assert box.call("f").text.endswith("answer with what is known.")
    assert not box.call("g").ran
    assert box.call("h", tool="Other").ok


def test_failures_of_one_step_are_one_strike() -> None:
    box = Box(probe(Counted([False] * 4)), max_tool_failures=2)

    assert all("switched off" not in seen.text for seen in box.step("a", "b", "c"))
    assert "switched off" in box.call("d").text


def test_the_same_call_twice_in_one_step_runs_once() -> None:
    tool = Counted()
    one, two = Box(probe(tool)).step("a", "a")

    assert (one, tool.inputs) == (two, ["a"])


@pytest.mark.parametrize("again", ["1 + 1", " 1+1", "1+\t1\n"])
def test_the_same_call_but_for_blanks_is_not_run_and_its_result_is_told(again: str) -> None:
    tool = Counted()
    box = Box(probe(tool))
    box.call("1+1")
    seen = box.call(again)

    assert (seen.ran, tool.inputs, box.has_ended) == (False, ["1+1"], False)
    assert "just made" in seen.text
    assert "result of 1+1" in seen.text


@pytest.mark.parametrize(("first", "second"), [("ab c", "a bc"), ("A17", "A 17"), ("1 1", "11")])
def test_a_blank_that_parts_words_makes_another_call(first: str, second: str) -> None:
    tool = Counted()
    box = Box(probe(tool))

    assert [box.call(text).ran for text in (first, second)] == [True, True]
    assert tool.inputs == [first, second]


@pytest.mark.parametrize("outcome", [True, False])
def test_the_third_same_call_in_a_row_ends_the_run(outcome: bool) -> None:
    tool = Counted([outcome])
    box = Box(probe(tool))
    first, second, third = (box.call("a") for _ in range(3))

    assert box.has_ended
    assert tool.inputs == ["a"]
    assert (first.ok, second.ok, third.ok) == (outcome,) * 3
    assert third.text == second.text


def test_another_call_in_between_starts_the_count_anew() -> None:
    tool = Counted()
    box = Box(probe(tool))
    for given in "aabaab":
        box.call(given)
        assert not box.has_ended

    assert tool.inputs == ["a", "b", "a", "b"]


def test_arguments_by_name_are_the_same_in_any_order() -> None:
    box = Box(probe(Counted()))
    box.call({"a": 1, "b": 2})

    assert not box.call({"b": 2, "a": 1}).ran
    assert box.call({"b": 1, "a": 2}).ran


def test_a_repeatable_tool_may_be_asked_again_and_again() -> None:
    tool = Counted()
    box = Box(probe(tool, metadata={"repeatable": True}))
    for _ in range(6):
        assert box.call("").ran

    assert not box.has_ended
    assert len(tool.inputs) == 6


def test_the_time_that_comes_with_the_agent_is_repeatable() -> None:
    box = Box(*default_tools())

    assert [box.call("", tool="Time").ran for _ in range(4)] == [True] * 4


def test_max_repeats_is_how_many_same_calls_are_borne() -> None:
    box = Box(probe(), max_repeats=1)
    box.call()
    assert not box.has_ended
    box.call()
    assert box.has_ended


def test_a_secret_in_an_output_or_an_exception_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPS_API_KEY", "canary-4711")
    url = "https://me:canary-4711@maps.test/?appid=SECRETKEY&city=Lima"
    texts = [
        Box(failing(ConnectionError(f"refused: {url}"))).call().text,
        Box(probe(lambda _: f"Error: refused: {url}")).call().text,
        Box(probe(lambda _: {"next": url})).call().text,
    ]

    assert all("canary" not in text and "SECRETKEY" not in text and "***" in text for text in texts)
    assert "city=Lima" in texts[2]
