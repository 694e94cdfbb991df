"""Which runs say nothing of a contender, because the service that was to answer failed.

Such a run is kept as what happened, is no figure, and is tried again. All contenders are told apart by the
latest request that ``Watch`` saw of them, so that neither a tool's exception nor a limit passes for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts.contenders import Attempt
from scripts.figures import Row

if TYPE_CHECKING:
    from agent.service_errors import ModelFailed

REASON = "the service failed"
FEWEST = 3  # in a row, before it is worth no more tries
MODEL_ERROR = "model_error"  # how our loop ends where it has no reply
# Statuses by which a service refuses what was asked; with any other it says something of itself.
_OF_THE_REQUEST = (400, 413, 422)
_OF_THE_CONTENDER = ("model_no_tools", "model_raised")
# Some services say even these with status 400: Google's of a key, OpenRouter's and Mistral's of a model.
_KEY_OR_MODEL = re.compile(
    r"api[ _-]?key|valid model id|(?:invalid|unknown) model\b|\bmodel\b.{0,80}not (?:found|exist)",
    re.IGNORECASE,
)


@dataclass
class Sent:
    """A request to the model: ``error`` is what it ended with, unless it is ``under_way`` or has a reply."""

    with_tools: bool
    under_way: bool = True
    error: BaseException | None = None


class Watched(Attempt):
    """An attempt that knows its latest request. No field, so that a journal's lines stay as they are."""

    latest: Sent | None = None


def failed(row: Row) -> bool:
    """Whether the service failed a run, which is no result of its contender then."""
    return row.reason.startswith(REASON)


def count(rows: Iterable[Row]) -> dict[str, int]:
    """How many of these runs the service failed, by contender."""
    return dict(Counter(row.agent for row in rows if failed(row)))


def outage(attempt: Watched) -> str:
    """How the service failed a run that has ended, in a sentence; empty where it did not."""
    sent = attempt.latest
    if sent is None or attempt.answer is not None:
        return ""
    if sent.under_way:  # our loop has given up waiting: for this request, or because its own time was over
        return "no reply came in the time of a request" if attempt.stop_reason == MODEL_ERROR else ""
    if sent.error is None or (_is_at_limit(attempt) and _timed_out(sent.error)):
        return ""
    failure = of_service(sent.error, with_tools=sent.with_tools)
    return _worded(failure) if failure else ""


def of_service(error: BaseException, *, with_tools: bool = False) -> ModelFailed | None:
    """What the service failed with; None for an exception that its request, or the reply, brought about."""
    from agent.observing import words_of
    from agent.service_errors import Busy, ContextTooLong, ModelFailed, judge

    words, status = words_of(error), getattr(error, "status_code", None)
    of_key_or_model = status in _OF_THE_REQUEST and bool(_KEY_OR_MODEL.search(words))
    verdict = judge(error, with_tools=with_tools and not of_key_or_model)
    if isinstance(verdict, Busy):
        return verdict.failure
    if isinstance(verdict, ContextTooLong) or not isinstance(verdict, ModelFailed):
        return None
    refused = verdict.name == "model_bad_request" and status in _OF_THE_REQUEST and not of_key_or_model
    return None if refused or verdict.name in _OF_THE_CONTENDER else verdict


def is_out(error: BaseException) -> bool:
    """Whether the service cannot be reached or is busy: it may answer otherwise before long."""
    from agent.service_errors import Busy, judge

    return isinstance(judge(error), Busy)


def _is_at_limit(attempt: Attempt) -> bool:
    return attempt.stop_reason not in ("", MODEL_ERROR)


def _timed_out(error: BaseException) -> bool:
    from agent.service_errors import timed_out

    return timed_out(error)


def _worded(failure: ModelFailed) -> str:
    from agent.redaction import redact
    from prompts import speaker

    return redact(failure.sentence(speaker("en")))
