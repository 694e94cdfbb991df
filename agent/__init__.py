"""A LangChain agent without AgentExecutor: tools, memory, error handling and loop control lie open.

Importing this package imports no LangChain; the public names load what they need when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.agent import Agent as Agent
    from agent.agent import run_agent as run_agent
    from agent.errors import AgentError as AgentError
    from agent.errors import RunFailed as RunFailed
    from agent.errors import SettingsError as SettingsError
    from agent.limits import Limits as Limits
    from agent.models import load_model as load_model
    from agent.registry import ToolRegistry as ToolRegistry
    from agent.replaying import replay as replay
    from agent.results import Action as Action
    from agent.results import LastRequest as LastRequest
    from agent.results import Observation as Observation
    from agent.results import RunResult as RunResult
    from agent.results import Step as Step
    from agent.results import StepStarted as StepStarted
    from agent.results import StopReason as StopReason
    from agent.results import Usage as Usage
    from agent.telemetry import OpenTelemetryHandler as OpenTelemetryHandler

__version__ = "0.1.0"

_HOME = {
    "Action": "agent.results",
    "Agent": "agent.agent",
    "AgentError": "agent.errors",
    "LastRequest": "agent.results",
    "Limits": "agent.limits",
    "Observation": "agent.results",
    "OpenTelemetryHandler": "agent.telemetry",
    "RunFailed": "agent.errors",
    "RunResult": "agent.results",
    "SettingsError": "agent.errors",
    "Step": "agent.results",
    "StepStarted": "agent.results",
    "StopReason": "agent.results",
    "ToolRegistry": "agent.registry",
    "Usage": "agent.results",
    "load_model": "agent.models",
    "replay": "agent.replaying",
    "run_agent": "agent.agent",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - one list of names, not two


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agent' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from agent.errors import without_package

        raise ModuleNotFoundError(without_package(error), name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
