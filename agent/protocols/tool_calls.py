"""The tools protocol: tools as JSON schemas beside the messages, actions as the model's native tool calls.

One object is one run as the model sees it. A request is always: one system message, worked examples where
they are on, the conversation's window, the question, every step of the run. A step is one assistant message
with one tool message for each of its calls, in order, so no id is ever left without its answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent.client import Reply, Request
from agent.memory import CallScratchpad
from agent.protocols.calls_as_text import as_text
from agent.protocols.decisions import Act, Decision, Finish, Malformed, ToolSpec
from agent.protocols.defusing import defused, defused_messages
from agent.protocols.examples import worked_calls
from agent.protocols.grammar import call_grammar_for, grammar_for
from agent.protocols.native_calls import read_message
from agent.registry import schema_of
from agent.results import Observation
from prompts import Language, speaker

SHORTENED_STEPS = 2  # kept when the request has outgrown the model's context


class ToolCallsProtocol:
    """One run as the model sees it. Reading a reply is pure; only the two ``add_`` methods write memory."""

    name = "tools"
    max_iterations = 8

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
        self._conversation = defused_messages(conversation)
        self._question = HumanMessage(content=defused(question))
        self._scratchpad = CallScratchpad(self._say)
        self._grammar = (call_grammar_for(specs) if specs else grammar_for(())) if grammar else ""
        self._last_grammar = grammar_for((), thought=False) if grammar else ""
        schemas = [schema_of(tool, spec) for tool, spec in zip(tools, specs, strict=True)]
        self._schemas = [] if grammar else schemas
        system = SystemMessage(content=self._system_text(schemas, instructions, in_words=grammar))
        self._start = (system, *(worked_calls(specs, language, in_words=grammar) if examples else ()))
        self._ids = {call["id"] for message in self._start for call in getattr(message, "tool_calls", ())}

    @property
    def head(self) -> Request:
        """How every request begins, whatever the question."""
        return self._sent(self._start)

    def request(self, *, shortened: bool = False) -> Request:
        """The next ordinary request; ``shortened`` leaves out what a too small context can do without."""
        steps = self._scratchpad.messages(SHORTENED_STEPS if shortened else None)
        conversation = () if shortened else self._conversation
        return self._sent((*self._start, *conversation, self._question, *steps))

    def last_request(self) -> Request:
        """The request for an answer at a limit: every step of the run, and no tools."""
        steps = self._scratchpad.messages()
        messages = [*self._sent((*self._start, *self._conversation, self._question, *steps)).messages]
        asked = self._say("ask_for_answer_in_words")
        if isinstance(messages[-1], HumanMessage):  # two user messages in a row are refused by some services
            asked = f"{messages.pop().content}\n\n{asked}"
        return Request((*messages, HumanMessage(content=asked)), grammar=self._last_grammar)

    def _sent(self, messages: Sequence[BaseMessage]) -> Request:
        if self._grammar:
            return Request(as_text(messages, self._say), grammar=self._grammar)
        return Request(messages, tools=self._schemas)

    def _system_text(self, schemas: Sequence[dict[str, Any]], instructions: str, *, in_words: bool) -> str:
        parts = [self._say("tools_system" if schemas else "tools_system_no_tools")]
        if schemas and in_words:
            shown = "\n".join(json.dumps(schema["function"], ensure_ascii=False) for schema in schemas)
            parts.append(self._say("tools_in_text", tools=shown))
        return "\n\n".join(part for part in (*parts, instructions.strip()) if part)

    def read(self, reply: Reply) -> Decision:
        message = reply.message if isinstance(reply.message, AIMessage) else AIMessage(content=reply.text)
        cut = reply.finish_reason == "length"
        return read_message(message, self._specs, text=reply.text, cut=cut, used_ids=self._ids)

    def read_last(self, reply: Reply) -> str:
        """The words in a reply to ``last_request``; its calls are not run, nor is their markup shown."""
        decision = read_message(AIMessage(content=reply.text), self._specs, text=reply.text)
        return decision.answer if isinstance(decision, Finish) else decision.thought

    def add_observations(self, decision: Act, observations: Sequence[Observation]) -> None:
        self._add(decision.kept, [defused(observation.text) for observation in observations])

    def add_correction(self, fault: Malformed) -> str:
        """Tell the model what was wrong with its reply; returns what it is told."""
        values = {"detail": fault.detail} if fault.fault == "unknown_tool" else {}
        problem = self._say(f"call_fault_{fault.fault}", **values)
        if self._specs:
            tools = ", ".join(spec.name for spec in self._specs)
            correction = self._say("call_correction", problem=problem, tools=tools)
        else:
            correction = self._say("call_correction_no_tools", problem=problem)
        self._add(fault.kept, [correction] * max(len(fault.kept.tool_calls), 1))
        return correction

    def _add(self, message: AIMessage, texts: Sequence[str]) -> None:
        calls = message.tool_calls
        self._ids |= {call["id"] for call in calls}
        if not calls:
            message = AIMessage(content=message.content or self._say("no_reply"))
            self._scratchpad.add(message, [HumanMessage(content=texts[0])])
            return
        answers = [
            ToolMessage(content=text, tool_call_id=str(call["id"]), name=call["name"])
            for call, text in zip(calls, texts, strict=True)
        ]
        self._scratchpad.add(message, answers)
