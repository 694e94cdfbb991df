"""scripts/evaluate.py against a small model service of the tests' own: no network, no weights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts import evaluate
from scripts.contenders import Attempt, ToolCall, measured_tools, recorded
from scripts.evaluate import main
from scripts.figures import Row, ratios, row_line, totals, totals_lines, write_json
from scripts.scoring import Task

ROOT = Path(evaluate.__file__).resolve().parent.parent
ULM = Task("w1", "weather", "en", "How warm is it in Ulm?", ("Weather",), {"numbers": [7]})
HELLO = Task("h1", "no_tool", "en", "Say hello.", (), {"any": ["hello"], "max_tool_calls": 0})


class Service(ThreadingHTTPServer):
    """Answers /v1/chat/completions with what ``reply`` makes of the request's last message."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: Callable[[str], str] = look_up_then_answer
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = self.server.reply(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self.send({"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"} | {
            "choices": [choice],
            "usage": usage,
        })  # fmt: skip

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})

    def send(self, content: dict) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        with suppress(ConnectionError):  # an interrupted client has gone
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def look_up_then_answer(message: str) -> str:
    """A model that both protocols understand: it asks for the weather once, then answers."""
    if "hello" in message:
        return "Final Answer: Hello!"
    return "Final Answer: It is 7 degrees." if "7°C" in message else "Action: Weather\nAction Input: Ulm"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    with Service() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def tasks_file(tmp_path: Path) -> Path:
    return write_tasks(tmp_path, ULM, HELLO)


def write_tasks(folder: Path, *tasks: Task) -> Path:
    file = folder / "few.jsonl"
    file.write_text("".join(json.dumps(vars(task)) + "\n" for task in tasks), encoding="utf-8")
    (folder / "few_weather.json").write_text('{"Ulm": 7}', encoding="utf-8")
    return file


def arguments(tasks_file: Path, url: str, *more: str) -> list[str]:
    return ["--tasks", str(tasks_file), "--model", "scripted", "--base-url", url, *more]


def test_agents_take_turns_and_each_run_is_kept(
    service: Service, tasks_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "measured.json"
    code = main(
        arguments(tasks_file, service.url, "--agent", "ours,executor,bare", "--json", str(file), "-v")
    )
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert code == 0
    assert [(row["task"]["id"], row["agent"], row["solved"]) for row in kept["rows"]] == [
        ("w1", "ours", True),
        ("w1", "executor", True),
        ("w1", "bare", False),
        ("h1", "ours", True),
        ("h1", "executor", True),
        ("h1", "bare", True),
    ]
    for agent, requests in (("ours", 3), ("executor", 3), ("bare", 2)):
        sums = kept["totals"][agent]
        assert (sums["requests"], sums["prompt_tokens"]) == (requests, requests * 100), agent
    for row in kept["rows"][:2]:
        assert [(call["tool"], call["input"], call["output"]) for call in row["attempt"]["tool_calls"]] == [
            ("Weather", "Ulm", "7°C")
        ]
        assert row["attempt"]["steps"][0]["raw_reply"] == "Action: Weather\nAction Input: Ulm"
        assert "7°C" in row["attempt"]["steps"][0]["observations"][0]["text"]
    assert set(kept["median_seconds_ratio"]) == {"ours/executor", "ours/bare"}
    assert kept["versions"]["langchain"] == "0.1.16"
    assert service.url not in file.read_text(encoding="utf-8")
    out, err = capsys.readouterr()
    assert "ours: solved 2/2, 0 without an answer\n  weather 1/1  no_tool 1/1\n" in out
    assert "median seconds ours/executor: " in out
    assert "<<< Action: Weather" in err
    assert ">>> 7°C" in err


def test_an_executor_that_gives_up_has_not_answered(service: Service, tmp_path: Path) -> None:
    service.reply = lambda message: "no format at all"
    greeting = Task("g1", "no_tool", "en", "Hi", (), {"any": [""], "max_tool_calls": 0})
    file = tmp_path / "measured.json"
    tasks_file = write_tasks(tmp_path, greeting)
    assert main(arguments(tasks_file, service.url, "--agent", "executor", "--json", str(file))) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert (row["solved"], row["reason"]) == (False, "no answer")
    assert (row["attempt"]["stop_reason"], row["attempt"]["requests"]) == ("max_iterations", 6)


@pytest.fixture
def scripted_agent(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., None]], None]:
    """Put a function in the place of our agent, and load no model."""

    def install(function: Callable[..., None]) -> None:
        monkeypatch.setitem(evaluate.AGENTS, "ours", function)
        monkeypatch.setattr(evaluate, "load_llm", lambda args: None)

    return install


def test_what_an_agent_raises_is_its_failure_and_the_rest_goes_on(
    tasks_file: Path, scripted_agent: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    def agent(attempt: Attempt, question: str, *_: object) -> None:
        attempt.count({"prompt_tokens": 5, "completion_tokens": 1})
        if "Ulm" in question:
            raise RuntimeError("out of order")
        attempt.answer = "hello"

    scripted_agent(agent)
    assert main(["--tasks", str(tasks_file)]) == 0
    out = capsys.readouterr().out
    assert "no answer (RuntimeError: out of order)" in out
    assert "ours: solved 1/2, 1 without an answer" in out
    assert "tokens: 10 prompt + 2 completion, 12.0 per solved task" in out


def test_ctrl_c_keeps_what_was_measured(
    tasks_file: Path, tmp_path: Path, scripted_agent: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    def agent(attempt: Attempt, question: str, *_: object) -> None:
        if "hello" in question:
            raise KeyboardInterrupt
        attempt.answer = "7"

    scripted_agent(agent)
    file = tmp_path / "measured.json"
    assert main(["--tasks", str(tasks_file), "--json", str(file)]) == 130
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["interrupted"] is True
    assert [row["task"]["id"] for row in kept["rows"]] == ["w1"]
    assert "Interrupted: 1 runs were measured.\nours: solved 0/1" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_while_the_model_is_asked(service: Service, tmp_path: Path, number: signal.Signals) -> None:
    asked, release = threading.Event(), threading.Event()

    def reply(message: str) -> str:
        if "hello" not in message:
            return look_up_then_answer(message)
        asked.set()
        release.wait(30)
        return ""

    service.reply = reply
    last = Task("h1", "no_tool", "en", "say hello", (), {"any": ["hello"]})
    command = arguments(write_tasks(tmp_path, ULM, last), service.url, "--agent", "bare")
    command += ["--json", str(tmp_path / "measured.json")]
    # As a plain file from elsewhere: the other way to start it.
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "evaluate.py"), *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        while not asked.wait(0.2):
            assert process.poll() is None, process.communicate()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        release.set()
    assert process.returncode == 130, err
    assert "bare: solved 0/1" in out
    assert "Traceback" not in err
    assert len(json.loads((tmp_path / "measured.json").read_text(encoding="utf-8"))["rows"]) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--only", "w1,w9"], "no task is named w9"),
        (["--json", "/no/such/folder/x.json"], "there is no such folder"),
        (["--weather", "/no/such/file"], "/no/such/file"),
    ],
)
def test_mistakes_are_said_before_anything_is_measured(
    tasks_file: Path, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--tasks", str(tasks_file), *more]) == 2
    assert said in capsys.readouterr().err


def test_an_unknown_agent_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--agent", "ours,theirs"])
    assert exit_.value.code == 2
    assert "choose from ours, executor, bare" in capsys.readouterr().err


def test_only_and_limit_choose_tasks() -> None:
    assert evaluate.choose([ULM, HELLO], ["h1"], None) == [HELLO]
    assert evaluate.choose([ULM, HELLO], None, 1) == [ULM]


def test_the_measured_tools_keep_every_call() -> None:
    calls: list[ToolCall] = []
    tools = {tool.name: tool for tool in measured_tools({"ulm": -2.5}, calls)}
    assert list(tools) == ["Calculator", "Weather", "Time"]
    assert tools["Weather"].run(" ULM ") == "-2.5°C"
    assert tools["Weather"].run("Atlantis") == "No weather data for Atlantis."
    assert "42" in tools["Calculator"].run("6*7")
    assert not tools["Time"].run("nothing").startswith("Error")  # says that it takes no input, and means it
    assert [(call.tool, call.input) for call in calls] == [
        ("Weather", " ULM "),
        ("Weather", "Atlantis"),
        ("Calculator", "6*7"),
        ("Time", "nothing"),
    ]


def test_a_tool_that_raises_was_called_all_the_same() -> None:
    calls: list[ToolCall] = []
    with pytest.raises(ZeroDivisionError):
        recorded("Calculator", lambda text: 1 / 0, calls)("1/0")
    assert [(call.tool, call.output) for call in calls] == [("Calculator", "(raised)")]


def row(agent: str, seconds: float, *, good: bool = True, **attempt: object) -> Row:
    return Row(ULM, agent, good, "" if good else "7 is missing", Attempt(seconds=seconds, **attempt))


def test_totals_say_how_many_runs_have_no_token_counts() -> None:
    known, unknown = Attempt(), Attempt()
    known.count({"prompt_tokens": 90, "completion_tokens": 10})
    unknown.count({"prompt_tokens": 90, "completion_tokens": 10})
    unknown.count(None)
    assert (unknown.requests, unknown.prompt_tokens) == (2, None)
    sums = totals([Row(ULM, "ours", True, "", known), Row(HELLO, "ours", False, "", unknown)])
    assert (sums["solved"], sums["tokens_per_solved"], sums["requests"]) == (1, 100.0, 3)
    assert sums["kinds"] == {"weather": [1, 1], "no_tool": [0, 1]}
    assert "1 runs without token counts" in "\n".join(totals_lines("ours", sums))


def test_nothing_solved_has_no_tokens_per_solved_task() -> None:
    assert totals([row("ours", 1.0, good=False)])["tokens_per_solved"] is None


def test_the_ratio_compares_only_tasks_that_both_finished() -> None:
    other = Row(HELLO, "ours", True, "", Attempt(seconds=60.0))
    assert ratios([row("ours", 1.0), row("executor", 4.0), other], ["ours", "executor"]) == {
        "ours/executor": 0.25
    }
    assert ratios([other], ["ours", "executor"]) == {}


def test_a_row_is_one_line_with_a_shortened_answer() -> None:
    line = row_line(row("ours", 1.0, good=False, answer="one\ntwo " + "x" * 100))
    assert "\n" not in line
    assert "one two xxx" in line
    assert "…  <- 7 is missing" in line


def test_the_json_replaces_an_older_one_in_one_move(tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    write_json(file, {"old": 1})
    write_json(file, {"城市": Path("x")})
    assert json.loads(file.read_text(encoding="utf-8")) == {"城市": "x"}
    assert [path.name for path in tmp_path.iterdir()] == ["measured.json"]
