"""From a setup to a run: the parts, put together."""

from __future__ import annotations

from collections.abc import Sequence

from agent.bad_replies import BadReplies
from agent.budget import Budget
from agent.loop import Run
from agent.meter import Meter
from agent.protocols.decisions import ToolSpec
from agent.protocols.protocol import Protocol
from agent.protocols.text import TextProtocol
from agent.protocols.tool_calls import ToolCallsProtocol
from agent.seams import World, noted_ask
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


def assemble(setup: Setup, protocol: Protocol, world: World, budget: Budget | None = None) -> Run:
    """The run of a setup; its time counts from now. It is executed ``with`` its meter."""
    say = speaker(setup.language)
    return Run(
        question=setup.question,
        model=setup.model,
        max_iterations=setup.limits.max_iterations or protocol.max_iterations,
        protocol=protocol,
        ask=noted_ask(world.ask, world.note),
        toolbox=Toolbox(setup.tools, setup.limits, say, world.begin, world.note),
        bad_replies=BadReplies(setup.limits.max_parse_errors),
        meter=Meter(setup.limits, setup.price, budget, world.clock, setup.reply_tokens),
        say=say,
        emit=world.note,
    )
