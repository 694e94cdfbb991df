"""What tests in several rooms use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is. The same code is tried with the same examples, so
# what is red here is red for everybody; AGENT_FRESH_EXAMPLES=1 tries others, as scripts.fuzz always does.
FRESH = "AGENT_FRESH_EXAMPLES" in os.environ
settings.register_profile("open-agent-loop", deadline=None, derandomize=not FRESH)
settings.load_profile("open-agent-loop")


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Children must not inherit that SIGINT is ignored, as it is for a test run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
