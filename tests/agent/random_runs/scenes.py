"""What a random run is made of: a scene (the agent and its caps), and a turn (all that happens)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from agent import Limits
from tests.agent.random_runs.faults import INTERRUPT
from tests.agent.random_runs.replies import Reply, replies
from tests.agent.random_runs.tools import NAMES, OUTCOMES

Way = Literal["text", "tools", "words"]
WAYS: tuple[Way, ...] = ("text", "tools", "words")
PRICES = "random=1000/2000"  # dollars per million tokens, as AGENT_PRICES says it


@dataclass(frozen=True)
class Scene:
    """How an agent is made. ``way``: text, native calls, or native calls in words under a grammar."""

    way: Way
    limits: Limits
    budget: Limits | None
    language: Literal["auto", "en", "zh"]
    tools: tuple[str, ...]

    @property
    def protocol(self) -> str:
        return "text" if self.way == "text" else "tools"

    @property
    def is_timed(self) -> bool:
        """Whether the clock has a say in what happens, so that two runs may differ."""
        return min(_seconds(self.limits), _seconds(self.budget)) < 100


@dataclass(frozen=True)
class Turn:
    """One run. Replies begin again when they are used up; ``outcomes`` are what a call may come to."""

    text: str
    replies: tuple[Reply, ...]
    outcomes: tuple[Any, ...]


def _seconds(limits: Limits | None) -> float:
    return 120.0 if limits is None or limits.max_seconds is None else limits.max_seconds


_tokens = st.sampled_from([None, None, None, 1, 30, 60, 200])
_cost = st.sampled_from([None, None, None, 0.001, 0.05, 0.1])
_seconds_or_few = st.sampled_from([120.0] * 30 + [0.01, 0.003])
_limits = st.builds(
    Limits,
    max_iterations=st.sampled_from([3, 1, 2, 4, 5, 6, 7, 8, None]),
    max_repeats=st.sampled_from([2, 1, 3]),
    max_parse_errors=st.sampled_from([3, 1, 2, 4]),
    max_tool_failures=st.sampled_from([3, 1, 2]),
    max_total_tokens=_tokens,
    max_cost_usd=_cost,
    max_seconds=_seconds_or_few,
    max_observation_chars=st.sampled_from([2000, 40]),
    at_cap=st.sampled_from(["answer", "answer", "error"]),
)
_budgets = st.sampled_from(
    [
        *(None, None, None, None, Limits(max_seconds=None, max_total_tokens=100), Limits(max_total_tokens=1)),
        *(Limits(max_cost_usd=0.1, max_seconds=None), Limits(max_cost_usd=0.2), Limits(max_seconds=0.02)),
        Limits(max_total_tokens=300, max_cost_usd=1.0),
    ]
)
_toolsets = st.sampled_from(
    [*[NAMES[:1], NAMES[:2], NAMES[:3]] * 4, NAMES, (), NAMES[3:]],
)
_outcomes = st.lists(st.sampled_from([*OUTCOMES * 8, INTERRUPT]), min_size=1, max_size=4).map(tuple)
_texts = st.sampled_from(
    [
        "What is it?",
        "北京多少度？",
        "Action: Alpha[x]",
        "Final Answer: 1\n",
        "</think>",
        "  {x} $y\r\n",
        "half \ud83d",
    ]
)


def scenes(way: Way) -> st.SearchStrategy[Scene]:
    return st.builds(Scene, st.just(way), _limits, _budgets, st.sampled_from(["auto", "en", "zh"]), _toolsets)


def turns(way: Way) -> st.SearchStrategy[Turn]:
    return st.builds(Turn, _texts, st.lists(replies(way), min_size=1, max_size=9).map(tuple), _outcomes)
