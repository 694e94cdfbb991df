"""What became of an input, in the few words of JSON that the corpus is written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent.protocols.decisions import Act, Decision, Finish
from scripts.fuzzing import calls, reply
from scripts.fuzzing.target import Input
from tools.calculator import calculate
from tools.texts import ERROR_PREFIX


def _decision(decision: Decision) -> dict[str, Any]:
    if isinstance(decision, Act):
        told = [
            {"tool": action.tool, "input": action.input}
            | ({"fault": action.fault.kind} if action.fault else {})
            for action in decision.actions
        ]
        return {"act": told}
    return {"answer": decision.answer} if isinstance(decision, Finish) else {"fault": decision.fault}


def _reply(given: Input) -> dict[str, Any]:
    return _decision(reply.read(given))


def _calls(given: Input) -> dict[str, Any]:
    return _decision(calls.read(given))


def _calculator(given: Input) -> dict[str, Any]:
    said = calculate(given["expression"])
    return {"refused": True} if said.startswith(ERROR_PREFIX) else {"value": said}


OUTCOMES: dict[str, Callable[[Input], dict[str, Any]]] = {
    "reply": _reply,
    "calls": _calls,
    "calculator": _calculator,
}
