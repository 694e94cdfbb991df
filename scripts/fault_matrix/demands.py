"""What must hold beside an outcome, as small named checks."""

from __future__ import annotations

import re

from scripts.fault_matrix.fault import Demand, Played


def answers(text: str) -> Demand:
    """Where there is an answer, this is in it, as a word of its own."""
    words = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
    return Demand(
        f"the answer is not {text}", lambda played: not played.answer or bool(words.search(played.answer))
    )


def never_answers(text: str) -> Demand:
    return Demand(f"{text!r} is passed off as the answer", lambda played: text not in played.answer)


def says(*words: str) -> Demand:
    """What the user reads names the fault."""
    return Demand(
        f"the user does not read of {words[0]!r}",
        lambda played: any(word in played.error for word in words),
        of_all=False,
    )


def told(*words: str) -> Demand:
    """What the model reads names the fault."""
    return Demand(
        f"the model is not told of {words[0]!r}".replace("{", "{{").replace("}", "}}"),
        lambda played: any(word in request for word in words for request in played.sent),
        of_all=False,
    )


def not_sent(text: str, name: str) -> Demand:
    return Demand(
        f"{name} goes back to the model", lambda played: not any(text in request for request in played.sent)
    )


def nowhere(secret: str) -> Demand:
    """Neither the model nor the user sees the secret."""

    def holds(played: Played) -> bool:
        return not any(secret in text for text in (*played.sent, played.shown, played.error, played.answer))

    return Demand("the secret gets out", holds, always=True)


def runs(number: int) -> Demand:
    return Demand("the tool ran {played.tool_runs} times", lambda played: played.tool_runs == number)


def runs_at_most(number: int) -> Demand:
    return Demand("the tool ran {played.tool_runs} times", lambda played: played.tool_runs <= number)


def requests_at_most_chars(characters: int) -> Demand:
    def holds(played: Played) -> bool:
        return all(len(request) <= characters for request in played.sent)

    return Demand(f"a request is longer than {characters:,} characters", holds)


MEMORY_UNCHANGED = Demand(
    "the memory has changed", lambda played: played.memory_before == played.memory_after
)
NO_TRACEBACK = Demand("a traceback is shown", lambda played: "Traceback" not in played.shown)
UNKNOWN_TOKENS = Demand("tokens are made up", lambda played: played.tokens is None)
