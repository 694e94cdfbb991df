"""The command line's contract: the answer on stdout, everything else on stderr, a code for each ending."""

from __future__ import annotations

import json
from itertools import repeat
from pathlib import Path

import pytest

from agent import __version__
from tests.command import KEY, Command, Finished
from tests.service import Reply, Service, html, status

pytestmark = pytest.mark.timeout(300)  # a test starts up to three processes

MULTIPLY = "Thought: multiply them\nAction: Calculator[23*47]"
ANSWER = "Thought: done\nFinal Answer: 23*47 is 1081."


def test_the_answer_alone_is_on_stdout_and_each_step_on_stderr(tmp_path: Path) -> None:
    with Service([MULTIPLY, ANSWER]) as service:
        ended = Command(tmp_path, service)("What", "is", "23*47?", OPENAI_API_KEY=f"{KEY}\n")
        assert [headers["Authorization"] for headers in service.headers] == [f"Bearer {KEY}"] * 2
        assert service.requests[0]["messages"][-1]["content"] == "What is 23*47?"
    assert (ended.code, ended.out) == (0, "23*47 is 1081.\n")
    for words in ("gpt-4o at 127.0.0.1", "multiply them", "Calculator[23*47]", "-> 1081", "Step 2", "tokens"):
        assert words in ended.err
    assert "\x1b" not in ended.err
    assert KEY not in ended.err


@pytest.mark.parametrize(
    "data", ["北京几度？".encode("utf-8-sig"), "北京几度？\n".encode("utf-16")], ids=["utf-8", "utf-16"]
)
def test_a_question_from_a_pipe_is_answered_in_its_language(tmp_path: Path, data: bytes) -> None:
    with Service([MULTIPLY, "Final Answer: 二十度"]) as service:
        ended = Command(tmp_path, service)(stdin=data)
        assert service.requests[0]["messages"][-1]["content"] == "北京几度？"
    assert (ended.code, ended.out) == (0, "二十度\n")
    assert "模型：gpt-4o" in ended.err
    assert "第 1 步" in ended.err


def test_json_is_one_object_with_the_whole_run(tmp_path: Path) -> None:
    with Service([MULTIPLY, "Final Answer: 二十\x1b[31m度"]) as service:
        ended = Command(tmp_path, service)("--json", "--language", "en", "23*47 是多少？")
    run = json.loads(ended.out)
    assert ended.out.count("\n") == 1
    assert "二十" in ended.out
    assert (run["schema_version"], run["stop_reason"], run["ok"]) == (1, "final_answer", True)
    assert run["answer"] == "二十\x1b[31m度"
    assert run["steps"][0]["actions"] == [
        {"tool": "Calculator", "input": "23*47", "call_id": "", "fault": None}
    ]
    assert run["steps"][0]["observations"][0]["text"] == "1081"
    assert run["usage"]["requests"] == 2
    assert "Step 1" in ended.err


def test_quiet_says_nothing_and_verbose_says_all(tmp_path: Path) -> None:
    long_input = "+".join(["1"] * 150)
    replies = [f"Thought: count\nAction: Calculator[{long_input}]", ANSWER]
    with Service(replies * 3) as service:
        command = Command(tmp_path, service)
        quiet, usual, verbose = command("-q", "a"), command("a"), command("-v", "a")
    assert (quiet.code, quiet.out, quiet.err) == (0, usual.out, "")
    assert long_input not in usual.err
    assert "1+1+1..." in usual.err
    assert long_input in verbose.err
    assert "Final Answer: 23*47" in verbose.err


def test_a_forced_answer_is_printed_and_the_code_says_that_it_was(tmp_path: Path) -> None:
    with Service([MULTIPLY, "Final Answer: about 1000"] * 2) as service:
        command = Command(tmp_path, service)
        ended = command("--max-iterations", "1", "a")
        assert (ended.code, ended.out) == (3, "about 1000\n")
        assert "max_iterations" in ended.err
        ended = command("--max-iterations", "1", "--at-cap", "error", "-q", "a")
        assert (ended.code, ended.out) == (3, "")
        assert ended.err.startswith("error: stopped at step 1, the cap of max_iterations=1, without")
        assert "raise it with --max-iterations or Limits(" in ended.err
        assert ended.err.endswith("the last observation was: 1081\n")
        assert ended.err.count("\n") == 1
        assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("reply", "said"), [(status(401), "OPENAI_API_KEY"), (html, "OPENAI_BASE_URL")], ids=["401", "html"]
)
def test_a_failing_service_is_one_sentence_and_code_1(tmp_path: Path, reply: Reply, said: str) -> None:
    with Service(repeat(reply)) as service:
        ended = Command(tmp_path, service)("-q", "--json", "a")
        assert len(service.requests) == 1
    assert ended.code == 1
    assert json.loads(ended.out)["stop_reason"] == "model_error"
    assert_one_sentence(ended, said)


def test_a_service_that_is_not_there_is_one_sentence_and_code_1(tmp_path: Path) -> None:
    with Service() as service:
        gone = service.url
    ended = Command(tmp_path)("-q", "--base-url", gone, "a", OPENAI_API_KEY=KEY)
    assert (ended.code, ended.out) == (1, "")
    assert_one_sentence(ended, "cannot be reached")


def test_of_two_base_urls_openai_base_url_wins_and_it_is_said(tmp_path: Path) -> None:
    with Service([ANSWER]) as service:
        command = Command(tmp_path, service)
        ended = command("a", OPENAI_API_BASE="http://127.0.0.1:9/v1", OPENAI_API_KEY="")
    assert ended.code == 0
    assert "OPENAI_BASE_URL is used" in ended.err


def test_a_cost_cap_without_a_price_and_with_one(tmp_path: Path) -> None:
    with Service([ANSWER]) as service:
        command = Command(tmp_path, service)
        ended = command("-q", "--max-cost-usd", "1", "a")
        assert ended.code == 2
        assert_one_sentence(ended, "AGENT_PRICES")
        assert "USD" in command("--max-cost-usd", "1", "a", AGENT_PRICES="gpt-4o=2.5/10").err


def test_version(tmp_path: Path) -> None:
    assert Command(tmp_path)("--version").out == f"open-agent-loop {__version__}\n"


def assert_one_sentence(ended: Finished, said: str) -> None:
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err
    assert KEY not in ended.err + ended.out


def test_what_a_library_logs_is_shown_without_secrets(tmp_path: Path) -> None:
    module = (
        "import logging\n\ndef tools():\n    logging.getLogger('any').warning('at http://me:%s@host', KEY)\n"
    )
    (tmp_path / "mine.py").write_text(f"KEY = {KEY!r}\n{module}    return []\n", encoding="utf-8")
    with Service(["Final Answer: 1081"]) as service:
        ended = Command(tmp_path, service)("What is 23*47?", "--tools", "mine:tools")

    assert (ended.code, ended.out) == (0, "1081\n")
    assert "at http://" in ended.err
    assert KEY not in ended.err
