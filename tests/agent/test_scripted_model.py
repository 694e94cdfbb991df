"""The scripted model that tests of agents use, here and in our users' projects."""

from __future__ import annotations

import warnings

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import PromptTemplate

from agent import run_agent
from agent.testing import ScriptedModel, ScriptError
from tools import default_tools

REACT = """Answer with {tools}, named {tool_names}.
Question: {input}
Thought:{agent_scratchpad}"""


def test_replies_come_in_order_and_what_was_sent_is_recorded() -> None:
    model = ScriptedModel(replies=["one", "two"])

    assert [model.invoke(text).content for text in ("first", "second")] == ["one", "two"]
    assert model.requests == [[HumanMessage(content="first")], [HumanMessage(content="second")]]
    model.assert_done()


def test_a_text_is_cut_at_the_first_stop_sequence_as_a_service_would() -> None:
    model = ScriptedModel(replies=["Action: x\nObservation: y\nEnd"] * 2)

    assert model.invoke("q", stop=["\nEnd", "\nObservation:"]).content == "Action: x"
    assert model.invoke("q").content == "Action: x\nObservation: y\nEnd"
    assert [options["stop"] for options in model.options] == [["\nEnd", "\nObservation:"], None]


def test_usage_is_a_token_for_four_characters() -> None:
    reply = ScriptedModel(replies=["x" * 40]).invoke("y" * 80)

    assert reply.response_metadata["token_usage"] == {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "total_tokens": 30,
    }
    assert reply.response_metadata["finish_reason"] == "stop"


def test_a_message_keeps_its_own_metadata() -> None:
    cut = AIMessage(content="x", response_metadata={"finish_reason": "length"})

    assert ScriptedModel(replies=[cut]).invoke("q").response_metadata["finish_reason"] == "length"
    assert cut.response_metadata == {"finish_reason": "length"}


def test_an_exception_is_raised() -> None:
    with pytest.raises(TimeoutError, match="too slow"):
        ScriptedModel(replies=[TimeoutError("too slow")]).invoke("q")


def test_a_request_past_the_script_raises() -> None:
    model = ScriptedModel(replies=["one"])
    model.invoke("q")

    with pytest.raises(ScriptError, match="request 2, but the script ends with reply 1"):
        model.invoke("q")
    with pytest.raises(ScriptError, match="replies in the script: 1, asked for: 2"):
        model.assert_done()


def test_replies_left_over_raise() -> None:
    model = ScriptedModel(replies=["one", "two"])
    model.invoke("q")

    with pytest.raises(ScriptError, match="replies in the script: 2, asked for: 1"):
        model.assert_done()


def test_a_run_past_the_script_ends_in_a_result_and_assert_done_tells() -> None:
    model = ScriptedModel(replies=["Action: Calculator[1]"])
    result = run_agent("q", llm=model)

    assert "request 2, but the script ends with reply 1" in (result.error or "")
    with pytest.raises(ScriptError):
        model.assert_done()


def test_it_works_inside_agent_executor() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # langchain deprecates the class of its own factory
        from langchain.agents import AgentExecutor, create_react_agent

        model = ScriptedModel(
            replies=[
                "I add.\nAction: Calculator\nAction Input: 2+2\nObservation: 5",
                "Final Answer: 4",
            ]
        )
        tools = default_tools()
        executor = AgentExecutor(
            agent=create_react_agent(model, tools, PromptTemplate.from_template(REACT)), tools=tools
        )
        answer = executor.invoke({"input": "2+2?"})["output"]

    assert answer == "4"
    assert "Observation: 4" in str(model.requests[1][0].content)
    assert "Observation: 5" not in str(model.requests[1][0].content)
    model.assert_done()
