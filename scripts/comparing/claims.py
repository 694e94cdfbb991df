"""The figures that the original design document claims, each beside what was measured here, if it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.comparing.measures import ALL, EXTRAS

Figures = Mapping[str, Mapping[str, Any]]
NOT_HERE = "cannot be checked here"
ORIGIN = (
    "This project began with a written design that promised these figures for a hand-written agent on "
    "GPT-4o; each stands beside what was measured."
)


@dataclass(frozen=True)
class Claim:
    """``measured`` begins with NOT_HERE where it is not; ``note`` says what is compared with what."""

    claimed: str
    measured: str
    note: str


def claims(sections: Sequence[Mapping[str, Any]], *, recorded: bool = False) -> list[Claim]:
    """Every claim, beside the figures of a comparison as ``measures.sections`` gives them.

    ``recorded``: the replies were played from a recording, so seconds say nothing of a model.
    """
    named: dict[str, Figures] = {each["title"]: each["contenders"] for each in sections}
    main, extra = named.get(ALL, {}), named.get(EXTRAS, {})
    return [
        _success(main),
        _seconds(main, recorded=recorded),
        _tokens(main),
        _saving(extra),
        _retries(extra),
    ]


def _success(main: Figures) -> Claim:
    return Claim(
        "The bare model does 42 % of its tasks, the hand-written agent 91 %.",
        _both(main, "bare", "ours-text", _share),
        "Its 3 tasks are too few for a percentage, and are not told; these are other tasks, and the model "
        "is the one named above, not GPT-4o.",
    )


def _seconds(main: Figures, *, recorded: bool) -> Claim:
    measured = _both(main, "bare", "ours-text", lambda own: f"{own['median_s']:.2f} s")
    if recorded:
        measured = f"{NOT_HERE}: the replies are played from a recording"
    elif "bare" in main and "ours-text" in main and main["bare"]["median_s"]:
        measured += f" (agent / bare: {main['ours-text']['median_s'] / main['bare']['median_s']:.2f})"
    return Claim(
        "A question takes the bare model 1.2 s and the agent 0.76 s (agent / bare: 0.63).",
        measured,
        "Medians. Seconds are those of this machine and model; the claimed ones, of GPT-4o over a network, "
        f"{NOT_HERE}. An agent asks the model more than once and writes less each time.",
    )


def _tokens(main: Figures) -> Claim:
    measured = NOT_HERE + ": ours-text did not run"
    if "ours-text" in main:
        own = main["ours-text"]
        requests = own["requests"] / own["tasks"]
        measured = f"{own['mean_tokens']:,.0f} tokens and {requests:.1f} requests a question"
    return Claim(
        "A question takes 1.8k tokens on average, at a cap of 6 iterations.",
        measured,
        "Prompt and completion together. Where llama.cpp answers, about 1,900 tokens of each prompt are "
        "worked examples, which its prompt cache makes nearly free; services that bill get none.",
    )


def _saving(extra: Figures) -> Claim:
    measured = NOT_HERE
    if "executor-default-cap" in extra and "executor-react" in extra:
        wide, narrow = (extra[name]["mean_tokens"] for name in ("executor-default-cap", "executor-react"))
        saved = f"{1 - narrow / wide:.0%} saved" if wide else "no counts"
        measured += (
            f"; nearest to it: AgentExecutor takes {wide:,.0f} tokens a question by its default cap of 15 "
            f"and {narrow:,.0f} by a cap of 6 ({saved})"
        )
    return Claim(
        "A cap of 6 saves 62 % of the tokens of an AutoGPT at its default of 12 iterations.",
        measured,
        "There is no AutoGPT here, and no default of 12 was found in its source.",
    )


def _retries(extra: Figures) -> Claim:
    parts = [
        f"{who}: {_both(extra, f'{who}-raising', returning, _mean_retries)}"
        for who, returning in (("ours", "ours-text"), ("executor", "executor-react"))
        if f"{who}-raising" in extra
    ]
    return Claim(
        "A tool that raises is called again 2.8 times on average; one that returns its error as text, 0.4.",
        "; ".join(parts) or NOT_HERE + ": no contender with raising tools ran",
        "Calls of a tool whose latest call had failed, per run in which a tool failed. Our loop words what a "
        "tool raises, AgentExecutor lets it end the run.",
    )


def _both(figures: Figures, first: str, second: str, value: Any) -> str:
    missing = [name for name in (first, second) if name not in figures]
    if missing:
        return f"{NOT_HERE}: {', '.join(missing)} did not run"
    return f"{first} {value(figures[first])}, {second} {value(figures[second])}"


def _share(own: Mapping[str, Any]) -> str:
    (low, high), solved, tasks = own["solved_interval"], own["solved"], own["tasks"]
    return f"{solved / tasks:.0%} ({solved} of {tasks}; 95 %: {low:.0%} to {high:.0%})"


def _mean_retries(own: Mapping[str, Any]) -> str:
    mean, runs = own["mean_retries_after_error"], own["runs_with_tool_errors"]
    return f"{mean:.2f} ({runs} {'run' if runs == 1 else 'runs'})" if runs else "no tool failed"
