"""What a run leaves behind: its steps, what it used, how it ended, and its answer."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from agent.errors import RunFailed

SCHEMA_VERSION = 1

# What an input is made of, blanks left out: words and numbers, single Han characters, and signs.
_PIECES = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+|[^\w\s]")


class StopReason(str, enum.Enum):
    """Why a run ended. The value is what ``--json`` and traces say."""

    FINAL_ANSWER = "final_answer"
    MAX_ITERATIONS = "max_iterations"
    REPEATED_ACTION = "repeated_action"
    PARSE_ERRORS = "parse_errors"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - the name of a limit, not a password
    COST_LIMIT = "cost_limit"
    MODEL_ERROR = "model_error"
    INTERRUPTED = "interrupted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Usage:
    """What requests used. Token counts are None where a server told none; a sum with a gap is None.

    ``requests`` counts replies, ``retries`` the attempts that brought none. ``cost_usd`` is None for a
    model without a price (AGENT_PRICES) or without counts.
    """

    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    retries: int = 0
    cost_usd: float | None = None

    @property
    def total_tokens(self) -> int | None:
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "total_tokens": self.total_tokens}


@dataclass(frozen=True)
class Observation:
    """What went back to the model for one action. ``ok`` is False when the tool did not do its work."""

    text: str
    ok: bool = True
    duration_s: float = 0.0
    ran: bool = True


CallFaultKind = Literal[
    "unknown_tool",
    "one_too_many",
    "not_json",
    "not_an_object",
    "unknown_field",
    "missing_field",
    "wrong_type",
]


@dataclass(frozen=True)
class CallFault:
    """Why a call cannot be run: its kind, and the values with which that is worded for the model."""

    kind: CallFaultKind
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Action:
    """One tool call: the tool's registered name and its input.

    ``input`` is text for a single-input tool, or the arguments by name. ``call_id`` ties an action to
    its observation in a native tool call; the text protocol has none. With a ``fault`` the action is not
    run: the model is told what is wrong with it, and ``input`` is what the model wrote.
    """

    tool: str
    input: str | Mapping[str, object]
    call_id: str = ""
    fault: CallFault | None = None


def call_key(tool: str, given: object) -> str:
    """Alike for calls that are the same: of one tool, with an input that differs in blanks alone.

    A blank that parts two words belongs to them (``A17`` is another article than ``A 17``); no other one
    matters, nor does the order in which arguments were written.
    """
    text = (
        given
        if isinstance(given, str)
        else json.dumps(given, sort_keys=True, default=repr, ensure_ascii=False)
    )
    return f"{tool}[{' '.join(_PIECES.findall(text))}]"


@dataclass(frozen=True)
class Step:
    """One pass of the loop. ``number`` counts from 1; ``error`` is the correction after a bad reply."""

    number: int
    thought: str = ""
    actions: tuple[Action, ...] = ()
    observations: tuple[Observation, ...] = ()
    error: str | None = None
    raw_reply: str = ""
    usage: Usage = field(default_factory=Usage)
    duration_s: float = 0.0


@dataclass(frozen=True)
class StepStarted:
    """The loop is about to ask the model for step ``number``."""

    number: int


@dataclass(frozen=True)
class LastRequest:
    """The loop has stopped at ``reason`` and is about to ask the model once more, for an answer."""

    reason: StopReason


@dataclass(frozen=True)
class RunResult:
    """How a run ended. ``str(result)`` is the answer (empty when there is none).

    ``forced``: the answer was asked for at a limit. ``unformatted``: the answer came as plain prose.
    ``error``: one sentence, where something went wrong.
    """

    question: str
    answer: str | None
    stop_reason: StopReason
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    duration_s: float = 0.0
    model: str = ""
    protocol: str = ""
    forced: bool = False
    unformatted: bool = False
    error: str | None = None

    @property
    def ok(self) -> bool:
        return self.stop_reason is StopReason.FINAL_ANSWER

    def __str__(self) -> str:
        return self.answer or ""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from agent.notebook import as_html

        return as_html(self)

    def raise_for_status(self) -> RunResult:
        """Return self when the run ended with its own final answer; raise RunFailed otherwise."""
        if not self.ok:
            raise RunFailed(self.error or f"the run stopped at {self.stop_reason}", self)
        return self

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready dict, with ``schema_version``; what ``--json`` prints."""
        return {
            "schema_version": SCHEMA_VERSION,
            **asdict(self),
            "stop_reason": self.stop_reason.value,
            "ok": self.ok,
            "usage": self.usage.to_dict(),
            "steps": [{**asdict(step), "usage": step.usage.to_dict()} for step in self.steps],
        }


Event = StepStarted | Step | LastRequest | RunResult  # what on_event is told, in order; the result comes last
