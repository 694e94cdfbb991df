"""The page: its template filled with runs; its style and script stand in it, allowed by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agent.redaction import redact_output
from scripts.reporting import charts, formats, wording
from scripts.reporting.findings import brief
from scripts.reporting.texts import Texts, groups_of
from scripts.reporting.views import RunView

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
        "sentence": lambda finding: wording.sentence_of(finding, texts),
        "why": lambda run: wording.why_of(run, texts),
        "tone": lambda reason: _TONES.get(reason, "warn"),
        "remark": lambda run: wording.remark_of(run, texts),
        "words": lambda run: wording.words_of(run, texts),
        "step_name": lambda label: wording.step_name(label, texts),
        "tokens": lambda count: texts.say("tokens_unit", count="?" if count is None else count),
        "whole": formats.whole,
        "short": formats.short,
        "dollars": formats.dollars,
        "seconds": lambda value: formats.seconds(value, texts),
        "moment": formats.moment,
        "path_end": formats.path_end,
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
