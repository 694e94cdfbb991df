"""``--protocol tools`` at the command line."""

from __future__ import annotations

import json
from itertools import repeat
from pathlib import Path

import pytest

from tests.command import Command
from tests.service import Service, status, tool_calls, wire_call

pytestmark = pytest.mark.timeout(300)  # a test starts up to two processes

MULTIPLY = tool_calls(
    wire_call('{"expression": "23*47"}'), wire_call("{}", "Weather", "b"), content="Let me multiply."
)


def test_native_calls_are_run_and_shown_as_the_text_protocols_are(tmp_path: Path) -> None:
    with Service([MULTIPLY, "23*47 is 1081."] * 2) as service:
        command = Command(tmp_path, service)
        ended = command("--protocol", "tools", "23*47?")
        as_json = command("--protocol", "tools", "--json", "-q", "23*47?")
        assert [tool["function"]["name"] for tool in service.requests[0]["tools"]] == [
            "Calculator",
            "Weather",
            "Time",
        ]
    assert (ended.code, ended.out) == (0, "23*47 is 1081.\n")
    for words in (
        "Let me multiply.",
        "Calculator[23*47]",
        "-> 1081",
        "Weather[{}]",
        "-> Weather was not run",
    ):
        assert words in ended.err
    run = json.loads(as_json.out)
    assert (as_json.code, run["protocol"], run["stop_reason"]) == (0, "tools", "final_answer")
    sound, refused = run["steps"][0]["actions"]
    assert sound == {"tool": "Calculator", "input": "23*47", "call_id": "a", "fault": None}
    assert (refused["call_id"], refused["fault"]["kind"]) == ("b", "missing_field")


def test_the_cap_and_a_service_without_tools_end_as_the_contract_says(tmp_path: Path) -> None:
    replies = [*[tool_calls(wire_call(f'{{"expression": "{n}"}}')) for n in range(8)], "about 1000"]
    with Service(replies) as service:
        ended = Command(tmp_path, service)("--protocol", "tools", "a")
        assert len(service.requests) == 9
    assert (ended.code, ended.out) == (3, "about 1000\n")
    with Service(repeat(status(400, {"error": {"message": "no tools here"}}))) as service:
        ended = Command(tmp_path, service)("-q", "--protocol", "tools", "a")
        assert len(service.requests) == 1
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "--protocol text" in ended.err


def test_help_names_both_protocols_and_another_is_a_mistake(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert "--protocol {text,tools}" in command("--help").out
    assert command("--protocol", "xml", "a").code == 2
