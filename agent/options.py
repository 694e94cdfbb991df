"""The options of ``python -m agent``, and its help. Light, so that ``--help`` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import agent

PROTOCOLS = ("text", "tools")  # as agent.agent knows them
LANGUAGES = ("auto", "en", "zh")

SETTINGS = """\
settings, from the environment or from .env in the working folder (options win over both):
  OPENAI_API_KEY, OPENAI_BASE_URL   the model service; any OpenAI-compatible one
  AGENT_MODEL                       as --model
  AGENT_MAX_TOKENS                  of one reply (512)
  AGENT_MODEL_TIMEOUT_S             of one request (60)
  AGENT_PRICES                      NAME=PROMPT/COMPLETION in US dollars per million tokens, ...
  AGENT_GRAMMAR, AGENT_EXAMPLES     auto, on or off: helps for small models
  AGENT_TRACE_DIR                   a folder to which every run is traced, as with --trace
  AGENT_CACHE_DIR, LOCAL_MODEL_PATH folder of the embedded model; a GGUF file of your own
  WEATHER_PROVIDER, WEATHER_TIMEOUT_S, WEATHER_GEOCODING_URL, WEATHER_FORECAST_URL, WEATHER_API_KEY

exit codes: 0 answered, 1 model or service failed, 2 usage or settings, 3 stopped at a limit,
  4 a replay behaves otherwise, 130 Ctrl-C
"""
LIMITS: dict[str, tuple[type, str, str]] = {
    "max_iterations": (int, "N", "steps, each a paid request (6; tools protocol: 8)"),
    "max_seconds": (float, "S", "seconds for the whole run (120)"),
    "max_total_tokens": (int, "N", "tokens of all requests (no cap)"),
    "max_cost_usd": (float, "USD", "cost of all requests; needs AGENT_PRICES (no cap)"),
    "tool_timeout_s": (float, "S", "seconds for one tool call (10)"),
    "max_tool_failures": (int, "N", "failures after which a tool is switched off (3)"),
    "max_repeats": (int, "N", "identical calls in a row (2)"),
    "max_parse_errors": (int, "N", "unusable replies in a row (3)"),
    "max_observation_chars": (int, "N", "characters of what a tool may say (2000)"),
}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the arguments. Raises SystemExit for --help, --version and mistakes, when all has been said."""
    return _parser().parse_intermixed_args(arguments)


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
    _add_trace_options(parser.add_argument_group("traces"))
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
    for name, (kind, metavar, text) in LIMITS.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)
    text = "at a limit, ask once more for an answer, or end without (answer)"
    group.add_argument("--at-cap", choices=("answer", "error"), help=text)


def _add_trace_options(group: Any) -> None:
    text = "add the run to a file, or to a folder as a file of its own: all that decided it, without secrets"
    group.add_argument("--trace", metavar="FILE", help=text)
    text = "run what was recorded again, without a model, and say where it behaves otherwise"
    group.add_argument("--replay", metavar="FILE", help=text)
    text = "with --replay: go on live from this step, with --model and --tools"
    group.add_argument("--from-step", type=int, metavar="N", help=text)


def _add_output_options(group: Any) -> None:
    group.add_argument("--json", action="store_true", help="the whole result as one JSON object on stdout")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="on stderr only why there is no answer")
    loudness.add_argument("-v", "--verbose", action="store_true", help="whole replies and observations")
    text = "of prompts and messages (auto: the question's own)"
    group.add_argument("--language", choices=LANGUAGES, default="auto", help=text)
