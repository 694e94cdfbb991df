"""Two memories, one class of LangChain's, and the window always applied.

The conversation holds earlier questions and answers; the scratchpad holds this run's steps. Both are read
through ``load_memory_variables``: the raw list under a ConversationBufferWindowMemory is not windowed. The
system message and the question live in neither, so no window can push them out.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from langchain.memory import ConversationBufferWindowMemory
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

if TYPE_CHECKING:
    from langchain.memory.chat_memory import BaseChatMemory

    from prompts import Say

WINDOW = 5  # the last five rounds, as both the conversation and the scratchpad keep them
RECENT_STEPS = 2  # of the tools protocol, whose tool results stay whole
MAX_OLD_RESULT_CHARS = 200  # of a tool result in an earlier step

# Runs that share a memory must share a lock, and a lock on the memory itself would stop it from being copied.
# So a memory maps onto one of a few locks; two memories on one lock cost a short wait and nothing else.
_LOCKS = tuple(threading.Lock() for _ in range(61))


def new_window() -> ConversationBufferWindowMemory:
    return ConversationBufferWindowMemory(k=WINDOW, return_messages=True)


class Conversation:
    """Earlier exchanges, kept in a caller's ConversationBufferWindowMemory or in one of our own."""

    def __init__(self, memory: ConversationBufferWindowMemory | None = None) -> None:
        self.memory = new_window() if memory is None else memory
        self._lock = _LOCKS[id(self.memory.chat_memory) // 16 % len(_LOCKS)]

    def snapshot(self) -> list[BaseMessage]:
        """The window as it stands now, as messages; raises whatever the history under it raises.

        A caller's memory may hold the tool calls of another agent, and its window may begin anywhere among
        them. Calls and results are left out, and an answer without its question: services refuse orphans.
        """
        with self._lock:
            words = [message for message in _window(self.memory) if not _is_about_a_call(message)]
        return list(dropwhile(lambda message: isinstance(message, AIMessage), words))

    def add(self, question: str, answer: str) -> None:
        """Save one exchange, whole or not at all, and drop what has left the window."""
        with self._lock:
            # Without an input_key LangChain takes the one key that is not the memory's own: any but that.
            question_key = self.memory.input_key or f"not {self.memory.memory_key}"
            self.memory.save_context({question_key: question}, {self.memory.output_key or "output": answer})
            _trim(self.memory)


class Scratchpad:
    """This run's steps as messages: two a step, the model's reply and what came back."""

    def __init__(self) -> None:
        self._window = new_window()
        self._all: list[BaseMessage] = []

    def add(self, reply: str, came_back: str) -> None:
        step = [AIMessage(content=reply), HumanMessage(content=came_back)]
        self._window.chat_memory.add_messages(step)
        self._all += step
        _trim(self._window)

    def window(self) -> list[BaseMessage]:
        """The last steps that an ordinary request carries."""
        return _window(self._window)

    def every_step(self) -> Sequence[BaseMessage]:
        """All steps of the run, for the request that asks for an answer at a limit."""
        return tuple(self._all)


class CallScratchpad:
    """This run's steps in the tools protocol: an assistant message, and what came back for it.

    Steps are kept whole, so no tool message is ever parted from its call, and none is dropped: a window by
    messages would orphan them. Long tool results outside the last two steps give way to a note.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._steps: list[tuple[BaseMessage, ...]] = []

    def add(self, reply: AIMessage, came_back: Sequence[BaseMessage]) -> None:
        self._steps.append((reply, *came_back))

    def messages(self, last: int | None = None) -> list[BaseMessage]:
        """Every step of the run, or only the ``last`` ones."""
        steps = self._steps[-last:] if last else self._steps
        recent = len(steps) - RECENT_STEPS
        return [
            self._elided(message) if number < recent else message
            for number, step in enumerate(steps)
            for message in step
        ]

    def _elided(self, message: BaseMessage) -> BaseMessage:
        length = len(str(message.content))
        if not isinstance(message, ToolMessage) or length <= MAX_OLD_RESULT_CHARS:
            return message
        return message.copy(update={"content": self._say("elided_result", length=length)})


def _is_about_a_call(message: BaseMessage) -> bool:
    asked = message.additional_kwargs.keys() & {"tool_calls", "function_call"}
    asked_by_name = getattr(message, "tool_calls", ()) or getattr(message, "invalid_tool_calls", ())
    return isinstance(message, (ToolMessage, FunctionMessage)) or bool(asked or asked_by_name)


def _window(memory: ConversationBufferWindowMemory) -> list[BaseMessage]:
    if not memory.return_messages:  # the caller wants text elsewhere; a chat model wants messages
        return list(memory.buffer_as_messages)
    variables: dict[str, Any] = memory.load_memory_variables({})
    return list(variables[memory.memory_key])


def _trim(memory: BaseChatMemory) -> None:
    """Keep an in-process list from growing; a history that lives elsewhere is not ours to shorten."""
    messages = memory.chat_memory.__dict__.get("messages")
    if isinstance(messages, list):
        del messages[: max(0, len(messages) - 2 * memory.k)]
