"""One request to the model: its deadline, its retries, and what its service refuses.

``Client.ask`` returns a Reply or raises ModelFailed, ContextTooLong or LimitReached (the run's time is
over); nothing else but KeyboardInterrupt comes out of it.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompt_values import ChatPromptValue

from agent.call_arguments import written
from agent.deadline import DeadlinePassed, run_within
from agent.limits import LimitReached
from agent.observing import describe
from agent.results import StopReason, Usage
from agent.service_errors import Busy, Garbled, ModelFailed, Refused, judge, timed_out, without_reply

ATTEMPTS = 3
ATTEMPTS_GARBLED = 2  # for a reply that was paid for, and cannot be read
MOST_TOKENS = 10**12  # of one request; whole numbers without an end cannot be reckoned with in dollars
BACKOFF_S = 0.5  # before the second attempt, three times that before the third, each with some jitter


@dataclass(frozen=True)
class Request:
    """What is sent: the messages, and two helps that the reader of the reply never relies on."""

    messages: Sequence[BaseMessage]
    stop: Sequence[str] = ()
    grammar: str = ""
    tools: Sequence[dict[str, Any]] = ()  # as OpenAI function schemas

    @cached_property
    def characters(self) -> int:
        contents = [message.content for message in self.messages]
        calls = [call for message in self.messages for call in getattr(message, "tool_calls", ())]
        return sum(len(str(each)) for each in (*contents, *calls, *self.tools))


@dataclass(frozen=True)
class Reply:
    """What came back. ``finish_reason`` is the service's word ("stop", "length", ...), or empty."""

    text: str
    finish_reason: str = ""
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    message: BaseMessage | None = None

    @cached_property
    def raw(self) -> str:
        """All that the model wrote, its native tool calls included."""
        calls = [
            {"name": call["name"], "arguments": call["args"]}
            for kind in ("tool_calls", "invalid_tool_calls")
            for call in getattr(self.message, kind, ())
        ]
        return "\n".join(part for part in (self.text, written(calls) if calls else "") if part)


class Client:
    """Asks one chat model, and remembers what its service refuses. Safe to share between threads."""

    def __init__(self, llm: BaseChatModel, timeout_s: float) -> None:
        self._llm = _without_own_retries(llm)
        self._timeout_s = timeout_s
        self._refused: set[str] = set()
        self._bound: tuple[Sequence[dict[str, Any]], Mapping[str, Any]] = (), {}

    def ask(
        self,
        request: Request,
        seconds_left: Callable[[], float],
        callbacks: Any = None,
        on_failed: Callable[[str], None] = lambda _: None,
    ) -> Reply:
        """Send a request, up to three times where the service is busy, and return the reply.

        One whose tool calls the caller's own model class stumbles over is asked for once more.

        ``seconds_left`` bounds attempts and waits together. ``callbacks`` are LangChain's, a list or a
        manager. ``on_failed`` is told of every attempt that the client raised for. Raises ModelFailed,
        ContextTooLong, LimitReached.
        """
        failed = busy = garbled = 0
        while True:
            try:
                return read_reply(self._attempt(request, seconds_left(), callbacks, on_failed), failed)
            except Refused as refused:
                failed += 1
                self._refused.add(refused.parameter)
            except Busy as error:
                failed, busy = failed + 1, busy + 1
                wait_s = _backoff(busy) if error.wait_s is None else error.wait_s
                if busy == ATTEMPTS or wait_s >= seconds_left():
                    raise _counted(error.failure, failed) from None
                time.sleep(wait_s)
            except Garbled as error:
                failed, garbled = failed + 1, garbled + 1
                if garbled == ATTEMPTS_GARBLED:
                    raise _counted(error.failure, failed) from None
            except (ModelFailed, LimitReached) as error:
                raise _counted(error, failed + 1) from None

    def _attempt(
        self, request: Request, seconds_left: float, callbacks: Any, on_failed: Callable[[str], None]
    ) -> BaseMessage | str:
        timeout_s = min(self._timeout_s, seconds_left)
        if timeout_s <= 0:
            raise LimitReached(StopReason.TIME_LIMIT)
        # As it is now: another run that shares this client may learn of a refusal while this one waits.
        refused = frozenset(self._refused)
        options = self._options(request, refused)
        config: Any = {"callbacks": callbacks}
        given = self._given(request.messages)
        started = time.monotonic()
        try:
            return run_within(
                timeout_s, lambda: self._llm.invoke(given, config=config, **options), "agent-model"
            )
        except KeyboardInterrupt:
            raise
        except DeadlinePassed:
            on_failed(f"no reply within {timeout_s:.3g} s")
            raise self._out_of_time(seconds_left) from None
        except BaseException as error:
            on_failed(describe(error))
            # The client's own timeout has the same length: where it comes first, that is no reason to retry.
            if timed_out(error) and time.monotonic() - started >= timeout_s:
                raise self._out_of_time(seconds_left) from None
            verdict = judge(error, with_tools=bool(request.tools))
            if isinstance(verdict, Refused) and verdict.parameter in refused:
                verdict = verdict.failure
            raise verdict from None

    def _given(self, messages: Sequence[BaseMessage]) -> Any:
        """What ``invoke`` takes: as it is in LangChain a prompt, as chains hand it over.

        From a list it would make one itself, and validate and copy every message for that, at each request.
        """
        if type(self._llm).invoke is BaseChatModel.invoke:
            return ChatPromptValue.construct(messages=list(messages))
        return list(messages)

    def _out_of_time(self, seconds_left: float) -> LimitReached | ModelFailed:
        """Whose time was over: the run's, or that of one request."""
        if seconds_left <= self._timeout_s:
            return LimitReached(StopReason.TIME_LIMIT)
        return ModelFailed("model_timeout", seconds=f"{self._timeout_s:g}")

    def _options(self, request: Request, refused: Set[str]) -> dict[str, Any]:
        """The keyword arguments of this request, without what the service has refused before."""
        options: dict[str, Any] = {}
        extra_body: dict[str, Any] = {}
        if request.tools:
            options |= self._bind(request.tools)
        if request.stop and "stop" not in refused:
            options["stop"] = list(request.stop)
        if request.grammar and "grammar" not in refused:
            extra_body["grammar"] = request.grammar
        if refused & {"temperature", "max_tokens"}:
            from openai import NOT_GIVEN

            options |= {name: NOT_GIVEN for name in ("temperature", "max_tokens") if name in refused}
        if "max_tokens" in refused:  # newer services know the same cap by another name
            extra_body["max_completion_tokens"] = getattr(self._llm, "max_tokens", None)
        return {**options, "extra_body": extra_body} if extra_body else options

    def _bind(self, tools: Sequence[dict[str, Any]]) -> Mapping[str, Any]:
        """How this model is handed these tools. An agent's runs share them, so it is asked but once."""
        bound_tools, options = self._bound
        if tools != bound_tools:
            options = self._llm.bind_tools(tools).kwargs
            self._bound = tools, options
        return options


def read_reply(message: BaseMessage | str, failed: int) -> Reply:
    """The reply in a message, or in a model's bare text, after ``failed`` attempts without one."""
    message = AIMessage(content=message) if isinstance(message, str) else message
    metadata = message.response_metadata or {}
    told = metadata.get("token_usage")
    counts = told if isinstance(told, Mapping) else {}
    usage = Usage(
        requests=1,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        retries=failed,
    )
    return Reply(text_of(message.content), str(metadata.get("finish_reason") or ""), usage, message)


def _count(value: object) -> int | None:
    """Tokens as a service counts them; a number that no reply can have is no count."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else None


def text_of(content: object) -> str:
    """Some services send a list of blocks in place of a text; half a character, cut in two, is replaced."""
    if isinstance(content, list):
        parts = (block if isinstance(block, str) else block.get("text") or "" for block in content)
        content = "".join(part for part in parts if isinstance(part, str))
    return content.encode("utf-8", errors="replace").decode("utf-8") if isinstance(content, str) else ""


def _backoff(attempt: int) -> float:
    return BACKOFF_S * 3 ** (attempt - 1) * random.uniform(1.0, 1.5)  # noqa: S311 - jitter, not a secret


def _counted(error: ModelFailed | LimitReached, retries: int) -> ModelFailed | LimitReached:
    error.retries = retries
    return error


def _without_own_retries(llm: BaseChatModel) -> BaseChatModel:
    """A copy of an OpenAI-like chat model whose client does not retry: the attempts are counted here.

    And which says what came in place of a reply, before LangChain stumbles over it.
    """
    completions = getattr(llm, "client", None)
    client: Any = getattr(completions, "_client", None)
    # A bound model shows what its own has, and takes nothing in its place.
    if not (isinstance(llm, BaseChatModel) and hasattr(client, "with_options")):
        return llm
    patient = copy.copy(llm)
    patient.client = client.with_options(max_retries=0).chat.completions
    patient.client.create = _checked(patient.client.create)
    return patient


def _checked(create: Callable[..., Any]) -> Callable[..., Any]:
    """``create`` of an OpenAI client, which raises ModelFailed for a body that holds no reply."""

    def checked(**options: Any) -> Any:
        try:
            body = create(**options)
        except json.JSONDecodeError as error:
            body = error.doc
        failure = None if options.get("stream") else without_reply(body)
        if failure:
            raise failure
        return body

    return checked
