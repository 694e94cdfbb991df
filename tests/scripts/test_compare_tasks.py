"""The tasks to compare agents by: right, solvable in the steps that they name, and in no worked example."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent.protocols.text import TextProtocol
from prompts import LANGUAGES, load
from scripts.changed_rules import changed_tools
from scripts.contenders import ToolCall, measured_tools
from scripts.scoring import Task, load_tasks, load_weather, numbers_in, solved, weather_file
from tools.calculator import calculate
from tools.texts import ERROR_PREFIX

FILE = Path(__file__).resolve().parents[2] / "scripts" / "tasks" / "compare.jsonl"
RAW: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
DEVELOPED_WITH = 30
NEW = RAW[DEVELOPED_WITH:]
TASKS = {task.id: task for task in load_tasks(FILE)}
WEATHER = load_weather(weather_file(FILE))
NOW = datetime(2026, 1, 31, 15, 4)
SPOKEN = {"{today}": "2026-01-31", "{year}": "2026", "{now_hour}": "15:04"}
# Shorter runs of words are nobody's: without them no question can be asked.
PHRASE_WORDS, PHRASE_CHARACTERS = 4, 5


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(raw, id=raw["id"]) for raw in NEW if raw["kind"] == kind]


def every(raws: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(raw, id=raw["id"]) for raw in raws]


def made(raw: dict[str, Any]) -> list[ToolCall]:
    """The calls of a task, made: by the tools that an agent is given for it."""
    calls: list[ToolCall] = []
    given = changed_tools(calls) if raw.get("toolset") == "changed" else measured_tools(WEATHER, calls)
    tools = {tool.name: tool for tool in given}
    for name, text in raw["calls"]:
        tools[name].run(text)
    return calls


def judge(task: Task, answer: str) -> bool:
    return solved(task, answer, task.tools, NOW)[0]


def test_it_has_the_tasks_to_develop_with_first_and_unchanged() -> None:
    dev = FILE.with_name("dev.jsonl").read_text(encoding="utf-8").splitlines()
    assert FILE.read_text(encoding="utf-8").splitlines()[:DEVELOPED_WITH] == dev


def test_its_shares_are_what_the_readme_says() -> None:
    kinds = [(raw["kind"], raw["lang"]) for raw in NEW]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        ("word_problem", "zh"): 10,
        ("word_problem", "en"): 10,
        ("changed_rules", "zh"): 10,
        ("changed_rules", "en"): 10,
        ("aggregate", "zh"): 1,
        ("aggregate", "en"): 1,
    }
    changed = [len(raw["calls"]) for raw in NEW if raw["kind"] == "changed_rules"]
    assert {calls: changed.count(calls) for calls in changed} == {1: 15, 2: 3, 3: 2}


def test_no_id_and_no_question_comes_twice_or_stands_among_the_unseen() -> None:
    unseen = load_tasks(FILE.with_name("unseen.jsonl"))
    assert 64 <= len(RAW) == len(TASKS) <= 72
    assert len({raw["question"] for raw in RAW} | {task.question for task in unseen}) == len(RAW) + len(
        unseen
    )
    assert not set(TASKS) & {task.id for task in unseen}


# --- the answers


@pytest.mark.parametrize("raw", every(RAW))
def test_the_check_accepts_a_good_sentence_and_refuses_a_wrong_one(raw: dict[str, Any]) -> None:
    task, check = TASKS[raw["id"]], raw["check"]
    right = [f"{number:,}" for number in check.get("numbers", ())]
    right += [SPOKEN.get(term, term) for term in check.get("any", ())][:1]
    wrong = " ".join(f"{number * 1.1 + 1:.1f}" for number in check.get("numbers", ())) or "那里 there: 21 °C"

    assert judge(task, f"{raw['question']} -> {' '.join(right)}.")
    if check.get("any") != [""]:
        assert not judge(task, f"{wrong}.")
    assert not judge(task, " ")


@pytest.mark.parametrize("raw", every(NEW))
def test_repeating_the_question_is_no_answer(raw: dict[str, Any]) -> None:
    assert not judge(TASKS[raw["id"]], raw["question"])


@pytest.mark.parametrize("raw", of_kind("word_problem"))
def test_a_word_problem_has_the_answer_of_its_solution(raw: dict[str, Any]) -> None:
    (answer,) = raw["check"]["numbers"]
    assert calculate(raw["solution"]) == str(answer)
    assert 2 <= len(re.findall(r"[-+*/]", raw["solution"])) <= 5
    assert raw["tools"] == ["Calculator"]


@pytest.mark.parametrize("raw", of_kind("word_problem"))
def test_a_solution_uses_the_numbers_of_its_story(raw: dict[str, Any]) -> None:
    spelled_out = {
        1,
        2,
        3,
        4,
        5,
        10,
        100,
        0.8,
    }  # half, three times, ten, each, per cent, 八折, Monday to Friday
    assert set(numbers_in(raw["solution"])) - spelled_out <= set(numbers_in(raw["question"]))
    assert set(numbers_in(raw["question"])) - set(numbers_in(raw["solution"])) <= {
        25
    }  # 25 % off leaves 100-25


@pytest.mark.parametrize("raw", of_kind("changed_rules"))
def test_the_answer_by_changed_rules_follows_from_the_tools_alone(raw: dict[str, Any]) -> None:
    known = set(numbers_in(raw["question"]))
    for call in made(raw):
        assert not call.output.startswith(ERROR_PREFIX)
        assert set(numbers_in(call.input)) <= known, "a number from nowhere"
        known |= set(numbers_in(call.output))
    assert raw["check"]["numbers"][0] in numbers_in(call.output)


@pytest.mark.parametrize("raw", of_kind("changed_rules"))
def test_the_common_answer_is_refused_and_is_none_that_a_good_run_meets(raw: dict[str, Any]) -> None:
    (common,) = raw["check"]["not_numbers"]
    assert calculate(raw["usual"]) == str(common)
    assert not judge(TASKS[raw["id"]], f"{common}")
    assert not judge(TASKS[raw["id"]], f"{common}, {raw['check']['numbers'][0]}")
    met = " ".join([raw["question"], *(call.output for call in made(raw))])
    assert judge(TASKS[raw["id"]], f"{met} {raw['check']['numbers'][0]}")


@pytest.mark.parametrize("raw", of_kind("changed_rules"))
def test_a_question_by_changed_rules_says_that_it_is_one(raw: dict[str, Any]) -> None:
    assert "这个世界" in raw["question"] or "this world" in raw["question"]
    assert raw["toolset"] == "changed"


# --- the steps


@pytest.mark.parametrize("raw", every(NEW))
def test_the_steps_are_one_for_each_call_and_one_for_the_answer(raw: dict[str, Any]) -> None:
    calls = made(raw)
    assert raw["steps"] == len(calls) + 1
    assert raw["tools"] == list(dict.fromkeys(call.tool for call in calls))
    assert len({(call.tool, call.input) for call in calls}) == len(calls)


@pytest.mark.parametrize("raw", every(NEW))
def test_a_task_is_called_reachable_when_its_steps_fit_under_the_cap(raw: dict[str, Any]) -> None:
    assert raw.get("reachable", True) is (raw["steps"] <= TextProtocol.max_iterations)
    assert ("why" in raw) is not raw.get("reachable", True)
    if raw["kind"] == "changed_rules":
        assert raw.get("reachable", True)


@pytest.mark.parametrize("raw", of_kind("aggregate"))
def test_what_is_out_of_reach_needs_every_one_of_its_look_ups(raw: dict[str, Any]) -> None:
    looked_up = [call.input for call in made(raw) if call.tool == "Weather"]
    assert looked_up == sorted(looked_up, key=raw["question"].index)
    named = [city for city in WEATHER if city in raw["question"].casefold()]
    assert {city.casefold() for city in looked_up} == set(named)


# --- the worked examples


def phrases(text: str) -> set[str]:
    """Every run of four words, and of five Chinese characters, of each line."""
    found: set[str] = set()
    for line in text.casefold().splitlines():
        words = re.findall(r"[a-z']+", line)
        found |= {" ".join(words[at : at + PHRASE_WORDS]) for at in range(len(words) - PHRASE_WORDS + 1)}
        for run in re.findall(r"[一-鿿]+", line):
            found |= {run[at : at + PHRASE_CHARACTERS] for at in range(len(run) - PHRASE_CHARACTERS + 1)}
    return found


EXAMPLES = "\n".join(load("examples", language) for language in LANGUAGES)


@pytest.mark.parametrize("raw", every(RAW))
def test_a_task_shares_neither_place_nor_number_nor_phrase_with_a_worked_example(raw: dict[str, Any]) -> None:
    asked = numbers_in(raw["question"])
    # What the weather table says was fixed before; what was made up here could be made up apart.
    answers = [] if raw in RAW[:DEVELOPED_WITH] else raw["check"].get("numbers", [])
    shared = {number for number in [*asked, *answers] if number > 12} & set(numbers_in(EXAMPLES))
    assert not shared
    assert not phrases(raw["question"]) & phrases(EXAMPLES)
    assert not [
        city for city in WEATHER if city in raw["question"].casefold() and city in EXAMPLES.casefold()
    ]


def test_the_phrases_of_a_text_are_found() -> None:
    assert phrases("How many are left?\n还剩多少公里") == {"how many are left", "还剩多少公", "剩多少公里"}
