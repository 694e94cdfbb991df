"""The trace: all that decided a run is on disk as it happens, once, and without a secret."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

from agent import Agent, Limits, SettingsError, replay
from agent.testing import ScriptedModel
from agent.trace import VERSION
from tests.command import LONGEST_S, ROOT
from tests.protocols import DIALECTS, TOOLS, Dialect
from tests.scripted import play, probe

KEY = "sk-canary-7f3a9b"

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def events(path: Path) -> list[str]:
    return [record["event"] for record in records(path) if record["event"] != "text"]


@each_dialect
def test_every_event_is_on_disk_as_it_happens(tmp_path: Path, dialect: Dialect) -> None:
    path, seen = tmp_path / "t.jsonl", []

    def look(_: str) -> str:
        seen.append(events(path))
        return "looked"

    dialect.play(dialect.call("x", tool="Probe"), dialect.answer(), tools=[probe(look)], trace=path)

    assert seen == [["run_started", "step_started", "request", "reply", "tool_started"]]
    later = ["tool_returned", "step", "step_started", "request", "reply", "step", "run_ended"]
    assert events(path) == seen[0] + later


@each_dialect
def test_it_holds_all_that_decided_the_run(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    instructions = "Be short."
    dialect.play(
        dialect.call("2+2"), dialect.answer("4"), trace=path, instructions=instructions, question="2+2?"
    )

    first = next(record for record in records(path) if record["event"] == "run_started")
    last = records(path)[-1]
    assert (first["version"], first["question"], first["language"]) == (VERSION, "2+2?", "en")
    assert (first["protocol"], first["model"], first["instructions"]) == (
        dialect.protocol,
        "scripted",
        "Be short.",
    )
    assert first["limits"]["max_seconds"] == 120.0
    assert [tool["name"] for tool in first["tools"]] == ["Calculator", "Weather", "Time"]
    assert first.keys() >= {"time", "agent", "python", "langchain_core", "spent", "conversation"}
    (returned,) = (record for record in records(path) if record["event"] == "tool_returned")
    assert (returned["tool"], returned["text"]) == ("Calculator", "4")
    assert (last["answer"], last["stop_reason"], last["usage"]["requests"]) == ("4", "final_answer", 2)
    times = [record["t"] for record in records(path) if "t" in record]
    assert times == sorted(times)


@each_dialect
def test_each_text_is_written_once(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    observed = "what the tool said, at some length, so that it is a text of its own" * 2
    replies = [dialect.call(number, tool="Probe") for number in range(3)]
    dialect.play(*replies, dialect.answer(), tools=[probe(lambda _: observed)], trace=path)

    texts = [record["text"] for record in records(path) if record["event"] == "text"]
    assert [text for text, times in Counter(texts).items() if times > 1] == []
    whole = path.read_text(encoding="utf-8")
    assert whole.count(json.dumps(observed)) == 1


KILLED = """
import os, signal, sys
from agent import run_agent
from tests.protocols import DIALECTS
from tests.scripted import probe
from agent.testing import ScriptedModel

(dialect,) = (each for each in DIALECTS if each.protocol == sys.argv[1])
def die(given):
    if given == "last":
        print("in the tool", flush=True)
        sys.stdin.read()
    return given
model = ScriptedModel(replies=[dialect.call("first", "Probe"), dialect.call("last", "Probe")])
run_agent("?", llm=model, tools=[probe(die)], protocol=dialect.protocol, trace=sys.argv[2])
"""


@each_dialect
def test_after_kill_9_it_is_complete_up_to_the_last_event(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, dialect.protocol, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.kill()
        process.wait(LONGEST_S)

    assert said.strip() == b"in the tool"
    step = ["step_started", "request", "reply", "tool_started"]
    assert events(path) == ["run_started", *step, "tool_returned", "step", *step]
    assert records(path)[-1]["input"] in ("last", {"tool_input": "last"})
    replayed = replay(path)
    assert (replayed.same, replayed.results) == (True, (None,))


@each_dialect
def test_no_secret_is_in_it(tmp_path: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "t.jsonl"
    tools = [probe(lambda _: f"the key is {KEY} " + "and so on " * 300)]
    replies = [dialect.call(f"use {KEY}", tool="Probe"), dialect.answer(f"It is {KEY}.")]
    dialect.play(*replies, question=f"Is {KEY} it?", instructions=f"Say {KEY}.", tools=tools, trace=path)

    text = path.read_text(encoding="utf-8")
    assert KEY not in text
    assert text.count("***") > 4
    assert replay(path).difference is None


def test_runs_and_threads_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    both_in_a_tool = threading.Barrier(4)

    def meet(given: str) -> str:
        both_in_a_tool.wait(30)
        return f"{given} met " * 50

    def run(number: int) -> None:
        replies = [f"Action: Probe[{number}]", f"Final Answer: {number}"]
        play(*replies, question=f"question {number}", tools=[probe(meet)], trace=path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))

    replayed = replay(path)
    assert replayed.same
    answers = {result.question: result.answer for result in replayed.results if result}
    assert answers == {f"question {number}": str(number) for number in range(4)}


@pytest.mark.parametrize("ending", ["", "/"])
def test_in_a_folder_each_run_has_a_file(tmp_path: Path, ending: str) -> None:
    folder = tmp_path if not ending else tmp_path / "new"
    model = ScriptedModel(replies=["Final Answer: 1", "Final Answer: 2"])
    agent = Agent(llm=model, tools=[], trace=f"{folder}{ending}")
    for question in "ab":
        agent.run(question)

    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert {records(file)[0]["question"] for file in files} == {"a", "b"}
    assert all(file.stem.endswith(records(file)[0]["run"]) for file in files)


def test_agent_trace_dir_is_such_a_folder_and_a_path_wins_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, path = tmp_path / "traces", tmp_path / "t.jsonl"
    monkeypatch.setenv("AGENT_TRACE_DIR", str(folder))
    play("Final Answer: 1")
    (file,) = folder.iterdir()
    play("Final Answer: 1", trace=path)

    assert [*folder.iterdir()] == [file]
    assert events(path) == events(file)


@pytest.mark.skipif(os.name != "posix", reason="the modes of files are POSIX's")
@pytest.mark.parametrize("name", ["t.jsonl", "folder/"])
def test_it_is_the_users_alone(tmp_path: Path, name: str) -> None:
    play("Final Answer: 1", trace=f"{tmp_path}/{name}")

    (file,) = (path for path in tmp_path.rglob("*.jsonl"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["file/t.jsonl", "file/", "nul\0.jsonl", "~nobody-of-this-name/t.jsonl", ""])
def test_a_path_that_cannot_be_written_is_said_before_any_request(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    model = ScriptedModel(replies=["Final Answer: 1"])
    path = name if name[:1] in ("~", "") else f"{tmp_path}/{name}"
    with pytest.raises(SettingsError, match="no trace can be written to "):
        Agent(llm=model, tools=[], trace=path).run("?")

    assert model.requests == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that even root cannot write to")
def test_a_folder_that_cannot_be_written_to_is_said_before_any_request() -> None:
    with pytest.raises(SettingsError, match="no trace can be written to '/proc/self/'"):
        Agent(llm=ScriptedModel(), tools=[], trace="/proc/self/")


@pytest.mark.parametrize("path", [5, ["t.jsonl"], True])
def test_something_else_than_a_path_is_said(path: Any) -> None:
    with pytest.raises(SettingsError, match=r"^trace takes the path of a file or folder, not "):
        Agent(llm=ScriptedModel(), tools=[], trace=path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
@each_dialect
def test_a_disk_that_fails_later_costs_a_warning_and_never_the_run(
    dialect: Dialect, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "agent"):
        result, _ = dialect.play(dialect.call("2+2"), dialect.answer("4"), trace="/dev/full")

    assert result.answer == "4"
    (record,) = caplog.records
    assert "the run goes on, and its trace does not" in record.message


@pytest.mark.skipif(os.name != "posix", reason="an open file's folder can be removed on POSIX only")
def test_a_folder_that_goes_away_costs_a_warning_and_never_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent(llm=ScriptedModel(replies=["Final Answer: 1"]), tools=[], trace=tmp_path / "gone" / "t")
    (tmp_path / "gone" / "t").unlink()
    (tmp_path / "gone").rmdir()
    with caplog.at_level(logging.WARNING, "agent"):
        assert agent.run("?").answer == "1"

    (record,) = caplog.records
    assert "the run goes on, and its trace does not" in record.message


def test_its_size_grows_with_the_steps_and_not_with_their_square(tmp_path: Path) -> None:
    def size(steps: int) -> int:
        path = tmp_path / f"{steps}.jsonl"
        replies = [TOOLS.call(f"{number:05} " + "x" * 80, tool="Probe") for number in range(steps)]
        limits = Limits(max_iterations=steps + 1)
        play(*replies, TOOLS.answer(), protocol="tools", tools=[probe()], limits=limits, trace=path)
        return path.stat().st_size

    assert size(400) / size(100) < 5


@each_dialect
def test_an_interrupted_run_ends_with_interrupted(tmp_path: Path, dialect: Dialect) -> None:
    path = tmp_path / "t.jsonl"
    model = ScriptedModel(replies=[dialect.call("2+2"), KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        Agent(llm=model, protocol=dialect.protocol, trace=path).run("?")

    last = records(path)[-1]
    assert (last["event"], last["stop_reason"], last["answer"]) == ("run_ended", "interrupted", None)
    assert last["usage"]["requests"] == 1
    replayed = replay(path)
    assert (replayed.same, replayed.results) == (True, (None,))


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"in": [value]}
    return value


ODD_VALUES = [
    {"$text": 0},
    {"$raw": {"$text": 0}},
    {"$text": 0, "$raw": 1, "more": "x" * 100},
    [{"$text": 0}],
    float("nan"),
    float("-inf"),
    "half \ud83d",
    {"half \ud83d": "\ude00"},
    {1, 2},
    object,
    b"\xff",
    10**30,
    nested(20),
    nested(150),
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:30])
def test_whatever_the_arguments_are_they_are_written_and_replay(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "t.jsonl"
    tools = [StructuredTool.from_function(lambda value=None: "taken", name="Take", description="Takes.")]
    call = {"name": "Take", "args": {"value": value}, "id": "a"}
    replies = [AIMessage(content="").copy(update={"tool_calls": [call]}), "done"]
    result, _ = play(*replies, protocol="tools", tools=tools, trace=path)

    assert (result.answer, len(result.steps)) == ("done", 2)
    assert events(path)[-1] == "run_ended"
    assert replay(path).difference is None


def test_what_cannot_be_written_costs_a_warning_and_never_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.jsonl"
    call = {"name": "Probe", "args": {"tool_input": nested(400)}, "id": "a"}
    replies = [AIMessage(content="").copy(update={"tool_calls": [call]}), "done"]
    with caplog.at_level(logging.WARNING, "agent"):
        result, _ = play(*replies, protocol="tools", tools=[probe()], trace=path)

    assert (result.answer, len(result.steps)) == ("done", 2)
    (record,) = caplog.records
    assert "its trace does not: RecursionError" in record.message
    assert events(path) == ["run_started", "step_started", "request"]
    assert replay(path).same
