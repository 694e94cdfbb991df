"""Memory: the window is always applied, an exchange is kept whole, nothing is shared unasked."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.memory import ConversationBufferWindowMemory
from langchain_community.chat_message_histories import (
    ChatMessageHistory,
    FileChatMessageHistory,
    SQLChatMessageHistory,
)
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agent import Agent, Limits, SettingsError, run_agent
from agent.memory import Conversation, Scratchpad
from agent.testing import ScriptedModel
from tests.scripted import DONE, actions, contents, failing, play


def window(k: int = 5, **more: Any) -> ConversationBufferWindowMemory:
    return ConversationBufferWindowMemory(k=k, return_messages=True, **more)


def talk(memory: ConversationBufferWindowMemory, turns: int) -> ScriptedModel:
    """A conversation of so many turns over ``memory``; returns the model, with what it was sent."""
    model = ScriptedModel(replies=[f"Final Answer: answer {turn}" for turn in range(1, turns + 1)])
    agent = Agent(llm=model, memory=memory)
    for turn in range(1, turns + 1):
        agent.run(f"question {turn}")
    return model


def stored(memory: ConversationBufferWindowMemory) -> list[str]:
    return contents(memory.chat_memory.messages)


def exchanges(*turns: int) -> list[str]:
    return [text for turn in turns for text in (f"question {turn}", f"answer {turn}")]


@pytest.mark.parametrize(("k", "kept"), [(0, ()), (1, (6,)), (3, (4, 5, 6)), (5, (2, 3, 4, 5, 6))])
def test_a_request_carries_the_last_k_exchanges_and_the_list_holds_no_more(
    k: int, kept: tuple[int, ...]
) -> None:
    memory = window(k)
    model = talk(memory, 7)

    assert contents(model.requests[6])[1:] == [*exchanges(*kept), "question 7"]
    assert len(stored(memory)) == 2 * k


@pytest.mark.parametrize("turn", [1, 6, 20])
def test_each_request_has_exactly_one_system_message_first(turn: int) -> None:
    request = talk(window(), 20).requests[turn - 1]

    assert [message.type for message in request].count("system") == 1
    assert request[0].type == "system"


@pytest.mark.parametrize(
    "options",
    [
        {"memory_key": "chat_history"},
        {"input_key": "text", "output_key": "reply"},
        {"memory_key": "input"},
        {"memory_key": "input", "input_key": "input"},
        {"memory_key": "output"},
        {"memory_key": "stop", "output_key": "input"},
        {"human_prefix": "Customer", "ai_prefix": "Clerk"},
    ],
)
@pytest.mark.parametrize("return_messages", [True, False])
def test_any_window_memory_of_the_callers_works(options: dict[str, str], return_messages: bool) -> None:
    memory = ConversationBufferWindowMemory(k=2, return_messages=return_messages, **options)
    model = talk(memory, 4)

    assert [message.type for message in model.requests[3]] == ["system", *["human", "ai"] * 2, "human"]
    assert contents(model.requests[3])[1:] == [*exchanges(2, 3), "question 4"]
    assert stored(memory) == exchanges(3, 4)


def test_what_the_callers_memory_held_before_is_sent_and_windowed() -> None:
    memory = window(1, chat_memory=ChatMessageHistory())
    for turn in (1, 2):
        memory.save_context({"input": f"question {turn}"}, {"output": f"answer {turn}"})

    assert contents(talk(memory, 1).requests[0])[1:] == [*exchanges(2), "question 1"]


@pytest.mark.parametrize("kind", ["file", "sql"])
def test_a_history_that_lives_elsewhere_is_windowed_and_never_shortened(kind: str, tmp_path: Path) -> None:
    history = (
        FileChatMessageHistory(str(tmp_path / "history.json"))
        if kind == "file"
        else SQLChatMessageHistory("session", f"sqlite:///{tmp_path / 'history.db'}")
    )
    memory = window(2, chat_memory=history)
    model = talk(memory, 5)

    assert contents(model.requests[4])[1:] == [*exchanges(3, 4), "question 5"]
    assert stored(memory) == exchanges(1, 2, 3, 4, 5)
    if isinstance(history, SQLChatMessageHistory):
        history.engine.dispose()


def test_steps_and_corrections_of_a_run_are_not_part_of_the_conversation() -> None:
    memory = window()
    play(*actions(1, 2), "hm", "Final Answer: 3", question="What?", memory=memory)

    assert stored(memory) == ["What?", "3"]


def test_an_answer_that_was_asked_for_at_a_limit_is_remembered() -> None:
    memory = window()
    play(
        *actions(1), "Final Answer: forced", question="What?", memory=memory, limits=Limits(max_iterations=1)
    )

    assert stored(memory) == ["What?", "forced"]


@pytest.mark.parametrize(
    "replies", [[RuntimeError("down")], [*actions(1), RuntimeError("down")], actions(1, 2)]
)
def test_a_run_without_an_answer_leaves_memory_as_it_was(replies: list[Any]) -> None:
    memory = window()
    memory.save_context({"input": "earlier"}, {"output": "answer"})
    result, _ = play(*replies, memory=memory, limits=Limits(max_iterations=len(replies), at_cap="error"))

    assert result.answer is None
    assert stored(memory) == ["earlier", "answer"]


def test_a_run_interrupted_in_a_tool_leaves_memory_as_it_was() -> None:
    memory = window()
    memory.save_context({"input": "earlier"}, {"output": "answer"})
    with pytest.raises(KeyboardInterrupt):
        play("Action: Probe[x]", tools=[failing(KeyboardInterrupt())], memory=memory)

    assert stored(memory) == ["earlier", "answer"]


class FullDisk(ChatMessageHistory):
    def add_message(self, message: BaseMessage) -> None:
        raise OSError("no space at postgres://me:hunter2@db/chats")


def test_a_history_that_cannot_be_written_does_not_cost_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    result, _ = play(DONE, memory=window(chat_memory=FullDisk()))

    assert (result.answer, result.ok) == ("done", True)
    assert "not saved to memory: OSError: no space" in caplog.text
    assert "hunter2" not in caplog.text


class GoneDatabase(BaseChatMessageHistory):
    """As a client of a database does when nobody answers it."""

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # an attribute in the base class
        raise ConnectionError("Error 111 connecting to redis://me:hunter2@db:6379. Connection refused.")

    def clear(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("return_messages", [True, False])
def test_a_history_that_cannot_be_read_is_one_sentence_before_any_request(return_messages: bool) -> None:
    memory = ConversationBufferWindowMemory(chat_memory=GoneDatabase(), return_messages=return_messages)
    model = ScriptedModel(replies=[DONE])
    with pytest.raises(SettingsError, match=r"so nothing was asked \(ConnectionError") as caught:
        run_agent("hello", llm=model, memory=memory)

    assert model.requests == []
    assert caught.value.__cause__ is None  # its own words would be shown too, and may hold a password
    assert "hunter2" not in str(caught.value)


def test_an_agent_answers_again_when_its_history_is_back() -> None:
    memory = window(chat_memory=GoneDatabase())
    agent = Agent(llm=ScriptedModel(replies=[DONE]), memory=memory)
    with pytest.raises(SettingsError):
        agent.run("hello")
    memory.chat_memory = ChatMessageHistory()

    assert agent.run("hello").answer == "done"
    assert stored(memory) == ["hello", "done"]


def test_two_calls_know_nothing_of_each_other() -> None:
    model = ScriptedModel(replies=[DONE, DONE])
    run_agent("my code is 4711", llm=model)
    run_agent("what is my code?", llm=model)

    assert "4711" not in "".join(contents(model.requests[1]))


def test_two_agents_over_one_memory_share_their_conversation() -> None:
    memory = window()
    talk(memory, 1)

    assert contents(talk(memory, 1).requests[0])[1:] == [*exchanges(1), "question 1"]


def test_a_question_with_braces_is_remembered_as_it_is() -> None:
    model = ScriptedModel(replies=['Final Answer: {"b": {x}}', DONE])
    agent = Agent(llm=model)
    agent.run('What does {"a": 1} mean?')
    agent.run("And {}?")

    assert contents(model.requests[1])[1:] == ['What does {"a": 1} mean?', '{"b": {x}}', "And {}?"]


class Echoing(ScriptedModel):
    """Answers each question with the question, so that an exchange is known by its halves."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        reply = AIMessage(content=f"Final Answer: {messages[-1].content}")
        return ChatResult(generations=[ChatGeneration(message=reply)])


def test_twenty_threads_over_one_memory_lose_nothing_and_mix_no_exchange() -> None:
    memory = window(1000)
    agent = Agent(llm=Echoing(), memory=memory)
    together = threading.Barrier(20)

    def ask(thread: int) -> None:
        together.wait(60)
        for turn in range(3):
            assert agent.run(f"marker {thread}-{turn}").ok

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)

    questions, answers = stored(memory)[::2], stored(memory)[1::2]
    assert questions == answers
    assert sorted(questions) == sorted(f"marker {thread}-{turn}" for thread in range(20) for turn in range(3))


def test_a_memory_of_another_kind_is_a_callers_mistake() -> None:
    with pytest.raises(SettingsError, match=r"takes a ConversationBufferWindowMemory, not \[\]; any history"):
        Agent(llm=ScriptedModel(), memory=[])


def test_a_thousand_turns_hold_no_more_than_the_window() -> None:
    conversation = Conversation()
    for turn in range(1000):
        conversation.add(f"question {turn}", f"answer {turn}")

    assert len(conversation.memory.chat_memory.messages) == 10
    assert contents(conversation.snapshot()) == exchanges(*range(995, 1000))


def test_a_snapshot_does_not_change_when_the_conversation_goes_on() -> None:
    conversation = Conversation()
    conversation.add("question 1", "answer 1")
    snapshot = conversation.snapshot()
    conversation.add("question 2", "answer 2")

    assert contents(snapshot) == exchanges(1)


def test_the_scratchpad_shows_its_last_five_steps_and_keeps_all() -> None:
    scratchpad = Scratchpad()
    for turn in range(1, 9):
        scratchpad.add(f"question {turn}", f"answer {turn}")

    assert contents(scratchpad.window()) == exchanges(*range(4, 9))
    assert contents(scratchpad.every_step()) == exchanges(*range(1, 9))
