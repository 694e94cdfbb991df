"""Faults of the model service, played by a local HTTP server."""

from __future__ import annotations

from functools import partial

from scripts.fault_matrix.demands import UNKNOWN_TOKENS, answers, nowhere, runs, runs_at_most, says, told
from scripts.fault_matrix.fault import KEY, SHORT_S, Contract, Demand, Fault
from scripts.fault_matrix.turns import CALLS_ON, Answer, Call, Cut, In, Refusing, Uncounted, choice
from scripts.services import (
    body,
    context_too_long,
    drip,
    drop,
    error_body,
    html,
    never,
    raw_completion,
    status,
)

_http = partial(Fault, group="model service", over_http=True)
_ANSWERED = ("answered",)
_FAILED = ("stopped: model_error",)
_WAITS_S = 3.0  # before a second and a third attempt, together
_SIX_CALLS = tuple(Call(f"{number}+{number}") for number in range(1, 7))
_AT_CAP = ("stopped: max_iterations",)
_HALF_A_CALL = Cut(
    In(
        "Thought: I ask.\nAction: Calculator[1000*12",
        "Action: Calculator\nAction Input: 1000*12",
        Call("1000*12"),
    )
)
_NOT_HALF = Demand("a cut argument is run", lambda played: played.tool_runs <= 1)


def _says_key(code: int) -> object:
    return status(code, {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "auth"}})


SERVICE = (
    _http(
        "never answers",
        then=never,
        waits=True,
        model_timeout_s=SHORT_S,
        contract=Contract(_FAILED, 1, SHORT_S, [says("AGENT_MODEL_TIMEOUT_S")]),
    ),
    _http(
        "drips one byte a second",
        then=drip(1.0),
        waits=True,
        model_timeout_s=SHORT_S,
        contract=Contract(_FAILED, 1, SHORT_S, [says("AGENT_MODEL_TIMEOUT_S")]),
    ),
    _http(
        "drops the connection once",
        first=(drop, Call()),
        waits=True,
        contract=Contract(_ANSWERED, 3, _WAITS_S, [answers("4"), runs(1)]),
    ),
    _http(
        "drops the connection for ever",
        then=drop,
        waits=True,
        contract=Contract(_FAILED, 3, _WAITS_S, [says("cannot be reached")]),
    ),
    _http(
        "429 with Retry-After: 1, then fine",
        first=(status(429, None, {"Retry-After": "1"}), Call()),
        waits=True,
        contract=Contract(_ANSWERED, 3, 1.0, [answers("4"), runs(1)]),
    ),
    _http(
        "429 with Retry-After: 3600",
        then=status(429, None, {"Retry-After": "3600"}),
        waits=True,
        contract=Contract(_FAILED, 1, 0.0, [says("busy")]),
    ),
    _http(
        "429 for ever", then=status(429), waits=True, contract=Contract(_FAILED, 3, _WAITS_S, [says("busy")])
    ),
    _http(
        "500 once, in the middle",
        first=(Call(), status(500)),
        waits=True,
        contract=Contract(_ANSWERED, 3, _WAITS_S, [answers("4"), runs(1)]),
    ),
    _http(
        "500 for ever", then=status(500), waits=True, contract=Contract(_FAILED, 3, _WAITS_S, [says("500")])
    ),
    _http(
        "401 that quotes the key",
        then=_says_key(401),
        contract=Contract(_FAILED, 1, 0.0, [says("OPENAI_API_KEY"), nowhere(KEY)]),
    ),
    _http("403", then=status(403), contract=Contract(_FAILED, 1, 0.0, [says("does not let this key")])),
    _http(
        "404: no such model", then=status(404), contract=Contract(_FAILED, 1, 0.0, [says("no such model")])
    ),
    _http(
        "200 with an error in the body",
        then=error_body,
        contract=Contract(_FAILED, 1, 0.0, [says("the backend is away")]),
    ),
    _http("200 with an HTML page", then=html, contract=Contract(_FAILED, 1, 0.0, [says("HTML")])),
    _http(
        "200 with a text that is no JSON",
        then=body("busy, come back later", "application/json"),
        contract=Contract(_FAILED, 1, 0.0, [says("no JSON")]),
    ),
    _http(
        "200 with an empty body",
        then=body("", "application/json"),
        contract=Contract(_FAILED, 1, 0.0, [says("nothing")]),
    ),
    _http(
        "200 without choices",
        then=raw_completion([]),
        contract=Contract(_FAILED, 1, 0.0, [says("no choices")]),
    ),
    _http(
        "null content once",
        first=(Call(), choice(None)),
        contract=Contract(_ANSWERED, 3, 0.0, [answers("4")]),
    ),
    _http(
        "empty content for ever",
        then=choice(""),
        contract=Contract(("stopped: parse_errors",), 4, 0.0, [says("bad replies")]),
    ),
    _http(
        "content as a list of blocks",
        first=(Call(),),
        then=In(
            *(
                choice([{"type": "text", "text": text}])
                for text in ("Final Answer: 4", "Final Answer: 4", "4")
            )
        ),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4"), runs(1)]),
    ),
    _http(
        "tells no usage",
        then=Uncounted(Answer()),
        contract=Contract(_ANSWERED, 1, 0.0, [answers("4"), UNKNOWN_TOKENS]),
    ),
    _http(
        "refuses stop",
        first=(Refusing("stop", Call()), Refusing("stop", Answer())),
        then=Refusing("stop", Answer()),
        contract=Contract(_ANSWERED, 3, 0.0, [answers("4")]),
    ),
    _http(
        "refuses temperature",
        then=Refusing("temperature", Answer()),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4")]),
    ),
    _http(
        "refuses max_tokens",
        then=Refusing("max_tokens", Answer()),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4")]),
    ),
    _http(
        "cuts a call at the token limit once",
        first=(_HALF_A_CALL, Call("1000*125")),
        contract=Contract(_ANSWERED, 3, 0.0, [answers("4"), _NOT_HALF, told("cut off")]),
    ),
    _http(
        "cuts every reply at the token limit",
        then=_HALF_A_CALL,
        contract=Contract(("stopped: parse_errors",), 3, 0.0, [runs(0), says("AGENT_MAX_TOKENS")]),
    ),
    _http(
        "the context is too long once",
        first=(*_SIX_CALLS[:4], context_too_long()),
        contract=Contract(_ANSWERED, 6, 0.0, [answers("4")]),
    ),
    _http(
        "the context is too long for ever",
        first=(Call(),),
        then=context_too_long(),
        contract=Contract(_FAILED, 3, 0.0, [says("context")]),
    ),
    _http(
        "calls tools after the cap",
        then=CALLS_ON,
        contract=Contract(_AT_CAP, 7, 0.0, [runs(6), says("max_iterations")]),
    ),
    _http(
        "plain words after the cap",
        first=_SIX_CALLS,
        then="I think that it is 4.",
        contract=Contract(("answered at max_iterations",), 7, 0.0, [runs(6), answers("4")]),
    ),
    _http(
        "500 in the request at the cap",
        first=_SIX_CALLS,
        then=status(500),
        waits=True,
        contract=Contract(_AT_CAP, 9, _WAITS_S, [runs_at_most(6), says("last observation")]),
    ),
)
