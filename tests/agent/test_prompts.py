"""The prompts: both languages say the same, nothing goes out unfilled, and the worked examples are true."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from langchain_core.messages import BaseMessage

import prompts
from agent.protocols.decisions import Act, Fault, Finish, ToolSpec
from agent.protocols.examples import worked_examples
from agent.protocols.reply import read_reply
from agent.results import Action, CallFaultKind, StopReason
from agent.toolspecs import specs_of
from prompts import LANGUAGES, Language, language_of, load, messages, render, speaker
from tests.scripted import contents, kinds
from tools import default_tools
from tools.calculator import calculate

FOLDER = Path(prompts.__file__).parent
SPECS = specs_of(default_tools())
# Places that people and task files ask about: an example of theirs would be an answer learnt by heart.
ASKED_ABOUT = (
    "Beijing 北京 Shanghai 上海 Guangzhou 广州 Shenzhen 深圳 Chengdu 成都 Harbin 哈尔滨 Kunming 昆明 Xi'an"
    " 西安 London 伦敦 Paris 巴黎 Tokyo 东京 Sydney 悉尼 Oslo 奥斯陆 Gotham Atlantis 亚特兰蒂斯"
)

both = pytest.mark.parametrize("language", LANGUAGES)


def marks(text: str) -> set[str]:
    return set(re.findall(r"\$([a-z_]+)", text))


def test_both_languages_hold_the_same_names_with_the_same_marks() -> None:
    english, chinese = (
        {name: marks(text) for name, text in messages(language).items()} for language in LANGUAGES
    )

    assert english == chinese


def test_both_languages_hold_the_same_files() -> None:
    english, chinese = (sorted(path.name for path in (FOLDER / name).iterdir()) for name in LANGUAGES)

    assert (
        english
        == chinese
        == [
            "examples.txt",
            "messages.json",
            "text_system.txt",
            "text_system_lean.txt",
            "text_system_no_tools.txt",
            "tools_system.txt",
            "tools_system_no_tools.txt",
        ]
    )
    assert marks(load("text_system", "en")) == marks(load("text_system", "zh")) == {"tools"}
    assert not marks(load("text_system_no_tools", "en") + load("text_system_no_tools", "zh"))


@both
def test_every_message_is_used_and_none_is_missing(language: Language) -> None:
    worded = {f"fault_{fault}" for fault in get_args(Fault)}
    worded |= {f"problem_{kind}" for kind in get_args(CallFaultKind)} - {
        "problem_unknown_tool",
        "problem_one_too_many",
    }
    worded |= {f"call_fault_{fault}" for fault in ("empty", "bad_call", "unknown_tool", "cut")}
    worded |= {f"stopped_{reason}" for reason in StopReason} - {"stopped_final_answer", "stopped_model_error"}
    sources = "".join(path.read_text(encoding="utf-8") for path in (FOLDER.parent / "agent").rglob("*.py"))

    assert {name for name in messages(language) if not re.search(f"[\"']{name}[\"']", sources)} <= worded
    said = set(re.findall(r"say\(\s*[\"'](\w+)[\"']", sources))
    files = {path.stem for path in (FOLDER / language).glob("*.txt")}
    assert len(said) > 20
    assert worded | said <= messages(language).keys() | files


@both
@pytest.mark.parametrize("values", [{}, {"text": "x", "more": "y"}, {"txt": "x"}])
def test_a_value_too_few_or_too_many_is_an_error(language: Language, values: dict[str, str]) -> None:
    with pytest.raises(KeyError, match="prompt 'observation'"):
        render("observation", language, **values)


@both
def test_an_unknown_prompt_is_an_error(language: Language) -> None:
    with pytest.raises(FileNotFoundError):
        load("no_such_prompt", language)


@both
@pytest.mark.parametrize("value", ["$text", "$tools {x} {{y}}", "\\1 \\g<0>", "%s", "$$"])
def test_a_value_is_never_read_as_a_template(language: Language, value: str) -> None:
    assert speaker(language)("observation", text=value) == f"Observation: {value}"
    assert f'"{value}"' in speaker("en")("fault_trailing", detail=value)


@pytest.mark.parametrize(
    ("text", "language"),
    [("How much?", "en"), ("", "en"), ("多少", "zh"), ("a 大理?", "zh")],
)
def test_a_text_with_a_chinese_character_is_chinese(text: str, language: Language) -> None:
    assert language_of(text) == language


def examples(language: Language) -> list[list[BaseMessage]]:
    """The worked examples for the tools that come with the agent, apart again: each ends with an answer."""
    parts: list[list[BaseMessage]] = [[]]
    for message in worked_examples(SPECS, language):
        parts[-1].append(message)
        if isinstance(read_reply(str(message.content), SPECS), Finish) and message.type == "ai":
            parts.append([])
    assert parts.pop() == []
    return parts


def calls(language: Language) -> Iterator[tuple[Action, str]]:
    """Each call of the examples, with the observation that follows it."""
    turns = worked_examples(SPECS, language)
    for asked, told in itertools.pairwise(turns):
        decision = read_reply(str(asked.content), SPECS)
        if asked.type == "ai" and isinstance(decision, Act):
            yield decision.actions[0], str(told.content)


@both
def test_an_example_takes_turns_from_a_question_to_its_final_answer(language: Language) -> None:
    assert len(examples(language)) == len(re.findall("^---+$", load("examples", language), re.MULTILINE)) + 1
    for example in examples(language):
        assert kinds(example) == ["human", "ai"] * (len(example) // 2)
        assert "Final Answer: " in contents(example)[-1]
        assert not contents(example)[0].startswith("Observation:")


@both
def test_every_reply_in_an_example_is_one_that_we_read_and_keep_whole(language: Language) -> None:
    for example in examples(language):
        for reply in contents(example)[1::2]:
            decision = read_reply(reply, SPECS)
            assert isinstance(decision, Act if "Action: " in reply else Finish)
            assert decision.kept == reply
        assert read_reply(contents(example)[1], SPECS).thought  # the plan, which the later replies follow


@both
def test_every_call_in_an_example_is_followed_by_its_observation(language: Language) -> None:
    seen = list(calls(language))

    assert {action.tool for action, _ in seen} == {"Calculator", "Weather", "Time"}
    for action, told in seen:
        assert told.startswith("Observation: ")
        if action.tool == "Calculator":
            assert told == f"Observation: Calculator[{action.input}] = {calculate(str(action.input))}"


@both
def test_a_city_in_an_example_is_written_as_in_its_question(language: Language) -> None:
    for example in examples(language):
        for reply in contents(example)[1::2]:
            decision = read_reply(reply, SPECS)
            if isinstance(decision, Act) and decision.actions[0].tool == "Weather":
                assert str(decision.actions[0].input) in contents(example)[0]


@both
@pytest.mark.parametrize("place", ASKED_ABOUT.split())
def test_nothing_that_people_ask_about_is_in_a_prompt(language: Language, place: str) -> None:
    files = ("examples", "text_system", "text_system_no_tools")
    texts = [*(load(name, language) for name in files), *messages(language).values()]

    assert not [text for text in texts if place.lower() in text.lower()]


@both
@pytest.mark.parametrize("missing", ["Calculator", "Weather", "Time"])
def test_an_example_is_used_only_with_tools_that_were_handed_in(language: Language, missing: str) -> None:
    given = [spec for spec in SPECS if spec.name != missing]
    turns = contents(worked_examples(given, language))

    assert turns
    assert not [turn for turn in turns if f"Action: {missing}[" in turn]


@both
def test_other_tools_bring_no_example_that_calls_one(language: Language) -> None:
    two_fields = ToolSpec("Weather", ("city", "day"))
    turns = contents(worked_examples([two_fields, ToolSpec("Search")], language))

    assert not [turn for turn in turns if "Action:" in turn]


@both
def test_the_system_message_names_the_two_kinds_of_line(language: Language) -> None:
    text = render("text_system", language, tools="- Probe: probes")

    assert "- Probe: probes" in text
    assert "\nAction: " in text
    assert "\nFinal Answer: " in text
    assert "`" not in text  # copied ticks and quotes are what readers of replies stumble over
