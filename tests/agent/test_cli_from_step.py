"""``--from-step``: what would be refused is refused before a model is loaded, which takes seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agent import cli
from agent.options import parse
from agent.testing import ScriptedModel
from tests.agent.test_replay_steps import record
from tests.protocols import DIALECTS, TEXT, Dialect
from tests.scripted import probe

OWN_TOOLS = """
from langchain_core.tools import Tool
calls = []

def make():
    calls.append("made")
    return [Tool(name="Probe", func=str.upper, description="Does what a test wants of Probe.")]

def others(): return [Tool(name="Another", func=str.upper, description="another")]
def none_at_all(): return []
def no_tools(): return ["Probe"]
"""
PROBE, OTHERS = ("--tools", "step_tools:make"), ("--tools", "step_tools:others")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a trace goes, in a working folder of its own with a module of tools; and a model is to be had."""
    (tmp_path / "step_tools.py").write_text(OWN_TOOLS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "step_tools", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7f3a9b")
    return tmp_path / "t.jsonl"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded: one that replies by script in the place of each."""
    names: list[str] = []

    def build(choice: Any, _: Any) -> ScriptedModel:
        names.append(choice.name)
        return ScriptedModel(replies=["Final Answer: live"])

    monkeypatch.setattr(cli, "build", build)
    return names


def record_probe(path: Path) -> None:
    TEXT.play(*TEXT.calls("one", tool="Probe"), TEXT.answer("1"), tools=[probe()], trace=path)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
@pytest.mark.parametrize("step", ["0", "-1", "4", "99"])
def test_a_step_that_there_is_not(
    path: Path, loaded: list[str], capsys: pytest.CaptureFixture[str], dialect: Dialect, step: str
) -> None:
    record(path, dialect)

    assert cli.main(parse(["--replay", "t.jsonl", "--from-step", step])) == cli.SETTINGS_MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"none can go on from step {step}" in err
    assert loaded == []


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ((), "the run had the tool 'Probe': hand it in, with --tools"),
        (OTHERS, "the run had the tool 'Probe': hand it in, with --tools"),
        (("--tools", "step_tools:none_at_all"), "the run had the tool 'Probe'"),
        (("--tools", "step_tools:no_tools"), "not 'Probe'"),
        (("--tools", "step_tools:absent"), "no function 'absent'"),
    ],
)
def test_tools_that_are_not_those_of_the_run(
    path: Path, loaded: list[str], capsys: pytest.CaptureFixture[str], tools: tuple[str, ...], said: str
) -> None:
    record_probe(path)

    assert cli.main(parse(["--replay", "t.jsonl", "--from-step", "2", *tools])) == cli.SETTINGS_MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert loaded == []


@pytest.mark.parametrize("written", [None, b"", b"Dear diary\n"])
def test_a_trace_that_cannot_be_read(
    path: Path, loaded: list[str], capsys: pytest.CaptureFixture[str], written: bytes | None
) -> None:
    if written is not None:
        path.write_bytes(written)

    assert cli.main(parse(["--replay", "t.jsonl", "--from-step", "1"])) == cli.SETTINGS_MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "t.jsonl" in err
    assert loaded == []


def test_what_is_right_is_played_with_tools_that_were_made_once(
    path: Path, loaded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    record_probe(path)

    assert cli.main(parse(["--replay", "t.jsonl", "--from-step", "2", "--model", "gpt-x", *PROBE])) == 0
    out, err = capsys.readouterr()
    assert (out, loaded, sys.modules["step_tools"].calls) == ("live\n", ["gpt-x"], ["made"])
    assert err.index("model: gpt-x") < err.index("Step 1") < err.index("Step 2")


def test_a_question_with_what_are_no_tools_loads_no_model_either(
    path: Path, loaded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert path.parent == Path.cwd()
    assert cli.main(parse(["--tools", "step_tools:no_tools", "2+2?"])) == cli.SETTINGS_MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "not 'Probe'" in err
    assert loaded == []
