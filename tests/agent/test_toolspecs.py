"""Tools of every make: what is known of them before a call, and that a call reaches them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.pydantic_v1 import BaseModel, Field
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool

from agent import SettingsError
from agent.protocols.decisions import ToolSpec
from agent.toolspecs import specs_of
from tests.scripted import DONE, contents, play, probe
from tools import default_tools


class City(BaseModel):
    city: str = Field(description="its name")
    days: int = 1


class Reverse(BaseTool):
    name: str = "Reverse"
    description: str = "Turns a text round."

    def _run(self, text: str) -> str:
        return text[::-1]


@tool
def convert(amount: float, unit: str = "m") -> str:
    """Converts an amount."""
    return f"{amount} {unit}"


@tool
def ping() -> str:
    """Says pong."""
    return "pong"


@tool
def double(number: int) -> int:
    """Doubles a number."""
    return number * 2


@tool
def join(names: list[str]) -> str:
    """Joins names."""
    return "+".join(names)


@tool
def count(of: dict[str, Any]) -> str:
    """Counts members."""
    return f"{len(of)} in {sorted(of)}"


@tool
def switch(on: bool) -> str:
    """Switches."""
    return f"on: {on}"


@tool
def greet(name: str = "world") -> str:
    """Greets."""
    return f"hello {name}"


def forecast(city: str, days: int = 1) -> str:
    return f"{city} for {days}"


async def wait_for(city: str) -> str:
    await asyncio.sleep(0)
    return f"waited for {city}"


FORECAST = StructuredTool.from_function(forecast, name="Forecast", description="Tells.", args_schema=City)
LATER = StructuredTool.from_function(coroutine=wait_for, name="Later", description="Waits.")
LATER_PLAIN = Tool(name="LaterPlain", func=None, coroutine=wait_for, description="Waits.")

CALLS: list[tuple[BaseTool, str, str]] = [
    (probe(str.upper), "Probe[x]", "X"),
    (probe(str.upper), 'Probe["x"]', "X"),
    (double, "double[4]", "8"),
    (double, 'double[{"number": 4}]', "8"),
    (convert, 'convert[{"amount": 3, "unit": "km"}]', "3.0 km"),
    (convert, 'convert[{"amount": 3}]', "3.0 m"),
    (convert, "convert[3]", "3.0 m"),
    (ping, "ping[]", "pong"),
    (join, 'join[["a", "b"]]', "a+b"),
    (join, 'join[{"names": ["a", "b"]}]', "a+b"),
    (count, 'count[{"of": {"x": 1}}]', "1 in ['x']"),
    (count, 'count[{"x": 1, "y": 2}]', "2 in ['x', 'y']"),
    (switch, "switch[false]", "on: False"),
    (switch, 'switch[{"on": true}]', "on: True"),
    (greet, "greet[]", "hello world"),
    (greet, "greet[Ann]", "hello Ann"),
    (ping, "ping", "pong"),
    (Reverse(), "Reverse[abc]", "cba"),
    (FORECAST, 'Forecast[{"city": "Lima", "days": 2}]', "Lima for 2"),
    (LATER, "Later[Lima]", "waited for Lima"),
    (LATER_PLAIN, "LaterPlain[Lima]", "waited for Lima"),
]


@pytest.mark.parametrize(("one", "call", "seen"), CALLS)
def test_a_call_reaches_a_tool_of_any_make(one: BaseTool, call: str, seen: str) -> None:
    result, _ = play(f"Action: {call}", DONE, tools=[one])

    assert [observation.text for observation in result.steps[0].observations] == [seen]
    assert result.steps[0].observations[0].ok


@pytest.mark.parametrize("call", ["Time[]", "Time", "Time[{}]", "Time[None]", "Time()"])
def test_the_time_is_told_however_no_argument_is_written(call: str) -> None:
    result, _ = play(f"Action: {call}", DONE)

    assert "UTC" in result.steps[0].observations[0].text


@pytest.mark.parametrize(
    ("one", "call", "fields"),
    [
        (convert, 'convert[{"unit": "km"}]', ["amount"]),
        (convert, 'convert[{"amount": "many"}]', ["amount"]),
        (FORECAST, 'Forecast[{"town": "Lima"}]', ["city"]),
        (double, "double[four]", ["number"]),
        (join, "join[a, b]", ["names"]),
        (join, "join[]", ["names"]),
        (probe(), 'Probe[{"a": 1, "b": 2}]', ["tool_input"]),
    ],
)
def test_arguments_that_do_not_fit_are_told_by_the_names_of_the_fields(
    one: BaseTool, call: str, fields: list[str]
) -> None:
    _, model = play(f"Action: {call}", DONE, tools=[one])

    told = contents(model.requests[1])[-1]
    assert all(field in told for field in fields)


class AsyncRun(BaseTool):
    name: str = "AsyncRun"
    description: str = "Waits."

    async def _run(self, city: str) -> str:
        return await wait_for(city)


@pytest.mark.parametrize(
    "made",
    [
        Tool(name="Later", func=wait_for, description="Waits."),
        Tool(name="Later", func=functools.partial(wait_for), description="Waits."),
        StructuredTool.from_function(wait_for, name="Later", description="Waits."),
        AsyncRun(),
    ],
)
def test_an_async_function_in_the_place_of_a_plain_one_is_a_callers_mistake(made: BaseTool) -> None:
    with pytest.raises(SettingsError, match=f"the function of {made.name} is async: .* coroutine="):
        specs_of([made])


def test_a_function_that_gives_a_coroutine_all_the_same_is_a_failed_tool() -> None:
    result, _ = play("Action: Later[Lima]", DONE, tools=[probe(lambda city: wait_for(city=city), "Later")])

    (seen,) = result.steps[0].observations
    assert (seen.ok, seen.text) == (False, "Error: the tool returned a coroutine in place of a result")


def test_an_async_tool_that_raises_is_a_failed_tool() -> None:
    async def fail(_: str) -> str:
        raise ValueError("no luck")

    result, _ = play(
        "Action: Later[x]", DONE, tools=[Tool(name="Later", func=None, coroutine=fail, description="-")]
    )

    assert result.steps[0].observations[0].text == "Later failed: ValueError: no luck"


def test_specs_name_fields_and_what_is_required() -> None:
    assert specs_of([FORECAST, convert, ping, Reverse()]) == (
        ToolSpec("Forecast", ("city", "days"), True, ("city",), types={"city": "string", "days": "integer"}),
        ToolSpec(
            "convert", ("amount", "unit"), True, ("amount",), types={"amount": "number", "unit": "string"}
        ),
        ToolSpec("ping", (), False, ()),
        ToolSpec("Reverse", ("text",), True, ("text",), types={"text": "string"}),
    )


def test_of_the_default_tools_only_time_takes_no_input() -> None:
    needs = {spec.name: spec.input_required for spec in specs_of(default_tools())}

    assert needs == {"Calculator": True, "Weather": True, "Time": False}


def optional(text: str = "") -> str:
    return text


@pytest.mark.parametrize(
    ("function", "description", "metadata", "required"),
    [
        (str.upper, "Takes a text.", None, True),
        (str.upper, "Needs no input.", None, False),
        (str.upper, "Ignores the argument.", None, False),
        (str.upper, "查询状态，无需输入。", None, False),
        (str.upper, "Takes a text.", {"input_required": False}, False),
        (str.upper, "Needs no input.", {"input_required": True}, True),
        (optional, "Takes a text.", None, False),
        (min, "A builtin without a signature.", None, True),
    ],
)
def test_whether_a_plain_tool_needs_input(
    function: Callable[..., Any], description: str, metadata: dict[str, Any] | None, required: bool
) -> None:
    plain = Tool(name="Plain", func=function, description=description, metadata=metadata)

    assert specs_of([plain])[0].input_required is required


@pytest.mark.parametrize("name", ["", "  ", "Find[it]", "Find(it)", "a: b", "查：找", "two\nlines", "{x}"])
def test_a_name_that_cannot_be_written_in_an_action_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="a tool's name is written before a bracket"):
        specs_of([probe(name=name)])


@pytest.mark.parametrize("name", [" Probe ", "None", "n/a", "x" * 300])
def test_a_name_that_an_action_cannot_mean_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="no action could name a tool"):
        specs_of([probe(name=name)])


def test_two_tools_of_one_name_are_refused_in_any_case() -> None:
    with pytest.raises(SettingsError, match="two tools are named 'probe'"):
        specs_of([probe(), probe(name="PROBE")])


@pytest.mark.parametrize("thing", [print, "Calculator", None])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(SettingsError, match="tools takes LangChain tools"):
        specs_of([thing])


@pytest.mark.parametrize("timeout_s", [0, -1, "3", True, None, float("nan")])
def test_a_deadline_that_cannot_be_meant_is_refused(timeout_s: Any) -> None:
    with pytest.raises(SettingsError, match="timeout_s of Probe is a number of seconds above 0"):
        specs_of([probe(metadata={"timeout_s": timeout_s})])
