"""What the console says of numbers and of endings: one thing is one thing, and a limit has a way out."""

from __future__ import annotations

import re

import pytest

from agent import Limits, RunResult, Step, StopReason, Usage
from agent.console import Console, counted
from agent.results import Observation
from prompts import LANGUAGES, Language, messages, speaker
from tests.protocols import DIALECTS, Dialect

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.protocol)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def lines(capsys: pytest.CaptureFixture[str], language: Language, result: RunResult) -> list[str]:
    shown = Console(speaker(language))
    for step in result.steps:
        shown.on_event(step)
    shown.end(result)
    return capsys.readouterr().err.splitlines()


def result_of(requests: int, tokens: int | None) -> RunResult:
    usage = Usage(requests, tokens and 0, tokens)
    return RunResult("?", "4", StopReason.FINAL_ANSWER, steps=(Step(1, usage=usage),), usage=usage)


@pytest.mark.parametrize(
    ("language", "usage", "step", "end"),
    [
        ("en", (1, 1), "0.0 s, 1 token", "1 request, 0.0 s, 1 token"),
        ("en", (2, 21), "0.0 s, 21 tokens", "2 requests, 0.0 s, 21 tokens"),
        ("en", (0, 0), "0.0 s, 0 tokens", "0 requests, 0.0 s, 0 tokens"),
        ("en", (1, None), "0.0 s, ? tokens", "1 request, 0.0 s, ? tokens"),
        ("zh", (1, 1), "0.0 秒，1 词元", "1 次请求，0.0 秒，1 词元"),
        ("zh", (2, None), "0.0 秒，? 词元", "2 次请求，0.0 秒，? 词元"),
    ],
)
def test_one_is_said_as_one(
    capsys: pytest.CaptureFixture[str],
    language: Language,
    usage: tuple[int, int | None],
    step: str,
    end: str,
) -> None:
    first, last = lines(capsys, language, result_of(*usage))

    assert first == {"en": f"Step 1: {step}", "zh": f"第 1 步：{step}"}[language]
    assert last == end


def test_every_noun_has_both_its_forms() -> None:
    say = speaker("en")
    assert [counted(say, noun, 1) for noun in ("request", "run", "token")] == [
        "1 request",
        "1 run",
        "1 token",
    ]
    assert [counted(say, noun, 3) for noun in ("request", "run", "token")] == [
        "3 requests",
        "3 runs",
        "3 tokens",
    ]


def test_no_english_sentence_for_people_has_a_number_before_a_plural() -> None:
    """Such a sentence would say "1 steps"; what it counts comes as one phrase with its noun."""
    ours = {name: text for name, text in messages("en").items() if name.startswith(("cli_", "stopped_"))}
    wrong = [name for name, text in ours.items() if re.search(r"\$[a-z_]+ [a-z]+s\b", text)]

    assert wrong == ["cli_requests", "cli_tokens", "cli_runs"]


# --- limits ------------------------------------------------------------------------------------------

OPTIONS = {
    StopReason.MAX_ITERATIONS: "max_iterations",
    StopReason.REPEATED_ACTION: "max_repeats",
    StopReason.PARSE_ERRORS: "max_parse_errors",
    StopReason.TIME_LIMIT: "max_seconds",
    StopReason.TOKEN_LIMIT: "max_total_tokens",
    StopReason.COST_LIMIT: "max_cost_usd",
}


@each_language
@pytest.mark.parametrize("reason", OPTIONS, ids=str)
def test_each_limit_is_named_with_both_ways_to_raise_it(
    capsys: pytest.CaptureFixture[str], language: Language, reason: StopReason
) -> None:
    name = OPTIONS[reason]
    assert hasattr(Limits(), name)
    said = lines(capsys, language, RunResult("?", "about 4", reason, steps=(Step(1),), forced=True))[-2]

    for words in (name, f"--{name.replace('_', '-')} ", f"Limits({name}=...)"):
        assert words in said
    assert {"en": "; the answer was asked for", "zh": "；答案是在不用工具的情况下"}[language] in said


@each_dialect
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "4?",
            "stopped at step {0}, the cap of max_iterations={0}, without an answer of its own: raise it with",
        ),
        ("多少？", "在第 {0} 步停止，已到上限 max_iterations={0}，没有自行得出答案：可用"),
    ],
)
def test_the_cap_on_steps_is_told_with_its_number(
    dialect: Dialect, most: int, question: str, said: str
) -> None:
    limits = Limits(max_iterations=most, at_cap="error")
    result, _ = dialect.play(*dialect.calls(*range(most)), question=question, limits=limits)

    assert (result.error or "").startswith(said.format(most))


@each_language
def test_the_last_observation_has_room_behind_the_sentence_of_a_limit(
    capsys: pytest.CaptureFixture[str], language: Language
) -> None:
    say = speaker(language)
    steps = (Step(1, observations=(Observation("Sunny, 21 degrees."),)),)
    for reason in OPTIONS:
        values = {"steps": 1} if reason is StopReason.MAX_ITERATIONS else {}
        sentence = say(f"stopped_{reason}", **values)
        error = say("last_observation", sentence=sentence, observation="Sunny, 21 degrees.")
        shown = lines(capsys, language, RunResult("?", None, reason, steps=steps, error=error))
        assert shown[-2].endswith("Sunny, 21 degrees.")
