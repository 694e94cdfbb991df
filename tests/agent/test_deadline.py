"""A call under a deadline: what comes out of it, and that nothing waits for a hung one."""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from agent.deadline import Call, DeadlinePassed, run_within


def test_the_value_comes_back() -> None:
    assert run_within(60, lambda: 42) == 42


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(2), KeyboardInterrupt()])
def test_what_was_raised_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_within(60, fail)
    assert caught.value is error


@pytest.mark.parametrize("timeout_s", [-1, 0, 0.05, 0.3])
def test_a_hung_call_is_left_behind(timeout_s: float) -> None:
    hung = threading.Event()
    started = time.monotonic()
    with pytest.raises(DeadlinePassed):
        run_within(timeout_s, lambda: hung.wait(60))

    assert timeout_s <= time.monotonic() - started + 0.01 < 10
    hung.set()


def test_a_call_without_a_deadline_is_waited_for() -> None:
    assert run_within(float("inf"), lambda: "done") == "done"


def test_a_call_may_be_waited_for_again() -> None:
    go = threading.Event()
    call = Call(lambda: go.wait(60), "test")
    with pytest.raises(DeadlinePassed):
        call.result(0.01)
    go.set()

    assert call.result(60) is True


def test_a_call_runs_in_a_named_daemon_thread_with_the_callers_context() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set here")

    def look() -> tuple[str, str, bool]:
        return (variable.get(), threading.current_thread().name, threading.current_thread().daemon)

    assert run_within(60, look, "agent-test") == ("set here", "agent-test", True)


def test_a_hung_call_does_not_hold_up_the_exit_of_the_process() -> None:
    code = (
        "import time\nfrom agent.deadline import DeadlinePassed, run_within\n"
        "try:\n    run_within(0.05, lambda: time.sleep(300))\n"
        "except DeadlinePassed:\n    print('left')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "left\n"


def test_no_call_finds_what_another_left_in_its_thread() -> None:
    local = threading.local()

    def leave() -> bool:
        found = hasattr(local, "left")
        local.left = "something"
        return found

    assert not any(run_within(60, leave) for _ in range(20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_can_call_though_another_thread_was_just_starting_one() -> None:
    program = """
import os, threading
from agent import deadline

held, over = threading.Event(), threading.Event()

def start_for_ever():
    with deadline._turnstile:
        held.set()
        over.wait(60)

threading.Thread(target=start_for_ever, daemon=True).start()
held.wait(60)
child = os.fork()
if child == 0:
    os._exit(deadline.run_within(20, lambda: 7))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "7\n", done.stderr


def test_calls_that_are_all_made_at_once_all_end() -> None:
    together = threading.Barrier(100)

    def call(number: int) -> int:
        together.wait(60)
        return run_within(60, lambda: number)

    calls = [Call(partial(call, number), "caller") for number in range(100)]
    assert [each.result(60) for each in calls] == list(range(100))
