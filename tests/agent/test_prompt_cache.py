"""The embedded model's prompt cache: read once, found on disk ever after, and never in the way of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from agent import prompt_cache
from agent.client import Request
from agent.local_model import LocalServer, serve, server_of
from agent.models import load_model
from agent.openai_model import OpenAIModel
from agent.testing import ScriptedModel
from agent.weights import cached_path, prompt_cache_dir

HEAD = Request(
    (SystemMessage(content="Be brief. " * 20), HumanMessage(content="hi"), AIMessage(content="hello"))
)


def test_a_model_of_another_process_is_left_alone() -> None:
    model = ScriptedModel(replies=[])
    assert server_of(model) is None
    prompt_cache.prime(model, HEAD)
    assert model.requests == []


def test_only_the_files_used_last_are_kept(tmp_path: Path) -> None:
    for age in range(prompt_cache.KEPT_FILES + 3):
        file = tmp_path / f"{age}.kv"
        file.write_bytes(b"state")
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    prompt_cache._forget_oldest(tmp_path)
    assert sorted(file.stem for file in tmp_path.iterdir()) == [
        str(age) for age in range(prompt_cache.KEPT_FILES)
    ]


def test_a_server_that_is_gone_costs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(b"no model")
    gone = LocalServer(weights, "http://127.0.0.1:9", "key", native=None)
    monkeypatch.setattr(prompt_cache, "server_of", lambda llm: gone)
    monkeypatch.setenv("AGENT_CACHE_DIR", str(tmp_path))
    prompt_cache.prime(OpenAIModel(api_key="k", base_url="http://127.0.0.1:9/v1"), HEAD)  # nothing is raised
    assert len(gone.primed) == 1  # and it is not tried again


@pytest.mark.embedded
@pytest.mark.timeout(600)
def test_a_prompt_is_read_once_and_then_comes_from_disk() -> None:
    model = load_model("local-small")
    path = cached_path("local-small")
    assert path is not None
    server = serve(path)
    assert server_of(model) is server
    prompt_cache.prime(model, HEAD)
    (name,) = [name for name in server.primed if (prompt_cache_dir() / name).is_file()][-1:]
    before = (prompt_cache_dir() / name).stat().st_size
    assert before > 10_000
    assert server.post("/slots/0?action=restore", {"filename": name}).get("n_restored")
    assert server.post("/slots/0?action=restore", {"filename": "none.kv"}) == {}
