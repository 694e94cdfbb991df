"""What a person at a terminal sees of a run, on stderr; and how text gets in and out of a process unharmed.

The answer is all that stdout gets. On a terminal there are colours and a spinner (rich, imported only
then); on a pipe, with NO_COLOR or with TERM=dumb, plain lines.
"""

from __future__ import annotations

import codecs
import json
import locale
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO

from agent.results import Action, Event, LastRequest, RunResult, Step, StepStarted, StopReason

if TYPE_CHECKING:
    from prompts import Say

LINE_CHARS = 200  # of a thought, an input or an observation, unless everything was asked for
ERROR_CHARS = 2 * LINE_CHARS  # of why there is no answer, which names a way out and may quote an observation

Noun = Literal["request", "run", "token"]
_COUNTED: dict[Noun, tuple[str, str]] = {  # the sentences for one, and for several
    "request": ("cli_request", "cli_requests"),
    "run": ("cli_run", "cli_runs"),
    "token": ("cli_token", "cli_tokens"),
}

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Take out what would drive a terminal: escape sequences, control characters, changes of direction."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def use_replacements(*streams: TextIO | None, errors: str = "replace") -> None:
    """Let streams show ``?``, or what ``errors`` names, for a character that their encoding has not."""
    for stream in streams:
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)


def decode(data: bytes) -> str:
    """Text from a pipe: UTF-8, or what its mark says, or what this system writes; a mark is dropped."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode(locale.getpreferredencoding(False), errors="replace")


def argument_text(argument: str) -> str:
    """An argument as it was typed, where Python could not decode it with the encoding of the environment."""
    try:
        argument.encode("utf-8")
        return argument
    except UnicodeEncodeError:  # undecodable bytes came in as lone surrogates
        with suppress(UnicodeEncodeError):  # a surrogate that stands for no byte: replaced below
            return os.fsencode(argument).decode("utf-8", errors="replace")
        return argument.encode("utf-8", errors="replace").decode("utf-8")


@contextmanager
def kept_for_answers(stream: TextIO | None) -> Iterator[None]:
    """Send to stderr what is written to the file descriptor of ``stream`` meanwhile.

    A tool's subprocess inherits the descriptor and knows nothing of ``contextlib.redirect_stdout``.
    """
    try:
        descriptor, target = stream.fileno(), sys.stderr.fileno()  # type: ignore[union-attr]  # None: see below
        stream.flush()  # type: ignore[union-attr]  # None: see below
        saved = os.dup(descriptor)
    except (AttributeError, OSError, ValueError):  # closed, or no file at all
        yield
        return
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)


def write(text: str, stream: TextIO | None) -> None:
    """Write what was asked for as a line to ``stream``. May raise OSError."""
    if stream is None:
        return
    try:
        stream.write((clean(text) if is_terminal(stream) else text) + "\n")
        stream.flush()
    except BrokenPipeError:
        pass  # whoever read it has seen enough


def as_json(values: Mapping[str, object], stream: TextIO | None) -> str:
    """One line of JSON, as ``stream`` can take it."""
    text = json.dumps(values, ensure_ascii=False, default=str)
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
        return text
    except UnicodeEncodeError:  # a replaced character would be lost; an escaped one is not
        return json.dumps(values, default=str)


def counted(say: Say, noun: Noun, number: int | None) -> str:
    """A number with its noun, which in English is another for one; None is a number that nobody told."""
    one, several = _COUNTED[noun]
    return say(one) if number == 1 else say(several, count="?" if number is None else number)


class Console:
    """Tells a run on stderr as it happens. ``quiet``: only why there is no answer. ``verbose``: all of it."""

    def __init__(self, say: Say, *, quiet: bool = False, verbose: bool = False) -> None:
        self.result: RunResult | None = None
        self._say = say
        self._quiet = quiet
        self._verbose = verbose
        self._write: Callable[[str, str], None] = plain_line
        self._spinner: Any = None
        self._status = ""
        self._tokens: int | None = 0
        self._started = time.monotonic()
        if not quiet and _can_show_colour():
            self._write, self._spinner = _rich(self._status_line)

    def __enter__(self) -> Console:
        if self._spinner:
            self._spinner.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._spinner:
            self._spinner.stop()

    def note(self, name: str, **values: object) -> None:
        """Say a sentence of prompts.messages about the run."""
        if not self._quiet:
            self._write(self._say(name, **values), "dim")

    def heading(self, line: str) -> None:
        """Say what comes next."""
        if not self._quiet:
            self._write(line, "bold")

    def on_event(self, event: Event) -> None:
        """Show what an Agent reports."""
        match event:
            case StepStarted(number):
                self._status = self._say("cli_working", number=number)
            case LastRequest():
                self._status = self._say("cli_last_request")
            case Step() if not self._quiet:
                self._show_step(event)
            case RunResult():
                self.result = event

    def end(self, result: RunResult) -> None:
        """Say how the run ended, and what it used."""
        if not result.ok:
            self._write(self._why(result), "red")
        if not self._quiet:
            usage = result.usage
            cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4g} USD"
            values = {
                "requests": counted(self._say, "request", usage.requests),
                "seconds": f"{result.duration_s:.1f}",
                "tokens": counted(self._say, "token", usage.total_tokens),
            }
            self._write(self._say("cli_done", **values) + cost, "dim")

    def _why(self, result: RunResult) -> str:
        if result.error:
            return self._say("cli_error", text=self._brief(result.error, ERROR_CHARS))
        steps = {"steps": len(result.steps)} if result.stop_reason is StopReason.MAX_ITERATIONS else {}
        return self._say("cli_forced", reason=self._say(f"stopped_{result.stop_reason}", **steps))

    def _show_step(self, step: Step) -> None:
        tokens = step.usage.total_tokens
        self._tokens = None if self._tokens is None or tokens is None else self._tokens + tokens
        values = {
            "number": step.number,
            "seconds": f"{step.duration_s:.1f}",
            "tokens": counted(self._say, "token", tokens),
        }
        self._write(self._say("cli_step", **values), "bold")
        if self._verbose:
            self._write(self._say("cli_raw", text=self._brief(step.raw_reply)), "dim")
        if step.thought:
            self._write(self._say("cli_thought", text=self._brief(step.thought)), "")
        for action, seen in zip(step.actions, step.observations, strict=False):
            self._write(f"  {action.tool}[{self._brief(_input(action))}]", "cyan")
            self._write(f"  -> {self._brief(seen.text)}", "green" if seen.ok else "yellow")
        if step.error:
            self._write(self._say("cli_bad_reply", text=self._brief(step.error)), "yellow")

    def _brief(self, text: str, most: int = LINE_CHARS) -> str:
        """One line of it; all of it, set in, when everything is wanted."""
        if self._verbose:
            return "\n     ".join(text.strip().splitlines())
        line = " ".join(text.split())
        return line if len(line) <= most else line[: most - 3] + "..."

    def _status_line(self) -> str:
        seconds = f"{time.monotonic() - self._started:.0f}"
        values = {"seconds": seconds, "tokens": counted(self._say, "token", self._tokens)}
        return f"{self._status or self._say('cli_starting')} {self._say('cli_so_far', **values)}"


def plain_line(text: str, _style: str = "") -> None:
    """Write a line to stderr; a stderr that is closed or that nobody reads ends nothing."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # there is nowhere else to say so
            print(clean(text), file=sys.stderr, flush=True)


def _can_show_colour() -> bool:
    """A terminal that takes colours, and nobody objects (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(sys.stderr) and not plain


def _rich(status_line: Callable[[], str]) -> tuple[Callable[[str, str], None], Any]:
    """How to write a line in colour, and a spinner that shows ``status_line()`` beneath it."""
    from rich.console import Console as RichConsole
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    # soft_wrap: lines are the terminal's to break, so that they can be copied whole.
    console = RichConsole(file=sys.stderr, highlight=False, soft_wrap=True)
    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")

    def frame() -> Spinner:
        spinner.update(text=Text(status_line(), "dim"))
        return spinner

    def write(text: str, style: str) -> None:
        with suppress(OSError, ValueError):  # as in plain_line
            console.print(Text(clean(text), style))

    return write, Live(get_renderable=frame, console=console, transient=True, refresh_per_second=8)


def _input(action: Action) -> str:
    return (
        action.input
        if isinstance(action.input, str)
        else json.dumps(action.input, ensure_ascii=False, default=str)
    )
