"""The loop. Everything else is a part that it calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.bad_replies import BadReplies
from agent.client import Reply, Request
from agent.limits import LimitReached
from agent.meter import Meter
from agent.protocols.decisions import Act, Decision, Finish, Malformed
from agent.results import Event, LastRequest, Observation, RunResult, Step, StepStarted, StopReason
from agent.seams import Ask
from agent.service_errors import ContextTooLong, ModelFailed
from agent.toolbox import Toolbox
from prompts import Say

if TYPE_CHECKING:
    from agent.protocols.protocol import Protocol

ASK_ONCE_MORE = frozenset(
    {StopReason.MAX_ITERATIONS, StopReason.REPEATED_ACTION, StopReason.PARSE_ERRORS, StopReason.TIME_LIMIT}
)


@dataclass
class Run:
    """One run: its parts, and what has happened so far. ``execute`` is called once."""

    question: str
    model: str
    max_iterations: int
    protocol: Protocol
    ask: Ask
    toolbox: Toolbox
    bad_replies: BadReplies
    meter: Meter
    say: Say
    emit: Callable[[Event], None]
    steps: list[Step] = field(default_factory=list)

    def execute(self) -> Generator[Step, None, RunResult]:
        """Ask, read, act, until there is an answer, a limit is reached or the model fails.

        Each step is yielded as it ends, and nothing is sent before the next one is asked for.
        """
        try:
            for number in range(1, self.max_iterations + 1):
                self.meter.check()
                self._begin(number)
                reply = self._ask()
                decision = self.bad_replies.judge(self.protocol.read(reply))
                match decision:
                    case Finish():
                        yield self._end(reply, decision)
                        return self.result(
                            StopReason.FINAL_ANSWER, decision.answer, unformatted=decision.unformatted
                        )
                    case Act():
                        observations = self.toolbox.run(decision.actions, self.meter.seconds_left)
                        self.protocol.add_observations(decision, observations)
                        yield self._end(reply, decision, observations)
                        if self.toolbox.answer:
                            return self.result(StopReason.FINAL_ANSWER, self.toolbox.answer)
                    case Malformed():
                        yield self._end(reply, decision, error=self.protocol.add_correction(decision))
                self.toolbox.check()
                self.bad_replies.check()
            raise LimitReached(StopReason.MAX_ITERATIONS)
        except LimitReached as limit:
            return self._at_limit(limit)
        except ModelFailed as failure:
            self.meter.add_retries(failure.retries)
            return self.result(StopReason.MODEL_ERROR, error=failure.sentence(self.say))

    def result(
        self,
        reason: StopReason,
        answer: str | None = None,
        *,
        forced: bool = False,
        unformatted: bool = False,
        error: str | None = None,
    ) -> RunResult:
        """The record of the run as it stands."""
        return RunResult(
            question=self.question,
            answer=answer,
            stop_reason=reason,
            steps=tuple(self.steps),
            usage=self.meter.usage,
            duration_s=self.meter.elapsed_s,
            model=self.model,
            protocol=self.protocol.name,
            forced=forced,
            unformatted=unformatted,
            error=error,
        )

    def _ask(self) -> Reply:
        """One paid request; once more, with less in it, when the model's context is too small."""
        try:
            return self._paid(self.protocol.request(), self.meter.seconds_left)
        except ContextTooLong as too_long:
            self.meter.add_retries(too_long.retries)
            return self._paid(self.protocol.request(shortened=True), self.meter.seconds_left)

    def _paid(self, request: Request, seconds_left: Callable[[], float]) -> Reply:
        """Send a request, and count what it used."""
        with self.meter.paying(lambda: request.characters, seconds_left()):
            reply = self.ask(request, seconds_left)
            self._used = self.meter.add(reply.usage, lambda: request.characters + len(reply.raw))
        return reply

    def _at_limit(self, limit: LimitReached) -> RunResult:
        """Ask once more for an answer where that is allowed, and say what the run stopped at."""
        self.meter.add_retries(limit.retries)
        if limit.reason in ASK_ONCE_MORE and self.meter.limits.at_cap == "answer":
            answer = self._last_answer(limit.reason)
            if answer:
                error = self.say(limit.sentence) if limit.sentence else None
                return self.result(limit.reason, answer, forced=True, error=error)
        return self.result(limit.reason, error=self._ended_without_answer(limit))

    def _last_answer(self, reason: StopReason) -> str:
        """The answer to one last request without tools; empty when there is no time, or it fails."""
        request = self.protocol.last_request()
        try:
            self.meter.check(last_request=True)
            self.emit(LastRequest(reason))
            reply = self._paid(request, lambda: self.meter.seconds_left(last_request=True))
        except (LimitReached, ModelFailed) as failure:
            self.meter.add_retries(failure.retries)
            return ""
        return self.protocol.read_last(reply)

    def _ended_without_answer(self, limit: LimitReached) -> str:
        name = limit.sentence or f"stopped_{limit.reason}"
        values = {"steps": len(self.steps)} if limit.reason is StopReason.MAX_ITERATIONS else {}
        sentence = self.say(name, **values)
        seen = [observation for step in self.steps for observation in step.observations if observation.ran]
        return (
            self.say("last_observation", sentence=sentence, observation=seen[-1].text) if seen else sentence
        )

    def _begin(self, number: int) -> None:
        self._started = time.monotonic()
        self.emit(StepStarted(number))

    def _end(
        self,
        reply: Reply,
        decision: Decision,
        observations: Sequence[Observation] = (),
        error: str | None = None,
    ) -> Step:
        step = Step(
            number=len(self.steps) + 1,
            thought=decision.thought,
            actions=decision.actions if isinstance(decision, Act) else (),
            observations=tuple(observations),
            error=error,
            raw_reply=reply.raw,
            usage=self._used,
            duration_s=time.monotonic() - self._started,
        )
        self.steps.append(step)
        self.emit(step)
        return step
