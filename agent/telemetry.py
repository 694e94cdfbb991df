"""Runs as OpenTelemetry spans, by its GenAI semantic conventions (agent.genai names the source).

    result = run_agent(question, callbacks=[OpenTelemetryHandler()])

One ``invoke_agent`` span a run, beneath the caller's current span; in it a ``chat {model}`` span for every
attempt at a request, and an ``execute_tool {tool}`` span for every call. Values of ``error.type``: an
exception's class; ``tool_error`` for an error that a tool returned as text; ``timeout`` for what was given up
at its deadline; ``_OTHER`` where LangChain tells no end; of a run without an answer, its stop reason.

The package opentelemetry is an optional extra, and imported when a handler is made.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult

from agent import genai
from agent.client import read_reply
from agent.errors import RunFailed, SettingsError
from agent.observing import ERROR_PREFIX, describe, to_text, words_of
from agent.redaction import redact
from agent.results import RunResult, StopReason, Usage

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from agent.spans import Failure

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON = ("true", "span_only", "span_and_event")  # the values by which OpenTelemetry's own packages know it
NO_PACKAGE = 'OpenTelemetryHandler needs the package opentelemetry: install it with  pip install -e ".[otel]"'


@dataclass
class _Run:
    """What a run's own span tells of its requests."""

    usage: Usage = field(default_factory=Usage)
    calls: Sequence[Any] = ()  # native tool calls of the last reply


class OpenTelemetryHandler(BaseCallbackHandler):
    """A LangChain callback handler that turns runs into OpenTelemetry spans. May be shared between threads.

    Args:
        tracer_provider: where spans go; without one, to OpenTelemetry's global provider.
        capture_content: whether messages, tool arguments and tool results are told, without known secrets;
            None is as OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says, and off without it. The words
            of exceptions are always told, also without known secrets.
        agent_name: names this agent's spans where there are several.

    Raises:
        SettingsError: the package opentelemetry is not installed.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        capture_content: bool | None = None,
        agent_name: str = "",
    ) -> None:
        try:
            from agent.spans import Spans
        except ImportError as error:
            raise SettingsError(NO_PACKAGE) from error
        if capture_content is None:
            capture_content = os.environ.get(CAPTURE, "").strip().lower() in _ON
        self._content = capture_content
        self._agent_name = agent_name
        self._spans = Spans(tracer_provider)
        self._runs: dict[UUID, _Run] = {}

    # --- the run ---------------------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: Mapping[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,
    ) -> None:
        if parent_run_id:  # a chain inside a tool
            self._spans.pass_on(run_id, parent_run_id)
            return
        attributes = {genai.OPERATION: genai.INVOKE_AGENT}
        if self._agent_name:
            attributes[genai.AGENT_NAME] = self._agent_name
        if self._content and isinstance(inputs, Mapping):
            question = HumanMessage(content=str(inputs.get("input", "")))
            attributes[genai.INPUT_MESSAGES] = genai.input_messages([question])
        self._runs[run_id] = _Run()
        self._spans.begin_root(run_id, f"{genai.INVOKE_AGENT} {self._agent_name}".strip(), attributes)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, result: RunResult | None = None, **_: Any) -> None:
        attributes = genai.end_attributes(result) if result else {}
        if self._content and isinstance(outputs, Mapping):
            answer = AIMessage(content=str(outputs.get("output", "")))
            attributes[genai.OUTPUT_MESSAGES] = genai.output_messages(answer, "stop")
        self._end_chain(run_id, attributes)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        from agent.spans import Failure

        failure = self._failure(error)
        if isinstance(error, RunFailed):
            self._end_chain(run_id, genai.end_attributes(error.result), failure)
        else:  # Ctrl-C, or nobody wants the next step: so it ended for all that is at work
            attributes = {genai.STOP_REASON: str(StopReason.INTERRUPTED)}
            self._end_chain(run_id, attributes, failure, Failure(failure.type, failure.words))

    def _end_chain(
        self,
        run_id: UUID,
        attributes: genai.Attributes,
        failure: Failure | None = None,
        of_the_rest: Failure | None = None,
    ) -> None:
        run = self._runs.pop(run_id, None)
        if run:
            self._spans.abandon(run_id, of_the_rest)
            attributes |= genai.usage_attributes(run.usage)
        self._spans.end(run_id, attributes, failure)

    # --- requests --------------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        invocation_params: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        attributes = genai.request_attributes(serialized, invocation_params or {})
        if parent_run_id in self._runs:
            # The loop asks only when its tools have come back, or have been given up.
            self._spans.abandon(parent_run_id)
            asked = (genai.PROVIDER, genai.REQUEST_MODEL)
            self._spans.describe(
                parent_run_id, {name: attributes[name] for name in asked if name in attributes}
            )
        attributes[genai.OPERATION] = genai.CHAT
        if self._content:
            attributes[genai.INPUT_MESSAGES] = genai.input_messages(messages[0])
        name = f"{genai.CHAT} {attributes.get(genai.REQUEST_MODEL, '')}".strip()
        self._spans.begin(run_id, parent_run_id, name, attributes)

    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        attributes, message = genai.reply_attributes(response), genai.message_of(response)
        if self._content and message:
            reason = read_reply(message, 0).finish_reason
            attributes[genai.OUTPUT_MESSAGES] = genai.output_messages(message, reason)
        run = self._runs.get(parent_run_id) if parent_run_id else None
        if self._spans.end(run_id, attributes) and run:
            run.calls = getattr(message, "tool_calls", ())
            run.usage = _sum(run.usage, attributes)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._spans.end(run_id, {}, self._failure(error))

    # --- tools -----------------------------------------------------------------------------------------

    def on_tool_start(
        self,
        serialized: Mapping[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        given = input_str if inputs is None else inputs
        run = self._runs.get(parent_run_id) if parent_run_id else None
        name = str(serialized.get("name", ""))
        call_id = genai.call_id_of(run.calls, name, given) if run else ""
        attributes = genai.tool_attributes(serialized, call_id) | {genai.OPERATION: genai.EXECUTE_TOOL}
        if self._content:
            attributes[genai.TOOL_CALL_ARGUMENTS] = genai.written(given)
        self._spans.begin(run_id, parent_run_id, f"{genai.EXECUTE_TOOL} {name}", attributes)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        text = to_text(output)
        attributes = {genai.TOOL_CALL_RESULT: genai.written(text)} if self._content else {}
        self._spans.end(run_id, attributes, self._told_as_text(text))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._spans.end(run_id, {}, self._failure(error))

    # --- failures --------------------------------------------------------------------------------------

    def _told_as_text(self, text: str) -> Failure | None:
        from agent.spans import Failure

        if not text.startswith(ERROR_PREFIX):
            return None
        words = genai.written(redact(text)) if self._content else "the tool returned an error as text"
        return Failure("tool_error", words)

    def _failure(self, error: BaseException) -> Failure:
        from agent.spans import Failure

        kind, words = _class_of(error), describe(error)
        exception = {"exception.type": kind, "exception.message": redact(words_of(error))}
        if isinstance(error, RunFailed):
            kind = str(error.result.stop_reason)
            # Its sentence ends with what the last tool said, which is content.
            words = exception["exception.message"] if self._content else f"the run stopped at {kind}"
            return Failure(kind, words, exception | {"exception.message": words})
        exception["exception.stacktrace"] = genai.written(redact("".join(traceback.format_exception(error))))
        return Failure(kind, words, exception)


def _class_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _sum(usage: Usage, attributes: Mapping[str, Any]) -> Usage:
    """The usage with a reply's; a sum with a gap is None."""
    told = (attributes.get(genai.USAGE_INPUT_TOKENS), attributes.get(genai.USAGE_OUTPUT_TOKENS))
    so_far = (usage.prompt_tokens, usage.completion_tokens)
    sums = [None if one is None or two is None else one + two for one, two in zip(so_far, told, strict=True)]
    return Usage(requests=usage.requests + 1, prompt_tokens=sums[0], completion_tokens=sums[1])
