"""Faults of what a model writes, played by a scripted model."""

from __future__ import annotations

from functools import partial

from scripts.fault_matrix.demands import answers, never_answers, not_sent, runs, says, told
from scripts.fault_matrix.fault import Contract, Fault
from scripts.fault_matrix.turns import CALLS_ON, Call, Calls, Each, In, native_call

_reply = partial(Fault, group="replies")
_ANSWERED = ("answered",)
_BAD_REPLIES = ("stopped: parse_errors",)
_WORDS_ARE_ANSWERS = {"tools": "plain words are its answer"}
_ONLY_IN_WORDS = {"tools": "a fault of calls in words"}
_INVENTED = "467891963859"
_PRODUCT = "446916976"


def _inventing() -> In:
    """A model that writes the tool's result and the answer itself, whatever stop sequence it was given."""
    from langchain_core.messages import AIMessage

    invented = f"Observation: {_INVENTED}\nFinal Answer: {_INVENTED}"
    call = native_call("Calculator", "2123*210512", "call_1")
    return In(
        text=AIMessage(content=f"Thought: I multiply.\nAction: Calculator[2123*210512]\n{invented}"),
        react=AIMessage(
            content=f"Thought: I multiply.\nAction: Calculator\nAction Input: 2123*210512\n{invented}"
        ),
        native=AIMessage(content=f"It is {_INVENTED}.", tool_calls=[call]),
    )


REPLIES = (
    _reply(
        "prose without a label once",
        first=("The sum of two and two? Let me see.", Call()),
        skips=_WORDS_ARE_ANSWERS,
        contract=Contract(_ANSWERED, 3, 0.0, [answers("4"), told("Final Answer"), runs(1)]),
    ),
    _reply(
        "prose without a label for ever",
        then="It is 4.",
        skips=_WORDS_ARE_ANSWERS,
        contract=Contract(_ANSWERED, 2, 0.0, [answers("It is 4.")]),
    ),
    _reply(
        "an unknown tool once",
        first=(Call("x", tool="Search"), Call()),
        contract=Contract(
            _ANSWERED, 3, 0.0, [answers("4"), told("no tool named", "not a valid tool"), runs(1)]
        ),
    ),
    _reply(
        "an unknown tool for ever",
        then=Each(lambda number: Call(f"x{number}", tool="Search")),
        contract=Contract(_BAD_REPLIES, 4, 0.0, [runs(0), says("bad replies")]),
    ),
    _reply(
        "half a bracket",
        first=("Thought: I ask.\nAction: Calculator[1000*12", Call("1000*125")),
        skips=_ONLY_IN_WORDS,
        contract=Contract(_ANSWERED, 3, 0.0, [answers("4"), runs(1), told("never closed")]),
    ),
    _reply(
        "100 kB of brackets",
        first=("Action: Calculator" + "[" * 100_000,),
        skips=_ONLY_IN_WORDS,
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4"), runs(0)]),
    ),
    _reply(
        "an invented observation and answer",
        first=(_inventing(),),
        then=In(f"Final Answer: {_PRODUCT}", native=_PRODUCT),
        contract=Contract(
            _ANSWERED, 2, 0.0, [answers(_PRODUCT), never_answers(_INVENTED), runs(1), told(_PRODUCT)]
        ),
    ),
    _reply(
        "the same call for ever",
        then=Call(),
        contract=Contract(
            ("stopped: repeated_action",), 4, 0.0, [runs(1), told("just made"), says("max_repeats")]
        ),
    ),
    _reply(
        "two calls in turn for ever",
        then=Each(lambda number: Call(f"{number % 2}+1")),
        contract=Contract(("stopped: max_iterations",), 7, 0.0, [says("max_iterations")]),
    ),
    _reply(
        "wanders on for ever",
        then=CALLS_ON,
        contract=Contract(("stopped: max_iterations",), 7, 0.0, [runs(6), says("max_iterations")]),
    ),
    _reply(
        "thinks and says nothing, for ever",
        then="<think>Maybe\nFinal Answer: 5\nor not</think>",
        contract=Contract(_BAD_REPLIES, 4, 0.0, [never_answers("5"), not_sent("Maybe", "the thinking")]),
    ),
    _reply(
        "a call as markup in the text",
        first=('<tool_call>\n{"name": "Calculator", "arguments": {"expression": "2+2"}}\n</tool_call>',),
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4"), never_answers("tool_call"), runs(1)]),
    ),
    _reply(
        "30 calls in one reply",
        first=(Calls([f"{number}+1" for number in range(30)]),),
        executor="calls",
        contract=Contract(_ANSWERED, 2, 0.0, [answers("4")]),
    ),
    _reply(
        "half of a character pair",
        then=In("Final Answer: 4 \ud83d", native="4 \ud83d"),
        contract=Contract(_ANSWERED, 1, 0.0, [answers("4"), never_answers("\ud83d")]),
    ),
    _reply(
        "the model's client raises",
        then=RuntimeError("out of order"),
        contract=Contract(("stopped: model_error",), 1, 0.0, [says("out of order")]),
    ),
)
