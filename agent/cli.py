"""The command line: from arguments to a run, and from its result to an exit code.

What can be said without a model is said before LangChain is imported, which takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agent
from agent import console
from agent.deadline import run_within
from agent.errors import SettingsError
from agent.limits import Limits
from agent.models import Choice, build, choose
from agent.observing import describe
from agent.results import RunResult, StopReason
from agent.settings import Settings, load_settings, service_url
from prompts import LANGUAGES, language_of, speaker

if TYPE_CHECKING:
    from agent.agent import Agent

PROTOCOLS = ("text",)  # those of agent.agent, whose import would cost seconds
EXIT_CODES = {StopReason.FINAL_ANSWER: 0, StopReason.MODEL_ERROR: 1, StopReason.INTERRUPTED: 130}
SETTINGS_MISTAKE = 2
STOPPED = 3
NO_QUESTION = 'no question: write  python -m agent "your question"  or send one through a pipe'

SETTINGS = """\
settings, from the environment or from .env in the working folder (options win over both):
  OPENAI_API_KEY, OPENAI_BASE_URL   the model service; any OpenAI-compatible one
  AGENT_MODEL                       as --model
  AGENT_MAX_TOKENS                  of one reply (512)
  AGENT_MODEL_TIMEOUT_S             of one request (60)
  AGENT_PRICES                      NAME=PROMPT/COMPLETION in US dollars per million tokens, ...
  AGENT_GRAMMAR, AGENT_EXAMPLES     auto, on or off: helps for small models
  AGENT_CACHE_DIR, LOCAL_MODEL_PATH folder of the embedded model; a GGUF file of your own
  WEATHER_PROVIDER, WEATHER_TIMEOUT_S, WEATHER_GEOCODING_URL, WEATHER_FORECAST_URL, WEATHER_API_KEY

exit codes: 0 answered, 1 model or service failed, 2 usage or settings, 3 stopped at a limit, 130 Ctrl-C
"""
LIMITS = {
    "max_iterations": ("N", "steps, each a paid request (6)"),
    "max_seconds": ("S", "seconds for the whole run (120)"),
    "max_total_tokens": ("N", "tokens of all requests (no cap)"),
    "max_cost_usd": ("USD", "cost of all requests; needs AGENT_PRICES (no cap)"),
    "tool_timeout_s": ("S", "seconds for one tool call (10)"),
    "max_tool_failures": ("N", "failures after which a tool is switched off (3)"),
    "max_repeats": ("N", "identical calls in a row (2)"),
    "max_parse_errors": ("N", "unusable replies in a row (3)"),
    "max_observation_chars": ("N", "characters of what a tool may say (2000)"),
}


def main(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code. Raises KeyboardInterrupt only before it has begun."""
    console.use_replacements(sys.stdout, sys.stderr)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries among themselves; nobody here can act on them
    try:
        options = _parser().parse_intermixed_args([console.argument_text(word) for word in arguments])
    except SystemExit as end:  # argparse has said what there is to say
        return int(end.code or 0)
    out = sys.stdout
    # To the very end: an abandoned tool may print at any time.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return _answer(options, out)
        except KeyboardInterrupt:
            return _fail("interrupted", EXIT_CODES[StopReason.INTERRUPTED])
        except SettingsError as error:
            return _fail(f"error: {error}", SETTINGS_MISTAKE)
        except Exception as error:
            if options.verbose:
                traceback.print_exc()
            return _fail(f"error: {describe(error)}", EXIT_CODES[StopReason.MODEL_ERROR])


def _fail(sentence: str, code: int) -> int:
    console.plain_line(sentence)
    return code


def _answer(options: argparse.Namespace, out: Any) -> int:
    question = _question(options.question)
    settings = load_settings()
    choice = choose(options.model, options.base_url, settings)
    limits = _limits(options)
    instructions = _instructions(options.instructions)
    say = speaker(language_of(question) if options.language == "auto" else options.language)
    shown = console.Console(say, quiet=options.quiet, verbose=options.verbose)
    try:
        with shown, console.kept_for_answers(out):
            _introduce(choice, options, shown)

            def prepare() -> Agent:
                return _build(options, choice, settings, shown, limits=limits, instructions=instructions)

            # In a worker thread, because an import can swallow the KeyboardInterrupt that falls into it.
            result = run_within(float("inf"), prepare, "agent-import").run(question)
    except KeyboardInterrupt:
        if options.json and shown.result:
            console.put_out(shown.result, out, as_json=True)
        return _fail(say("stopped_interrupted"), EXIT_CODES[StopReason.INTERRUPTED])
    return _finish(result, shown, out, as_json=options.json)


def _finish(result: RunResult, shown: console.Console, out: Any, *, as_json: bool) -> int:
    shown.end(result)
    console.put_out(result, out, as_json=as_json)
    return EXIT_CODES.get(result.stop_reason, STOPPED)


def _introduce(choice: Choice, options: argparse.Namespace, shown: console.Console) -> None:
    """Say which model will answer, and where it is; never with a key."""
    urls = [os.environ.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE")]
    if choice.path:
        shown.note("cli_loading", model=choice.name, file=choice.path.name)
        return
    if all(urls) and not options.base_url and service_url(urls[0]) != service_url(urls[1]):
        shown.note("cli_two_urls")
    shown.note("cli_model", model=choice.name, host=choice.host)


def _build(
    options: argparse.Namespace, choice: Choice, settings: Settings, shown: console.Console, **more: Any
) -> Agent:
    from agent.agent import Agent

    tools = load_tools(options.tools) if options.tools else None
    return Agent(
        llm=build(choice, settings),
        tools=tools,
        protocol=options.protocol,
        language=options.language,
        on_event=shown.on_event,
        **more,
    )


def load_tools(name: str) -> list[Any]:
    """Call ``module:function`` and return the tools that it gives; the working folder is searched too.

    Raises SettingsError saying what is wrong with it.
    """
    module_name, _, function_name = name.partition(":")
    if not (module_name and function_name):
        raise SettingsError(f"--tools takes module:function, for example my_tools:make_tools, not {name!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module_name), function_name, None)
        if not callable(function):
            raise SettingsError(f"--tools: module {module_name!r} has no function {function_name!r}")
        tools = function()
    except SettingsError:
        raise
    except ModuleNotFoundError as error:
        raise SettingsError(f"--tools {name}: there is no module {error.name!r}") from None
    except (Exception, SystemExit) as error:
        raise SettingsError(f"--tools {name} raised {describe(error)}") from error
    if not isinstance(tools, (list, tuple)):
        raise SettingsError(
            f"--tools {name} must return a list of LangChain tools, not {type(tools).__name__}"
        )
    return list(tools)


def _question(words: Sequence[str]) -> str:
    """The arguments, or what comes through a pipe. Raises SettingsError when there is no question."""
    question = " ".join(words).strip()
    if not words and sys.stdin is not None and not console.is_terminal(sys.stdin):
        try:
            question = console.decode(sys.stdin.buffer.read()).strip()
        except OSError as error:
            raise SettingsError(f"the question cannot be read from stdin ({error.strerror})") from None
    if not question:
        raise SettingsError(NO_QUESTION)
    return question


def _instructions(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return console.decode(Path(text[1:]).expanduser().read_bytes()).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"--instructions: {text[1:]} cannot be read ({reason})") from None


def _limits(options: argparse.Namespace) -> Limits:
    given = {field.name: getattr(options, field.name) for field in fields(Limits)}
    return Limits(**{name: value for name, value in given.items() if value is not None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agent",
        usage='python -m agent [options] "question"',
        description="Answer a question with tools. The answer goes to stdout, everything else to stderr.",
        epilog=SETTINGS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option must not change what an old command means
    )
    parser.add_argument("question", nargs="*", help="without one, the question is read from a pipe")
    parser.add_argument("--version", action="version", version=f"open-agent-loop {agent.__version__}")
    _add_model_options(parser.add_argument_group("model and tools"))
    _add_limits(parser.add_argument_group("limits"))
    _add_output_options(parser.add_argument_group("output"))
    return parser


def _add_model_options(group: Any) -> None:
    group.add_argument("--model", metavar="NAME", help="local, local-small, or a name that the service knows")
    group.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service")
    group.add_argument("--protocol", choices=PROTOCOLS, default="text", help="how the model asks for tools")
    group.add_argument("--tools", metavar="MODULE:FUNCTION", help="a function that returns LangChain tools")
    text = "added to the system message; @FILE reads a file"
    group.add_argument("--instructions", metavar="TEXT", default="", help=text)


def _add_limits(group: Any) -> None:
    whole = {field.name for field in fields(Limits) if "int" in str(field.type)}
    for name, (metavar, text) in LIMITS.items():
        kind = int if name in whole else float
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)
    text = "at a limit, ask once more for an answer, or end without (answer)"
    group.add_argument("--at-cap", choices=("answer", "error"), help=text)


def _add_output_options(group: Any) -> None:
    group.add_argument("--json", action="store_true", help="the whole result as one JSON object on stdout")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="on stderr only why there is no answer")
    loudness.add_argument("-v", "--verbose", action="store_true", help="whole replies and observations")
    text = "of prompts and messages (auto: the question's own)"
    group.add_argument("--language", choices=("auto", *LANGUAGES), default="auto", help=text)
