"""The tools as a loop gets them: three LangChain tools, described in a few words, known by nobody above."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tools
from tools import default_tools

FOLDER = Path(tools.__file__).parent
# Cities that questions are asked about: naming one in a description would give an answer away.
ASKED_ABOUT = (
    "Beijing Shanghai Guangzhou Shenzhen Chengdu Harbin Kunming Xi'an London Paris Tokyo Sydney Oslo"
)


def test_there_are_three_in_order_and_new_each_time() -> None:
    first, second = default_tools(), default_tools()
    assert [tool.name for tool in first] == ["Calculator", "Weather", "Time"]
    assert all(one is not other for one, other in zip(first, second, strict=True))


def test_each_is_a_langchain_tool_with_one_text_input() -> None:
    from langchain_core.tools import Tool

    for tool, name in zip(default_tools(), ["expression", "city", "zone"], strict=True):
        assert isinstance(tool, Tool)
        assert list(tool.args) == [name]
        assert isinstance(tool.run(""), str)


def test_descriptions_are_short_say_the_input_and_name_no_city_that_is_asked_about() -> None:
    for tool in default_tools():
        assert len(tool.description) < 200
        assert "Input: " in tool.description
        assert "e.g. " in tool.description
        assert not any(city in tool.description for city in ASKED_ABOUT.split())


def test_importing_tools_imports_no_langchain() -> None:
    program = "import sys, tools; print(any(name.startswith('langchain') for name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.strip() == "False"


def test_tools_import_nothing_from_the_agent_and_never_evaluate_code() -> None:
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("agent"), file
            if isinstance(node, ast.Import):
                assert not any(alias.name.split(".")[0] == "agent" for alias in node.names), file
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile"), file
