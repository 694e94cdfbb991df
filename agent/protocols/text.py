"""The text protocol: tools as a list in the system message, actions as ``Action: Name[argument]``.

One object is one run as the model sees it. A request is always: one system message, worked examples where
they are on, the conversation's window, the question, the scratchpad's window. Requests of a run only grow at
their end while the window holds, so a server's prompt cache stays warm.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from agent.client import Reply, Request
from agent.memory import Scratchpad
from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.defusing import defused, defused_messages
from agent.protocols.examples import worked_examples
from agent.protocols.grammar import grammar_for
from agent.protocols.reply import read_reply
from agent.results import Action, Observation
from prompts import Language, speaker

STOP = ("\nObservation:",)  # where there are tools: elsewhere it could only cut an answer
MAX_CALL_CHARS = 100  # of a call beside its result
MAX_QUOTED_CHARS = 300  # of a bad reply, when it goes back to the model
_VALUES = {"number": "1", "integer": "1", "boolean": "true", "array": '["..."]', "object": '{"...": "..."}'}
SHORTENED_STEPS = 2  # kept when the request has outgrown the model's context


class TextProtocol:
    """One run as the model sees it. Reading a reply is pure; only the two ``add_`` methods write memory."""

    name = "text"
    max_iterations = 6

    def __init__(
        self,
        question: str,
        conversation: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
        specs: Sequence[ToolSpec],
        language: Language,
        *,
        instructions: str = "",
        examples: bool = False,
        grammar: bool = False,
    ) -> None:
        self._say = speaker(language)
        self._specs = specs
        self._stop = STOP if specs else ()
        self._conversation = defused_messages(conversation)
        self._question = HumanMessage(content=defused(question))
        self._scratchpad = Scratchpad()
        self._examples = worked_examples(specs, language) if examples else ()
        self._system = SystemMessage(content=self._system_text(tools, instructions))
        self._grammar = grammar_for(specs) if grammar else ""
        self._last_grammar = grammar_for((), thought=False) if grammar else ""

    @property
    def head(self) -> Request:
        """How every request begins, whatever the question."""
        return Request((self._system, *self._examples))

    def request(self, *, shortened: bool = False) -> Request:
        """The next ordinary request; ``shortened`` leaves out what a too small context can do without."""
        steps = self._scratchpad.window()
        if shortened:
            steps = steps[-2 * SHORTENED_STEPS :]
        head = self._head(with_conversation=not shortened)
        return Request((*head, self._question, *steps), self._stop, self._grammar)

    def last_request(self) -> Request:
        """The request for an answer at a limit: every step of the run, and no call of a tool."""
        messages = [*self._head(), self._question, *self._scratchpad.every_step()]
        asked = f"{messages[-1].content}\n\n{self._say('ask_for_answer')}"
        return Request((*messages[:-1], HumanMessage(content=asked)), self._stop, self._last_grammar)

    def read(self, reply: Reply) -> Decision:
        return read_reply(reply.text, self._specs, cut=reply.finish_reason == "length")

    def read_last(self, reply: Reply) -> str:
        """The answer in a reply to ``last_request``: its Final Answer, even a cut one, or prose."""
        decision = read_reply(reply.text, self._specs)
        if isinstance(decision, Finish):
            return decision.answer
        return decision.detail if isinstance(decision, Malformed) and decision.fault == "no_label" else ""

    def add_observations(self, decision: Act, observations: Sequence[Observation]) -> None:
        texts = map(self._observation, decision.actions, observations)
        self._scratchpad.add(decision.kept, "\n".join(texts))

    def add_correction(self, fault: Malformed) -> str:
        """Tell the model what was wrong with its reply; returns what it is told."""
        problem = self._problem(fault)
        if self._specs:
            tools = ", ".join(spec.name for spec in self._specs)
            example = f"Action: {_example_call(self._specs)}"
            correction = self._say("correction", problem=problem, tools=tools, example=example)
        else:
            correction = self._say("correction_no_tools", problem=problem)
        self._scratchpad.add(fault.kept[:MAX_QUOTED_CHARS] or self._say("no_reply"), correction)
        return correction

    def _problem(self, fault: Malformed) -> str:
        """What was wrong. Without tools nobody was asked for an action: what is missing is the answer."""
        if not self._specs and fault.fault in ("no_label", "bad_call"):
            return self._say("fault_no_answer")
        return self._say(f"fault_{fault.fault}", **_detail(fault))

    def _observation(self, action: Action, observation: Observation) -> str:
        """A result stands beside its call, so that a small model knows which of two numbers is whose."""
        text = defused(observation.text)
        if observation.ok and observation.ran and isinstance(action.input, str):
            call = f"{action.tool}[{action.input[:MAX_CALL_CHARS]}]"
            text = self._say("result", call=call, text=text)
        return self._say("observation", text=text)

    def _head(self, *, with_conversation: bool = True) -> tuple[BaseMessage, ...]:
        return (self._system, *self._examples, *(self._conversation if with_conversation else ()))

    def _system_text(self, tools: Sequence[BaseTool], instructions: str) -> str:
        text = self._with_tools(tools) if tools else self._say("text_system_no_tools")
        return f"{text}\n\n{instructions.strip()}" if instructions.strip() else text

    def _with_tools(self, tools: Sequence[BaseTool]) -> str:
        lines = (
            self._say("tool_line", name=tool.name, description=" ".join(tool.description.split()))
            for tool in tools
        )
        listed = "\n".join(lines)
        if self._examples:
            return self._say("text_system", tools=listed)
        return self._say("text_system_lean", tools=listed, example=f"Action: {_example_call(self._specs)}")


def _detail(fault: Malformed) -> dict[str, str]:
    """Only the faults that point at a piece of the reply take a value."""
    return (
        {"detail": fault.detail} if fault.fault in ("unknown_tool", "bad_call", "misfit", "trailing") else {}
    )


def _example_call(specs: Sequence[ToolSpec]) -> str:
    """One valid call, of a tool that was handed in."""
    spec = next((spec for spec in specs if spec.name == "Calculator"), specs[0])
    if len(spec.fields) > 1:
        values = {field: "..." for field in spec.required or spec.fields}
        return f"{spec.name}[{json.dumps(values, ensure_ascii=False)}]"
    if spec.name == "Calculator":
        return "Calculator[2+2]"
    value = _VALUES.get(spec.takes) or "".join(spec.fields)
    return f"{spec.name}[{value if spec.input_required and spec.fields else ''}]"
