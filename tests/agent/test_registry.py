"""ToolRegistry: tools by name, their schemas, and what no service would accept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import HumanMessage
from langchain_core.pydantic_v1 import BaseModel, Field
from langchain_core.tools import BaseTool, StructuredTool, tool

from agent import Agent, SettingsError, ToolRegistry, run_agent
from agent.client import Client, Request
from agent.testing import ScriptedModel
from tests.protocols import calling, results
from tests.scripted import play, probe
from tools import default_tools


class Stop(BaseModel):
    city: str = Field(description="its name")
    nights: int | None = None


class Trip(BaseModel):
    title: str
    stops: list[Stop] = Field(description="in order")
    pace: float | None = Field(None, description="km/h")


def plan(title: str, stops: list[Stop], pace: float | None = None) -> str:
    return f"{title}: {[stop.city for stop in stops]} at {pace}"


class Reverse(BaseTool):
    name: str = "Reverse"
    description: str = "Turns a text round."

    def _run(self, text: str, times: int = 1) -> str:
        return text[:: -1 if times % 2 else 1]


@tool
def convert(amount: float, unit: str = "m") -> str:
    """Converts an amount."""
    return f"{amount} {unit}"


@tool
def ping() -> str:
    """Says pong."""
    return "pong"


PLAN = StructuredTool.from_function(plan, name="Plan", description="Plans a trip.", args_schema=Trip)


def parameters(each: BaseTool) -> dict[str, Any]:
    (schema,) = ToolRegistry([each]).schemas()
    assert (schema["type"], schema["function"]["name"]) == ("function", each.name)
    assert schema["function"]["description"] == each.description
    json.dumps(schema)
    assert schema["function"]["parameters"]["type"] == "object"
    return dict(schema["function"]["parameters"])


def test_tools_are_registered_found_and_listed_in_order() -> None:
    registry = ToolRegistry()
    one, two = probe(name="One"), probe(name="Two")
    assert registry.register(one) is one
    registry.register(two)

    assert (registry.get("One"), registry.get("Two"), registry.get("one")) == (one, two, None)
    assert (list(registry), len(registry)) == ([one, two], 2)
    assert [schema["function"]["name"] for schema in registry.schemas()] == ["One", "Two"]


@pytest.mark.parametrize("protocol", ["text", "tools"])
def test_a_registry_is_what_tools_takes(protocol: str) -> None:
    registry = ToolRegistry([*default_tools(), probe()])
    reply = calling(("Probe", {"tool_input": "x"})) if protocol == "tools" else "Action: Probe[x]"
    result, _ = play(reply, "Final Answer: X", tools=registry, protocol=protocol)

    assert result.steps[0].observations[0].text == "X"


@pytest.mark.parametrize("name", ["查天气", "has space", "dotted.name", "x" * 65, "a/b"])
def test_a_name_that_no_service_takes_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(SettingsError, match="up to 64 letters, digits, _ and -"):
        ToolRegistry([probe(name=name)])
    model = ScriptedModel(replies=["done"])
    with pytest.raises(SettingsError, match="must be renamed"):
        Agent(llm=model, tools=[probe(name=name)], protocol="tools")
    assert model.requests == []


@pytest.mark.parametrize("name", ["Probe", "probe", "PROBE"])
def test_a_name_that_is_taken_is_refused_and_the_first_tool_stays(name: str) -> None:
    registry = ToolRegistry([first := probe()])
    with pytest.raises(SettingsError, match="two tools are named 'probe'"):
        registry.register(probe(name=name))

    assert list(registry) == [first]


@pytest.mark.parametrize("thing", [print, "Calculator", None, 5, BaseTool])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(SettingsError, match="tools takes LangChain tools"):
        ToolRegistry().register(thing)


def test_the_tools_that_come_with_the_agent_have_names_and_words_for_their_parameter() -> None:
    calculator, weather, time = (parameters(each) for each in default_tools())

    assert list(calculator["properties"]) == calculator["required"] == ["expression"]
    assert list(weather["properties"]) == weather["required"] == ["city"]
    assert (list(time["properties"]), time.get("required", [])) == (["zone"], [])
    for each in (calculator, weather, time):
        (field,) = each["properties"].values()
        assert field["type"] == "string"
        assert field["description"]


def test_a_plain_tool_takes_one_text() -> None:
    assert parameters(probe()) == {
        "type": "object",
        "properties": {"tool_input": {"type": "string"}},
        "required": ["tool_input"],
    }
    assert parameters(probe(name="Time"))["required"] == []


def test_types_defaults_and_required_fields_are_shown() -> None:
    assert parameters(convert) == {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "unit": {"type": "string", "default": "m"}},
        "required": ["amount"],
    }
    assert parameters(ping) == {"type": "object", "properties": {}}
    assert parameters(Reverse()) == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["text"],
    }


def test_nested_models_are_shown_in_place_without_references() -> None:
    shown = parameters(PLAN)

    assert "$ref" not in json.dumps(shown)
    assert shown["required"] == ["title", "stops"]
    assert shown["properties"]["pace"] == {"type": "number", "description": "km/h"}
    assert shown["properties"]["stops"]["items"] == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "its name"}, "nights": {"type": "integer"}},
        "required": ["city"],
    }


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("Plan", {"title": "Peru", "stops": [{"city": "Lima"}]}), "Peru: ['Lima'] at None"),
        (("Plan", {"title": "Peru", "stops": [], "pace": 4}), "Peru: [] at 4.0"),
        (("Plan", {"title": "Peru", "stops": [], "pace": None}), "Peru: [] at None"),
        (("Plan", {"title": "Peru", "stops": [{"name": "Lima"}]}), "Plan failed: ValidationError"),
        (("Plan", {"title": "Peru", "stops": "Lima"}), 'the argument "stops" must be of type array'),
        (("Plan", {"title": "Peru"}), 'the argument "stops" is missing'),
        (("convert", {"amount": 2}), "2.0 m"),
        (("ping", {}), "pong"),
        (("Reverse", {"text": "abc"}), "cba"),
        (("Reverse", {"text": "abc", "times": 2}), "abc"),
        (("Reverse", {"text": "abc", "times": "2"}), 'the argument "times" must be of type integer'),
    ],
)
def test_a_call_is_held_against_the_schema_that_was_shown(call: tuple[str, Any], said: str) -> None:
    _, model = play(calling(call), "done", tools=[PLAN, convert, ping, Reverse()], protocol="tools")

    (told,) = results(model.requests[1]).values()
    assert said in told


def test_what_is_sent_are_the_schemas_of_the_registry() -> None:
    registry = ToolRegistry([PLAN, probe()])
    _, model = play("done", tools=registry, protocol="tools")

    assert model.options[0]["tools"] == registry.schemas()


class Counting(ScriptedModel):
    """Counts how often it is handed tools."""

    bound: int = 0

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        self.bound += 1
        return super().bind_tools(*args, **kwargs)


def test_the_same_tools_are_bound_once_and_other_tools_anew() -> None:
    model = Counting(replies=[calling(("ping", {})), "done", "done"])
    client = Client(model, timeout_s=10)
    for tools in (ToolRegistry([each]).schemas() for each in (ping, ping, PLAN)):
        client.ask(Request([HumanMessage(content="hello")], tools=tools), lambda: 10.0)

    assert [[each["function"]["name"] for each in sent["tools"]] for sent in model.options] == [
        ["ping"],
        ["ping"],
        ["Plan"],
    ]
    assert model.bound == 2


class Unbound(ScriptedModel):
    """A chat model without native tool calls, as LangChain's base class has it."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("llm", [FakeListLLM(responses=["done"]), Unbound(replies=["done"])])
def test_a_model_without_native_tool_calls_is_refused_at_the_start(llm: Any) -> None:
    with pytest.raises(SettingsError, match=r'has no native tool calls: use protocol="text"'):
        run_agent("hello", llm=llm, protocol="tools")
