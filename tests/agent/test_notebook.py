"""A result in a notebook: the answer, the steps to unfold, and nothing of it is taken for HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from agent import Limits
from tests.scripted import play, probe

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Read(HTMLParser):
    """The tags of a page and the texts between them; every tag must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_answer_stands_first_and_each_step_has_a_row() -> None:
    result, _ = play(
        "Thought: look\nAction: Probe[a & b]", "nonsense [", "Final Answer: 4 < 5", tools=[probe()]
    )
    page = Read(result._repr_html_())

    assert page.texts[0] == "4 < 5"
    assert page.tags.count("tr") == 1 + len(result.steps) == 4
    for text in ("look", "Probe[a & b]", result.steps[0].observations[0].text, result.steps[1].error):
        assert text in page.texts
    assert any(text.startswith("final_answer: 3 requests") for text in page.texts)
    assert "details" in page.tags


def test_what_a_model_or_a_tool_wrote_stays_text() -> None:
    result, _ = play(
        f"Thought: {EVIL}\nAction: Probe[{EVIL}]", f"Final Answer: {EVIL}", tools=[probe(lambda _: EVIL)]
    )
    page = Read(result._repr_html_())

    assert not {"script", "img"} & set(page.tags)
    assert page.texts.count(EVIL) == 3  # answer, thought and observation


def test_a_run_without_an_answer_shows_why() -> None:
    result, _ = play("Action: Time[]", limits=Limits(max_iterations=1, at_cap="error"))
    page = Read(result._repr_html_())

    assert result.error in page.texts
    assert any(text.startswith("max_iterations: 1 request,") for text in page.texts)
