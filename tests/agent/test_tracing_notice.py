"""LangChain's own tracing sends prompts away: that is said once, on stderr, with the way to turn it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import KEY, Command, Finished
from tests.service import Service

pytestmark = pytest.mark.timeout(300)

NOBODY = "http://127.0.0.1:9"
ACT = "Thought: multiply them\nAction: Calculator[23*47]"


def _asked(folder: Path, question: str = "What is 23*47?", **environment: str) -> Finished:
    with Service([ACT, "Final Answer: 1081"]) as service:
        return Command(folder, service)(question, **environment)


@pytest.mark.parametrize("switch", ["LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING"])
def test_tracing_in_the_environment_is_said_once_with_the_way_out(switch: str, tmp_path: Path) -> None:
    address = NOBODY.replace("//", f"//me:{KEY}@")
    ended = _asked(tmp_path, LANGCHAIN_ENDPOINT=address, LANGCHAIN_API_KEY=KEY, **{switch: "true"})

    assert (ended.code, ended.out) == (0, "1081\n")
    assert ended.err.count("sends every prompt") == 1
    assert f"to 127.0.0.1. To keep them here: unset {switch}" in ended.err
    assert KEY not in ended.err


def test_it_is_said_in_chinese_too(tmp_path: Path) -> None:
    ended = _asked(tmp_path, "23*47等于多少？", LANGCHAIN_TRACING_V2="true", LANGCHAIN_ENDPOINT=NOBODY)

    assert ended.err.count("取消设置 LANGCHAIN_TRACING_V2") == 1


def test_without_tracing_nothing_is_said(tmp_path: Path) -> None:
    ended = _asked(tmp_path, LANGCHAIN_TRACING_V2="false")

    assert "LANGCHAIN" not in ended.err


def test_an_agent_says_it_in_its_first_run_only(tmp_path: Path) -> None:
    script = tmp_path / "two_runs.py"
    script.write_text(
        "from agent import Agent\n"
        "from agent.testing import ScriptedModel\n"
        "agent = Agent(llm=ScriptedModel(replies=['Final Answer: 1', 'Final Answer: 2']))\n"
        "print(agent.run('one?'), agent.run('two?'))\n",
        encoding="utf-8",
    )
    ended = Command(tmp_path).of_script(
        script, LANGCHAIN_TRACING_V2="true", LANGCHAIN_ENDPOINT="no address at all ["
    )

    assert ended.out == "1 2\n"
    assert ended.err.count("sends every prompt and reply to api.smith.langchain.com") == 1
