"""What must hold of every run, seen from outside: by what was sent, what ran, and what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain, permutations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent import LastRequest, RunResult
from agent.client import ATTEMPTS, ATTEMPTS_GARBLED
from agent.memory import WINDOW
from agent.service_errors import REFUSABLE
from tests.agent.random_runs.faults import INTERRUPT, Fault
from tests.agent.random_runs.stage import Ran, Record, Sent
from tests.agent.random_runs.tool_checks import check_tools
from tests.agent.random_runs.used import count, milli_usd_of, tokens_of
from tests.well_formed import assert_well_formed

MAY_ASK_ONCE_MORE = {"max_iterations", "repeated_action", "parse_errors", "time_limit"}
_OWN_CAPS = {"text": 6, "tools": 8}
_ACTION = re.compile(r"^\s*(?:Action|行动)\s*[:：]\s*\w+\[", re.M)
_MARKUP = re.compile(r"<tool_call>|\[TOOL_CALLS\]|<function=|<\|python_tag\|>")


def check(record: Record) -> None:
    """Fail unless all of it holds of this run."""
    assert record.raised is None or isinstance(record.raised, KeyboardInterrupt), repr(record.raised)
    for sent in record.sent:
        check_request(sent, record)
    check_order(record)
    if record.is_alone:
        check_memory(record)
    result = record.events[-1]
    assert isinstance(result, RunResult)
    check_what_came_out(record, result)
    json.dumps(result.to_dict(), allow_nan=False, ensure_ascii=False).encode("utf-8")
    check_counts(record, result)
    check_tools(record, result.steps)


def check_what_came_out(record: Record, result: RunResult) -> None:
    """Nothing but a planted KeyboardInterrupt escapes; everything else is a result that makes sense."""
    if record.raised is not None:
        assert _was_interrupted(record)
        assert (result.stop_reason, result.answer) == ("interrupted", None)
        return
    assert record.result is result
    assert not _was_interrupted(record) or record.scene.is_timed
    check_result(record, result)


def check_result(record: Record, result: RunResult) -> None:
    reason = result.stop_reason
    assert result.ok == (reason == "final_answer")
    assert (result.answer is None) == (not result.ok and not result.forced)
    if result.answer is None:
        assert result.error
        assert result.error.strip()
    else:
        assert result.answer.strip()
        assert not _is_a_call(result), "a call as the answer"
    assert not (result.ok and (result.forced or result.error))
    caps = (record.scene.limits, record.scene.budget)
    assert reason != "token_limit" or any(cap and cap.max_total_tokens for cap in caps)
    assert reason != "cost_limit" or any(cap and cap.max_cost_usd for cap in caps)
    assert reason != "time_limit" or record.scene.is_timed
    assert reason != "max_iterations" or len(result.steps) == _cap(record)
    assert reason != "parse_errors" or result.steps[-1].error
    assert reason != "repeated_action" or not any(seen.ran for seen in result.steps[-1].observations)
    assert reason != "model_error" or isinstance(record.sent[-1].reply, Fault) or record.scene.is_timed


def check_request(sent: Sent, record: Record) -> None:
    """A strict service takes it; the question is in it; before it stands the conversation's window."""
    assert_well_formed(sent.messages)
    (at,) = (
        number
        for number, message in enumerate(sent.messages)
        if isinstance(message, HumanMessage) and str(message.content).startswith(record.marker)
    )
    earlier = sent.messages[1:at]
    if record.is_alone and (earlier or not _was_too_long(record, sent)):
        assert_window(earlier, record.memory)


def assert_window(earlier: Sequence[BaseMessage], memory: Sequence[BaseMessage]) -> None:
    expected = memory[-2 * WINDOW :]
    assert [message.type for message in earlier] == [message.type for message in expected]
    for message, kept in zip(earlier, expected, strict=True):
        if isinstance(message, AIMessage):
            assert message.content == kept.content
        else:
            assert str(message.content).split(":")[0] == str(kept.content).split(":")[0]


def check_order(record: Record) -> None:
    """One last request at most, where it is allowed; after it no tool runs."""
    last = [number for number, entry in enumerate(record.log) if isinstance(entry, LastRequest)]
    assert len(last) <= 1
    reason = record.events[-1].stop_reason
    for number in last:
        assert record.scene.limits.at_cap == "answer"
        assert reason in (*MAY_ASK_ONCE_MORE, "interrupted")
        # What is begun when time is all but over, a tool or a request, may get to its thread's work after it.
        if not record.scene.is_timed:
            after = record.log[number + 1 :]
            assert all(isinstance(entry, Sent) and "tools" not in entry.options for entry in after)


def check_memory(record: Record) -> None:
    """An answered run adds its exchange and nothing else; any other run leaves memory alone."""
    assert _words(record.memory_after) == [*_words(record.memory), *exchange_of(record)][-2 * WINDOW :]


def check_at_once(
    records: Sequence[Record], before: Sequence[BaseMessage], after: Sequence[BaseMessage]
) -> None:
    """Runs that share a conversation each add their exchange, whole; a budget is passed by one reply each."""
    for record in records:
        check(record)
    exchanges = [exchange_of(record) for record in records]
    possible = [[*_words(before), *chain(*order)][-2 * WINDOW :] for order in permutations(exchanges)]
    assert _words(after) in possible
    budget = records[0].scene.budget
    replies = [sent for record in records for sent in record.sent]
    most = max((tokens_of([sent]) for sent in replies), default=0)
    if budget and budget.max_total_tokens and replies and not records[0].scene.is_timed:
        used = tokens_of([*records[0].earlier, *replies])
        assert used < budget.max_total_tokens + len(records) * most


def exchange_of(record: Record) -> list[str]:
    """What a run adds to its conversation."""
    if record.result is None or record.result.answer is None:
        return []
    return [record.question.encode("utf-8", "replace").decode(), record.result.answer]


def _words(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.content) for message in messages]


def check_counts(record: Record, result: RunResult) -> None:
    """Requests and attempts are bounded; every reply and every attempt is counted, and every token."""
    given = [sent.reply for sent in record.sent if not isinstance(sent.reply, Fault)]
    usage = result.usage
    most = _cap(record) + 1
    assert len(given) <= most
    assert len(result.steps) <= _cap(record)
    # Each request of the loop may be asked twice (the second time shortened), the last one once; each
    # asking ends with one attempt, after so many that are worth repeating. A refusal is remembered.
    asking = ATTEMPTS - 1 + ATTEMPTS_GARBLED - 1 + 1
    assert len(record.sent) <= (2 * _cap(record) + 1) * asking + len(REFUSABLE)
    if record.scene.is_timed:
        return  # a request that was given up may get its reply when nobody waits for it, or counts it
    for number in range(len(record.sent)):
        assert_within_caps(record, record.sent[:number])
    if record.raised:
        return
    assert usage.requests == len(given)
    assert usage.requests + usage.retries == len(record.sent)
    for name in ("prompt_tokens", "completion_tokens"):
        counts = [count(reply, name) for reply in given]
        assert getattr(usage, name) == (None if None in counts else sum(map(int, counts)))


def assert_within_caps(record: Record, before: Sequence[Sent]) -> None:
    """Fail if what replies had used had reached a cap, and yet there was another attempt."""
    used = [(record.scene.limits, before)]
    if record.is_alone:
        used.append((record.scene.budget, [*record.earlier, *before]))
    for cap, sent in used:
        tokens, milli_usd = tokens_of(sent), milli_usd_of(sent)
        assert not sent or tokens < ((cap and cap.max_total_tokens) or float("inf"))
        assert not sent or milli_usd < 1000 * ((cap and cap.max_cost_usd) or float("inf"))


def _cap(record: Record) -> int:
    return record.scene.limits.max_iterations or _OWN_CAPS[record.scene.protocol]


def _was_too_long(record: Record, sent: Sent) -> bool:
    """Whether the service has just said that the request was too long: it is asked again with less."""
    number = next(number for number, each in enumerate(record.sent) if each is sent)
    return any(each.reply == Fault("too long") for each in record.sent[:number])


def _was_interrupted(record: Record) -> bool:
    return any(
        entry.reply == INTERRUPT if isinstance(entry, Sent) else entry.outcome == INTERRUPT
        for entry in record.log
        if isinstance(entry, (Sent, Ran))
    )


def _is_a_call(result: RunResult) -> bool:
    """Under its label an answer may tell of markup, further on; elsewhere all markup is meant."""
    answer = result.answer or ""
    labelled = result.protocol == "text" and not result.unformatted and not result.forced
    marked = _MARKUP.match(answer.strip()) if labelled else _MARKUP.search(answer)
    return bool(marked or _ACTION.search(_without_fences(answer)))


def _without_fences(text: str) -> str:
    return re.sub(r"(?ms)^\s*```.*?^\s*```", "", text)
