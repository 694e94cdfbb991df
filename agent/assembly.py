"""From a setup to a run: the parts, put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agent.bad_replies import BadReplies
from agent.events import Note
from agent.limits import Budget, Meter
from agent.loop import Run
from agent.protocols.decisions import ToolSpec
from agent.protocols.protocol import Protocol
from agent.protocols.text import TextProtocol
from agent.protocols.tool_calls import ToolCallsProtocol
from agent.seams import Ask, Begin, noted_ask
from agent.setup import Setup
from agent.toolbox import Toolbox
from prompts import speaker

PROTOCOLS: dict[str, type[TextProtocol] | type[ToolCallsProtocol]] = {
    protocol.name: protocol for protocol in (TextProtocol, ToolCallsProtocol)
}


def protocol_of(setup: Setup, specs: Sequence[ToolSpec]) -> TextProtocol | ToolCallsProtocol:
    """The run as its model sees it."""
    return PROTOCOLS[setup.protocol](
        setup.question,
        setup.conversation,
        setup.tools,
        specs,
        setup.language,
        instructions=setup.instructions,
        examples=setup.examples,
        grammar=setup.grammar,
    )


def assemble(
    setup: Setup,
    protocol: Protocol,
    *,
    ask: Ask,
    begin: Begin,
    note: Note,
    budget: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """The run of a setup; its time counts from now.

    ``ask`` and ``begin`` are its seams with the world; ``note`` is told what happens.
    """
    say = speaker(setup.language)
    return Run(
        question=setup.question,
        model=setup.model,
        max_iterations=setup.limits.max_iterations or protocol.max_iterations,
        protocol=protocol,
        ask=noted_ask(ask, note),
        toolbox=Toolbox(setup.tools, setup.limits, say, begin, note),
        bad_replies=BadReplies(setup.limits.max_parse_errors),
        meter=Meter(setup.limits, setup.price, budget, clock),
        say=say,
        emit=note,
    )
