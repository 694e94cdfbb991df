"""How a comparison was measured, in words that stand below its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scripts.comparing.arms import DEFAULT_ITERATIONS, FIRST_TASKS
from scripts.contenders import MAX_ITERATIONS

_ALWAYS = (
    "All contenders get the same tools, model, tasks and temperature 0. Each may ask the model "
    f"{MAX_ITERATIONS} times, executor-default-cap {DEFAULT_ITERATIONS} times; ours may ask once more, "
    "without tools, for an answer at the cap, which AgentExecutor cannot do with these agents. Ours has "
    "limits of its own too (120 s a run, 10 s a tool call).",
    "AgentExecutor is at its best: stream_runnable=False (else no tokens are reported), "
    "handle_parsing_errors=True, and a client that tries failing requests twice more, as ours does.",
    "Contenders take turns task by task, and who begins changes. Before the first turn each was asked one "
    "thing that is not measured, in each language and with each set of tools, so that reading a new prompt's "
    "beginning falls on nobody. Contenders whose requests are the same (executor-react and "
    "executor-default-cap, ours-text and ours-raising) may find each other's in a server's prompt cache.",
    "model s: a request was under way; tool s: a tool was at work and no request was under way, and tools "
    "side by side count once; loop s: the rest. The three add up to the run's seconds.",
    "retries: calls of a tool whose latest call had failed; wasted: calls of a run that it had made before, "
    "with the same input; raised: runs that ended by an exception. A + marks sums from which runs without "
    "token counts are missing.",
    "Raising tools raise RuntimeError where the others return a text. Our loop words that for the model; "
    "AgentExecutor lets it end the run, unless each tool raises ToolException and is told to handle it, "
    "which makes it a text again.",
    "95 %: Wilson's interval for the share solved. p: McNemar's exact test, two-sided, on the tasks that one "
    "of the two solved and the other did not; a task that was run more than once counts by the majority.",
    f"The extra contenders run the first {FIRST_TASKS} tasks of the file: those that our prompts were "
    "developed with, if the file is compare.jsonl.",
)
_LLAMA_CPP = (
    "llama.cpp takes no grammar beside native tools, so here ours-tools puts its calls into the text, as "
    "JSON lines that a grammar holds in form; executor-tools uses the server's native tool calls, without a "
    "grammar. ours-text has a grammar and worked examples too: both are defaults of the product where "
    "llama.cpp answers."
)
RECORDED = (
    "The replies were played from a recording: tokens are those of the recorded model, and seconds say what "
    "the loops took and nothing of a model. Nothing that changes what a model replies shows here."
)


def notes(identity: Mapping[str, Any]) -> Iterator[str]:
    """The notes that hold for a measurement of this identity."""
    yield from _ALWAYS
    if identity.get("llama.cpp"):
        yield _LLAMA_CPP
    if identity.get("recording"):
        yield RECORDED


def left_out(failed: Mapping[str, int]) -> str:
    """Which runs no figure holds, because the service failed them: how many, by contender."""
    runs, each = sum(failed.values()), ", ".join(f"{name} {number}" for name, number in failed.items())
    return (
        f"Not in any figure: {runs} {'run' if runs == 1 else 'runs'} that the service failed ({each}). The "
        "same command tries them again; a table shows the tasks that all contenders in it have finished."
    )
