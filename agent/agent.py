"""Where the parts are put together: ``run_agent`` for one question, ``Agent`` for a conversation."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from langchain.memory import ConversationBufferWindowMemory
from langchain_core.callbacks import Callbacks
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool

from agent.assembly import PROTOCOLS, assemble, protocol_of
from agent.budget import Budget
from agent.chain import Chain
from agent.client import Client
from agent.errors import SettingsError
from agent.events import Happening, Note, RunStarted
from agent.handed_in import check, handlers_of, list_of, one_of, price_of, tools_by_default, trace_to
from agent.limits import Limits, over_all_runs
from agent.memory import Conversation
from agent.models import is_llama_cpp, load_model, name_of
from agent.observing import describe
from agent.prompt_cache import prime
from agent.protocols.tool_calls import ToolCallsProtocol
from agent.redaction import redact, shown
from agent.registry import check_native
from agent.results import Event, RunResult, Step, StopReason
from agent.seams import World, live_ask, live_begin
from agent.settings import Switch, load_settings
from agent.setup import Setup
from agent.steps import Steps
from agent.toolspecs import specs_of
from agent.tracing_notice import tell_of_tracing
from prompts import LANGUAGES, Language, language_of, speaker

if TYPE_CHECKING:
    from agent.splice import Splice
    from agent.trace import RunTrace

OnEvent = Callable[[Event], None]

_log = logging.getLogger("agent")


class Agent:
    """Answers questions with tools, and remembers its last five exchanges. Safe to use from several threads.

    Args:
        llm: any LangChain chat model; without one, ``load_model()`` chooses.
        tools: LangChain tools; without any, Calculator, Weather and Time.
        protocol: how the model asks for tools: "text", or "tools" for native tool calls.
        memory: a ConversationBufferWindowMemory over any chat history; without one, a fresh one.
        limits: caps of each run. budget: caps on tokens, cost and seconds over all runs together.
        language: of prompts and messages: "zh", "en", or "auto", the question's own.
        callbacks: LangChain callback handlers, for model and tools.
        on_event: is told StepStarted, Step and LastRequest as they happen, and the RunResult at the end.
        instructions: plain text that is added to the system message.
        trace: a file, or a folder for a file each, to which every run is written (agent.trace); without it,
            AGENT_TRACE_DIR is such a folder.

    Raises:
        SettingsError: a mistake of the caller's; nothing has been sent then.
    """

    def __init__(
        self,
        *,
        llm: BaseChatModel | None = None,
        tools: Sequence[BaseTool] | None = None,
        protocol: str = "text",
        memory: ConversationBufferWindowMemory | None = None,
        limits: Limits | None = None,
        budget: Limits | None = None,
        language: Literal["auto"] | Language = "auto",
        callbacks: Sequence[Any] | None = None,
        on_event: OnEvent | None = None,
        instructions: str = "",
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        kind = ConversationBufferWindowMemory
        check("memory", memory, kind, f"a {kind.__name__}", "; any history goes under it: chat_memory=...")
        check("limits", limits, Limits, "a Limits(...)")
        check("budget", budget, Limits, "a Limits(...)")
        check("llm", llm, Runnable, "a LangChain chat model", "; load_model(name) makes one")
        check("on_event", on_event, Callable, "a function of one event")
        if not isinstance(instructions, str):
            raise SettingsError(f"instructions is a text, not {shown(instructions)}")
        self._settings = load_settings()
        self._protocol = one_of("protocol", protocol, PROTOCOLS)
        self._language = one_of("language", language, ("auto", *LANGUAGES))
        self._limits = limits or Limits()
        self._tools = tools_by_default() if tools is None else list_of("tools", tools, "LangChain tools")
        self._specs = specs_of(self._tools)
        self._llm = load_model() if llm is None else llm
        if self._protocol == ToolCallsProtocol.name:
            check_native(self._llm, self._tools)
        self._price = price_of(name_of(self._llm), self._settings, self._limits, budget)
        self._budget = Budget(over_all_runs(budget)) if budget else None
        self._callbacks = handlers_of(callbacks)
        self._on_event = on_event
        self._instructions = instructions
        self._conversation = Conversation(memory)
        self._client = Client(self._llm, self._settings.model_timeout_s)
        self._trace = trace_to(trace, self._settings.trace_dir)

    def run(self, question: str) -> RunResult:
        """Answer a question. Whatever a model, a server or a tool does, this returns a result.

        Raises SettingsError for a question that is empty or no text, and where the history under ``memory``
        cannot be read; KeyboardInterrupt goes through.
        """
        return self.iter(question).to_the_end()

    def iter(self, question: str) -> Steps:
        """The same, step by step: ``for step in agent.iter(question)``. Raises what ``run`` raises.

        Nothing is sent before the next step is asked for, and time that passes meanwhile counts. At the end
        the iterator's ``result`` is the RunResult; one that is closed earlier counts as interrupted.
        """
        return Steps(self._play(self._set_up(question)))

    def resume(self, trace: str | os.PathLike[str], from_step: int) -> RunResult:
        """The last run in a trace again: as recorded up to ``from_step``, and from there on with this agent's
        model and tools. Its limits, prompts and conversation stay those of the trace; nothing is remembered.

        Raises SettingsError for a file that is no trace, a step or a tool that is not to be had, and where
        the steps before would not be the same today.
        """
        # Most runs are never resumed, and should not wait for it.
        from agent.recorded import read_trace
        from agent.splice import Splice
        from agent.tape import Differs, TapeEnds

        splice = Splice(read_trace(trace)[-1], from_step, self._tools)
        setup = replace(splice.setup, model=name_of(self._llm), price=self._price)
        try:
            return Steps(self._play(setup, splice)).to_the_end()
        except (TapeEnds, Differs) as end:
            raise SettingsError(
                f"it cannot go on from step {from_step}: {end or 'the trace ends before'}"
            ) from None

    def as_runnable(self) -> Runnable[str, RunResult]:
        """A LangChain Runnable from a question to its result.

        The callbacks of a call's config are told of the run's requests and tools as well.
        """

        def run(question: str, config: RunnableConfig) -> RunResult:
            return Steps(self._play(self._set_up(question), outer=config.get("callbacks"))).to_the_end()

        return RunnableLambda(run, name="Agent")

    def _play(
        self, setup: Setup, splice: Splice | None = None, outer: Callbacks = None
    ) -> Generator[Step, None, RunResult]:
        protocol = protocol_of(setup, self._specs)
        prime(self._llm, protocol.head)
        trace = self._trace.begin() if self._trace else None
        note = self._noting(trace)
        note(RunStarted(setup, self._budget.spent if self._budget else (0, 0.0, 0.0)))
        chain = Chain(self._callbacks, setup.question, outer)
        world = World(live_ask(self._client, chain.callbacks, note), live_begin(chain.callbacks), note)
        if splice:
            world = splice.over(world)
        run = assemble(setup, protocol, world, self._budget)
        try:
            with run.meter:
                result = yield from run.execute()
            if result.answer and not splice:
                self._remember(setup.question, result.answer)
        except BaseException as error:  # Ctrl-C, or nobody wants the next step
            wanted = isinstance(error, KeyboardInterrupt | GeneratorExit)
            why = run.say("stopped_interrupted") if wanted else describe(error)
            note(run.result(StopReason.INTERRUPTED, error=why))
            chain.fail(error)
            raise
        note(result)
        chain.end(result)
        return result

    def _set_up(self, question: str) -> Setup:
        if not isinstance(question, str):
            raise SettingsError(f"the question is a text, not {shown(question)}: pass the text itself")
        if not question.strip():
            raise SettingsError("the question is empty: ask something")
        question = question.encode("utf-8", errors="replace").decode("utf-8")
        language: Language = language_of(question) if self._language == "auto" else self._language
        tell_of_tracing(speaker(language))
        return Setup(
            question=question,
            language=language,
            protocol=self._protocol,
            model=name_of(self._llm),
            limits=self._limits,
            tools=tuple(self._tools),
            conversation=tuple(self._recall()),
            instructions=self._instructions,
            examples=self._is_on(self._settings.examples),
            grammar=self._is_on(self._settings.grammar),
            price=self._price,
            budget=self._budget.limits if self._budget else None,
            reply_tokens=getattr(self._llm, "max_tokens", None) or self._settings.max_tokens,
        )

    def _recall(self) -> Sequence[BaseMessage]:
        try:
            return self._conversation.snapshot()
        except Exception as error:  # only the caller can put right what lies under the memory
            raise SettingsError(
                f"the chat history under memory cannot be read, so nothing was asked ({describe(error)})"
            ) from None

    def _remember(self, question: str, answer: str) -> None:
        try:
            self._conversation.add(question, answer)
        except Exception as error:  # a history that cannot be written must not cost the answer
            _log.warning("the exchange was not saved to memory: %s", describe(error))

    def _is_on(self, switch: Switch) -> bool:
        return is_llama_cpp(self._llm) if switch == "auto" else switch == "on"

    def _noting(self, trace: RunTrace | None) -> Note:
        """What is told of everything that happens in a run: its trace, and ``on_event`` of its part."""

        def note(event: Happening) -> None:
            if trace:
                trace.write(event)
            if self._on_event and isinstance(event, Event):
                self._tell(event, self._on_event)

        return note

    @staticmethod
    def _tell(event: Event, on_event: OnEvent) -> None:
        try:
            on_event(event)
        except Exception:  # a listener's fault is not the run's
            _log.error("on_event raised; the run goes on\n%s", redact(traceback.format_exc()))


def run_agent(
    question: str,
    *,
    llm: BaseChatModel | None = None,
    tools: Sequence[BaseTool] | None = None,
    protocol: str = "text",
    memory: ConversationBufferWindowMemory | None = None,
    limits: Limits | None = None,
    language: Literal["auto"] | Language = "auto",
    callbacks: Sequence[Any] | None = None,
    on_event: OnEvent | None = None,
    instructions: str = "",
    trace: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Answer one question and return the RunResult; ``str(result)`` is the answer.

    Without ``memory``, a call remembers nothing of another call. Arguments and exceptions are those of Agent.
    """
    agent = Agent(
        llm=llm,
        tools=tools,
        protocol=protocol,
        memory=memory,
        limits=limits,
        language=language,
        callbacks=callbacks,
        on_event=on_event,
        instructions=instructions,
        trace=trace,
    )
    return agent.run(question)
