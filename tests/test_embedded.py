"""The product as a user without a key has it: the real command, the real loop, the real small model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import Tool

from agent import Limits, StopReason, load_model, run_agent
from agent.weights import cache_dir
from tests.command import Command, Finished

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(600)]

PATIENT = {"AGENT_MODEL_TIMEOUT_S": "400"}  # a busy machine writes a few tokens a second
UNHURRIED = Limits(max_seconds=500)


@pytest.fixture(scope="module")
def small_model() -> Iterator[BaseChatModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_MODEL_TIMEOUT_S", PATIENT["AGENT_MODEL_TIMEOUT_S"])
        yield load_model("local-small")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path, environment={**PATIENT, "AGENT_CACHE_DIR": str(cache_dir())})


def ask(command: Command, question: str) -> Finished:
    process = command.start("--model", "local-small", "--max-seconds", "500", question)
    out, err = process.communicate(timeout=550)
    return Finished(process.returncode, out.decode("utf-8"), err.decode("utf-8"))


def test_the_command_answers_a_sum_with_the_calculator(command: Command) -> None:
    finished = ask(command, "What is 318 * 27?")
    assert finished.code == 0, finished.err
    assert "8586" in finished.out.replace(",", "")
    assert "Calculator" in finished.err
    assert "Thought" not in finished.out


def test_a_chinese_question_is_answered_from_a_tool_that_was_handed_in(small_model: BaseChatModel) -> None:
    asked: list[str] = []

    def weather(city: str) -> str:
        asked.append(city)
        return "26°C"

    tool = Tool(name="Weather", description="Current temperature. Input: a city.", func=weather)
    result = run_agent("安康现在多少度？", llm=small_model, tools=[tool], limits=UNHURRIED)
    assert asked == ["安康"]
    assert result.stop_reason is StopReason.FINAL_ANSWER
    assert "26" in str(result)


def test_its_replies_keep_to_the_form_and_report_usage(small_model: BaseChatModel) -> None:
    result = run_agent("What time is it now?", llm=small_model, limits=UNHURRIED)
    assert [step.error for step in result.steps] == [None] * len(result.steps)
    assert result.usage.total_tokens
    assert result.usage.requests == len(result.steps)


@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a single child process")
def test_ctrl_c_while_it_writes_ends_the_command(command: Command) -> None:
    process = command.start("--model", "local-small", "Count from 1 to 500 in words.")
    assert process.stderr is not None
    assert process.stderr.readline()  # it has said what it is about to load
    time.sleep(1)  # into the loading or the request: the assertions hold wherever the signal lands
    os.kill(process.pid, signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_a_program_ends_although_a_request_was_left_behind(tmp_path: Path) -> None:
    program = (
        "from agent import Limits, load_model, run_agent\n"
        "limits = Limits(max_seconds=2, at_cap='error')\n"
        "result = run_agent('Count from 1 to 500 in words.', llm=load_model('local-small'), limits=limits)\n"
        "print(result.stop_reason)"
    )
    command = Command(tmp_path, environment={**PATIENT, "AGENT_CACHE_DIR": str(cache_dir())})
    finished = subprocess.run(
        [sys.executable, "-c", program], env=command.env(), capture_output=True, timeout=300, check=False
    )
    assert (finished.returncode, finished.stdout.strip()) == (0, b"time_limit"), finished.stderr


def test_the_endpoint_refuses_a_request_without_its_key(small_model: BaseChatModel) -> None:
    import requests

    url = small_model.openai_api_base  # type: ignore[attr-defined]  # of ChatOpenAI
    answer = requests.post(f"{url}/chat/completions", json={"messages": []}, timeout=30)
    assert answer.status_code == 401
    assert url.startswith("http://127.0.0.1:")
