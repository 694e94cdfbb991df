"""The command line: from options to a run, and from its result to an exit code.

What can be said without a model is said before LangChain is imported, which takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent import cli_replay, console
from agent.deadline import run_within
from agent.errors import SettingsError, without_package
from agent.limits import Limits
from agent.models import Choice, build, choose
from agent.redaction import redact
from agent.results import RunResult, StopReason
from agent.settings import Settings, load_settings
from prompts import Language, language_of, speaker

if TYPE_CHECKING:
    from agent.agent import Agent

T = TypeVar("T")

EXIT_CODES = {StopReason.FINAL_ANSWER: 0, StopReason.MODEL_ERROR: 1, StopReason.INTERRUPTED: 130}
SETTINGS_MISTAKE = 2
STOPPED = 3
NO_QUESTION = 'no question: write  python -m agent "your question"  or send one through a pipe'


def main(options: argparse.Namespace) -> int:
    """Answer the question of the command line; returns the exit code."""
    console.use_replacements(sys.stdout, sys.stderr)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves; nobody here can act on them
    if logging.lastResort:
        logging.lastResort.setFormatter(_Masked())
    out = sys.stdout
    # To the very end: an abandoned tool may print at any time.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return _answer(options, out)
        except KeyboardInterrupt:
            return _fail("interrupted", EXIT_CODES[StopReason.INTERRUPTED])
        except SettingsError as error:
            return _fail(f"error: {error}", SETTINGS_MISTAKE)
        except ModuleNotFoundError as error:
            return _fail(f"error: {without_package(error)}", SETTINGS_MISTAKE)
        except Exception as error:
            from agent.observing import describe

            if options.verbose:
                console.plain_line(redact(traceback.format_exc()))
            return _fail(f"error: {describe(error)}", EXIT_CODES[StopReason.MODEL_ERROR])


class _Masked(logging.Formatter):
    """What libraries log goes to stderr too, and may quote an address with its password."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _fail(sentence: str, code: int) -> int:
    console.plain_line(sentence)
    return code


def _answer(options: argparse.Namespace, out: Any) -> int:
    cli_replay.check(options)
    if options.replay and options.from_step is None:
        return cli_replay.compare(options, out)
    task = _resumption(options) if options.replay else _question(options.question)
    settings = load_settings()
    choice = choose(options.model, options.base_url, settings)
    limits = _limits(options)
    instructions = _instructions(options.instructions)

    say = speaker(task.language if options.language == "auto" else options.language)
    shown = console.Console(say, quiet=options.quiet, verbose=options.verbose)
    try:
        with shown, console.kept_for_answers(out):
            tools = _apart(lambda: _checked_tools(options.tools, task))
            _introduce(choice, options, shown)
            more = {"tools": tools, "limits": limits, "instructions": instructions}
            result = task.done_by(_apart(lambda: _build(options, choice, settings, shown, **more)))
    except KeyboardInterrupt:
        if options.json and shown.result:
            _put_out(shown.result, out, as_json=True)
        return _fail(say("stopped_interrupted"), EXIT_CODES[StopReason.INTERRUPTED])
    return _finish(result, shown, out, as_json=options.json)


def _apart(prepare: Callable[[], T]) -> T:
    """In a worker thread, because an import can swallow the KeyboardInterrupt that falls into it."""
    return run_within(float("inf"), prepare, "agent-import")


def _checked_tools(name: str | None, task: Task) -> list[Any] | None:
    """The caller's tools, None for the usual ones. Wrong ones are said before a model is loaded for them."""
    tools = None
    if name:
        from agent.toolspecs import specs_of

        tools = load_tools(name)
        specs_of(tools)  # raises for what is no tool
    task.check(tools)
    return tools


def _finish(result: RunResult, shown: console.Console, out: Any, *, as_json: bool) -> int:
    shown.end(result)
    _put_out(result, out, as_json=as_json)
    return EXIT_CODES.get(result.stop_reason, STOPPED)


def _put_out(result: RunResult, out: Any, *, as_json: bool) -> None:
    """Write the answer, where there is one, or the whole result as one JSON object."""
    text = console.as_json(result.to_dict(), out) if as_json else result.answer
    if text is not None:
        console.write(text, out)


def _introduce(choice: Choice, options: argparse.Namespace, shown: console.Console) -> None:
    """Say which model will answer, and where it is; never with a key."""
    urls = [os.environ.get(name, "").strip(" \n/") for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE")]
    if choice.path:
        shown.note("cli_loading", model=choice.name, file=choice.path.name)
        return
    if all(urls) and urls[0] != urls[1] and not options.base_url:
        shown.note("cli_two_urls")
    shown.note("cli_model", model=choice.name, host=choice.host)


def _build(
    options: argparse.Namespace, choice: Choice, settings: Settings, shown: console.Console, **more: Any
) -> Agent:
    from agent.agent import Agent

    return Agent(
        llm=build(choice, settings),
        protocol=options.protocol,
        language=options.language,
        on_event=shown.on_event,
        trace=options.trace,
        **more,
    )


def load_tools(name: str) -> list[Any]:
    """Call ``module:function`` and return the tools that it gives; the working folder is searched first.

    Raises SettingsError saying what is wrong with it.
    """
    module_name, _, function_name = name.partition(":")
    if not (module_name and function_name):
        raise SettingsError(f"--tools takes module:function, for example my_tools:make_tools, not {name!r}")
    try:
        with _searched_first(os.getcwd()):
            module = importlib.import_module(module_name)
            function = getattr(module, function_name, None)
            if not callable(function):
                file = getattr(module, "__file__", None) or "no file"
                raise SettingsError(
                    f"--tools: module {module_name!r} ({file}) has no function {function_name!r}"
                )
            tools = function()
    except SettingsError:
        raise
    except ModuleNotFoundError as error:
        raise SettingsError(f"--tools {name}: there is no module {error.name!r}") from None
    except (Exception, SystemExit) as error:
        from agent.observing import describe

        raise SettingsError(f"--tools {name} raised {describe(error)}") from error
    if not isinstance(tools, (list, tuple)):
        raise SettingsError(
            f"--tools {name} must return a list of LangChain tools, not {type(tools).__name__}"
        )
    return list(tools)


@contextlib.contextmanager
def _searched_first(folder: str) -> Iterator[None]:
    """Import from ``folder`` before all else meanwhile, and after all else from then on."""
    if folder not in sys.path:
        sys.path.append(folder)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@dataclass(frozen=True)
class Task:
    """What an agent is to do, and the language in which it is told of.

    ``check`` raises SettingsError where that cannot be done with these tools; None is the usual ones.
    """

    done_by: Callable[[Agent], RunResult]
    language: Language
    check: Callable[[list[Any] | None], object] = lambda _: None


def _resumption(options: argparse.Namespace) -> Task:
    from agent.handed_in import tools_by_default
    from agent.recorded import read_trace, setup_of
    from agent.splice import Splice

    path, step = options.replay, options.from_step
    run = read_trace(path)[-1]
    return Task(
        lambda agent: agent.resume(path, step),
        setup_of(run).language,
        check=lambda tools: Splice(run, step, tools_by_default() if tools is None else tools),
    )


def _question(words: Sequence[str]) -> Task:
    """The arguments, or what comes through a pipe. Raises SettingsError when there is no question."""
    question = console.argument_text(" ".join(words)).strip()
    if not words and sys.stdin is not None and not console.is_terminal(sys.stdin):
        try:
            question = console.decode(sys.stdin.buffer.read()).strip()
        except OSError as error:
            raise SettingsError(f"the question cannot be read from stdin ({error.strerror})") from None
    if not question:
        raise SettingsError(NO_QUESTION)
    return Task(lambda agent: agent.run(question), language_of(question))


def _instructions(text: str) -> str:
    if not text.startswith("@"):
        return console.argument_text(text)
    try:
        return console.decode(Path(text[1:]).expanduser().read_bytes()).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"--instructions: {text[1:]} cannot be read ({reason})") from None


def _limits(options: argparse.Namespace) -> Limits:
    given = {field.name: getattr(options, field.name) for field in fields(Limits)}
    return Limits(**{name: value for name, value in given.items() if value is not None})
