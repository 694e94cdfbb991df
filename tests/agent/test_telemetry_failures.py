"""Spans of what goes wrong: each span ends once, and says what happened to it."""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.tools import StructuredTool
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import StatusCode

from agent import Agent, Limits, OpenTelemetryHandler, RunResult, StopReason, genai, run_agent, spans
from agent.testing import ScriptedModel
from tests.agent.test_telemetry import Recorded, each_dialect, recorded
from tests.command import ROOT
from tests.protocols import Dialect
from tests.scripted import failing, play, probe

__all__ = ["recorded"]  # a fixture


def error_of(span: ReadableSpan) -> str:
    assert span.status.status_code is StatusCode.ERROR
    return span.attributes["error.type"]


def exception_in(span: ReadableSpan) -> dict[str, Any]:
    (event,) = span.events
    assert event.name == "exception"
    return dict(event.attributes)


@each_dialect
def test_a_tool_that_raises_is_an_error_of_its_own_span(dialect: Dialect, recorded: Recorded) -> None:
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    dialect.play(*replies, tools=[failing(LookupError("nothing there"))], callbacks=[recorded.handler])

    (tool,) = recorded.of("execute_tool")
    assert error_of(tool) == "LookupError"
    assert tool.status.description == "LookupError: nothing there"
    exception = exception_in(tool)
    assert (exception["exception.type"], exception["exception.message"]) == ("LookupError", "nothing there")
    assert "in fail" in exception["exception.stacktrace"]
    assert recorded.run.status.status_code is StatusCode.UNSET


@each_dialect
def test_an_error_that_a_tool_returns_as_text_is_one(dialect: Dialect, recorded: Recorded) -> None:
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    tool = probe(lambda _: "Error: no such town as Atlantis")
    dialect.play(*replies, tools=[tool], callbacks=[recorded.handler])

    (span,) = recorded.of("execute_tool")
    assert error_of(span) == "tool_error"
    assert "Atlantis" not in str(span.status.description)


@each_dialect
def test_a_tool_past_its_deadline_ends_once_and_its_late_word_is_dropped(
    dialect: Dialect, recorded: Recorded
) -> None:
    go, returned = threading.Event(), threading.Event()

    def hang(_: str) -> str:
        go.wait(60)
        return "late"

    class Late(OpenTelemetryHandler):
        def on_tool_end(self, output: Any, **more: Any) -> None:
            super().on_tool_end(output, **more)
            returned.set()

    handler = Late(recorded.provider)
    tool = probe(hang, metadata={"timeout_s": 0.05})
    result, _ = dialect.play(
        dialect.call("x", tool="Probe"), dialect.answer(), tools=[tool], callbacks=[handler]
    )
    go.set()
    assert returned.wait(60)

    assert result.ok
    (span,) = recorded.of("execute_tool")
    assert error_of(span) == "timeout"
    second = recorded.of("chat")[1]
    assert span.end_time <= second.start_time  # at its deadline, and not with the run
    assert not handler._spans._open


@pytest.mark.parametrize("at_cap", ["answer", "error"])
def test_one_that_hangs_to_the_end_of_the_run_ends_with_it(at_cap: str, recorded: Recorded) -> None:
    go = threading.Event()
    tool = probe(lambda _: go.wait(60), metadata={"timeout_s": 0.05})
    limits = Limits(max_iterations=1, at_cap=at_cap)
    model = ScriptedModel(replies=["Action: Probe[x]", "Final Answer: y"])
    run_agent("?", llm=model, tools=[tool], limits=limits, callbacks=[recorded.handler])
    go.set()

    assert [error_of(span) for span in recorded.of("execute_tool")] == ["timeout"]
    assert recorded.names[-1] == "invoke_agent"


def test_what_starts_beneath_a_run_that_is_over_is_dropped(recorded: Recorded) -> None:
    """A thread that was given up may be as late as that."""
    over, late = uuid4(), uuid4()
    recorded.handler.on_chain_start({}, {"input": "?"}, run_id=over)
    recorded.handler.on_chain_end({"output": "y"}, run_id=over)
    recorded.handler.on_tool_start({"name": "Probe"}, "x", run_id=late, parent_run_id=over)
    recorded.handler.on_tool_end("y", run_id=late)

    assert recorded.names == ["invoke_agent"]


def whole(number: int) -> str:
    return str(number)


@pytest.mark.parametrize(
    "tool",
    [failing(SystemExit(3)), StructuredTool.from_function(whole, name="Probe", description="p(number)")],
    ids=["leaves the process", "refuses its arguments"],
)
def test_an_end_of_which_langchain_tells_nothing_is_no_timeout(
    tool: Any, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "JOIN_S", 60)  # its thread does end, however busy the machine is
    play("Action: Probe[x]", "Final Answer: y", tools=[tool], callbacks=[recorded.handler])

    assert [error_of(span) for span in recorded.of("execute_tool")] == ["_OTHER"]


@each_dialect
def test_a_model_that_fails_is_an_error_of_both(dialect: Dialect, recorded: Recorded) -> None:
    dialect.play(ValueError("away"), callbacks=[recorded.handler])

    assert recorded.names == ["chat", "invoke_agent"]
    assert [error_of(span) for span in recorded.spans] == ["ValueError", "model_error"]
    assert exception_in(recorded.run)["exception.type"] == "agent.errors.RunFailed"
    assert recorded.run.attributes[genai.STOP_REASON] == "model_error"


def test_a_request_that_never_ends_is_given_up_once(
    monkeypatch: pytest.MonkeyPatch, recorded: Recorded
) -> None:
    go = threading.Event()

    class Hanging(ScriptedModel):
        def _generate(self, *_: Any, **__: Any) -> Any:
            go.wait(60)
            raise ValueError("late")

    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "0.2")
    run_agent("?", llm=Hanging(), callbacks=[recorded.handler])
    go.set()

    assert recorded.names == ["chat", "invoke_agent"]
    assert [error_of(span) for span in recorded.spans] == ["timeout", "model_error"]


@each_dialect
def test_no_answer_at_a_limit_says_which(dialect: Dialect, recorded: Recorded) -> None:
    limits = Limits(max_iterations=1, at_cap="error")
    reply = dialect.call("x", tool="Probe")
    tool = probe(lambda _: "the secret of the tool")
    dialect.play(reply, tools=[tool], callbacks=[recorded.handler], limits=limits)

    assert error_of(recorded.run) == "max_iterations"
    told = {genai.STOP_REASON: "max_iterations", genai.FORCED: False, genai.STEPS: 1}
    assert told.items() <= dict(recorded.run.attributes).items()
    # The sentence for the user quotes the last tool: that is content.
    assert "the secret" not in recorded.run.to_json()


@pytest.mark.parametrize(
    ("reason", "forced"), [(StopReason.FINAL_ANSWER, False), (StopReason.MAX_ITERATIONS, True)]
)
def test_an_answer_tells_its_stop_reason_where_the_chain_hands_on_the_result(
    reason: StopReason, forced: bool, recorded: Recorded
) -> None:
    run = uuid4()
    recorded.handler.on_chain_start({}, {"input": "?"}, run_id=run)
    result = RunResult("?", "y", reason, forced=forced)
    recorded.handler.on_chain_end({"output": "y"}, run_id=run, result=result)

    assert recorded.run.attributes[genai.STOP_REASON] == str(reason)
    assert recorded.run.attributes[genai.FORCED] is forced


@each_dialect
def test_ctrl_c_ends_the_run_and_the_tool_at_work(
    dialect: Dialect, recorded: Recorded, default_interrupts: None
) -> None:
    go = threading.Event()

    def interrupt(_: str) -> str:
        _thread.interrupt_main()
        return str(go.wait(60))

    model = ScriptedModel(replies=[dialect.call("x", tool="Probe")])
    tools, options = [probe(interrupt)], {"protocol": dialect.protocol}
    with pytest.raises(KeyboardInterrupt):
        run_agent("?", llm=model, tools=tools, callbacks=[recorded.handler], **options)
    go.set()

    assert recorded.names == ["chat", "execute_tool Probe", "invoke_agent"]
    assert error_of(recorded.run) == error_of(recorded.spans[1]) == "KeyboardInterrupt"
    assert recorded.run.attributes[genai.STOP_REASON] == "interrupted"


def test_a_run_that_nobody_takes_further_is_interrupted(recorded: Recorded) -> None:
    model = ScriptedModel(replies=["Action: Probe[x]", "Final Answer: y"])
    steps = Agent(llm=model, tools=[probe()], callbacks=[recorded.handler]).iter("?")
    next(steps)
    steps.close()

    assert recorded.names == ["chat", "execute_tool Probe", "invoke_agent"]
    assert recorded.run.attributes[genai.STOP_REASON] == "interrupted"


class Raising(SpanExporter):
    def export(self, spans: Any) -> Any:
        raise OSError("the collector is away")


class Stumbling(SpanProcessor):
    def __init__(self, *where: str) -> None:
        for hook in where:
            setattr(self, hook, self._stumble)

    def _stumble(self, *_: Any, **__: Any) -> None:
        raise OSError("the collector is away")


@each_dialect
@pytest.mark.parametrize(
    "processor",
    [SimpleSpanProcessor(Raising()), Stumbling("on_end"), Stumbling("on_start")],
    ids=["exporter", "processor at the end", "processor at the start"],
)
def test_an_exporter_that_raises_ends_no_run(dialect: Dialect, processor: SpanProcessor) -> None:
    provider = TracerProvider()
    provider.add_span_processor(processor)
    handler = OpenTelemetryHandler(provider)
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    result, _ = dialect.play(*replies, tools=[probe()], callbacks=[handler])

    assert (result.answer, result.stop_reason) == ("y", "final_answer")
    assert not handler._spans._open
    assert not handler._runs


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_nothing_imports_the_package_but_a_handler() -> None:
    run = (
        "import sys\nimport agent\nfrom agent.testing import ScriptedModel\n"
        "agent.run_agent('?', llm=ScriptedModel(replies=['Final Answer: y']))\n"
        "agent.OpenTelemetryHandler\n"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))\n"
        "agent.OpenTelemetryHandler()\n"
        "print('opentelemetry' in sys.modules, 'opentelemetry.sdk' in sys.modules)"
    )
    assert python(run).split() == ["False", "True", "False"]


def test_without_the_package_one_sentence_names_the_way_out() -> None:
    run = (
        "import sys\nsys.modules['opentelemetry'] = None\nfrom agent import OpenTelemetryHandler\n"
        "try:\n    OpenTelemetryHandler()\nexcept ValueError as error:\n    print(error)"
    )
    assert python(run) == (
        'OpenTelemetryHandler needs the package opentelemetry: install it with  pip install -e ".[otel]"'
    )
