"""A trace becomes steps: each with its calls and what became of them, its requests, and what it cost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

from agent import Agent, Limits, SettingsError
from agent.recorded import read_trace
from agent.testing import ScriptedModel
from scripts.reporting.exchanges import Pool
from scripts.reporting.timeline import view_of
from scripts.reporting.views import RunView
from tests.protocols import DIALECTS, TOOLS, Dialect, calling
from tests.scripted import DONE, actions, failing, probe, uncounted
from tests.scripts.report_traces import cut_after, hanging, record, view

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


def states(run: RunView) -> list[tuple[str, list[str]]]:
    return [(step.state, [call.state for call in step.calls]) for step in run.steps]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


@each_dialect
def test_a_step_holds_thought_action_and_observation(path: Path, dialect: Dialect) -> None:
    replies = [dialect.call("2+2"), dialect.answer("4")]
    run = view(path, *replies, question="2+2?", protocol=dialect.protocol)

    first, last = run.steps
    (call,) = first.calls
    assert (first.thought, call.tool, call.observation) == ("on", "Calculator", "4")
    assert "2+2" in call.given
    assert states(run) == [("ok", ["ok"]), ("answer", [])]
    assert (run.question, run.ending.answer, run.ending.stop_reason) == ("2+2?", "4", "final_answer")
    assert last.exchanges[0].reply == dialect.answer("4").content


def test_every_way_in_which_a_call_fails_has_its_state(path: Path) -> None:
    calls = calling(
        ("Bad", {"tool_input": "1"}),
        ("Weather", {"tool_input": "Lima"}),
        ("Empty", {"tool_input": "x"}),
        ("Probe", {"no such field": "x"}),
        ("Probe", {"tool_input": "x"}),
    )
    with hanging() as weather:
        empty = probe(lambda _: "Error: no data", "Empty")
        tools = [failing(ValueError("boom"), "Bad"), weather, empty, probe()]
        run = view(path, calls, AIMessage(content="no"), tools=tools, protocol="tools")

    assert states(run)[0] == ("failed", ["failed", "timed_out", "failed", "refused", "ok"])


def test_a_call_that_came_again_at_once_was_not_run_again(path: Path) -> None:
    run = view(
        path, *actions("x", "x", tool="Probe"), "not readable", *actions("x", tool="Probe"), tools=[probe()]
    )

    assert states(run)[:4] == [
        ("ok", ["ok"]),
        ("repeated", ["repeated"]),
        ("bad_reply", []),
        ("repeated", ["repeated"]),
    ]


def test_a_tool_that_is_off_is_told_from_one_that_fails(path: Path) -> None:
    replies = actions("1", "2", "3", tool="Bad")
    tools = [failing(ValueError("boom"), "Bad")]
    run = view(path, *replies, DONE, tools=tools, limits=Limits(max_tool_failures=2))

    assert states(run)[:3] == [("failed", ["failed"])] * 2 + [("failed", ["switched_off"])]
    assert [step.calls[0].just_switched_off for step in run.steps[:3]] == [False, True, False]
    assert run.steps[0].calls[0].error == "ValueError: boom"


def test_the_order_of_arguments_does_not_hide_a_repeat(path: Path) -> None:
    def add(one: int, two: int) -> str:
        """Adds."""
        return str(one + two)

    tool = StructuredTool.from_function(add)
    calls = [calling(("add", {"one": 1, "two": 2})), calling(("add", {"two": 2, "one": 1}))]
    run = view(path, *calls, AIMessage(content="3"), protocol="tools", tools=[tool])

    assert states(run)[1] == ("repeated", ["repeated"])
    assert run.steps[1].seen_before == (1,)


def test_the_same_call_twice_in_a_batch_ran_once_and_shows_it_twice(path: Path) -> None:
    twice = calling(("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": "a"}))
    run = view(path, twice, AIMessage(content="A"), protocol="tools", tools=[probe()])

    one, other = run.steps[0].calls
    assert (one.state, one.observation, one.duration_s) == ("ok", "A", other.duration_s)


@each_dialect
def test_a_bad_reply_shows_what_the_model_was_told(path: Path, dialect: Dialect) -> None:
    run = view(path, dialect.unreadable, dialect.answer(), protocol=dialect.protocol)

    assert states(run)[0] == ("bad_reply", [])
    assert "could not be used" in (run.steps[0].correction or "")


def test_model_and_tools_are_timed_apart_and_add_up_to_no_more_than_the_run(path: Path) -> None:
    with hanging(timeout_s=0.2) as weather:
        run = view(path, *actions("Lima", tool="Weather"), DONE, tools=[weather])

    assert run.steps[0].tools_s >= 0.2
    assert run.steps[0].model_s > 0
    assert run.model_s + run.tools_s <= run.duration_s + 0.001


def test_tokens_and_money_are_those_of_the_result(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=2.5/10")
    agent = Agent(llm=ScriptedModel(replies=[*actions("1+1"), DONE]), trace=path)
    usage = agent.run("1+1?").usage
    (recorded,) = read_trace(path)
    run = view_of(recorded, 1, "t", Pool())

    assert (run.requests, run.tokens) == (2, usage.total_tokens)
    assert sum(step.tokens or 0 for step in run.steps) == usage.total_tokens
    assert run.cost_usd is not None
    assert sum(step.cost_usd or 0 for step in run.steps) == pytest.approx(run.cost_usd)


def test_tokens_that_no_server_told_are_not_known(path: Path) -> None:
    run = view(path, *actions("1+1"), uncounted(DONE))

    assert run.steps[0].tokens is not None
    assert (run.steps[1].tokens, run.tokens, run.cost_usd) == (None, None, None)


def test_the_request_for_the_answer_at_a_limit_is_a_step_without_a_number(path: Path) -> None:
    run = view(path, *actions("1+1"), DONE, limits=Limits(max_iterations=1))

    assert [(step.is_last_request, step.state) for step in run.steps] == [(False, "ok"), (True, "answer")]
    assert (run.step_count, run.ending.forced) == (1, True)


def test_a_request_whose_answer_was_none_is_not_shown_as_an_answer(path: Path) -> None:
    run = view(path, *actions("1+1"), "Action: Calculator[", limits=Limits(max_iterations=1))

    assert run.ending.answer is None
    assert run.steps[-1].state == "bad_reply"


@pytest.mark.parametrize(
    ("event", "state", "calls"),
    [("tool_started", "no_end", ["no_end"]), ("tool_returned", "no_end", ["ok"]), ("request", "no_end", [])],
)
def test_a_trace_that_was_cut_off_is_shown_up_to_its_end(
    path: Path, event: str, state: str, calls: list[str]
) -> None:
    record(path, *actions("1", "2", tool="Probe"), tools=[probe()])
    (recorded,) = read_trace(cut_after(path, event))
    run = view_of(recorded, 1, "t", Pool())

    assert run.ending.stop_reason == "unfinished"
    assert states(run)[-1] == (state, calls)


def test_a_run_that_was_not_begun_has_no_steps(path: Path) -> None:
    record(path, DONE)
    (recorded,) = read_trace(cut_after(path, "run_started"))

    assert view_of(recorded, 1, "t", Pool()).steps == ()


def test_several_runs_in_a_file_stay_apart(path: Path) -> None:
    record(path, *actions("1+1"), DONE, question="first")
    record(path, DONE, question="second")
    runs = [view_of(each, 1, "t", Pool()) for each in read_trace(path)]

    assert [(run.question, run.step_count) for run in runs] == [("first", 2), ("second", 1)]


def test_records_that_do_not_hold_together_are_one_clear_error(path: Path) -> None:
    record(path, *actions("1+1"), DONE)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r'"observations": \[[^]]*\]', '"observations": []', text, count=1), encoding="utf-8"
    )
    (recorded,) = read_trace(path)

    with pytest.raises(SettingsError, match=r"t\.jsonl: run .* is not whole"):
        view_of(recorded, 1, str(path), Pool())


def test_replies_with_native_calls_are_shown_raw(path: Path) -> None:
    run = view(path, *TOOLS.calls("2+2"), TOOLS.answer("4"), protocol="tools")

    assert '"expression"' in (run.steps[0].exchanges[0].reply or "")
