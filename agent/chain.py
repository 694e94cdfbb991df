"""A run as LangChain's own tracers see it: one chain, with every request and tool call of the run beneath it.

So LangSmith, Langfuse and ``get_openai_callback`` show what they would show of an AgentExecutor.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, CallbackManager, Callbacks

from agent.errors import RunFailed
from agent.observing import describe
from agent.results import RunResult

NAME = "Agent"

_log = logging.getLogger("agent")


class Chain:
    """Tells callback handlers, and those of the environment, where a run begins and how it ends.

    ``outer`` are the callbacks of a chain of the caller's in which the run is a link.
    """

    def __init__(
        self, handlers: Sequence[BaseCallbackHandler], question: str, outer: Callbacks = None
    ) -> None:
        self._run: Any = None
        self.callbacks: Any = list(handlers)  # what requests and tools of the run are called with

        def start() -> None:
            manager = CallbackManager.configure(inheritable_callbacks=outer or list(handlers))
            for handler in handlers:
                if handler not in manager.handlers:  # no caller's handler is told of anything twice
                    manager.add_handler(handler)
            if not manager.handlers:  # nobody listens: requests and tools need not carry a chain along
                return
            self._run = manager.on_chain_start({"name": NAME}, {"input": question}, name=NAME)
            self.callbacks = self._run.get_child()

        _kept_apart(start)

    def end(self, result: RunResult) -> None:
        """The run has its answer, or none: that is an error to a tracer."""
        if result.answer is None:
            error = RunFailed(result.error or f"the run stopped at {result.stop_reason}", result)
            self.fail(error)
        elif self._run:
            _kept_apart(lambda: self._run.on_chain_end({"output": result.answer}, result=result))

    def fail(self, error: BaseException) -> None:
        if self._run:
            _kept_apart(lambda: self._run.on_chain_error(error))


def _kept_apart(tell: Callable[[], None]) -> None:
    """A handler that raises on purpose (raise_error) ends no run."""
    try:
        tell()
    except Exception as error:
        _log.warning("a callback handler raised; the run goes on: %s", describe(error))
