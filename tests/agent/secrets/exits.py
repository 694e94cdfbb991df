"""One agent that meets a secret wherever it can, and everything that it lets out."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import logging
import os
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool

from agent import Agent, Limits, RunFailed, load_model, replay
from agent.client import Client
from agent.settings import load_settings
from tests.agent.secrets.places import CANARY, Place
from tests.scripted import probe
from tests.service import Reply, Service, status, tool_calls, wire_call
from tests.tools.weather_server import FORECAST, FOUND, SEARCH, WeatherServer, redirect_to, running
from tools.weather import weather_tool

EXITS = (
    *("answered", "failed", "error", "raised", "events", "sent", "memory"),
    *("agent", "client", "model", "callbacks", "limits", "log", "warnings", "stdout", "stderr", "trace"),
)
_SETTINGS = ("OPENAI_", "AGENT_", "WEATHER_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class _Log(logging.Handler):
    """All that any logger writes, exceptions included."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter("%(name)s %(message)s").format(record))


class _Handler(BaseCallbackHandler):
    """What LangChain tells its callback handlers, and so its tracers, of the model."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        self.told += [json.dumps(serialized, default=repr), repr(messages), repr(more)]


def _caused(text: str) -> BaseException:
    try:
        try:
            raise OSError(f"inner {text}")
        except OSError as error:
            raise LookupError(f"outer {text}") from error
    except LookupError as error:
        return error


def _tools(place: Place) -> list[BaseTool]:
    """For each text that is quoted: tools that raise it and return it."""

    def quoting(text: str, way: str) -> Any:
        def use(_: str) -> object:
            if place.set_late:
                os.environ.update(place.environment)
            if way == "raise":
                raise _caused(text)
            return {"text": f"It says {text}", "error": f"Error: {text}", "data": {"said": [text]}}[way]

        return use

    ways = ("raise", "text", "error", "data")
    quoted = enumerate(place.quoted)
    return [probe(quoting(text, way), f"{way}{number}") for number, text in quoted for way in ways]


def _script(protocol: str, place: Place, tools: list[BaseTool]) -> Iterator[str | Reply]:
    """Two runs: one calls every tool and is answered, one meets a service that quotes the secret."""
    calls = [(tool.name, "tool_input") for tool in tools] + [("Weather", "city")]
    for number, (name, argument) in enumerate(calls):
        call = wire_call(json.dumps({argument: "Reykjavik"}), name, f"id{number}")
        yield f"Thought: on\nAction: {name}[Reykjavik]" if protocol == "text" else tool_calls(call)
    yield "Final Answer: done" if protocol == "text" else "done"
    body = {"error": {"message": " and ".join(place.quoted), "headers": place.quoted}}
    yield status(500, body, {"Retry-After": "0"})
    yield status(200, body)
    yield from itertools.repeat(status(401, body))


def collect(place: Place, protocol: str, folder: Path) -> dict[str, str]:
    """Everything that leaves an agent while the secret lies in ``place``, by the name of its exit."""
    tools = _tools(place)
    out, err, log = io.StringIO(), io.StringIO(), _Log()
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        weather = stack.enter_context(running())
        service = stack.enter_context(Service(_script(protocol, place, tools)))
        _set_up(place, service, weather, folder, patch)
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        with _listening(log):
            left = _run([*tools, weather_tool()], protocol, folder / "trace.jsonl")
        left |= {"sent": json.dumps(service.requests), "log": "\n".join(log.lines)}
        assert weather.queries, "the weather was never asked"
    left |= {"warnings": "\n".join(str(each.message) for each in warned)}
    return left | {"stdout": out.getvalue(), "stderr": err.getvalue()}


def _set_up(
    place: Place, service: Service, weather: WeatherServer, folder: Path, patch: pytest.MonkeyPatch
) -> None:
    for name in [*os.environ]:
        if name.upper().startswith(_SETTINGS):
            patch.delenv(name)
    address = service.url.removeprefix("http://").removesuffix("/v1")
    environment = {name: value.replace("{address}", address) for name, value in place.environment.items()}
    for name in environment:
        patch.delenv(name, raising=False)  # so that it is gone again, whoever sets it
    given = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": service.url, "NO_PROXY": "*"}
    given |= {"WEATHER_GEOCODING_URL": weather.url, "WEATHER_FORECAST_URL": weather.url}
    for name, value in (given | ({} if place.in_env_file or place.set_late else environment)).items():
        patch.setenv(name, value)
    patch.chdir(folder)
    lines = [f"{name}={value}\n" for name, value in environment.items()] if place.in_env_file else []
    (folder / ".env").write_text("".join(lines), encoding="utf-8")
    weather.replies |= {SEARCH: redirect_to(f"/v1/moved?apikey={CANARY}"), "/v1/moved": FOUND}
    assert FORECAST in weather.replies


@contextlib.contextmanager
def _listening(log: _Log) -> Iterator[None]:
    root = logging.getLogger()
    before = root.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(log)


def _run(tools: list[BaseTool], protocol: str, trace: Path) -> dict[str, str]:
    events: list[object] = []
    handler, limits = _Handler(), Limits(max_iterations=100, max_repeats=100)
    memory = ConversationBufferWindowMemory(return_messages=True)
    llm = load_model()
    agent = Agent(
        llm=llm,
        tools=tools,
        protocol=protocol,
        memory=memory,
        limits=limits,
        callbacks=[handler],
        on_event=events.append,
        trace=trace,
    )
    answered, failed = agent.run("How cold is it?"), agent.run("And now?")
    assert (answered.answer, failed.answer) == ("done", None)
    assert len(answered.steps) == len(tools) + 1
    with pytest.raises(RunFailed) as raised:
        failed.raise_for_status()
    objects: dict[str, object] = {
        **{"agent": agent, "client": Client(llm, 60.0), "model": llm, "limits": limits},
        **{"answered": answered, "failed": failed},
    }
    left = {name: f"{each!r} {each}" for name, each in objects.items()}
    for name, result in (("answered", answered), ("failed", failed)):
        left[name] += json.dumps(result.to_dict(), ensure_ascii=False)
    left["error"] = f"{raised.value!r} {raised.value} {raised.value.args}"
    left["raised"] = "".join(traceback.format_exception(raised.value))
    left["events"], left["memory"] = repr(events), repr(memory.load_memory_variables({}))
    left["trace"] = trace.read_text(encoding="utf-8")
    assert replay(trace).difference is None
    return left | {"callbacks": "\n".join(handler.told)}


def shown_by(make: Any) -> str:
    """What ``make()`` raises, as a traceback, and with all that hangs on the exception."""
    try:
        made = make()
    except Exception as error:
        return "".join(traceback.format_exception(error)) + f"{error!r}{error}{error.args}"
    raise AssertionError(f"nothing was raised, but {type(made).__name__} came")


def settings_shown() -> str:
    settings = load_settings()
    return f"{settings!r} {settings}"
