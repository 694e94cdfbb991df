"""The corpus: inputs that are worth keeping, as JSON, with what must become of them.

``tests/corpus/TARGET.jsonl`` holds an object a line: an ``input`` and the outcome that is ``wanted``.
``tests/corpus/TARGET/`` holds what the fuzzer has found since, a file each. Both are run as ordinary tests.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from scripts.fuzzing.target import Input

CORPUS = Path(__file__).resolve().parent.parent.parent / "tests" / "corpus"


def known(target: str, corpus: Path = CORPUS) -> list[dict[str, Any]]:
    """The lines of a target's corpus."""
    path = corpus / f"{target}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def found(target: str, corpus: Path = CORPUS) -> list[Path]:
    """The files of what was found and has no wanted outcome yet."""
    return sorted((corpus / target).glob("*.json"))


def read_found(path: Path) -> Input:
    """The input in such a file."""
    given: Input = json.loads(path.read_text(encoding="utf-8"))["input"]
    return given


def write_found(target: str, given: Input, broken: str, corpus: Path = CORPUS) -> Path:
    """Keep a finding; the same input goes to the same file."""
    # ASCII alone, since half a character cannot be written as UTF-8.
    name = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]
    path = corpus / target / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"broken": broken, "input": given}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path
