"""What fuzzing has found, and what lies close by: each input has its outcome, and breaks no property."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.fuzzing import calculator, calls, reply
from scripts.fuzzing.corpus import found, known, read_found
from scripts.fuzzing.outcomes import OUTCOMES

TARGETS = {target.name: target for target in (reply.TARGET, calls.TARGET, calculator.TARGET)}
LINES = [(name, line) for name in TARGETS for line in known(name)]


@pytest.mark.parametrize(("name", "line"), LINES, ids=[f"{name}-{at}" for at, (name, _) in enumerate(LINES)])
def test_an_input_of_the_corpus_has_its_outcome(name: str, line: dict[str, Any]) -> None:
    assert OUTCOMES[name](line["input"]) == line["wanted"]
    TARGETS[name].check(line["input"])


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_has_found_breaks_nothing_any_more(name: str) -> None:
    for path in found(name):
        TARGETS[name].check(read_found(path))


@pytest.mark.parametrize("name", TARGETS)
def test_each_target_has_a_corpus_of_many_kinds(name: str) -> None:
    kinds = {key for target, line in LINES if target == name for key in line["wanted"]}
    assert kinds == ({"value", "refused"} if name == "calculator" else {"act", "answer", "fault"})
