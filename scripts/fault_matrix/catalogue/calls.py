"""Faults of native tool calls, played by a local HTTP server to our tools protocol and to AgentExecutor's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from scripts.fault_matrix.demands import answers, runs, runs_at_most, told
from scripts.fault_matrix.fault import Contract, Demand, Fault
from scripts.fault_matrix.turns import Call, Calls, with_arguments
from scripts.services import tool_calls, wire_call

_call = partial(
    Fault,
    group="native calls",
    over_http=True,
    executor="calls",
    skips={"text": "its calls are words"},
)
_ANSWERED = ("answered",)
_REPAIRED = (answers("4"), runs(1))


def _each_id_once(sent: Sequence[str]) -> bool:
    return all(request.count('"tool_call_id": "same"') <= 1 for request in sent)


CALLS = (
    _call(
        "arguments that are no JSON",
        first=(with_arguments('{"expression": "1+'), Call()),
        contract=Contract(_ANSWERED, 3, 0.0, [*_REPAIRED, told("JSON")]),
    ),
    _call(
        "arguments of other names",
        first=(with_arguments('{"town": "Bern"}'), Call()),
        contract=Contract(_ANSWERED, 3, 0.0, [*_REPAIRED, told("town")]),
    ),
    _call(
        "arguments of another type",
        first=(with_arguments('{"expression": ["2+2"]}'), Call()),
        contract=Contract(_ANSWERED, 3, 0.0, [*_REPAIRED, told("type")]),
    ),
    _call(
        "arguments as a list",
        first=(with_arguments('["2+2"]'), Call()),
        contract=Contract(_ANSWERED, 3, 0.0, [*_REPAIRED, told("object")]),
    ),
    _call(
        "arguments as an object, not as text",
        first=(with_arguments({"expression": "2+2"}),),
        contract=Contract(_ANSWERED, 2, 0.0, [*_REPAIRED]),
    ),
    _call(
        "bad arguments for ever",
        then=with_arguments('{"expression": "1+'),
        contract=Contract(("stopped: repeated_action", "stopped: max_iterations"), 7, 0.0, [runs(0)]),
    ),
    _call(
        "two calls under one id",
        first=(Calls(["1+1", "2+2"], ids=["same", "same"]),),
        contract=Contract(
            _ANSWERED,
            2,
            0.0,
            [
                answers("4"),
                runs(2),
                Demand("one id is answered twice", lambda played: _each_id_once(played.sent)),
            ],
        ),
    ),
    _call(
        "an unknown tool beside a good call",
        first=(
            tool_calls(
                wire_call('{"q": "x"}', "Search", "a"), wire_call('{"expression": "2+2"}', call_id="b")
            ),
        ),
        contract=Contract(_ANSWERED, 2, 0.0, [*_REPAIRED, told("no tool named", "not a valid tool")]),
    ),
    _call(
        "50 calls in one reply",
        first=(Calls([f"{number}+1" for number in range(50)]),),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4"), runs_at_most(32)]),
    ),
)
