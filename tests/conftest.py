"""What tests in several rooms use."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Children must not inherit that SIGINT is ignored, as it is for a test run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
