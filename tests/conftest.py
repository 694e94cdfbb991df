"""What tests in several rooms use."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("open-agent-loop", deadline=None)
settings.load_profile("open-agent-loop")


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Children must not inherit that SIGINT is ignored, as it is for a test run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
