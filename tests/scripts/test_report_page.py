"""The page: everything in it is text, nothing is loaded, and each word is there in both languages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent.results import StopReason
from prompts import LANGUAGES
from scripts.reporting import caps, findings, timeline
from scripts.reporting.texts import FOLDER, Texts, groups_of, texts_in
from tests.scripted import DONE, actions, failing
from tests.scripts.report_traces import HOSTILE, page, record, record_all

VOID = {"meta", "input", "line", "rect", "br"}


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, and whether each is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data

    def attributes(self, name: str) -> list[str]:
        return [attrs[name] or "" for _, attrs in self.elements if name in attrs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("traces"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_run_makes_a_whole_page(folder: Path, language: str) -> None:
    parsed = Page(page(folder, language=language))

    assert parsed.open == []
    assert parsed.elements[0] == ("html", {"lang": language})
    ids = parsed.attributes("id")
    assert sorted(ids) == sorted(set(ids))
    targets = {link[1:] for link in parsed.attributes("href")} | set(parsed.attributes("data-before"))
    assert targets | set(parsed.attributes("data-same")) <= set(ids)


def test_what_a_model_or_a_tool_wrote_stays_text(folder: Path) -> None:
    parsed = Page(page(folder))
    tags = [tag for tag, _ in parsed.elements]

    assert parsed.text.count(HOSTILE) >= 3
    assert (tags.count("script"), tags.count("img")) == (1, 0)
    assert not [name for _, attrs in parsed.elements for name in attrs if name.startswith("on")]


def test_nothing_is_loaded_and_nothing_but_our_own_script_runs(folder: Path) -> None:
    html = page(folder)
    parsed = Page(html)

    assert {link[:1] for link in parsed.attributes("href")} == {"#"}
    assert not parsed.attributes("src") + parsed.attributes("style") + parsed.attributes("action")
    (policy,) = (attrs["content"] for tag, attrs in parsed.elements if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy


def test_control_characters_are_shown_and_newlines_kept(tmp_path: Path) -> None:
    html = page(record(tmp_path / "t.jsonl", "Final Answer: red\x1b[31m\nand\x00 done"))

    assert "red␛[31m\nand␀ done" in html


def test_a_secret_that_this_machine_knows_is_in_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(
        tmp_path / "t.jsonl", *actions("1"), "Final Answer: canary-7f3a9b", question="canary-7f3a9b?"
    )
    monkeypatch.setenv("MAPS_KEY", "canary-7f3a9b")

    assert "canary-7f3a9b" not in page(path)


def test_one_run_has_its_timeline_and_no_table(tmp_path: Path) -> None:
    parsed = Page(page(record(tmp_path / "t.jsonl", *actions("2+2"), DONE)))
    tags = [tag for tag, _ in parsed.elements]

    assert "table" not in tags
    assert "r1s1" in parsed.attributes("id")


def test_each_run_has_a_row_that_leads_to_its_timeline(folder: Path) -> None:
    parsed = Page(page(folder))
    rows = [attrs for tag, attrs in parsed.elements if tag == "tr" and "data-run" in attrs]

    assert len(rows) == 8
    for row in rows:
        assert f"#run-{row['data-run']}" in parsed.attributes("href")
        assert f"run-{row['data-run']}" in parsed.attributes("id")


def test_the_chinese_page_has_no_english_words_of_ours(tmp_path: Path) -> None:
    broken = failing(ValueError("x"), "Weather")
    path = record(
        tmp_path / "t.jsonl", *actions("a", "b", tool="Weather"), DONE, tools=[broken], question="天气？"
    )
    text = Page(page(path, language="zh")).text

    assert "原因" in text or "值得注意" in text
    assert not re.search("Tokens|Request|Worth|Seconds|Limits and", text)


# --- the texts --------------------------------------------------------------------------------------


def marks(text: str) -> set[str]:
    return set(re.findall(r"\$([a-z_]+)|(\{[a-z]+\})", text))


def test_both_languages_say_the_same_with_the_same_marks() -> None:
    english, chinese = (
        json.loads((FOLDER / f"{language}.json").read_text(encoding="utf-8")) for language in LANGUAGES
    )

    assert english.keys() == chinese.keys()
    assert {name: marks(text) for name, text in english.items()} == {
        name: marks(text) for name, text in chinese.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stop_reason_has_its_words(language: str) -> None:
    texts = texts_in(language)

    for reason in (*(each.value for each in StopReason), timeline.UNFINISHED):
        assert texts.knows(f"reason_{reason}")
        assert texts.knows(f"why_{reason}") or reason in caps.NAMES


def test_a_stop_reason_of_a_later_version_is_shown_as_it_stands(tmp_path: Path) -> None:
    path = record(tmp_path / "t.jsonl", DONE)
    text = path.read_text(encoding="utf-8").replace('"stop_reason": "final_answer"', '"stop_reason": "bored"')
    path.write_text(text, encoding="utf-8")

    assert "bored" in page(path)
    assert "has no words for this reason" in page(path)


def test_a_text_takes_its_values_and_no_others() -> None:
    texts = Texts("en", {"runs": "$count runs", "runs_one": "1 run"})

    assert (texts.say("runs", count=2), texts.say("runs", count=1)) == ("2 runs", "1 run")
    for values in ({}, {"count": 2, "more": 3}):
        with pytest.raises(KeyError, match="runs"):
            texts.say("runs", **values)


def test_steps_in_a_row_are_named_together() -> None:
    assert groups_of((1, 3, 4, 5, 7, 8)) == [("1", 1), ("3–5", 3), ("7–8", 7)]


def test_a_long_text_is_one_line_with_an_end() -> None:
    assert findings.brief("a\n b") == "a b"
    assert findings.brief("x" * 500) == "x" * (findings.SHOWN_CHARS - 1) + "…"


def test_what_explains_a_run_stands_before_its_error(tmp_path: Path) -> None:
    html = page(record(tmp_path / "t.jsonl", RuntimeError("the line is dead\n" * 400)))

    assert html.index("What explains it") < html.index('<p class="text error">')
