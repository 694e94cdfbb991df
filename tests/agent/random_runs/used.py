"""What replies used, as their services told: the least that a cap must have counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.client import MOST_TOKENS
from tests.agent.random_runs.faults import Fault
from tests.agent.random_runs.replies import Reply
from tests.agent.random_runs.stage import Sent

# Of scenes.PRICES, in thousandths of a dollar: whole numbers, so that no sum is rounded.
PROMPT_MILLI_USD, COMPLETION_MILLI_USD = 1, 2


def count(reply: Reply, name: str) -> int | None:
    """The tokens that came with a reply, None where there was no number of them."""
    told = {} if isinstance(reply, Fault) else reply.response_metadata.get("token_usage")
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else None


def tokens_of(sent: Iterable[Sent]) -> int:
    return sum(prompt + completion for prompt, completion in _counted(sent))


def milli_usd_of(sent: Iterable[Sent]) -> int:
    return sum(
        prompt * PROMPT_MILLI_USD + completion * COMPLETION_MILLI_USD for prompt, completion in _counted(sent)
    )


def _counted(sent: Iterable[Sent]) -> Iterator[tuple[int, int]]:
    """Both counts of each reply that came with both; for the others a cap goes by an estimate."""
    for each in sent:
        prompt, completion = (count(each.reply, name) for name in ("prompt_tokens", "completion_tokens"))
        if prompt is not None and completion is not None:
            yield prompt, completion
