"""A run that is taken step by step."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from agent.errors import SettingsError
from agent.results import RunResult, Step


class Steps(Iterator[Step]):
    """The steps of a run as they happen. ``result`` is None until the last one has been taken."""

    def __init__(self, run: Generator[Step, None, RunResult]) -> None:
        self.result: RunResult | None = None
        self._run = run

    def __next__(self) -> Step:
        try:
            return next(self._run)
        except StopIteration as end:
            self.result = end.value or self.result
            raise

    def to_the_end(self) -> RunResult:
        """Take all the steps that are left, and return the result."""
        for _ in self:
            pass
        if self.result is None:
            raise SettingsError("the run was closed before its end, so it has no result")
        return self.result

    def close(self) -> None:
        """End the run where it is; nothing of it is remembered."""
        self._run.close()
