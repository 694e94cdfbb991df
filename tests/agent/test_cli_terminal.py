"""Terminals, pipes and Ctrl-C: what a process owes to those around it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import console
from tests.command import Command, finish
from tests.service import Connection, Service, completion, never

pytestmark = pytest.mark.timeout(300)  # a test starts up to three processes

MULTIPLY = "Thought: multiply \x1b]0;title\x07\x1b[31mthem\nAction: Calculator[23*47]"
ANSWER = "Final Answer: it is \x1b[2J\x1b[31m1081\x07\r\nin all\u202e"
LONG_BEFORE_A_HANG_ENDS_S = 30.0  # about 0.1 on a machine that is not busy

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and pseudo-terminals")
SLOW_TOOLS = """
import time
from langchain_core.tools import Tool
def hang(text):
    print("hanging", flush=True)
    time.sleep(600)
def make():
    return [Tool(name="Hang", func=hang, description="hangs")]
"""


@posix
def test_colours_and_a_spinner_on_a_terminal_only_and_no_control_characters(tmp_path: Path) -> None:
    with Service([MULTIPLY, ANSWER] * 3) as service:
        command = Command(tmp_path, service)
        coloured = at_terminal(command, TERM="xterm")
        assert b"\x1b[36m  Calculator[23*47]" in coloured
        assert b"\x1b[?25l" in coloured
        assert coloured.endswith(b"it is 1081\r\nin all\r\n")
        assert not {b"\x1b[31m", b"\x1b[2J", b"\x07", b"title"} & set(_pieces(coloured))
        for plain in (at_terminal(command, NO_COLOR="1", TERM="xterm"), at_terminal(command, TERM="dumb")):
            assert b"\x1b" not in plain
            assert b"Calculator[23*47]" in plain


@posix
@pytest.mark.parametrize(
    ("question", "status"), [("23*47?", "asking for the answer"), ("23*47是多少？", "正在要求给出答案")]
)
def test_the_spinner_tells_of_the_last_request_at_a_limit(tmp_path: Path, question: str, status: str) -> None:
    with Service([MULTIPLY, slowly(ANSWER)]) as service:
        shown = at_terminal(
            Command(tmp_path, service), "--max-iterations", "1", question, code=3, TERM="xterm"
        )
    assert status in shown.decode("utf-8")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
        ("\x9b31mx\x00\x7f", "31mx"),
        ("tab\tline\nnext\r\n", "tab\tline\nnext\n"),
        ("\u202eabc\u2066", "abc"),
        ("\x1b", ""),
        ("\x1b]" + "a" * 100_000, ""),
        ("中文 é", "中文 é"),
    ],
)
def test_clean_takes_out_what_would_drive_a_terminal(text: str, cleaned: str) -> None:
    assert console.clean(text) == cleaned


def test_a_console_without_chinese_shows_replacements_and_json_loses_nothing(tmp_path: Path) -> None:
    with Service(["Thought: 想\nAction: Calculator[2+2]", "Final Answer: 四 = 4 \U0001f600"] * 2) as service:
        command = Command(tmp_path, service, {"PYTHONIOENCODING": "cp1252"})
        ended = command("2+2 是多少？")
        assert (ended.code, ended.out) == (0, "? = 4 ?\n")
        assert json.loads(command("--json", "2+2 是多少？").out)["answer"] == "四 = 4 \U0001f600"


@posix
def test_arguments_are_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    plain_c = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    with Service(["Final Answer: ok"]) as service:
        command = Command(tmp_path, service, plain_c)
        assert command("北京 几度？", b"\xff".decode("utf-8", "surrogateescape")).code == 0
        assert service.requests[0]["messages"][-1]["content"] == "北京 几度？ \ufffd"


@posix
@pytest.mark.parametrize("pipe", ["| head -1", "2>&1 >/dev/null | head -1", "| true", ">&-"])
def test_a_reader_that_leaves_gets_no_traceback(tmp_path: Path, pipe: str) -> None:
    shell = f'"{sys.executable}" -m agent -v a 2> err.txt {pipe}'
    with Service([MULTIPLY, "Final Answer: " + "line\n" * 50_000]) as service:
        command = Command(tmp_path, service)
        subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=command.env(), check=False, timeout=100)
    said = (tmp_path / "err.txt").read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_an_answer_for_a_stream_that_is_closed_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    console.write("a", None)
    assert capsys.readouterr().out == ""


@posix
@pytest.mark.usefixtures("default_interrupts")
def test_ctrl_c_while_the_model_is_silent(tmp_path: Path) -> None:
    with Service([never]) as service:
        process = Command(tmp_path, service).start("-q", "--json", "a")
        service.wait_for_request()
        seconds, out, err = interrupt(process)
    assert process.returncode == 130
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    assert err == b"interrupted\n"
    assert json.loads(out)["stop_reason"] == "interrupted"


@posix
@pytest.mark.usefixtures("default_interrupts")
def test_ctrl_c_while_a_tool_hangs(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_TOOLS, encoding="utf-8")
    with Service(["Action: Hang[x]"]) as service:
        process = Command(tmp_path, service).start(
            "--tools",
            "slow:make",
            "--tool-timeout-s",
            "600",
            "--max-seconds",
            "600",
            "挂起来",
            LC_ALL="C.UTF-8",
        )
        assert b"hanging\n" in iter(process.stderr.readline, b"")
        seconds, out, err = interrupt(process)
    assert (process.returncode, out) == (130, b"")
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    assert err.decode().splitlines()[-1] == "已中断"
    assert b"Traceback" not in err


@posix
@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_while_it_starts(tmp_path: Path, times: int) -> None:
    with Service([never]) as service:
        process = Command(tmp_path, service).start("a")
        assert process.stderr.readline().startswith(b"model: ")  # LangChain is about to be imported
        seconds, out, err = interrupt(process, times)
    assert (process.returncode, out) == (130, b"")
    assert seconds < LONG_BEFORE_A_HANG_ENDS_S
    assert b"Traceback" not in err


def interrupt(process: Any, times: int = 1) -> tuple[float, bytes, bytes]:
    """Press Ctrl-C; return the seconds until the process had ended, and what it wrote."""
    started = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    out, err = finish(process)
    return time.monotonic() - started, out, err


def slowly(text: str) -> Callable[[Connection], None]:
    """A reply that takes long enough for a spinner, drawn eight times a second, to show its status."""

    def reply(connection: Connection) -> None:
        connection.wait(1.0)
        completion(text)(connection)

    return reply


def at_terminal(command: Command, *arguments: str, code: int = 0, **environment: str) -> bytes:
    """Run the command with a pseudo-terminal for all three streams; return what it showed."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", *(arguments or ["What is 23*47?"])],
        cwd=command.folder,
        env=command.env(**environment),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 4096):
            shown += data
    except OSError:  # Linux: the other end has been closed
        pass
    os.close(ours)
    assert process.wait(60) == code
    return shown


def _pieces(shown: bytes) -> list[bytes]:
    return [mark for mark in (b"\x1b[31m", b"\x1b[2J", b"\x07", b"title") if mark in shown]
