"""For tests of agents: a chat model that replies by script, and an incident's trace as a regression test.

>>> model = ScriptedModel(replies=["Action: Calculator[2+2]", "Final Answer: 4"])   # doctest: +SKIP
>>> run_agent("2+2?", llm=model); model.assert_done()                               # doctest: +SKIP
>>> assert_replays("tests/incidents/looped.jsonl")                                  # doctest: +SKIP
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.pydantic_v1 import Field, PrivateAttr
from langchain_core.runnables import Runnable

from agent.replaying import replay

CHARS_PER_TOKEN = 4  # so that usage is a fixed function of the texts


class ScriptError(AssertionError):
    """The script ran out of replies, or has some left over."""


class ScriptedModel(BaseChatModel):
    """Gives its replies in order, one a request. Works wherever a LangChain chat model does.

    A reply is a text, a message (with ``response_metadata`` or tool calls of its own), or an exception,
    which is raised. Texts are cut at the first stop sequence, as a service would. Usage is reported as
    one token for each four characters, and ``finish_reason`` as "stop", unless the message says otherwise.
    """

    replies: list[Any] = Field(default_factory=list)
    model_name: str = "scripted"
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _options: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of every request so far, as they were sent."""
        return self._requests

    @property
    def options(self) -> list[dict[str, Any]]:
        """The options of every request so far: ``stop`` and whatever else was given."""
        return self._options

    def assert_done(self) -> None:
        """Raise ScriptError unless each reply was asked for, and no more: an agent may swallow the error."""
        asked, scripted = len(self._requests), len(self.replies)
        if asked != scripted:
            raise ScriptError(f"replies in the script: {scripted}, asked for: {asked}")

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, BaseMessage]:
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with self._lock:
            number = len(self._requests)
            self._requests.append(list(messages))
            self._options.append({"stop": stop, **kwargs})
            if number >= len(self.replies):
                raise ScriptError(f"request {number + 1}, but the script ends with reply {len(self.replies)}")
            reply = self.replies[number]
        if isinstance(reply, BaseException):
            raise reply
        message = reply if isinstance(reply, BaseMessage) else AIMessage(content=_until(reply, stop))
        metadata = {**_metadata(messages, message), **message.response_metadata}
        message = message.copy(update={"response_metadata": metadata})
        return ChatResult(
            generations=[ChatGeneration(message=message)],
            llm_output={"token_usage": metadata["token_usage"], "model_name": self.model_name},
        )


def assert_replays(path: str | os.PathLike[str]) -> None:
    """Raise AssertionError, with the first difference, where a trace's runs behave otherwise than recorded.

    Raises SettingsError for a file that is no trace.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    replayed = replay(path)
    if not replayed.same:
        raise AssertionError(f"{os.fspath(path)}: {replayed.difference}")


def _until(text: str, stop: Sequence[str] | None) -> str:
    ends = [text.find(word) for word in stop or () if word in text]
    return text[: min(ends)] if ends else text


def _metadata(messages: Sequence[BaseMessage], reply: BaseMessage) -> dict[str, Any]:
    prompt = sum(len(str(message.content)) for message in messages) // CHARS_PER_TOKEN
    completion = len(str(reply.content)) // CHARS_PER_TOKEN
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return {"token_usage": usage, "finish_reason": "stop"}
