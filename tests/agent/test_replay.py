"""The replay: today's code on what was recorded, without a model, a key or a tool."""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage
from langchain_core.pydantic_v1 import BaseModel, Field
from langchain_core.tools import StructuredTool

from agent import Agent, Limits, SettingsError, replay
from agent import client as client_module
from agent.recorded import read_trace
from agent.replaying import Replay
from agent.testing import ScriptedModel, assert_replays
from agent.trace import VERSION
from tests.agent.random_runs.scenes import PRICES, WAYS, Scene, Turn, Way, scenes, turns
from tests.agent.random_runs.stage import Stage
from tests.protocols import DIALECTS, TEXT, Dialect, calling
from tests.scripted import failing, probe, uncounted

BUDGET = 400  # tokens: two of the three runs have room in it
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def edit(path: Path, event: str, change: Edit) -> None:
    """Change the first record of a kind, in place."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(next(record for record in lines if record["event"] == event))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


# --- the same ----------------------------------------------------------------------------------------


def _ends(dialect: Dialect) -> dict[str, tuple[list[Any], dict[str, Any]]]:
    calls, twice = dialect.calls("1", "2", "3"), dialect.calls("1", "1", "1")
    error = Limits(max_iterations=2, at_cap="error")
    return {
        "final_answer": ([calls[0], dialect.answer("1")], {}),
        "forced": ([*calls[:2], dialect.answer("2")], {"limits": Limits(max_iterations=2)}),
        "max_iterations": (calls[:2], {"limits": error}),
        "repeated_action": ([*twice, dialect.answer("1")], {}),
        "parse_errors": ([dialect.unreadable] * 3 + [dialect.answer()], {}),
        "token_limit": (calls[:1], {"limits": Limits(max_total_tokens=1)}),
        "token_limit_uncounted": (
            [uncounted(str(calls[0].content)).copy(update={"tool_calls": calls[0].tool_calls})],
            {"limits": Limits(max_total_tokens=1)},
        ),
        "cost_limit": (calls[:1], {"limits": Limits(max_cost_usd=1e-9)}),
        "model_error": ([calls[0], ValueError("the model is away")], {}),
        "tool_fails": (
            [*dialect.calls("1", "2", "3", "4", tool="Probe"), dialect.answer()],
            {"tools": [failing(LookupError("nothing: there"))]},
        ),
    }


ENDS = list(_ends(TEXT))


@each_dialect
@pytest.mark.parametrize("end", ENDS)
def test_each_way_to_end_replays_the_same(
    path: Path, dialect: Dialect, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_PRICES", "scripted=1/2")
    replies, options = _ends(dialect)[end]
    result, _ = dialect.play(*replies, trace=path, **options)
    monkeypatch.delenv("AGENT_PRICES")

    replayed = replay(path)
    assert replayed.difference is None
    (again,) = replayed.results
    assert again is not None
    assert (again.answer, again.stop_reason, again.forced) == (
        result.answer,
        result.stop_reason,
        result.forced,
    )
    assert (again.usage, again.error, len(again.steps)) == (result.usage, result.error, len(result.steps))
    assert_replays(path)


@each_dialect
@pytest.mark.parametrize("given", ["http://h.test/?apikey=abcdef", "Authorization: Bearer abcdefgh12"])
def test_a_call_whose_input_was_masked_is_still_the_call(path: Path, dialect: Dialect, given: str) -> None:
    dialect.play(dialect.call(given, "Probe"), dialect.answer("1"), tools=[probe()], trace=path)

    assert given not in path.read_text(encoding="utf-8")
    assert_replays(path)


@each_dialect
def test_a_time_limit_is_reached_where_it_was(path: Path, dialect: Dialect) -> None:
    result, _ = dialect.play(
        dialect.call("1", tool="Probe"),
        dialect.answer(),
        tools=[probe(lambda _: str(threading.Event().wait(1.0)))],
        limits=Limits(max_seconds=0.5),
        trace=path,
    )

    assert result.stop_reason == "time_limit"
    assert replay(path).difference is None


@each_dialect
def test_a_conversation_in_one_file_with_a_budget(path: Path, dialect: Dialect) -> None:
    replies = [dialect.call("1+1"), dialect.answer("2"), dialect.call("2+2"), dialect.answer("4")]
    agent = Agent(
        llm=ScriptedModel(replies=[*replies, dialect.answer("no room")]),
        protocol=dialect.protocol,
        memory=ConversationBufferWindowMemory(return_messages=True),
        budget=Limits(max_total_tokens=BUDGET),
        trace=path,
        instructions="Be $short.",
    )
    ended = [agent.run(question).stop_reason for question in ("1+1?", "2+2?", "和？", "more?")]

    assert "token_limit" in ended
    replayed = replay(path)
    assert replayed.difference is None
    assert [result and result.stop_reason for result in replayed.results] == ended


class Inner(BaseModel):
    depth: int = Field(3, description="How deep.", ge=0)
    names: list[str] = Field(default_factory=list)


class Outer(BaseModel):
    """Two fields, and one of them nested."""

    inner: Inner
    way: str | None = Field(None, description="Which way.")


@each_dialect
def test_a_nested_schema_replays_without_its_tool(path: Path, dialect: Dialect) -> None:
    def dig(inner: Inner, way: str | None = None) -> str:
        return f"{inner.depth} {way}"

    tools = [StructuredTool.from_function(dig, name="Dig", description="Digs.", args_schema=Outer)]
    values = [{"inner": {"depth": 2, "names": ["a"]}, "way": "down"}, {"inner": {}}, {"outer": 1}]
    if dialect.protocol == "text":
        replies = [AIMessage(content=f"Action: Dig[{json.dumps(value)}]") for value in values]
    else:
        replies = [calling(("Dig", value)) for value in values]
    result, _ = dialect.play(*replies, dialect.answer(), tools=tools, trace=path)

    ran = [[seen.ran for seen in step.observations] for step in result.steps]
    assert ran == [[True], [True], [False] if dialect.protocol == "tools" else [], []]
    assert replay(path).difference is None


@pytest.fixture
def _random(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.0)
    monkeypatch.setenv("AGENT_PRICES", PRICES)
    monkeypatch.setenv("AGENT_GRAMMAR", "on" if way == "words" else "off")
    monkeypatch.setenv("AGENT_TRACE_DIR", str(tmp_path / "traces"))


@pytest.mark.filterwarnings(
    "ignore:Generating overly large repr"
)  # hypothesis shows what it drew: a whole run
@pytest.mark.usefixtures("_random")
@pytest.mark.parametrize("way", WAYS)
def test_whatever_happens_in_a_run_it_replays_the_same(way: Way, tmp_path: Path) -> None:
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(scenes(way).filter(lambda scene: not scene.is_timed), turns(way))
    def check(scene: Scene, turn: Turn) -> None:
        shutil.rmtree(tmp_path / "traces", ignore_errors=True)
        record = Stage(scene).play(turn)
        (file,) = (tmp_path / "traces").glob("*.jsonl")
        replayed = replay(file)
        assert replayed.difference is None
        (result,) = replayed.results
        recorded = record.result
        assert (result and result.answer) == (recorded and recorded.answer)

    check()


# --- otherwise ---------------------------------------------------------------------------------------


def _record(path: Path, dialect: Dialect) -> None:
    question = "2+2?"
    dialect.play(
        dialect.call("2+2"), dialect.answer("4"), question=question, trace=path, instructions="Be brief."
    )


def _other_call(record: dict[str, Any]) -> None:
    message = record["message"]
    message["content"] = message["content"].replace("2+2", "2+3")
    for call in message.get("tool_calls", ()):
        call["args"] = {"expression": "2+3"}


CHANGES: dict[str, tuple[str, Edit, str]] = {
    "reply": ("reply", _other_call, "step 1: tool_started.input"),
    "result": ("tool_returned", lambda record: record.update(text="5"), "step 1: step.observations 1.text"),
    "prompt": (
        "run_started",
        lambda record: record.update(instructions="Be long."),
        "step 1: request.messages 1",
    ),
    "caps": (
        "run_started",
        lambda record: record["limits"].update(max_iterations=1),
        "step 1: recorded is step_started, now comes last_request",
    ),
    "usage": (
        "reply",
        lambda record: record["metadata"].update(token_usage={}),
        "step 1: step.usage.prompt_tokens: recorded ",
    ),
    "answer": (
        "run_ended",
        lambda record: record.update(answer="5"),
        'step 2: run_ended.answer from character 1: recorded "5", now "4"',
    ),
    "ending": ("tool_returned", lambda record: record.update(event="reply"), "step 1: "),
}


@each_dialect
@pytest.mark.parametrize("change", CHANGES)
def test_the_first_difference_is_said_in_a_sentence(path: Path, dialect: Dialect, change: str) -> None:
    _record(path, dialect)
    event, how, said = CHANGES[change]
    edit(path, event, how)

    replayed = replay(path)
    assert not replayed.same
    assert (replayed.difference or "").startswith(said)
    assert replayed.results == (None,)
    assert "\n" not in (replayed.difference or "")
    with pytest.raises(AssertionError) as raised:
        assert_replays(path)
    assert str(raised.value) == f"{path}: {replayed.difference}"


def test_of_several_runs_the_one_that_differs_is_named(path: Path) -> None:
    for _ in range(3):
        _record(path, TEXT)
    edit(path, "run_ended", lambda record: record.update(answer="5"))
    first = read_trace(path)[0].name

    replayed = replay(path)
    assert (replayed.difference or "").startswith(f"run {first}, step 2: run_ended.answer")


# --- cut off, and no trace at all --------------------------------------------------------------------


@each_dialect
def test_a_trace_replays_wherever_it_was_cut_off(path: Path, dialect: Dialect) -> None:
    _record(path, dialect)
    data = path.read_bytes()
    ends = list(itertools.accumulate(len(line) for line in data.splitlines(keepends=True)))
    started = next(end for end in ends if b"run_started" in data[:end])
    for end in ends:
        for cut in (end, end + 7):
            path.write_bytes(data[:cut])
            if end < started:
                with pytest.raises(SettingsError, match="holds no run"):
                    replay(path)
                continue
            replayed = replay(path)
            assert replayed.difference is None
            assert [result and result.answer for result in replayed.results] == (
                ["4"] if end == len(data) else [None]
            )


def test_after_a_line_that_was_cut_off_other_runs_still_replay(path: Path) -> None:
    _record(path, TEXT)
    path.write_bytes(path.read_bytes()[:-20])
    _record(path, TEXT)

    replayed = replay(path)
    assert replayed.difference is None
    assert [result and result.answer for result in replayed.results] == [None, "4"]


def test_a_last_line_that_lost_its_line_end_alone_is_whole(path: Path) -> None:
    _record(path, TEXT)
    path.write_bytes(path.read_bytes()[:-1])

    (result,) = replay(path).results
    assert result is not None
    assert result.answer == "4"


def test_the_mark_of_utf_8_before_a_trace_is_none_of_it(path: Path) -> None:
    _record(path, TEXT)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert [result and result.answer for result in replay(path).results] == ["4"]


@each_dialect
@pytest.mark.parametrize("cut", [0, 20])
def test_the_same_trace_twice_in_a_file_is_two_runs(path: Path, dialect: Dialect, cut: int) -> None:
    _record(path, dialect)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - cut] + b"\n" + data)

    replayed = replay(path)
    assert replayed.difference is None
    assert [result and result.answer for result in replayed.results] == [None if cut else "4", "4"]


def test_a_second_start_begins_a_run_where_no_text_came_before_it(path: Path) -> None:
    Agent(llm=ScriptedModel(replies=["Final Answer: 4"]), tools=[], trace=path).run("2+2?")
    data = path.read_bytes()
    assert json.loads(data.splitlines()[0])["event"] == "run_started"
    path.write_bytes(data * 2)

    assert [len(run.records) for run in read_trace(path)] == [len(read_trace(path)[0].records)] * 2
    assert [result and result.answer for result in replay(path).results] == ["4", "4"]


START = '{"run": "a", "t": 0, "event": "run_started", "version": 1}\n'
NO_TRACES = {
    "empty": (b"", "holds no run"),
    "blank": (b"\n\n", "holds no run"),
    "one cut line": (START.encode()[:-9], "holds no run"),
    "not JSON": (b"# A heading\n", "line 1 is no record of a trace"),
    "other JSON": (b'{"a": 1}\n', "line 1 is no record of a trace"),
    "a list": (b"[1]\n", "line 1 is no record of a trace"),
    "bottomless": (b"[" * 100_000 + b"\n", "line 1 is no record of a trace"),
    "binary": (bytes(range(256)) * 20, "line 1 is no record of a trace"),
    "later": (START.replace("1}", f"{VERSION + 1}}}").encode(), "was written by a later version"),
    "no version": (START.replace(', "version": 1', "").encode(), "line 1 is no record of a trace"),
    "no setup": (START.encode(), "its run_started says too little"),
    "no start": (b'{"run": "a", "t": 0, "event": "step_started", "number": 1}\n', "holds no run"),
    "no text": (
        START.encode() + b'{"run": "a", "t": 0, "event": "x", "y": {"$text": 3}}\n',
        "line 2 is no record",
    ),
    "a time past all floats": (
        START.replace('"t": 0', f'"t": 1{"0" * 400}').encode(),
        "line 1 is no record",
    ),
    "no time": (
        START.encode() + b'{"run": "a", "event": "step_started", "number": 1}\n',
        "line 2 is no record",
    ),
}


@pytest.mark.parametrize("kind", NO_TRACES)
def test_a_file_that_is_no_trace_is_one_clear_sentence(path: Path, kind: str) -> None:
    data, said = NO_TRACES[kind]
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=said) as raised:
        replay(path)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_a_file_that_is_not_there_is_said(path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        replay(path)


def test_a_folder_gets_a_way_out(path: Path) -> None:
    with pytest.raises(SettingsError, match="is a folder: name one of the traces in it"):
        replay(path.parent)


@each_dialect
def test_whatever_is_missing_in_a_trace_is_a_difference_or_said(path: Path, dialect: Dialect) -> None:
    _record(path, dialect)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = 0
    for number, line in enumerate(lines):
        for key in line:
            changed = {name: value for name, value in line.items() if name != key}
            others = [*lines[:number], changed, *lines[number + 1 :]]
            path.write_text("".join(f"{json.dumps(each)}\n" for each in others), encoding="utf-8")
            try:
                told += not replay(path).same
            except SettingsError:
                told += 1
    assert told > 20


def test_a_replay_is_true_only_where_it_is_the_same() -> None:
    assert Replay(None, ())
    assert not Replay("step 1: ...", (None,))
