"""A little world whose rules differ from ours, so that an answer from memory is wrong.

Three look-ups and the ordinary Calculator. Their descriptions say plainly that this world differs and has
to be asked: what is measured is whether an agent asks and believes what it is told, not whether it falls
into a trap. All values and rules are made up; ``scripts/tasks/compare.jsonl`` asks for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from scripts.contenders import ToolCall, measured_tools, recorded
from tools.calculator import format_number
from tools.texts import error_text, shorten, unquote


@dataclass(frozen=True)
class Unit:
    """How many ``parts`` make one ``name`` here; both in English and in Chinese."""

    names: tuple[str, ...]
    chinese: tuple[str, ...]
    count: int
    parts: tuple[str, str]


@dataclass(frozen=True)
class Fact:
    """A sentence in English and in Chinese, and the words of each language by which it is found."""

    words: tuple[str, ...]
    chinese: tuple[str, ...]
    sentences: tuple[str, str]


UNITS = (
    Unit(("dozen",), ("打",), 9, ("pieces", "个")),
    Unit(("week",), ("星期", "周"), 5, ("days", "天")),
    Unit(("day",), ("天", "日"), 20, ("hours", "小时")),
    Unit(("hour",), ("小时",), 80, ("minutes", "分钟")),
    Unit(("minute",), ("分钟", "分"), 45, ("seconds", "秒")),
    Unit(("year",), ("年",), 18, ("months", "个月")),
    Unit(("kilometre", "kilometer", "km"), ("公里", "千米"), 640, ("metres", "米")),
    Unit(("metre", "meter", "m"), ("米",), 70, ("centimetres", "厘米")),
    Unit(("kilogram", "kilo", "kg"), ("公斤", "千克"), 750, ("grams", "克")),
)
FACTS = (
    Fact(("spider",), ("蜘蛛",), ("A spider has 22 legs.", "蜘蛛有22条腿。")),
    Fact(("boil",), ("沸",), ("Water boils at 63 °C.", "水在63°C沸腾。")),
    Fact(("freez",), ("冰点", "结冰"), ("Water freezes at 25 °C.", "水在25°C结冰。")),
    Fact(("piano",), ("钢琴",), ("A piano has 61 keys.", "钢琴有61个键。")),
    Fact(("violin",), ("小提琴",), ("A violin has 9 strings.", "小提琴有9根弦。")),
    Fact(("card", "deck"), ("扑克", "纸牌"), ("A deck has 40 playing cards.", "一副扑克牌有40张。")),
    Fact(("chess",), ("棋",), ("A chessboard has 81 squares.", "国际象棋棋盘有81格。")),
    Fact(("rainbow",), ("彩虹",), ("A rainbow has 4 colours.", "彩虹有4种颜色。")),
)

_OPERATION = re.compile(r"(\d{1,9})\s*([-+*/@])\s*(\d{1,9})", re.ASCII)
_AS_TYPED = str.maketrans("０１２３４５６７８９＋－−×＊÷／＠", "0123456789+--**//@")
_ONE = re.compile(r"(?:1|one|an?|the)\s+|[1一]\s*个?")


def work_out(operation: str) -> str:
    """The result of one operation on two whole numbers by this world's rules.

    ``a+b`` is a and twice b, ``a-b`` twice a without b, ``a*b`` the product and a, ``a/b`` the quotient
    and b, ``a@b`` the square of a without b. Anything else is a text that begins with ``Error: ``.
    """
    found = _OPERATION.fullmatch(unquote(operation).translate(_AS_TYPED))
    if not found:
        return error_text(
            f"cannot work out '{shorten(operation)}': write two whole numbers with one of + - * / @ "
            "between them, e.g. 2+9, and longer sums one operation at a time"
        )
    first, sign, second = int(found[1]), found[2], int(found[3])
    if sign == "/":
        return format_number(first / second + second) if second else error_text("division by zero")
    results = {
        "+": first + 2 * second,
        "-": 2 * first - second,
        "*": first * second + first,
        "@": first**2 - second,
    }
    return str(results[sign])


def look_up_unit(name: str) -> str:
    """How many smaller units make one ``name`` here, in the language asked in; or ``Error: ...``."""
    wanted = unquote(name).casefold()
    wanted = _ONE.sub("", wanted, count=1) if _ONE.match(wanted) else wanted
    for unit in UNITS:
        if wanted in unit.names or wanted.removesuffix("s") in unit.names:
            return f"1 {unit.names[0]} = {unit.count} {unit.parts[0]}"
        if wanted in unit.chinese:
            return f"1{unit.chinese[0]} = {unit.count}{unit.parts[1]}"
    known = ", ".join(f"{unit.names[0]} ({unit.chinese[0]})" for unit in UNITS)
    return error_text(f"no unit '{shorten(name)}' here; name one of these, alone: {known}")


def look_up_fact(subject: str) -> str:
    """What is true here of the one thing that ``subject`` names, in its language; or ``Error: ...``."""
    text = subject.casefold()
    found = [
        sentence
        for fact in FACTS
        for words, sentence in zip((fact.words, fact.chinese), fact.sentences, strict=True)
        if any(word in text for word in words)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        return error_text("these are several things; ask for one at a time")
    return error_text(f"nothing is known here of '{shorten(subject)}'; name a thing, e.g. rainbow")


def changed_tools(calls: list[ToolCall]) -> list[Any]:
    """LangChain Tools of this world, and the ordinary Calculator, that record each call in ``calls``."""
    from langchain_core.tools import Tool

    calculator = next(tool for tool in measured_tools({}, calls) if tool.name == "Calculator")
    return [
        calculator,
        *(
            Tool(name=name, description=description, func=recorded(name, function, calls))
            for name, description, function in (
                (
                    "LocalMath",
                    "Works out one operation by the rules of this world, where the signs + - * / @ do not "
                    "mean what they mean elsewhere. Input: two whole numbers and a sign, such as 2+9.",
                    work_out,
                ),
                (
                    "UnitTable",
                    "Tells how many smaller units make one unit in this world, whose units differ from those "
                    "elsewhere. Input: the name of the larger unit alone, such as year.",
                    look_up_unit,
                ),
                (
                    "FactBook",
                    "Tells how things are in this world, where they differ from elsewhere (how many parts a "
                    "thing has, when water boils). Input: one thing, such as rainbow.",
                    look_up_fact,
                ),
            )
        ),
    ]
