"""The loop: what is sent in each round, and how many rounds there are."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from agent import Agent, Limits, StopReason, Usage
from agent.testing import ScriptedModel
from tests.scripted import DONE, actions, contents, kinds, play, probe, uncounted

SIX_SUMS = [f"{number}+{number}" for number in range(1, 7)]


class TooLong(Exception):
    """How a service says that a request is longer than its model's context."""

    status_code = 400

    def __init__(self) -> None:
        super().__init__("This model's maximum context length is 8192 tokens.")


def test_an_action_is_run_and_its_observation_leads_to_the_answer() -> None:
    result, model = play("Thought: add\nAction: Calculator[2+3*4]", "Thought: so\nFinal Answer: 14")

    assert (result.answer, result.stop_reason, result.ok) == ("14", StopReason.FINAL_ANSWER, True)
    assert (result.forced, result.unformatted, result.error) == (False, False, None)
    assert contents(model.requests[1])[2:] == [
        "Thought: add\nAction: Calculator[2+3*4]",
        "Observation: Calculator[2+3*4] = 14",
    ]
    first, last = result.steps
    assert (first.number, first.thought, first.actions[0].input) == (1, "add", "2+3*4")
    assert (first.observations[0].text, first.observations[0].ok) == ("14", True)
    assert (last.number, last.thought, last.actions, last.observations) == (2, "so", (), ())


def test_the_sixth_request_holds_the_system_message_the_question_and_five_steps() -> None:
    _, model = play(*actions(*SIX_SUMS[:5]), DONE, question="the question")

    sixth = model.requests[5]
    assert kinds(sixth) == ["system", "human", *["ai", "human"] * 5]
    assert contents(sixth)[1] == "the question"
    assert contents(sixth)[3::2] == [f"Observation: Calculator[{n}+{n}] = {2 * n}" for n in range(1, 6)]


def test_past_the_window_the_oldest_step_goes_and_the_question_stays() -> None:
    _, model = play(*actions(*range(1, 8)), DONE, question="the question", limits=Limits(max_iterations=8))

    eighth = model.requests[7]
    assert kinds(eighth) == ["system", "human", *["ai", "human"] * 5]
    assert contents(eighth)[1] == "the question"
    assert contents(eighth)[3::2] == [f"Observation: Calculator[{n}] = {n}" for n in range(3, 8)]


def test_an_invented_observation_is_not_believed_and_never_goes_back() -> None:
    invented = "Action: Calculator[2123*210512]\nObservation: 467891963859\nFinal Answer: 467891963859"
    # As a message of its own, past every stop sequence: some services ignore them.
    result, model = play(AIMessage(content=invented), "Final Answer: 446916976")

    assert result.steps[0].observations[0].text == "446916976"
    assert result.answer == "446916976"
    assert "467891963859" not in "".join(contents(model.requests[1]))


def test_thinking_never_goes_back_and_is_no_answer() -> None:
    thinking = "<think>Maybe Action: Weather[Lima]. Final Answer: no</think>\n"
    result, model = play(f"{thinking}Action: Calculator[2+2]", f"{thinking}Final Answer: 4")

    assert result.answer == "4"
    assert result.steps[0].actions[0].tool == "Calculator"
    assert contents(model.requests[1])[2] == "Action: Calculator[2+2]"
    assert all("Maybe" not in step.thought for step in result.steps)


def test_a_run_has_six_rounds_by_default_and_then_one_request_for_the_answer() -> None:
    result, model = play(*actions(*SIX_SUMS), "Final Answer: forced")

    assert (len(model.requests), len(result.steps), result.usage.requests) == (7, 6, 7)
    assert (result.answer, result.stop_reason) == ("forced", StopReason.MAX_ITERATIONS)
    assert (result.forced, result.ok, result.error) == (True, False, None)


def test_the_forced_request_carries_every_step_and_asks_in_the_last_message() -> None:
    _, model = play(*actions(*range(1, 9)), DONE, limits=Limits(max_iterations=8))

    last = model.requests[-1]
    assert kinds(last) == ["system", "human", *["ai", "human"] * 8]
    assert contents(last)[3] == "Observation: Calculator[1] = 1"
    assert contents(last)[-1].startswith("Observation: Calculator[8] = 8\n\n")
    assert "Final Answer:" in contents(last)[-1]


def test_prose_is_taken_from_the_forced_reply() -> None:
    result, _ = play(*actions(1), "I would say four.", limits=Limits(max_iterations=1))

    assert (result.answer, result.forced) == ("I would say four.", True)


def test_the_last_observation_in_an_error_is_what_a_tool_said_not_what_the_model_was_told_of_it() -> None:
    result, _ = play(*actions(1, 1, 1), limits=Limits(at_cap="error"))

    assert (result.error or "").endswith("the last observation was: 1")


@pytest.mark.parametrize("most", [1, 2, 7])
def test_there_are_never_more_requests_than_max_iterations_and_one(most: int) -> None:
    model = ScriptedModel(replies=actions(*range(1, 20)))
    result = Agent(llm=model, limits=Limits(max_iterations=most)).run("go on for ever")

    assert len(model.requests) == most + 1
    assert len(result.steps) == most


def test_usage_is_the_sum_of_what_each_reply_used() -> None:
    result, _ = play(*actions(1, 2), DONE)

    steps = [step.usage for step in result.steps]
    assert result.usage.prompt_tokens == sum(usage.prompt_tokens or 0 for usage in steps) > 0
    assert result.usage.completion_tokens == sum(usage.completion_tokens or 0 for usage in steps) > 0
    assert result.usage.total_tokens == result.usage.prompt_tokens + result.usage.completion_tokens
    assert (result.usage.requests, result.usage.retries, result.usage.cost_usd) == (3, 0, None)


def test_usage_is_none_where_the_service_told_none() -> None:
    result, _ = play(*actions(1), uncounted(DONE))

    assert result.usage == Usage(2, None, None, 0, None)
    assert result.usage.total_tokens is None
    assert result.steps[0].usage.total_tokens is not None


def test_a_request_too_long_is_asked_once_more_with_less_in_it() -> None:
    agent_model = ScriptedModel(replies=[DONE, *actions(1, 2, 3), TooLong(), DONE])
    agent = Agent(llm=agent_model)
    agent.run("an earlier question")
    result = agent.run("the question")

    refused, shorter = agent_model.requests[4:]
    assert kinds(refused) == ["system", "human", "ai", "human", *["ai", "human"] * 3]
    assert kinds(shorter) == ["system", "human", *["ai", "human"] * 2]
    assert contents(shorter)[1] == "the question"
    assert contents(shorter)[-1] == "Observation: Calculator[3] = 3"
    assert (result.answer, result.usage.requests, result.usage.retries) == ("done", 4, 1)


def test_a_request_that_stays_too_long_ends_with_a_plain_sentence() -> None:
    result, _ = play(TooLong(), TooLong())

    assert (result.answer, result.stop_reason) == (None, StopReason.MODEL_ERROR)
    assert result.error == (
        "the request is longer than the model's context: ask for less, or in a new conversation"
    )
    assert (result.usage.requests, result.usage.retries) == (0, 2)


@pytest.mark.parametrize("text", ['{"a": 1}', "{temp} } {", "$question {0} %s", "{{x}}", "\\1 \\g<0>"])
def test_marks_in_question_tool_output_and_description_stay_as_they_are(text: str) -> None:
    tool = probe(lambda _: f"Result {text} end")
    tool.description = f"Takes {text}."
    _, model = play("Action: Probe[x]", DONE, question=f"What is {text}?", tools=[tool], instructions=text)

    system, question, _, observation = contents(model.requests[1])
    assert f"- Probe: Takes {text}." in system
    assert system.endswith(f"\n\n{text}")
    assert question == f"What is {text}?"
    assert observation == f"Observation: Probe[x] = Result {text} end"


def test_both_languages_send_requests_of_the_same_structure() -> None:
    replies = [*actions(1), "prose", *actions(2), "Action: None[x]", *actions(3, 4), DONE]
    structures = []
    for question in ("How much?", "多少？"):
        _, model = play(*replies, question=question)
        structures.append([kinds(request) for request in model.requests])

    assert structures[0] == structures[1]


def test_the_language_is_the_questions_own_unless_it_is_set() -> None:
    def system(question: str, **options: str) -> str:
        return contents(play(DONE, question=question, **options)[1].requests[0])[0]

    assert system("多少？").startswith("你用这些工具回答问题")
    assert system("How much?") == system("多少？", language="en")


@pytest.mark.parametrize("question", ["What is it?", "是什么？"])
@pytest.mark.parametrize("examples", ["on", "off"])
def test_without_tools_nothing_speaks_of_actions(
    question: str, examples: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_EXAMPLES", examples)
    result, model = play(
        *("four", "Final Answer:", DONE), question=question, tools=[], instructions="Be kind."
    )

    assert result.answer == "done"
    sent = contents(model.requests[2])
    assert not [text for text in sent if "Action" in text or "Observation" in text]
    assert "\nFinal Answer: " in sent[0]
    assert sent[0].endswith("\n\nBe kind.")


def test_without_tools_an_answer_may_hold_the_word_that_would_stop_it() -> None:
    _, model = play(DONE, tools=[])

    assert model.options[0]["stop"] is None


def test_without_tools_an_action_is_corrected_and_the_run_still_answers() -> None:
    result, model = play("Action: Calculator[1]", DONE, tools=[])

    assert result.answer == "done"
    assert 'no tool named "Calculator"' in contents(model.requests[1])[3]
