"""Spans of what is under way: each begins beneath its parent's, and each ends once. Needs opentelemetry.

A call past its deadline is abandoned in its thread, and LangChain tells its end late or never. So whoever
knows that a run has gone on, or is over, ends what is still open in it; a late word then finds nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

from agent import __version__
from agent.genai import CHAT, OPERATION
from agent.observing import describe

NAME = "open-agent-loop"
JOIN_S = 0.1  # for a thread that is just about to end, before it is called a hanging one

_log = logging.getLogger("agent")


@dataclass(frozen=True)
class Failure:
    """Why a span ended in an error. ``type`` is one of few words; ``exception`` an event's attributes."""

    type: str
    words: str
    exception: Mapping[str, str] = field(default_factory=dict)


TIMEOUT = Failure("timeout", "given up at its deadline; it may still be at work")
UNTOLD = Failure("_OTHER", "it ended, and LangChain did not tell how")


@dataclass(frozen=True)
class _Open:
    span: Span
    root: UUID
    thread: threading.Thread
    token: Any = None  # of the thread's current span before this one
    borrowed: bool = False  # from the parent, to hand it on to children


class Spans:
    """All open spans of one handler, by LangChain's run ids. Safe to use from several threads.

    ``provider``: None is the global one, whenever the program sets it.
    """

    def __init__(self, provider: TracerProvider | None) -> None:
        self._tracer = trace.get_tracer(NAME, __version__, tracer_provider=provider)
        self._open: dict[UUID, _Open] = {}
        self._lock = threading.RLock()

    def begin_root(self, run_id: UUID, name: str, attributes: Mapping[str, Any]) -> None:
        """A span beneath the caller's current one. It becomes nobody's current span: a run that is taken
        step by step returns to its caller in between."""
        span = self._tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)
        self._open[run_id] = _Open(span, run_id, threading.current_thread())

    def begin(self, run_id: UUID, parent_id: UUID | None, name: str, attributes: Mapping[str, Any]) -> None:
        """A span beneath ``parent_id``'s, and this thread's current one; none where the parent is over."""
        with self._lock:  # or the parent could end before its child is known
            parent = self._open.get(parent_id) if parent_id else None
            if parent is None:
                return
            kind = SpanKind.CLIENT if attributes[OPERATION] == CHAT else SpanKind.INTERNAL
            beneath = trace.set_span_in_context(parent.span)
            span = self._tracer.start_span(name, beneath, kind, attributes)
            token = context.attach(trace.set_span_in_context(span))
            self._open[run_id] = _Open(span, parent.root, threading.current_thread(), token)

    def pass_on(self, run_id: UUID, parent_id: UUID) -> None:
        """``run_id`` has no span of its own; what lies beneath it lies beneath ``parent_id``."""
        with self._lock:
            parent = self._open.get(parent_id)
            if parent:
                thread = threading.current_thread()
                self._open[run_id] = _Open(parent.span, parent.root, thread, borrowed=True)

    def describe(self, run_id: UUID, attributes: Mapping[str, Any]) -> None:
        """Add attributes to an open span."""
        opened = self._open.get(run_id)
        if opened:
            opened.span.set_attributes(attributes)

    def end(self, run_id: UUID, attributes: Mapping[str, Any], failure: Failure | None = None) -> bool:
        """End a span; False where it has been ended before, or never began."""
        with self._lock:
            opened = self._open.pop(run_id, None)
        if opened is None:
            return False
        # In another context than the one it was attached in, a token can only be complained about.
        if opened.token and trace.get_current_span() is opened.span:
            context.detach(opened.token)
        _finish(opened, attributes, failure)
        return True

    def abandon(self, root: UUID, failure: Failure | None = None) -> None:
        """End all that is open beneath the root, inner ones first; by default each says how it was left."""
        with self._lock:
            left = [key for key, opened in self._open.items() if opened.root == root and key != root]
            taken = [self._open.pop(key) for key in reversed(left)]
        for opened in taken:
            _finish(opened, {}, failure or _why_open(opened.thread))


def _why_open(thread: threading.Thread) -> Failure:
    """LangChain tells no end of a tool that raises a SystemExit, or is given arguments of a wrong type."""
    if thread is not threading.current_thread():
        thread.join(JOIN_S)
        if thread.is_alive():
            return TIMEOUT
    return UNTOLD


def _finish(opened: _Open, attributes: Mapping[str, Any], failure: Failure | None) -> None:
    if opened.borrowed:
        return
    span = opened.span
    try:
        span.set_attributes(attributes)
        if failure:
            span.set_attribute("error.type", failure.type)
            span.set_status(StatusCode.ERROR, failure.words)
            if failure.exception:
                span.add_event("exception", failure.exception)
        span.end()
    except Exception as error:  # a span processor's fault is not the run's, nor that of the next span
        _log.warning("a span was lost; the run goes on: %s", describe(error))
