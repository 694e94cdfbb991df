"""A run as OpenTelemetry spans: which there are, how they nest, and what each tells."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import Tool
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from agent import Agent, OpenTelemetryHandler, genai, load_model, run_agent
from agent.testing import ScriptedModel
from tests.protocols import DIALECTS, TOOLS, Dialect, calling
from tests.scripted import play, probe
from tests.service import Service, status

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)


class Recorded:
    """A handler, and the spans that it has ended so far."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.handler = OpenTelemetryHandler(self.provider, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        """In the order in which they ended."""
        return [span.name for span in self.spans]

    def of(self, operation: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.attributes.get(genai.OPERATION) == operation]

    @property
    def run(self) -> ReadableSpan:
        (only,) = self.of("invoke_agent")
        return only


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def at_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy between, no key, and no address but the one that a test hands in."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: Any) -> int:
    return span.get_span_context().span_id


@each_dialect
def test_requests_and_tools_lie_beneath_the_run(dialect: Dialect, recorded: Recorded) -> None:
    replies = [dialect.call("x", tool="Probe"), dialect.answer("y")]
    dialect.play(*replies, tools=[probe()], callbacks=[recorded.handler])

    assert recorded.names == ["chat", "execute_tool Probe", "chat", "invoke_agent"]
    kinds = [span.kind for span in recorded.spans]
    assert kinds == [SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL]
    assert [parent_of(span) for span in recorded.spans] == [id_of(recorded.run)] * 3 + [None]
    assert {span.status.status_code for span in recorded.spans} == {StatusCode.UNSET}
    assert {span.instrumentation_scope.name for span in recorded.spans} == {"open-agent-loop"}


@each_dialect
def test_the_callers_span_is_the_parent_and_stays_the_current_one(
    dialect: Dialect, recorded: Recorded
) -> None:
    model = ScriptedModel(replies=[dialect.call("x", tool="Probe"), dialect.answer()])
    agent = Agent(llm=model, tools=[probe()], protocol=dialect.protocol, callbacks=[recorded.handler])
    with recorded.provider.get_tracer("caller").start_as_current_span("request") as request:
        for _ in agent.iter("?"):
            assert trace.get_current_span() is request

    assert parent_of(recorded.run) == id_of(request)
    assert len({span.context.trace_id for span in recorded.spans}) == 1


def test_calls_side_by_side_are_spans_that_overlap(recorded: Recorded) -> None:
    both = threading.Barrier(2, timeout=60)
    tool = probe(lambda _: str(both.wait()))
    reply = calling(("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": "b"}), ids=["one", "two"])
    TOOLS.play(reply, TOOLS.answer(), tools=[tool], callbacks=[recorded.handler])

    first, second = recorded.of("execute_tool")
    assert max(first.start_time, second.start_time) <= min(first.end_time, second.end_time)
    assert {span.attributes[genai.TOOL_CALL_ID] for span in (first, second)} == {"one", "two"}


def test_each_call_has_the_id_that_the_model_gave_it() -> None:
    told = Recorded(capture_content=True)
    calls = [("Probe", {"tool_input": "a"}), ("Probe", {"tool_input": "b"}), ("Other", {"x": 1})]
    reply = calling(*calls, ids=["one", "two", "three"])
    other = Tool(name="Other", description="Takes anything.", func=str)
    play(reply, AIMessage(content="y"), tools=[probe(), other], callbacks=[told.handler], protocol="tools")

    by_id = {
        span.attributes[genai.TOOL_CALL_ID]: span.attributes[genai.TOOL_CALL_ARGUMENTS]
        for span in told.of("execute_tool")
    }
    assert by_id["one"] == "a"
    assert by_id["two"] == "b"


def test_a_call_in_the_text_has_no_id(recorded: Recorded) -> None:
    play("Action: Probe[x]", "Final Answer: y", tools=[probe()], callbacks=[recorded.handler])

    (tool,) = recorded.of("execute_tool")
    assert genai.TOOL_CALL_ID not in tool.attributes
    assert tool.attributes[genai.TOOL_NAME] == "Probe"
    assert tool.attributes[genai.TOOL_TYPE] == "function"
    assert tool.attributes[genai.TOOL_DESCRIPTION] == probe().description


def test_a_service_is_told_with_model_options_and_usage(at_service: None, recorded: Recorded) -> None:
    with Service(["Action: Calculator[2+2]", status(503), "Final Answer: 4"]) as service:
        model = load_model("gpt-4o", base_url=service.url)
        result = run_agent("2+2?", llm=model, callbacks=[recorded.handler])

    assert str(result) == "4"
    assert recorded.names == [
        *("chat gpt-4o", "execute_tool Calculator", "chat gpt-4o", "chat gpt-4o", "invoke_agent")
    ]
    first, failed, _ = recorded.of("chat")
    port = int(service.url.split(":")[2].split("/")[0])
    stop = first.attributes[genai.REQUEST_STOP_SEQUENCES]
    assert stop == tuple(service.requests[0]["stop"])
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 512,
        "gen_ai.request.stop_sequences": stop,
        "gen_ai.response.model": "gpt-4o",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": result.steps[0].usage.completion_tokens,
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert failed.attributes["error.type"] == "openai.InternalServerError"
    assert dict(recorded.run.attributes) | {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": result.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": result.usage.completion_tokens,
    } == dict(recorded.run.attributes)


def test_a_reply_without_usage_leaves_the_runs_sum_out(recorded: Recorded) -> None:
    uncounted = AIMessage(content="Action: Probe[x]", response_metadata={"token_usage": {}})
    play(uncounted, "Final Answer: y", tools=[probe()], callbacks=[recorded.handler])

    assert genai.USAGE_INPUT_TOKENS not in recorded.run.attributes
    assert genai.USAGE_INPUT_TOKENS in recorded.of("chat")[1].attributes


def test_an_agent_may_have_a_name() -> None:
    told = Recorded(agent_name="helpdesk")
    play("Final Answer: y", callbacks=[told.handler])

    assert told.run.name == "invoke_agent helpdesk"
    assert told.run.attributes["gen_ai.agent.name"] == "helpdesk"


def test_runs_in_threads_do_not_mix(recorded: Recorded) -> None:
    together = threading.Barrier(8, timeout=60)

    def run(number: int) -> None:
        def wait(given: str) -> str:
            together.wait()
            return given

        replies = [f"Action: Probe[{number}]", f"Final Answer: {number}"]
        model = ScriptedModel(replies=replies)
        with recorded.provider.get_tracer("caller").start_as_current_span(f"caller {number}"):
            run_agent("?", llm=model, tools=[probe(wait, f"Probe{number}"), probe(wait)], callbacks=shared)

    shared = [recorded.handler]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))

    by_id = {id_of(span): span for span in recorded.spans}
    for run_span in [span for span in recorded.spans if span.name == "invoke_agent"]:
        beneath = [span for span in recorded.spans if parent_of(span) == id_of(run_span)]
        assert sorted(span.name for span in beneath) == ["chat", "chat", "execute_tool Probe"]
        assert {span.context.trace_id for span in beneath} == {run_span.context.trace_id}
        assert by_id[parent_of(run_span)].name.startswith("caller")
    assert len(recorded.spans) == 8 * 5


def test_what_a_tool_does_lies_beneath_it(recorded: Recorded) -> None:
    """Other instrumentations, and an agent as a tool, find the tool's span as the current one."""
    inner = Agent(llm=ScriptedModel(replies=["Final Answer: in"]), callbacks=[recorded.handler])
    play(
        "Action: Ask[x]",
        "Final Answer: out",
        tools=[probe(lambda given: str(inner.run(given)), "Ask")],
        callbacks=[recorded.handler],
    )
    (tool,) = recorded.of("execute_tool")
    inside, outside = recorded.of("invoke_agent")
    assert parent_of(inside) == id_of(tool)
    assert parent_of(tool) == id_of(outside)
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_chain_inside_a_tool_hands_its_parent_on(recorded: Recorded) -> None:
    """LangChain tells of what a tool calls through it; only requests and tools are spans."""
    inner = ScriptedModel(replies=["a translation"])
    chain = (lambda text: f"translate {text}") | (inner | (lambda message: message.content))
    play(
        "Action: Translate[x]",
        "Final Answer: out",
        tools=[probe(chain.invoke, "Translate")],
        callbacks=[recorded.handler],
    )
    assert recorded.names == ["chat", "chat", "execute_tool Translate", "chat", "invoke_agent"]
    assert parent_of(recorded.spans[1]) == id_of(recorded.spans[2])
    assert recorded.run.attributes[genai.USAGE_OUTPUT_TOKENS] == sum(
        recorded.spans[index].attributes[genai.USAGE_OUTPUT_TOKENS] for index in (0, 3)
    )


def test_after_a_request_inside_a_tool_the_tools_span_is_the_current_one_again(recorded: Recorded) -> None:
    inner, current = ScriptedModel(replies=["a translation"]), []

    def translate(text: str) -> str:
        inner.invoke(text)
        current.append(trace.get_current_span())
        return "done"

    play("Action: Probe[x]", "Final Answer: y", tools=[probe(translate)], callbacks=[recorded.handler])

    (tool,) = recorded.of("execute_tool")
    assert len(recorded.of("chat")) == 3
    assert [id_of(span) for span in current] == [id_of(tool)]


def conventions() -> Iterator[tuple[str, str]]:
    with warnings.catch_warnings():
        # Since they moved to a repository of their own, the package calls all of them deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
        from opentelemetry.semconv.attributes import server_attributes as server
    for module in (names, server):
        yield from ((name, value) for name, value in vars(module).items() if isinstance(value, str))
    yield from ((each.name, each.value) for each in names.GenAiOperationNameValues)
    yield from ((each.name, each.value) for each in names.GenAiProviderNameValues)


def test_the_names_are_those_of_the_conventions() -> None:
    known = {value for _, value in conventions()}
    ours = {value for name, value in vars(genai).items() if name.isupper() and isinstance(value, str)}
    own = {value for value in ours if value.startswith("open_agent_loop.")}

    assert ours - own <= known
    assert {name.split(".")[1] for name in own} == {"stop_reason", "forced", "steps"}
    assert set(genai._PROVIDERS.values()) <= known
