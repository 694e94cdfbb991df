"""The tools that come with the agent: Calculator, Weather and Time.

Each tool is a plain function from text to text in a file of its own, and a factory that wraps it as a
LangChain ``Tool``. Nothing here knows the agent, and LangChain is imported only when tools are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.texts import ERROR_PREFIX

if TYPE_CHECKING:
    from langchain_core.tools import Tool

__all__ = ["ERROR_PREFIX", "default_tools"]


def default_tools() -> list[Tool]:
    """Calculator, Weather and Time, as new LangChain ``Tool`` objects with one text input each."""
    from tools.calculator import calculator_tool
    from tools.clock import time_tool
    from tools.weather import weather_tool

    return [calculator_tool(), weather_tool(), time_tool()]
