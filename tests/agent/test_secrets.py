"""A secret stays where it lies: every place that it may lie in, against every way that it could leave."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits, load_model, run_agent
from agent.local_model import LocalServer
from agent.models import choose
from agent.redaction import redact
from agent.settings import load_settings
from agent.testing import ScriptedModel
from tests.agent.secrets.exits import EXITS, collect, settings_shown, shown_by
from tests.agent.secrets.places import CANARY, LINES, ODD, PLACES, Place, holds_canary
from tests.command import Command
from tests.service import Service, completion, status, tool_calls, wire_call

by_name = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@functools.cache
def left(place_name: str, protocol: str) -> dict[str, str]:
    place = next(place for place in PLACES if place.name == place_name)
    with tempfile.TemporaryDirectory() as folder:
        here = os.getcwd()
        try:
            return collect(place, protocol, Path(folder))
        finally:
            os.chdir(here)  # before the folder goes: Windows keeps a working folder


@by_name
def test_each_place_can_be_told_from_a_leak(place: Place) -> None:
    assert all(holds_canary(text) for text in place.quoted)


@by_name
@pytest.mark.parametrize("protocol", ["text", "tools"])
@pytest.mark.parametrize("way_out", EXITS)
def test_no_secret_leaves(place: Place, protocol: str, way_out: str) -> None:
    text = left(place.name, protocol)[way_out]

    assert not holds_canary(text), text[max(text.find(CANARY) - 300, 0) :][:600]


def test_every_way_out_is_watched_and_has_been_used() -> None:
    texts = left("OPENAI_API_KEY", "text")

    assert set(texts) == set(EXITS)
    assert {name for name in EXITS if not texts[name].strip()} <= {"warnings", "stdout", "stderr"}
    for logger in ("httpx", "httpcore.http11", "openai._base_client", "urllib3.connectionpool"):
        assert f"{logger} " in texts["log"]
    assert "refused for ***." in texts["sent"]
    assert "apikey=***" in left("WEATHER_API_KEY", "text")["log"]


# --- the command line --------------------------------------------------------------------------------

QUOTING_TOOLS = """
import json, pathlib
from langchain_core.tools import Tool
texts = json.loads(pathlib.Path("texts.json").read_text(encoding="utf-8"))
def fail(_):
    raise LookupError("; ".join(texts)) from OSError(texts[0])
def make():
    tells = [Tool(name=f"Tell{n}", func=lambda _, t=t: t, description="tells") for n, t in enumerate(texts)]
    return [Tool(name="Fail", func=fail, description="fails"), *tells]
def make_none():
    fail("")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with tools that quote every spelling, and with a secret in .env."""
    texts = [text for place in PLACES for text in place.quoted]
    (tmp_path / "quoting.py").write_text(QUOTING_TOOLS, encoding="utf-8")
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (tmp_path / ".env").write_text(f"FILE_TOKEN={CANARY}\n", encoding="utf-8")
    return tmp_path


def environment(service: Service) -> dict[str, str]:
    """A process's environment with the secret in every place at once."""
    address = service.url.removeprefix("http://").removesuffix("/v1")
    places = (place for place in PLACES if not (place.in_env_file or place.set_late))
    values = {name: value for place in places for name, value in place.environment.items()}
    values |= {"OPENAI_API_KEY": f"{CANARY}\n", "OPENAI_BASE_URL": f"http://user:{CANARY}@{{address}}/v1"}
    return {name: value.replace("{address}", address) for name, value in values.items()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["text", "tools"])
def test_the_command_shows_no_secret_however_much_it_is_asked_to_tell(folder: Path, protocol: str) -> None:
    names = ["Fail", *(f"Tell{number}" for number, _ in enumerate(json.loads(texts_of(folder))))]
    native = [
        tool_calls(wire_call('{"tool_input": "x"}', name, f"id{number}")) for number, name in enumerate(names)
    ]
    script = [f"Action: {name}[x]" for name in names] if protocol == "text" else native
    answer = "Final Answer: done" if protocol == "text" else completion("done")
    steps = str(len(names) + 1)
    with Service([*script, answer]) as service:
        ended = Command(folder, service, environment(service))(
            *(
                "--tools",
                "quoting:make",
                "--protocol",
                protocol,
                "--max-iterations",
                steps,
                "-v",
                "--json",
                "a?",
            )
        )
        sent = json.dumps(service.requests)
    assert (ended.code, json.loads(ended.out)["answer"]) == (0, "done"), ended.err
    assert "***" in ended.out
    assert "***" in ended.err
    assert not holds_canary(ended.out + ended.err + sent)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("tools", "code"), [("quoting:make", 1), ("quoting:make_none", 2)])
def test_a_command_that_fails_quotes_no_secret(folder: Path, tools: str, code: int) -> None:
    body = {"error": {"message": texts_of(folder)[:2000], "type": "invalid_request_error"}}
    with Service([status(401, body)]) as service:
        ended = Command(folder, service, environment(service))("--tools", tools, "-v", "--json", "a?")
    assert ended.code == code
    assert "***" in ended.err
    assert not holds_canary(ended.out + ended.err)


@pytest.mark.timeout(300)
def test_the_traceback_of_a_surprise_quotes_no_secret(folder: Path) -> None:
    (folder / "surprising.py").write_text(
        "import os\nfrom langchain_core.tools import BaseTool\n"
        "class Surprising(BaseTool):\n    name = 'Surprising'\n    description = 'surprises'\n"
        "    @property\n    def args(self):\n        raise LookupError(os.environ['maps_key'])\n"
        "    def _run(self, text):\n        return text\n"
        "def make():\n    return [Surprising()]\n",
        encoding="utf-8",
    )
    with Service() as service:
        ended = Command(folder, service, environment(service))("--tools", "surprising:make", "-v", "a?")
    assert "LookupError" in ended.err
    assert not holds_canary(ended.err)


def texts_of(folder: Path) -> str:
    return (folder / "texts.json").read_text(encoding="utf-8")


# --- what is raised, and what is shown of our objects -----------------------------------------------

GIVEN: dict[str, tuple[dict[str, str], Callable[[], Any]]] = {
    "a base URL with a query": ({}, lambda: load_model("m", f"http://h.test/v1?key={CANARY}")),
    "a base URL that is none": ({}, lambda: load_model("m", f"ftp://user:{CANARY}@h.test")),
    "a proxy that is none": ({"ALL_PROXY": f"nonsense://user:{CANARY}@h.test"}, lambda: load_model("m")),
    "a key of two lines": ({"OPENAI_API_KEY": f"a\n{CANARY}"}, lambda: load_model("m")),
    "a key that no header carries": ({"OPENAI_API_KEY": f"ü{CANARY}"}, lambda: load_model("m")),
    "a key for a model": ({}, lambda: Agent(llm=CANARY)),  # type: ignore[arg-type]  # the mistake
    "a key for a tool": ({}, lambda: run_agent("q", llm=ScriptedModel(), tools=[CANARY])),  # type: ignore[list-item]  # the mistake
    "a key for a number": ({}, lambda: Limits(max_seconds=CANARY)),  # type: ignore[arg-type]  # the mistake
    "a key for a question": ({}, lambda: Agent(llm=ScriptedModel()).run({"key": CANARY})),  # type: ignore[arg-type]  # the mistake
    "a key for a price": ({"AGENT_PRICES": CANARY}, load_settings),
    "a key for a file": ({"LOCAL_MODEL_PATH": f"/{CANARY}"}, lambda: load_model("local")),
}


@pytest.mark.parametrize("mistake", GIVEN)
def test_a_callers_mistake_is_said_without_the_secret_that_it_is_about(
    mistake: str, clean: pytest.MonkeyPatch
) -> None:
    variables, make = GIVEN[mistake]
    clean.setenv("OTHER_KEY", CANARY)
    for name, value in variables.items():
        clean.setenv(name, value)
    said = shown_by(make)

    assert "SettingsError" in said
    assert not holds_canary(said)


def test_a_history_that_cannot_be_read_is_said_without_its_password(clean: pytest.MonkeyPatch) -> None:
    from langchain.memory import ConversationBufferWindowMemory

    class Away(ConversationBufferWindowMemory):
        def load_memory_variables(self, inputs: Any) -> Any:
            raise OSError(f"cannot reach postgresql://me:{CANARY}@db.test/x")

    agent = Agent(llm=ScriptedModel(), memory=Away(return_messages=True))
    assert not holds_canary(shown_by(lambda: agent.run("hello?")))


def test_settings_show_neither_key_nor_password(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("OPENAI_API_KEY", CANARY)
    clean.setenv("OPENAI_BASE_URL", f"http://user:{CANARY}@h.test")
    assert not holds_canary(settings_shown())


def test_a_choice_and_a_local_server_show_neither_key_nor_password(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("OPENAI_API_KEY", CANARY)
    choice = choose("m", f"http://user:{CANARY}@h.test", load_settings())
    server = LocalServer(Path("m.gguf"), "http://127.0.0.1:1", CANARY, CANARY)

    assert "h.test" in choice.base_url
    assert not holds_canary(f"{choice!r}{choice.host}{server!r}")


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without a key, a service or a proxy, in an empty folder."""
    for name in [*os.environ]:
        if name.upper().startswith(("OPENAI_", "AGENT_", "LOCAL_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    return monkeypatch


# --- what redaction leaves alone, and how it bears much -----------------------------------------------


@pytest.mark.parametrize(
    "value", ["true", "a", "yes", "12345", "none", "Required", "default", " 'enabled'\n"]
)
def test_a_short_value_and_a_word_that_says_how_are_no_secrets(value: str, clean: pytest.MonkeyPatch) -> None:
    clean.setenv("SSH_KEY", value)
    text = "true, a yes, 12345 none, Required default, enabled"

    assert redact(text) == text


@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        ("654321", "654321 and 96543210", "*** and 96543210"),
        ("aurora", "aurora of auroras", "*** of auroras"),
        ("aur0ra", "aur0ra of aur0ras", "*** of ***s"),
        (LINES, "MIIBVgIBADANBgkqhki" + CANARY, "***"),
        (ODD, f"[{ODD}]", "[***]"),
    ],
)
def test_a_word_or_a_number_is_masked_where_it_stands_by_itself(
    value: str, text: str, masked: str, clean: pytest.MonkeyPatch
) -> None:
    clean.setenv("SSH_KEY", value)

    assert redact(text) == masked


@pytest.mark.timeout(60)  # a second; minutes where the time grows faster than the text
@pytest.mark.parametrize("filler", ["lorem ipsum ", "\\", "%25", "+", " ", '"', "canary", "&key=", "aA0+"])
def test_a_large_text_and_many_secrets_are_borne(filler: str, clean: pytest.MonkeyPatch) -> None:
    secrets = [f'{number:03}+/="\\\\ü \n{CANARY}' for number in range(100)]
    for number, secret in enumerate(secrets):
        clean.setenv(f"S{number}_SECRET", secret)
    text = redact(filler * (1_000_000 // len(filler)) + "|" + "|".join(map(json.dumps, secrets)))

    assert not holds_canary(text[-5000:])
    assert text.count("***") >= 100
