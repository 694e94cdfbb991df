"""A model service that solves tasks: it makes the calls of a good run one by one, then says the answer.

It understands every contender's way to ask, and is as quick and as dull as a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.services import Reply, Service, completion, tool_calls, wire_call

OBSERVED = ("Observation:", "工具结果")


@dataclass(frozen=True)
class Solution:
    """What a good run of a question does: its calls, as tool and input, and its answer."""

    calls: Sequence[tuple[str, str]]
    answer: str


SOLUTIONS = {
    "What is 144 divided by 12, plus 7?": Solution([("Calculator", "144/12+7")], "19"),
    "深圳现在是多少华氏度？": Solution([("Weather", "深圳"), ("Calculator", "31*9/5+32")], "87.8"),
    "What is the temperature in Gotham City?": Solution([("Weather", "Gotham City")], "There is no data."),
    "In this world, how many keys does a piano have?": Solution([("FactBook", "piano")], "61"),
}


class Solver(Service):
    """The service; ``requests`` records what it was asked, as of every Service."""

    def __init__(self, solutions: Mapping[str, Solution] = SOLUTIONS) -> None:
        super().__init__()
        self._solutions = solutions

    def record(self, body: dict[str, Any], headers: dict[str, str]) -> str | Reply:
        super().record(body, headers)
        reply = self._reply(body)
        return completion(reply) if isinstance(reply, str) else reply

    def _reply(self, body: Mapping[str, Any]) -> str | Reply:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        asked = {text.rfind(question): question for question in self._solutions if question in text}
        if not asked:
            return "Final Answer: Hello!"
        where = max(asked)
        solution, since = self._solutions[asked[where]], text[where:]
        tools = body.get("tools")
        results = [message for message in body["messages"] if message["role"] == "tool"]
        made = len(results) if tools else sum(map(since.count, OBSERVED))
        if made >= len(solution.calls):
            return solution.answer if tools else f"Final Answer: {solution.answer}"
        name, given = solution.calls[made]
        if tools:
            return tool_calls(wire_call(_arguments(tools, name, given), name, f"call-{made}"))
        if "Action Input" in text:
            return f"Action: {name}\nAction Input: {given}"
        return f"Thought: I look.\nAction: {name}[{given}]"


def _arguments(tools: Sequence[Mapping[str, Any]], name: str, given: str) -> str:
    """The input under the name that the tool's schema has for it."""
    schema = next(tool["function"] for tool in tools if tool["function"]["name"] == name)
    (field,) = schema["parameters"]["properties"]
    return json.dumps({field: given}, ensure_ascii=False)
