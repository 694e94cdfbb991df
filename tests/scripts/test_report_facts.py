"""What the report says of runs that need a plain word: no tool called, a failed request, one of a thing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from markupsafe import escape

from agent import Limits
from scripts import report
from scripts.reporting.formats import path_end
from scripts.reporting.texts import FOLDER, texts_in
from scripts.reporting.wording import remark_of, words_of
from tests.protocols import calling
from tests.scripted import DONE, actions, probe
from tests.scripts.report_traces import found, page, record, view


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Answered without calling a tool, though there were 3."),
        ("zh", "有 3 个工具，但没有调用任何工具就回答了。"),
    ],
)
def test_an_answer_without_a_tool_is_a_note_in_its_row_and_for_the_filter(
    path: Path, language: str, sentence: str
) -> None:
    run = view(path, DONE)
    texts = texts_in(language)

    assert [(each.severity, each.name) for each in run.findings] == [("note", "no_tool_called")]
    assert remark_of(run, texts) == sentence
    assert sentence in words_of(run, texts)
    assert sentence in page(path, language=language)


def test_a_call_that_could_not_be_run_is_no_use_of_a_tool(path: Path) -> None:
    wrong = calling(("Probe", {"no such field": "x"}))
    run = view(path, wrong, AIMessage(content="no"), protocol="tools", tools=[probe()])

    assert "no_tool_ran" in found(run)


@pytest.mark.parametrize("tools", [[], None])
def test_without_tools_or_with_one_that_ran_there_is_nothing_to_say(path: Path, tools: list[object]) -> None:
    replies = [DONE] if tools == [] else [*actions("2+2"), DONE]
    run = view(path, *replies, tools=tools)

    assert not {"no_tool_called", "no_tool_ran"} & set(found(run))


def test_a_run_that_failed_is_no_answer_without_a_tool(path: Path) -> None:
    assert "no_tool_called" not in found(view(path, ConnectionError("refused")))


@pytest.mark.parametrize(("language", "words"), [("en", "the request failed"), ("zh", "请求失败")])
def test_a_request_that_failed_says_so_in_its_step_with_the_reason(
    path: Path, language: str, words: str
) -> None:
    run = view(path, RuntimeError("connection refused"))
    html = page(path, language=language)

    assert [step.state for step in run.steps] == ["no_reply"]
    assert f'<p class="mark">{words}</p><div class="observation text bad">{escape(run.ending.error)}' in html
    assert texts_in(language).say("state_no_end") not in html


def test_a_last_request_that_failed_is_no_unusable_reply(path: Path) -> None:
    run = view(path, *actions("1+1"), RuntimeError("gone"), limits=Limits(max_iterations=1))

    assert [(step.is_last_request, step.state) for step in run.steps] == [(False, "ok"), (True, "no_reply")]


def test_runs_of_the_same_question_are_told_apart_on_the_console(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.jsonl", "b.jsonl", "b.jsonl"):
        record(path.with_name(name), RuntimeError("dead"))

    report.main([str(path.parent), "-o", str(path.with_name("page.html"))])
    lines = re.findall(r"model failed \((.*), run (\w+)\)", capsys.readouterr().err)
    assert [Path(file).name for file, _ in lines] == ["a.jsonl", "b.jsonl", "b.jsonl"]
    assert len({run for _, run in lines}) == 3


def test_every_english_sentence_that_counts_has_one_for_one() -> None:
    english = json.loads((FOLDER / "en.json").read_text(encoding="utf-8"))
    counting = {name for name, text in english.items() if re.search(r"\$count (?!unknown|times)[a-z]+", text)}

    assert counting
    assert not [name for name in counting if not name.endswith("_one") and f"{name}_one" not in english]


def test_one_of_a_thing_is_singular() -> None:
    say = texts_in("en").say
    singular = [say(name, count=1) for name in ("runs", "files", "messages", "tokens_unit", "more_failed")]

    assert singular[:4] == ["1 run", "1 file", "1 message", "1 token"]
    assert say("runs", count=12_345) == "12,345 runs"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("t.jsonl", "t.jsonl"),
        ("traces/t.jsonl", "traces/t.jsonl"),
        ("a long folder/another long folder/of traces/t.jsonl", "…/another long folder/of traces/t.jsonl"),
        ("traces/" + "x" * 60 + "-end.jsonl", "…" + "x" * 33 + "-end.jsonl"),
    ],
)
def test_of_a_long_path_the_end_is_shown(path: str, shown: str) -> None:
    assert path_end(str(Path(path))).replace("\\", "/") == shown


def test_a_row_has_the_whole_path_in_its_title_and_for_the_filter(path: Path) -> None:
    deep = path.parent / "a folder of a long name" / "and one within it"
    deep.mkdir(parents=True)
    record(deep / "t.jsonl", DONE)
    record(deep / "u.jsonl", DONE)
    html = page(deep)

    assert html.count(f'title="{deep / "t.jsonl"}"') == 1
    rows = re.findall(r'<tr data-run=.*?data-words="([^"]*)"', html)
    assert [str(deep) in words for words in rows] == [True, True]
