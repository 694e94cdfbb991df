"""The contenders: a fault is played with our loop in either protocol, or with LangChain's AgentExecutor.

AgentExecutor gets the best that its own options give: parsing errors handled, the same caps on steps and
seconds as ours, and a request timeout. Each of them runs in a thread that may be left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from langchain.agents import AgentExecutor, create_react_agent, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

from agent import Agent, RunResult
from scripts.contenders import EXECUTOR_GAVE_UP, REACT_PROMPT
from scripts.fault_matrix.fault import GIVEN_UP_S, Fault, Played
from scripts.fault_matrix.stage import Stage, staged

CAP = "stopped: iteration or time limit"
GAVE_UP = (EXECUTOR_GAVE_UP, "Agent stopped due to max iterations.")  # what it returns as the answer then
LONGEST_S = 60.0  # however busy it looks
DEFAULT_ITERATIONS = 15  # of AgentExecutor


def play(fault: Fault, contender: str, **options: Any) -> Played:
    """Play one fault with one contender and say what came of it; ``options`` change AgentExecutor's own."""
    with staged(fault, contender) as stage:
        before = stage.remembered()

        def run(played: Played) -> None:
            if contender == "executor":
                _ask_executor(stage, played, options)
            else:
                _ask_ours(stage, contender, played)

        played = _within_reason(run, stage)
        stage.look(played)
        played.memory_before, played.memory_after = before, stage.remembered()
    return played


def _within_reason(run: Callable[[Played], None], stage: Stage) -> Played:
    """Run it in a thread of its own; what it raises is its outcome, and so is that it does not come back.

    It is given up when neither model nor tool has heard of it for GIVEN_UP_S: a slow machine is no hang.
    """
    told = Played()  # left to the thread, which may write to it long after it has been given up
    done = threading.Event()

    def work() -> None:
        try:
            run(told)
        except BaseException as error:  # what escapes a contender is what is measured
            told.outcome, told.error = f"raised {type(error).__name__}", _text(error)
        finally:
            done.set()

    start = since = time.perf_counter()
    threading.Thread(target=work, name="fault", daemon=True).start()
    heard = stage.uses
    while not done.wait(0.05) and time.perf_counter() - since < GIVEN_UP_S:
        if stage.uses != heard and time.perf_counter() - start < LONGEST_S:
            heard, since = stage.uses, time.perf_counter()
    played = told if done.is_set() else Played(outcome=f"hung: given up after {GIVEN_UP_S:g} s")
    played.seconds = time.perf_counter() - start
    return played


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # one of the faults is just this
        return ""


def _ask_ours(stage: Stage, protocol: str, played: Played) -> None:
    fault = stage.fault
    agent = Agent(
        llm=stage.llm,
        tools=stage.tools,
        protocol=protocol,
        memory=stage.memory,
        limits=fault.limits,
        budget=fault.budget,
        callbacks=[stage.counter],
    )
    for _ in range(fault.runs):
        result = agent.run(fault.question)
        played.shown += f"{result!r}{result.to_dict()}"
    played.outcome = _outcome(result)
    played.answer, played.error = result.answer or "", result.error or ""


def _outcome(result: RunResult) -> str:
    if result.ok:
        return "answered"
    return f"answered at {result.stop_reason}" if result.answer else f"stopped: {result.stop_reason}"


def _ask_executor(stage: Stage, played: Played, options: dict[str, Any]) -> None:
    fault = stage.fault
    executor = AgentExecutor(
        agent=_runnable(stage),
        tools=stage.tools,
        memory=stage.memory,
        handle_parsing_errors=True,
        stream_runnable=False,  # streaming loses the token counts
        **{
            "max_iterations": fault.limits.max_iterations,
            "max_execution_time": fault.limits.max_seconds,
            **options,
        },
    )
    for _ in range(fault.runs):
        output = executor.invoke({"input": fault.question}, {"callbacks": [stage.counter]})["output"]
    gave_up = str(output) in GAVE_UP
    played.outcome = CAP if gave_up else "answered"
    played.answer = "" if gave_up else str(output)
    played.shown = str(output)


def _runnable(stage: Stage) -> Any:
    if stage.fault.executor == "react":
        earlier = "Earlier:\n{history}\n\nBegin!" if stage.memory else "Begin!"
        prompt = PromptTemplate.from_template(REACT_PROMPT.replace("Begin!", earlier))
        return create_react_agent(stage.llm, stage.tools, prompt)
    messages = ChatPromptTemplate.from_messages(
        [("system", "Answer with the tools."), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    return create_tool_calling_agent(stage.llm, stage.tools, messages)
