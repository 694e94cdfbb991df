"""Exceptions that reach a caller, and no others.

AgentError
  SettingsError    a caller's mistake: no model to be had, a bad limit, two tools of one name, ...
  RunFailed        from result.raise_for_status(): the run ended without a final answer
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.redaction import redact

if TYPE_CHECKING:
    from agent.results import RunResult


def without_package(error: ModuleNotFoundError) -> str:
    """What to do where this Python has not what the agent needs: the set-up puts it into .venv."""
    return (
        f'this Python has no {error.name}: run  python scripts/run.py "your question"  once, then use the'
        " Python of the .venv that it makes (. .venv/bin/activate; on Windows .venv\\Scripts\\activate)"
    )


class AgentError(Exception):
    """Base of everything that this package raises. Its message holds no known secret, whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class SettingsError(AgentError, ValueError):
    """Something that only the caller can put right, found before the first request."""


class RunFailed(AgentError):
    """A run ended without its own final answer; ``result`` holds all of it."""

    def __init__(self, message: str, result: RunResult) -> None:
        super().__init__(message)
        self.result = result
