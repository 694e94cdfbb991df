"""Tools of one's own at the command line: ``--tools module:function``, and what they may do to a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent.cli import load_tools
from agent.errors import SettingsError
from tests.command import ROOT, Command
from tests.service import Service

TOOLS = """
import os, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from langchain_core.tools import Tool

def shout(text):
    print("printed by the tool")
    subprocess.run([sys.executable, "-c", "print('printed by its child')"])
    return f"heard {text}"

def hang(text):
    time.sleep(600)

def leave_behind(text):
    ThreadPoolExecutor().submit(time.sleep, 600)
    return "left something behind"

def make():
    print("printed while loading")
    functions = {"Shout": shout, "Hang": hang, "Leave": leave_behind}
    return [Tool(name=name, func=function, description=name) for name, function in functions.items()]

def raises(): raise RuntimeError("no database at https://user:hidden@db/")
def leaves(): raise SystemExit(0)
def number(): return 5
not_a_function = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "own_broken.py").write_text("def", encoding="utf-8")
    (tmp_path / "own_needs.py").write_text("import something_else", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own_tools", "module:function"),
        (":make", "module:function"),
        ("nowhere:make", "no module 'nowhere'"),
        (".relative:make", "TypeError"),
        ("own_tools:absent", "no function 'absent'"),
        ("own_tools:not_a_function", "no function 'not_a_function'"),
        ("own_tools:raises", "RuntimeError: no database"),
        ("own_tools:leaves", "SystemExit"),
        ("own_tools:number", "a list of LangChain tools, not int"),
        ("own_broken:make", "SyntaxError"),
        ("own_needs:make", "no module 'something_else'"),
    ],
)
def test_tools_that_cannot_be_had_are_said_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("own_tools", "own_broken", "own_needs"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(SettingsError, match=r"--tools") as caught:
        load_tools(name)
    assert said in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_wrong_name_ends_the_command_before_a_request(folder: Path) -> None:
    with Service() as service:
        ended = Command(folder, service)("2+2?", "-q", "--tools", "own_tools:absent")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert service.requests == []


NAMESAKES = ("tools.py", "prompts.py", "calendar.py", "requests.py", "simpleeval.py")


def test_modules_of_the_users_are_not_taken_for_ours(tmp_path: Path) -> None:
    for name in NAMESAKES:
        (tmp_path / name).write_text("raise RuntimeError('taken for ours')", encoding="utf-8")
    with Service(["Action: Calculator[2+2]", "Final Answer: 4"]) as service:
        ended = Command(tmp_path, service)("2+2?")
    assert (ended.code, ended.out) == (0, "4\n"), ended.err
    assert "-> 4" in ended.err


def test_a_folder_of_the_users_is_not_taken_for_ours(tmp_path: Path) -> None:
    for name in ("tools", "prompts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    with Service(["Action: Calculator[2+2]", "Final Answer: 4"]) as service:
        ended = Command(tmp_path, service)("2+2?")
    assert (ended.code, ended.out) == (0, "4\n"), ended.err


def test_a_module_for_tools_may_be_named_as_ours_and_have_helpers(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from helper import name\n"
        "from langchain_core.tools import Tool\n"
        "def shout(text):\n    import later\n    return later.upper(text)\n"
        "def make():\n    return [Tool(name=name, func=shout, description='shouts')]\n",
        encoding="utf-8",
    )
    (tmp_path / "helper.py").write_text("name = 'Shout'", encoding="utf-8")
    (tmp_path / "later.py").write_text("upper = str.upper", encoding="utf-8")
    with Service(["Action: Shout[hello]", "Final Answer: done"]) as service:
        ended = Command(tmp_path, service)("Shout", "--tools", "tools:make")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert "-> HELLO" in ended.err


def test_a_name_that_only_ours_can_have_is_said_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "prompts.py").write_text("def make(): return []", encoding="utf-8")
    with Service() as service:
        ended = Command(tmp_path, service)("hello", "-q", "--tools", "prompts:make")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"'prompts' ({Path('prompts', '__init__.py')}" in ended.err.replace(f"{ROOT}{os.sep}", "")


def test_what_a_tool_prints_never_reaches_stdout(folder: Path) -> None:
    with Service(["Action: Shout[hello]", "Final Answer: done"]) as service:
        ended = Command(folder, service)("Shout", "--tools", "own_tools:make")
    assert (ended.code, ended.out) == (0, "done\n")
    for words in ("printed while loading", "printed by the tool", "printed by its child", "heard hello"):
        assert words in ended.err


@pytest.mark.parametrize("tool", ["Hang", "Leave"])
def test_what_a_tool_leaves_running_does_not_hold_up_the_exit(folder: Path, tool: str) -> None:
    """It would for ten minutes, and Command waits for less than two."""
    with Service([f"Action: {tool}[x]", "Final Answer: went on"]) as service:
        ended = Command(folder, service)(
            "Go on", "--tools", "own_tools:make", "--tool-timeout-s", "0.2", "--instructions", "Be brief."
        )
        assert "Be brief." in service.requests[0]["messages"][0]["content"]
    assert (ended.code, ended.out) == (0, "went on\n")
