"""The rules of scripts/tasks/README.md, both ways, and the task files that are scored by them."""

from __future__ import annotations

import ast
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from scripts.comparing.turns import tools_for
from scripts.scoring import Task, load_tasks, load_weather, numbers_in, solved, weather_file

TASKS = Path(__file__).resolve().parents[2] / "scripts" / "tasks"
FILES = sorted(TASKS.glob("*.jsonl"))
AFTERNOON = datetime(2026, 1, 31, 15, 4, 30)
MORNING = datetime(2026, 5, 3, 9, 30)


def task(check: dict, tools: tuple[str, ...] = ()) -> Task:
    return Task("t", "kind", "en", "question", tools, check)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234.5 metres", [1234.5]),
        ("9,449,772,114,007", [9449772114007]),
        ("9449772114007。", [9449772114007]),
        ("10.8°F", [10.8]),
        ("It is 12.", [12]),
        ("1, 2 and 3", [1, 2, 3]),
        ("24,29", [24, 29]),
        ("1,2345", [1, 2345]),
        ("-3 or −4", [3, 4]),
        ("2026-01-31", [2026, 1, 31]),
        ("１０．８度", [10.8]),
        ("a half is .5", [0.5]),
        ("about 1.2e3", [1200]),
        ("5² = 25", [5, 25]),
        ("none", []),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("check", "answer", "good"),
    [
        ({"numbers": [10.8]}, "The difference is 10.8°F.", True),
        ({"numbers": [10.8]}, "10.84", True),
        ({"numbers": [10.8]}, "10.9", False),
        ({"numbers": [1000000]}, "1,000,099", True),
        ({"numbers": [1000000]}, "1,000,101", False),
        ({"numbers": [-7]}, "零下7度", True),
        ({"numbers": [0]}, "0°C", True),
        ({"numbers": [0]}, "10°C", False),
        ({"numbers": [6]}, "16", False),
        ({"numbers": [1, 2]}, "1", False),
        ({"numbers": [10.8], "not_numbers": [42.8]}, "10.8", True),
        ({"numbers": [10.8], "not_numbers": [42.8]}, "10.8, that is 42.8", False),
        ({"any": ["oslo"]}, "OSLO is colder", True),
        ({"any": ["oslo"]}, "Paris", False),
        ({"any": ["can't"]}, "I can’t tell", True),
        ({"any": [""]}, "hello", True),
        ({"any": [""]}, " \n", False),
        ({"any": [""]}, None, False),
    ],
)
def test_numbers_and_words(check: dict, answer: str | None, good: bool) -> None:
    assert solved(task(check), answer, [], AFTERNOON)[0] is good


@pytest.mark.parametrize(
    "answer",
    [
        "2026-01-31",
        "2026/1/31",
        "2026年1月31日",
        "1 月 31 号",
        "January 31, 2026",
        "31 January",
        "Jan. 31st",
        "the 31st of january",
        "Saturday, the 31st day of January",
    ],
)
def test_today_in_its_usual_spellings(answer: str) -> None:
    assert solved(task({"any": ["{today}"]}), answer, [], AFTERNOON) == (True, "")


@pytest.mark.parametrize(
    "answer",
    [
        "2026-01-30",
        "2025-01-31",
        "2026年11月31日",
        "January 3",
        "January 311",
        "31 July",
        "131 January",
        "月31日",
    ],
)
def test_another_day_is_not_today(answer: str) -> None:
    assert not solved(task({"any": ["{today}"]}), answer, [], AFTERNOON)[0]


def test_a_day_of_one_digit_is_not_found_in_one_of_two() -> None:
    check = task({"any": ["{today}"]})
    assert solved(check, "May 3rd", [], MORNING)[0]
    assert solved(check, "2026-05-03", [], MORNING)[0]
    assert not any(solved(check, text, [], MORNING)[0] for text in ("May 30", "5月13日", "2026-05-30"))


@pytest.mark.parametrize(
    "answer",
    [
        "15:04",
        "15:04:59",
        "2026-01-31T15:04:30",
        "3:04 PM",
        "03:04 p.m.",
        "下午3:04",
        "15点",
        "下午3点",
        "３点",
        "3 PM",
        "3pm",
        "3 o'clock",
        "15点04分",
        "15时4分",
        "15：04",
    ],
)
def test_the_hour_in_its_usual_spellings(answer: str) -> None:
    assert solved(task({"any": ["{now_hour}"]}), answer, [], AFTERNOON) == (True, "")


@pytest.mark.parametrize(
    "answer",
    [
        "13:04",
        "13点",
        "3:04 AM",
        "3:04:10 a.m.",
        "凌晨3:04",
        "上午3点",
        "15:05",
        "15:040",
        "10:15:04",
        "15点37分",
        "3 AM",
        "13 PM",
        "3小时",
        "2026",
    ],
)
def test_another_time_is_not_now(answer: str) -> None:
    assert not solved(task({"any": ["{now_hour}"]}), answer, [], AFTERNOON)[0]


def test_in_the_morning_the_afternoon_is_wrong() -> None:
    check = task({"any": ["{now_hour}"]})
    assert all(solved(check, text, [], MORNING)[0] for text in ("9:30 AM", "09:30", "上午9点30分"))
    assert not any(solved(check, text, [], MORNING)[0] for text in ("9:30 PM", "下午9点", "21:30"))


def test_midnight_and_noon() -> None:
    check = task({"any": ["{now_hour}"]})
    midnight, noon = datetime(2026, 1, 1, 0, 5), datetime(2026, 1, 1, 12, 5)
    assert all(solved(check, text, [], midnight)[0] for text in ("0:05", "00:05", "12:05 AM", "0点"))
    assert all(solved(check, text, [], noon)[0] for text in ("12:05", "12:05 PM", "中午12点"))
    assert not solved(check, "12:05 PM", [], midnight)[0]


def test_the_clock_may_turn_over_while_the_agent_runs() -> None:
    before, after = datetime(2025, 12, 31, 23, 59, 58), datetime(2026, 1, 1, 0, 0, 2)
    for term, right in (("year", ("2025", "2026")), ("today", ("2025-12-31", "January 1"))):
        assert all(solved(task({"any": [f"{{{term}}}"]}), text, [], before, after)[0] for text in right)
    check = task({"any": ["{now_hour}"]})
    long_run = after + timedelta(minutes=3)
    assert all(solved(check, text, [], before, long_run)[0] for text in ("23:59", "0:00", "0:02", "0:03"))
    assert not solved(check, "0:04", [], before, long_run)[0]


def test_the_year_stands_alone() -> None:
    assert solved(task({"any": ["{year}"]}), "今年是2026年", [], AFTERNOON)[0]
    assert not solved(task({"any": ["{year}"]}), "12026", [], AFTERNOON)[0]


@pytest.mark.parametrize(
    ("tools", "called", "reason"),
    [
        (("Weather",), ["Weather"], ""),
        (("Weather",), [], "Weather was not called"),
        (("Time",), ["Weather"], "Time was not called"),
        (("Weather", "Calculator"), ["Weather"], ""),  # arithmetic in the head is allowed
        (("Calculator",), [], ""),
    ],
)
def test_facts_come_from_tools(tools: tuple[str, ...], called: list[str], reason: str) -> None:
    assert solved(task({"numbers": [18]}, tools), "18", called, AFTERNOON) == (not reason, reason)


def test_too_many_tool_calls() -> None:
    check = task({"any": [""], "max_tool_calls": 0})
    assert solved(check, "hi", [], AFTERNOON) == (True, "")
    assert solved(check, "hi", ["Time"], AFTERNOON) == (False, "1 tool calls, 0 allowed")


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        '{"id": "a"}',
        '{"id": "a", "kind": "k", "lang": "en", "question": "q", "tools": [], "check": {}}',
        '{"id": "a", "kind": "k", "lang": "en", "question": "q", "tools": [], "check": {"all": []}}',
        '{"id": "a", "kind": "k", "lang": "", "question": "", "tools": [], "check": {"any": ["{month}"]}}',
    ],
)
def test_a_line_that_is_no_task_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        load_tasks(file)


def test_the_weather_table_of_its_own_comes_before_the_shared_one(tmp_path: Path) -> None:
    assert weather_file(tmp_path / "a.jsonl") == tmp_path / "weather.json"
    (tmp_path / "a_weather.json").write_text('{"Ulm": 3}', encoding="utf-8")
    assert load_weather(weather_file(tmp_path / "a.jsonl")) == {"ulm": 3}
    (tmp_path / "bad.json").write_text('{"Ulm": "3"}', encoding="utf-8")
    with pytest.raises(ValueError, match="not a table"):
        load_weather(tmp_path / "bad.json")


RAW = {"id": "a", "kind": "k", "lang": "en", "question": "?", "tools": [], "check": {"any": ["x"]}}


def test_a_task_may_say_its_toolset_and_that_it_is_out_of_reach(tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    far = RAW | {"toolset": "changed", "reachable": False}
    file.write_text(f"{json.dumps(RAW)}\n{json.dumps(far)}\n", encoding="utf-8")
    assert [(one.toolset, one.reachable) for one in load_tasks(file)] == [("", True), ("changed", False)]


@pytest.mark.parametrize("more", [{"toolset": "other"}, {"reachable": "no"}], ids=str)
def test_a_toolset_that_nobody_knows_is_named(more: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    file.write_text(json.dumps(RAW | more), encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: ValueError: no toolset"):
        load_tasks(file)


# --- the task files


def cities_of(one: Task, weather: dict[str, float]) -> list[str]:
    """The cities that a question names; of "Xi'an" and "Xian" each is its own key, and only one is named."""
    return [city for city in weather if city in one.question.casefold()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_task_files_are_well_formed(file: Path) -> None:
    tasks, weather = load_tasks(file), load_weather(weather_file(file))
    assert len({one.id for one in tasks}) == len({one.question for one in tasks}) == len(tasks)
    for one in tasks:
        assert set(one.tools) <= {tool.name for tool in tools_for(one, weather, [])}, one
        assert (one.lang == "zh") is bool(re.search(r"[一-鿿]", one.question)), one
        assert bool(cities_of(one, weather)) is ("Weather" in one.tools and one.kind != "no_data"), one
        assert (one.check.get("max_tool_calls") == 0) is (one.kind == "no_tool"), one


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_checks_hold_against_the_weather_table(file: Path) -> None:
    weather = load_weather(weather_file(file))
    checked = 0
    for one in load_tasks(file):
        degrees = [weather[city] for city in cities_of(one, weather)]
        if degrees and "numbers" in one.check:
            assert one.check["numbers"] == [pytest.approx(expected(one, degrees))], one
            checked += 1
        elif degrees:
            named = [city for city in cities_of(one, weather) if city in one.check["any"]]
            assert [weather[city] for city in named] in ([min(degrees)], [max(degrees)]), one
            assert len(set(degrees)) == len(degrees), one
            checked += 1
    assert checked >= 14


def expected(one: Task, degrees: list[float]) -> float:
    if one.kind == "aggregate":
        return sum(degrees) / len(degrees)
    value = abs(degrees[0] - degrees[1]) if len(degrees) == 2 else degrees[0]
    if one.kind == "convert":  # a difference is scaled, and never shifted by 32
        wrong = value * 1.8 + 32
        if len(degrees) == 2:
            assert one.check["not_numbers"] == [pytest.approx(wrong)], one
            assert all(abs(each * 1.8 + 32 - wrong) > 0.1 for each in degrees), one
        return value * 1.8 if len(degrees) == 2 else wrong
    return value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_checks_hold_for_the_sums_that_are_written_out(file: Path) -> None:
    plain = str.maketrans("（）－＋×÷", "()-+*/")
    checked = 0
    for one in load_tasks(file):
        found = re.search(r"[\d(][\d.()+*/ -]*[+*/-][\d.()+*/ -]*\d", one.question.translate(plain))
        if one.kind == "arithmetic" and found:
            assert one.check["numbers"] == [pytest.approx(value_of(ast.parse(found[0], mode="eval").body))], (
                one
            )
            checked += 1
    assert checked >= 3


def value_of(node: ast.expr) -> float:
    if isinstance(node, ast.Constant):
        return node.value
    assert isinstance(node, ast.BinOp)
    left, right = value_of(node.left), value_of(node.right)
    return {"Add": left + right, "Sub": left - right, "Mult": left * right, "Div": left / (right or 1)}[
        type(node.op).__name__
    ]


def test_the_unseen_tasks_share_nothing_with_those_to_develop_with() -> None:
    def told(name: str) -> set[object]:
        file = TASKS / f"{name}.jsonl"
        tasks = load_tasks(file)
        sums = [one.question for one in tasks if one.kind == "arithmetic"]
        numbers = {number for text in sums for number in numbers_in(text) if number > 12}
        return {one.question for one in tasks} | set(load_weather(weather_file(file))) | numbers

    assert not told("unseen") & told("dev")
    kinds = [one.kind for one in load_tasks(TASKS / "unseen.jsonl")]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "arithmetic": 14,
        "word_problem": 4,
        "weather": 8,
        "compare": 8,
        "convert": 6,
        "aggregate": 6,
        "time": 6,
        "no_data": 4,
        "no_tool": 4,
    }


@pytest.mark.parametrize("table", sorted(TASKS.glob("*weather.json")), ids=lambda file: file.stem)
def test_every_place_has_a_chinese_and_an_english_name(table: Path) -> None:
    cities = json.loads(table.read_text(encoding="utf-8"))
    chinese = {degrees for city, degrees in cities.items() if not city.isascii()}
    assert chinese == {degrees for city, degrees in cities.items() if city.isascii()}
