"""The other half of a process fault: a tool that hangs, and a process with AgentExecutor in it.

python -m scripts.fault_matrix.child URL     asks AgentExecutor one question of the service at URL
python -m agent --tools scripts.fault_matrix.child:hanging_tools ...
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

MARKER = "FAULTS_MARKER"  # names the file that says that the tool has begun to hang


def hanging_tools() -> list[Any]:
    from langchain_core.tools import Tool

    from tools.schema import one_text

    return [
        Tool(
            name="Calculator",
            func=_hang,
            description="Works out an expression.",
            args_schema=one_text("expression", "e.g. 7*(3+1)"),
        )
    ]


def _hang(_: str) -> str:
    Path(os.environ[MARKER]).touch()
    time.sleep(600)
    return ""


def main(url: str) -> None:
    from langchain.agents import AgentExecutor, create_react_agent
    from langchain_core.prompts import PromptTemplate
    from langchain_openai import ChatOpenAI

    from scripts.contenders import REACT_PROMPT

    tools = hanging_tools()
    llm = ChatOpenAI(model="gpt-4o", base_url=url, api_key="unused", timeout=60)
    executor = AgentExecutor(
        agent=create_react_agent(llm, tools, PromptTemplate.from_template(REACT_PROMPT)),
        tools=tools,
        max_iterations=6,
        handle_parsing_errors=True,
        stream_runnable=False,
    )
    print(executor.invoke({"input": "What is 2+2?"})["output"])


if __name__ == "__main__":
    main(sys.argv[1])
