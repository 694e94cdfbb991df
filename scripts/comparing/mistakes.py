"""Mistakes with a file or folder, told with the option that named it and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def blame(option: str, path: Path, way_out: str) -> Iterator[None]:
    """What cannot be done with ``path`` in the block is raised as ValueError, a sentence about ``option``."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be used ({error.strerror or error}): {way_out}") from error
    except ValueError as error:
        named = str(path) in str(error)
        raise ValueError(f"{option} {error}" if named else f"{option} {path}: {error}") from error
