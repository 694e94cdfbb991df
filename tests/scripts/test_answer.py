"""run.py fetches the embedded model exactly when the agent will load it."""

import sys

import pytest

from agent.errors import SettingsError
from agent.options import parse
from scripts import answer

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AGENT_MODEL", "LOCAL_MODEL_PATH")


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        # Set and then deleted: so that what a test's .env puts there is taken away again.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def needed(arguments):
    return answer.needed_weights(parse(arguments))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["question"], "local"),
        ([], "local"),
        (["question", "--json"], "local"),
        (["--model", "local-small", "question"], "local-small"),
        (["--model=local", "question"], "local"),
        (["--model", "gpt-4o", "question"], None),
        (["--base-url", "http://127.0.0.1:1/v1", "question"], None),
        (["--", "question"], "local"),
    ],
)
def test_without_a_service_the_arguments_decide(arguments, wanted):
    assert needed(arguments) == wanted


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("OPENAI_API_KEY", "sk-x", None),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1", None),
        ("LOCAL_MODEL_PATH", "any.gguf", None),
        ("AGENT_MODEL", "gpt-4o", None),
        ("AGENT_MODEL", "local-small", "local-small"),
        ("OPENAI_BASE_URL", "no url", None),  # the agent says so; a gigabyte need not come first
    ],
)
def test_the_environment_decides(monkeypatch, variable, value, wanted):
    monkeypatch.setenv(variable, value)
    assert needed(["question"]) == wanted


def test_a_service_in_the_env_file_counts(tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-x\n", encoding="utf-8")
    assert needed(["question"]) is None


def test_the_embedded_model_can_be_asked_for_beside_a_service(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert needed(["--model", "local", "question"]) == "local"


def test_a_file_of_the_users_stands_for_local_and_not_for_the_small_model(monkeypatch):
    monkeypatch.setenv("LOCAL_MODEL_PATH", "any.gguf")
    assert needed(["--model", "local", "question"]) is None
    assert needed(["--model", "local-small", "question"]) == "local-small"


def test_a_replay_needs_no_model():
    options = parse([])
    options.replay = "trace.jsonl"
    assert answer.needed_weights(options) is None


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--version"], 0), (["--modle", "x"], 2)])
def test_help_and_mistakes_come_before_any_fetch(monkeypatch, arguments, code):
    monkeypatch.setattr(answer, "fetch", lambda name: pytest.fail("fetched"))
    monkeypatch.setattr(answer, "cached_path", lambda name: None)
    with pytest.raises(SystemExit) as end:
        answer.answer(arguments)
    assert end.value.code == code


def test_small_is_put_into_the_agents_words():
    assert answer.without_small(["question", "--small"]) == ["--model", "local-small", "question"]
    assert answer.without_small(["--", "--small"]) == ["--", "--small"]
    with pytest.raises(SettingsError, match="one of the two"):
        answer.without_small(["--small", "--model", "local"])


def test_what_is_needed_is_fetched_and_then_the_agent_runs(monkeypatch):
    happened = []
    monkeypatch.setattr(answer, "cached_path", lambda name: None)
    monkeypatch.setattr(answer, "fetch", lambda name: happened.append(f"fetch {name}"))
    monkeypatch.setattr(answer.runpy, "run_module", lambda name, **_: happened.append([name, *sys.argv[1:]]))
    monkeypatch.setattr(sys, "argv", ["run.py"])
    answer.answer(["--small", "question"])
    assert happened == ["fetch local-small", ["agent", "--model", "local-small", "question"]]


def test_a_fetch_that_fails_is_one_sentence_and_the_agent_does_not_start(monkeypatch, capsys):
    def fail(name):
        raise SettingsError("no network")

    monkeypatch.setattr(answer, "cached_path", lambda name: None)
    monkeypatch.setattr(answer, "fetch", fail)
    monkeypatch.setattr(answer.runpy, "run_module", lambda *_, **__: pytest.fail("started"))
    assert answer.answer(["question"]) == 2
    assert capsys.readouterr() == ("", "error: no network\n")
