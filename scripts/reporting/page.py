"""The page: its template filled with runs; its style and script stand in it, allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agent.redaction import redact_output
from scripts.reporting import charts
from scripts.reporting.findings import brief
from scripts.reporting.texts import Texts, groups_of
from scripts.reporting.views import Finding, RunView

FOLDER = Path(__file__).parent
# Shown as their own symbols: a browser would drop some, and a terminal's colours are no part of a text.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
_TONES = {"final_answer": "good", "model_error": "bad", "interrupted": "quiet", "unfinished": "bad"}


def page_of(runs: Sequence[RunView], files: int, not_read: Sequence[str], texts: Texts) -> str:
    """The report as HTML. ``files`` were read; ``not_read`` are the sentences on those that could not be."""
    style, script = (Markup(_own(name)) for name in ("style.css", "page.js"))  # noqa: S704 - our own files
    template = _environment(texts).get_template("page.html")
    return template.render(
        runs=runs,
        files=files,
        not_read=not_read,
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def sentence_of(finding: Finding, texts: Texts) -> str:
    """A finding in words, without its steps."""
    values = {name: _value(name, value, texts) for name, value in finding.values}
    return texts.say(finding.name, **values)


def cause_of(run: RunView, texts: Texts) -> str:
    """What explains a run, in one sentence; empty where nothing was out of order."""
    if run.ending.stop_reason == "model_error" and run.ending.error:
        return brief(run.ending.error)
    grave = [finding for finding in run.findings if finding.severity != "note"]
    return sentence_of(grave[0], texts) if grave else ""


def words_of(run: RunView, texts: Texts) -> str:
    """What a run is found by, besides its row: the row has room for one cause alone."""
    return "\n".join([*(sentence_of(each, texts) for each in run.findings), brief(run.ending.error or "")])


def sentence_with_steps(finding: Finding, texts: Texts) -> str:
    steps = ", ".join(step_name(label, texts) for label, _ in groups_of(finding.steps))
    return f"{sentence_of(finding, texts)} ({steps})" if steps else sentence_of(finding, texts)


def step_name(label: str, texts: Texts) -> str:
    """What a step, or several in a row ("3–5"), are called."""
    return texts.say("step" if label.isdecimal() else "step_range", number=label)


def _value(name: str, value: object, texts: Texts) -> object:
    if isinstance(value, float):
        return _seconds(value, texts)
    return value if name == "count" or not isinstance(value, int) else f"{value:,}"


def _environment(texts: Texts) -> Environment:
    own = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_presentable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own.globals |= {"texts": texts, "say": texts.say}
    own.filters |= {
        "brief": brief,
        "sentence": lambda finding: sentence_of(finding, texts),
        "why": lambda reason: texts.say(f"why_{reason}" if texts.knows(f"why_{reason}") else "why_unknown"),
        "tone": lambda reason: _TONES.get(reason, "warn"),
        "cause": lambda run: cause_of(run, texts),
        "words": lambda run: words_of(run, texts),
        "step_name": lambda label: step_name(label, texts),
        "whole": lambda count: "?" if count is None else f"{count:,}",
        "short": _short,
        "dollars": lambda cost: "—" if cost is None else f"${cost:,.4f}",
        "seconds": lambda value: _seconds(value, texts),
        "moment": _moment,
        "file_name": lambda path: Path(path).name,
        "groups": groups_of,
        "strip": charts.strip,
        "histogram": charts.histogram,
        "stop_reasons": charts.stop_reasons,
    }
    return own


def _presentable(value: Any) -> Any:
    """What the template writes: texts without secrets and control characters, numbers as they are."""
    return _clean(value) if type(value) is str else value


@lru_cache(maxsize=4096)
def _clean(text: str) -> str:
    return redact_output(text.replace("\r\n", "\n")).translate(_CONTROLS)


def _own(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded from anywhere, and nothing run but the page's own style and script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """As Content-Security-Policy names an inline block (CSP Level 3, section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _seconds(value: float, texts: Texts) -> str:
    if value < 0.9995:
        return texts.say("ms", value=f"{value * 1000:.0f}")
    return texts.say("s", value=f"{value:.1f}" if value < 99.95 else f"{value:,.0f}")


def _short(count: int) -> str:
    return f"{count / 1000:g}k" if count >= 10_000 else f"{count:,}"


def _moment(started: str) -> str:
    """A recorded time to the second, with its zone; one that cannot be read stands as it is."""
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M:%S %Z}"
    except ValueError:
        return started or "—"
