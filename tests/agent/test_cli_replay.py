"""``--trace``, ``--replay`` and ``--from-step``: an incident is recorded, run again, and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import KEY, Command, Finished
from tests.service import Service, tool_calls, wire_call

pytestmark = pytest.mark.timeout(300)  # a test starts up to four processes

MULTIPLY = "Thought: multiply them\nAction: Calculator[23*47]"
ANSWER = "Thought: done\nFinal Answer: 23*47 is 1081."
NATIVE = [tool_calls(wire_call('{"expression": "23*47"}')), "It is 1081."]


def record(folder: Path, *arguments: str, question: str = "What is 23*47?") -> Path:
    replies = NATIVE if "tools" in arguments else [MULTIPLY, ANSWER]
    with Service(replies) as service:
        ended = Command(folder, service)("-q", "--trace", "t.jsonl", *arguments, question)
    assert ended.code == 0, ended.err
    return folder / "t.jsonl"


def spoil(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    changed = text.replace(
        '"tool_returned", "tool": "Calculator", "text": "1081"',
        '"tool_returned", "tool": "Calculator", "text": "1082"',
    )
    assert changed != text
    path.write_text(changed, encoding="utf-8")


@pytest.mark.parametrize("protocol", ["text", "tools"])
def test_a_trace_replays_without_a_key_and_otherwise_is_code_4(tmp_path: Path, protocol: str) -> None:
    path = record(tmp_path, "--protocol", protocol)
    assert KEY not in path.read_text(encoding="utf-8")
    command = Command(tmp_path)

    ended = command("--replay", "t.jsonl")
    assert (ended.code, ended.out) == (0, "the same as recorded: 1 run\n")
    assert "Calculator[23*47]" in ended.err
    assert "-> 1081" in ended.err
    assert command("-q", "--replay", "t.jsonl") == Finished(0, "the same as recorded: 1 run\n", "")
    spoil(path)
    ended = command("--replay", "t.jsonl")
    assert (ended.code, ended.err) == (4, "")
    assert ended.out == (
        "otherwise than recorded: step 1: step.observations 1.text from character 4:"
        ' recorded "1081", now "1082"\n'
    )


def test_it_speaks_the_language_of_the_run_or_the_one_that_is_asked_for(tmp_path: Path) -> None:
    path = record(tmp_path, question="23*47 是多少？")
    command = Command(tmp_path)
    assert command("--replay", "t.jsonl").out == "与记录一致：1 次运行全部相同\n"
    assert command("--replay", "t.jsonl", "--language", "en").out.startswith("the same as recorded")
    spoil(path)
    ended = command("--replay", "t.jsonl")
    assert ended.code == 4
    assert ended.out.startswith("与记录不同：step 1: ")


def test_json_holds_the_difference_and_the_runs(tmp_path: Path) -> None:
    path = record(tmp_path)
    command = Command(tmp_path)
    same = command("--replay", "t.jsonl", "--json")
    values = json.loads(same.out)
    assert (same.code, values["schema_version"], values["same"], values["difference"]) == (0, 1, True, None)
    (run,) = values["runs"]
    assert (run["answer"], run["steps"][0]["observations"][0]["text"]) == ("23*47 is 1081.", "1081")
    spoil(path)
    other = command("--replay", "t.jsonl", "--json")
    values = json.loads(other.out)
    assert (other.code, values["same"], values["runs"]) == (4, False, [None])
    assert values["difference"].startswith("step 1: ")


def test_from_a_step_on_another_service_is_asked(tmp_path: Path) -> None:
    record(tmp_path)
    with Service(["Final Answer: 1081, says another"], model="other") as service:
        command = Command(tmp_path, service)
        ended = command("--replay", "t.jsonl", "--from-step", "2", "--model", "other", "--trace", "u.jsonl")
        (request,) = service.requests
    assert (ended.code, ended.out) == (0, "1081, says another\n")
    assert request["model"] == "other"
    assert "1081" in request["messages"][-1]["content"]
    assert "other at 127.0.0.1" in ended.err
    assert Command(tmp_path)("--replay", "u.jsonl").code == 0


def test_agent_trace_dir_gets_every_run(tmp_path: Path) -> None:
    with Service([ANSWER] * 2) as service:
        command = Command(tmp_path, service)
        for question in "ab":
            assert command("-q", question, AGENT_TRACE_DIR="traces").code == 0
    assert len([*(tmp_path / "traces").glob("*.jsonl")]) == 2


MISTAKES = {
    "a limit": (("--replay", "t.jsonl", "--max-iterations", "3"), "keeps the limits of the trace"),
    "a step without a trace": (["--from-step", "2", "a"], "--from-step needs --replay FILE"),
    "a question with a trace": (["--replay", "t.jsonl", "a"], "--replay takes no question"),
    "a file that is not there": (["--replay", "gone.jsonl"], "gone.jsonl cannot be read"),
    "a file that is no trace": (["--replay", "notes.txt"], "notes.txt: line 1 is no record of a trace"),
    "an empty file": (["--replay", "empty"], "holds no run"),
    "no trace to go on with": (["--replay", "empty", "--from-step", "1"], "holds no run"),
    "a step that is none": (["--replay", "t.jsonl", "--from-step", "9"], "the run ends with step 2"),
    "a place that cannot be written": (["--trace", "notes.txt/t", "a"], "no trace can be written to"),
}


def test_mistakes_are_one_sentence_and_code_2(tmp_path: Path) -> None:
    record(tmp_path)
    (tmp_path / "notes.txt").write_text("Dear diary\n", encoding="utf-8")
    (tmp_path / "empty").write_bytes(b"")
    with Service() as service:
        command = Command(tmp_path, service)
        for arguments, said in MISTAKES.values():
            ended = command("-q", *arguments)
            assert (ended.code, ended.out) == (2, ""), arguments
            assert ended.err.startswith("error: ")
            assert (said in ended.err, ended.err.count("\n")) == (True, 1), ended.err
        assert service.requests == []


@pytest.mark.parametrize("arguments", [("--from-step", "x"), ("--replay",), ("--trace",)])
def test_options_without_their_value_are_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = Command(tmp_path)(*arguments)
    assert (ended.code, ended.out) == (2, "")


def test_help_tells_of_them_without_importing_langchain(tmp_path: Path) -> None:
    script = tmp_path / "helped.py"
    script.write_text(
        "import runpy, sys\n"
        "sys.argv = ['agent', '--help']\n"
        "try:\n    runpy.run_module('agent', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end:\n"
        "    kinds = ('lang', 'openai', 'pydantic')\n"
        "    heavy = [name for name in sys.modules if name.split('.')[0].startswith(kinds)]\n"
        "    print(end.code, heavy)\n",
        encoding="utf-8",
    )
    ended = Command(tmp_path).of_script(script)
    assert ended.out.endswith("0 []\n")
    for option in ("--trace FILE", "--replay FILE", "--from-step N", "AGENT_TRACE_DIR", "4 a replay behaves"):
        assert option in ended.out


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("language", "fr"),
        ("language", ["en"]),
        ("protocol", 7),
        ("question", 7),
        ("instructions", 7),
        ("conversation", [5]),
        ("limits", {"max_iterations": "x"}),
        ("limits", {"nope": 1}),
    ],
)
def test_a_start_that_was_changed_is_one_sentence(tmp_path: Path, key: str, value: object) -> None:
    ended = replayed_with_start(tmp_path, lambda start: start.update({key: value}))
    if key in ("language", "protocol", "question", "instructions"):
        assert f"its {key} is {value!r}" in ended.err
    is_one_sentence(ended, tmp_path)


@pytest.mark.parametrize("key", ["language", "protocol", "question", "instructions", "tools"])
def test_a_start_that_lacks_something_is_one_sentence(tmp_path: Path, key: str) -> None:
    ended = replayed_with_start(tmp_path, lambda start: start.pop(key))
    assert f"its run_started says too little (no '{key}')" in ended.err
    is_one_sentence(ended, tmp_path)


def replayed_with_start(folder: Path, change: Callable[[dict[str, object]], object]) -> Finished:
    path = record(folder)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(next(each for each in records if each["event"] == "run_started"))
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return Command(folder)("--replay", "t.jsonl")


def is_one_sentence(ended: Finished, folder: Path) -> None:
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert len(ended.err.splitlines()) == 1
    for word in ("Traceback", "Error", "agent.", str(folder)):
        assert word not in ended.err
