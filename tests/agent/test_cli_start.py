"""What the command line says before a model is asked: help, and what is wrong in a question or a setting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.agent import PROTOCOLS
from agent.limits import Limits
from agent.options import LANGUAGES, LIMITS, parse
from agent.options import PROTOCOLS as OFFERED
from prompts import LANGUAGES as SPOKEN
from tests.command import KEY, ROOT, Command

HEAVY = ("langchain", "langchain_core", "langchain_openai", "openai", "httpx", "rich", "pydantic")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--version"], 0), (["2+2?"], 2)])
def test_help_version_and_a_missing_model_are_said_at_once(
    command: Command, arguments: list[str], code: int
) -> None:
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agent", *arguments],
        cwd=command.folder,
        env=command.env(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert process.returncode == code
    assert "argparse" in imported
    assert not imported & set(HEAVY)


def test_help_names_every_setting_and_exit_code(command: Command) -> None:
    shown = command("--help")
    assert shown.err == ""
    for word in ("AGENT_MODEL", "AGENT_PRICES", "LOCAL_MODEL_PATH", "WEATHER_TIMEOUT_S", "130 Ctrl-C"):
        assert word in shown.out
    assert max(map(len, shown.out.splitlines())) <= 110


def test_options_offer_what_the_parts_know() -> None:
    assert list(OFFERED) == list(PROTOCOLS)
    assert set(LANGUAGES) == {"auto", *SPOKEN}
    assert {*LIMITS, "at_cap"} == set(Limits.__dataclass_fields__)
    for name, (kind, _, text) in LIMITS.items():
        default = getattr(Limits(), name)
        assert default is None or (isinstance(default, kind) and f"({default:g})" in text)


def test_options_may_stand_between_the_words_of_a_question() -> None:
    options = parse(["what", "is", "--json", "2+2?", "--max-iterations", "3"])
    assert (options.question, options.json, options.max_iterations) == (["what", "is", "2+2?"], True, 3)
    assert parse(["--", "-2 + 2?"]).question == ["-2 + 2?"]


def test_no_key_and_no_model_names_the_ways_out(command: Command) -> None:
    ended = command("2+2?")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "scripts/run.py"):
        assert way in ended.err


@pytest.mark.parametrize("arguments", [[], [""], ["  "]])
def test_an_empty_question_says_how_to_ask(command: Command, arguments: list[str]) -> None:
    ended = command(*arguments, stdin=b" \n")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert 'python -m agent "your question"' in ended.err


@pytest.mark.skipif(sys.platform == "win32", reason="closes a descriptor by way of a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-", "<&- >&-", "< /dev/null"])
def test_a_closed_stdin_is_no_question(command: Command, closed: str) -> None:
    shell = f'exec "{sys.executable}" -m agent {closed}'
    process = subprocess.run(
        ["sh", "-c", shell], cwd=command.folder, env=command.env(), capture_output=True, check=False
    )
    assert (process.returncode, process.stdout) == (2, b"")
    assert b"Traceback" not in process.stderr
    assert (b"no question" in process.stderr) is ("2>&-" not in closed)


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--max-iterations", "0"], {}, "max_iterations"),
        (["--max-seconds", "nan"], {}, "max_seconds"),
        (["--max-seconds", "soon"], {}, "--max-seconds"),
        (["--at-cap", "panic"], {}, "--at-cap"),
        (["--base-url", "localhost:11434"], {}, "https://host/v1"),
        (["--instructions", "@nowhere.txt"], {}, "nowhere.txt"),
        (["-q", "-v"], {}, "not allowed with"),
        (["--model", "local"], {}, "scripts/run.py"),
        (["--mod", "x"], {}, "--mod"),
        ([], {"AGENT_MAX_TOKENS": "many"}, "AGENT_MAX_TOKENS"),
        ([], {"AGENT_GRAMMAR": "maybe"}, "AGENT_GRAMMAR"),
        ([], {"AGENT_PRICES": "free"}, "AGENT_PRICES"),
        (["--model", "local"], {"LOCAL_MODEL_PATH": "nowhere.gguf"}, "LOCAL_MODEL_PATH"),
    ],
)
def test_a_mistake_in_options_or_settings_is_one_sentence(
    command: Command, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    command.environment = {"OPENAI_API_KEY": KEY, **environment}
    ended = command("2+2?", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err.splitlines()[-1]
    assert "Traceback" not in ended.err
    assert KEY not in ended.err


def test_an_env_file_is_read_and_the_environment_wins(command: Command) -> None:
    env_file = command.folder / ".env"
    env_file.write_text("AGENT_GRAMMAR=from-file\n", encoding="utf-8")
    assert "from-file" in command("2+2?").err
    assert "from-outside" in command("2+2?", AGENT_GRAMMAR="from-outside").err
    env_file.write_bytes(b"\xff\xfeK\x00")
    ended = command("2+2?")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "UTF-8" in ended.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_on_a_terminal_without_a_question_it_says_how_to_ask(command: Command) -> None:
    ours, theirs = os.openpty()
    process = command.start(stdin=theirs)
    out, err = process.communicate(timeout=30)
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, out) == (2, b"")
    assert b"your question" in err


def test_a_python_without_the_packages_is_told_of_the_one_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "langchain_core.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'langchain_core'\", name='langchain_core')",
        encoding="utf-8",
    )
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    ended = Command(tmp_path)("--replay", "t.jsonl", PYTHONPATH=paths)

    assert (ended.code, ended.out) == (2, "")
    assert "this Python has no langchain_core: run  python scripts/run.py" in ended.err
    assert ".venv" in ended.err
