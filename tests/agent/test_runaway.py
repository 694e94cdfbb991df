"""Nothing holds a process: real ones against real servers, with tools and models that never come back."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import Command, finish
from tests.service import Reply, Service, drip, never, tool_calls, wire_call

pytestmark = pytest.mark.timeout(300)  # a test starts up to two processes

HANGS_S = 600
LONG_BEFORE_A_HANG_ENDS_S = 60.0  # under a second on a machine that is not busy
ctrl_c = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows can send Ctrl-C only to a whole console, this test run included"
)

# Past Python's buffer: a thread that is left behind while it prints would hold its lock as the process ends.
TOOLS = f"""
import os, time
from langchain_core.tools import Tool
def hang(text):
    if text.startswith("quick"):
        return "was quick"
    os.write(1, b"hanging\\n")
    time.sleep({HANGS_S})
def make():
    return [Tool(name="Hang", func=hang, description="hangs")]
"""
# A program of a user's own: Python ends it, not our command line.
PROGRAM = """
import json, sys
from agent import Agent, Limits
from langchain.memory import ConversationBufferWindowMemory
from hanging import make
protocol, timeout_s, *questions = sys.argv[1:]
memory = ConversationBufferWindowMemory(k=5, return_messages=True)
limits = Limits(tool_timeout_s=float(timeout_s), max_seconds=600)
agent = Agent(tools=make(), protocol=protocol, limits=limits, memory=memory)
code = 0
try:
    for question in questions:
        print(json.dumps({"answer": agent.run(question).answer}))
except KeyboardInterrupt:
    code = 130
print(json.dumps({"stored": [[m.type, m.content] for m in memory.chat_memory.messages]}))
sys.exit(code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hanging.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def start(command: Command, *arguments: str) -> Any:
    """Start the user's program in the command's folder and environment."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = [sys.executable, "program.py", *arguments]
    return subprocess.Popen(program, cwd=command.folder, env=command.env(), **pipes)


def ended(process: Any) -> tuple[list[dict[str, Any]], str]:
    """Wait for the program; the JSON lines that it wrote, and its stderr."""
    out, err = finish(process)
    lines = [line for line in out.decode("utf-8").splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines], err.decode("utf-8")


def calls(protocol: str, *inputs: str) -> list[str | Reply]:
    """A reply for each input, which calls the tool with it."""
    if protocol == "text":
        return [f"Action: Hang[{given}]" for given in inputs]
    return [batch(given) for given in inputs]


def batch(*inputs: str) -> Reply:
    """One reply that calls the tool with each input, natively."""
    wired = [wire_call(json.dumps({"tool_input": given}), "Hang", f"id-{given}") for given in inputs]
    return tool_calls(*wired)


def answer(protocol: str, text: str = "done") -> str:
    return f"Final Answer: {text}" if protocol == "text" else text


# --- tools ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["text", "tools"])
def test_a_tool_that_always_hangs_is_switched_off_and_the_program_ends_with_its_answer(
    folder: Path, protocol: str
) -> None:
    seconds: dict[str, float] = {}
    for kind in ("quick", "slow"):
        script = [*calls(protocol, *(f"{kind}{number}" for number in range(4))), answer(protocol)]
        with Service(script) as service:
            started = time.monotonic()
            process = start(Command(folder, service), protocol, "0.3", "What is it?")
            lines, err = ended(process)
            seconds[kind] = time.monotonic() - started
            told = [str(request["messages"][-1]["content"]) for request in service.requests]
        assert (process.returncode, lines[0], err) == (0, {"answer": "done"}, "")
    assert seconds["slow"] - seconds["quick"] < LONG_BEFORE_A_HANG_ENDS_S < HANGS_S
    assert ["did not finish" in text for text in told] == [False, True, True, True, False]
    assert "is now switched off" in told[3]
    assert "was not called" in told[4]


# --- models --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["text", "tools"])
@pytest.mark.parametrize("fault", [drip(1.0), never], ids=["a byte a second", "silent"])
def test_a_model_service_never_holds_a_command_past_its_seconds(
    folder: Path, protocol: str, fault: Reply
) -> None:
    with Service([*calls(protocol, "quick"), fault, fault]) as service:
        options = ("--protocol", protocol, "--tools", "hanging:make", "--max-seconds", "5", "--json")
        process = Command(folder, service).start(*options, "a?")
        service.wait_for_request()
        started = time.monotonic()
        out, err = finish(process)
        seconds = time.monotonic() - started
    result = json.loads(out)
    assert (process.returncode, result["stop_reason"], result["answer"]) == (3, "time_limit", None)
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    assert b"Traceback" not in err


# --- Ctrl-C --------------------------------------------------------------------------------------------


@ctrl_c
@pytest.mark.usefixtures("default_interrupts")
def test_ctrl_c_in_a_batch_of_calls_ends_the_command_and_keeps_whole_steps_only(folder: Path) -> None:
    with Service([batch("quick1", "quick2"), batch("quick3", "slow1", "slow2")]) as service:
        options = ("--protocol", "tools", "--tools", "hanging:make", "--tool-timeout-s", str(HANGS_S))
        process = Command(folder, service).start(
            *options, "--max-seconds", str(HANGS_S), "-q", "--json", "a?"
        )
        for _ in range(2):
            assert process.stderr.readline() == b"hanging\n"
        seconds, out, err = interrupt(process)
    assert (process.returncode, err) == (130, b"interrupted\n")
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    result = json.loads(out)
    assert (result["stop_reason"], result["answer"], len(result["steps"])) == ("interrupted", None, 1)
    (step,) = result["steps"]
    assert [action["call_id"] for action in step["actions"]] == ["id-quick1", "id-quick2"]
    assert [seen["text"] for seen in step["observations"]] == ["was quick"] * 2


@ctrl_c
@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("last", [batch("quick2", "slow1", "slow2"), never], ids=["batch", "model"])
def test_ctrl_c_in_a_program_leaves_earlier_exchanges_as_they_were(folder: Path, last: Reply) -> None:
    with Service([batch("quick1"), "first answer", last]) as service:
        process = start(Command(folder, service), "tools", str(HANGS_S), "one?", "two?")
        service.wait_for_request(3)
        if last is not never:
            assert b"hanging\n" in iter(process.stdout.readline, b"")
        seconds, out, err = interrupt(process)
        first, second = service.requests[1:]
    stored = json.loads(out.splitlines()[-1])["stored"]
    assert (process.returncode, err) == (130, b"")
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    assert stored == [["human", "one?"], ["ai", "first answer"]]
    for request in (first, second):
        messages = request["messages"]
        asked = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == asked


@ctrl_c
@pytest.mark.usefixtures("default_interrupts")
def test_ctrl_c_while_a_service_is_asked_who_it_is(folder: Path, mute: socket.socket) -> None:
    """Before the first request of all; the service takes the connection, and says nothing."""
    port = mute.getsockname()[1]
    command = Command(folder, environment={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"})
    process = command.start("-q", "a?")
    connection, _ = mute.accept()
    with connection:
        assert connection.recv(5) == b"GET /"
        seconds, out, err = interrupt(process)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LONG_BEFORE_A_HANG_ENDS_S)  # a busy machine takes half a minute to import LangChain
        yield server


def interrupt(process: Any) -> tuple[float, bytes, bytes]:
    """Press Ctrl-C; the seconds until the process had ended, and what it wrote."""
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    return time.monotonic() - started, out, err
