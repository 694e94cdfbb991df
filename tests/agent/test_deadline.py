"""A call under a deadline: what comes out of it, and that nothing waits for a hung one."""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
import time
import weakref

import pytest

from agent import deadline
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


def test_calls_after_one_another_share_a_thread() -> None:
    first = run_within(60, threading.get_ident)

    assert [run_within(60, threading.get_ident) for _ in range(20)] == [first] * 20


def test_calls_at_the_same_time_do_not() -> None:
    all_there = threading.Barrier(8)

    def meet() -> int:
        all_there.wait(60)
        return threading.get_ident()

    calls = [Call(meet, "test") for _ in range(8)]

    assert len({call.result(60) for call in calls}) == 8


def test_a_hung_thread_gets_no_other_call() -> None:
    go = threading.Event()
    hung = Call(lambda: go.wait(60) and threading.get_ident(), "test")
    with pytest.raises(DeadlinePassed):
        hung.result(0.01)
    others = {run_within(60, threading.get_ident) for _ in range(5)}
    go.set()

    assert hung.result(60) not in others


def test_a_call_does_not_see_the_context_of_the_one_before() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    run_within(60, lambda: variable.set("set in a call"))

    assert run_within(60, variable.get) == "unset"


def test_a_thread_bears_the_name_of_its_call_and_no_longer() -> None:
    thread = run_within(60, threading.current_thread, "agent-test")

    assert thread.name == deadline.IDLE_NAME


def test_a_thread_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "IDLE_S", 0.01)
    run_within(60, threading.current_thread).join(60)  # one that waits for longer, from before
    thread = run_within(60, threading.current_thread)
    thread.join(60)

    assert not thread.is_alive()
    assert run_within(60, lambda: "there is another") == "there is another"


def test_what_a_call_held_is_let_go() -> None:
    class Large:
        pass

    large = Large()
    gone = weakref.ref(large)
    run_within(60, lambda large=large: None)  # type: ignore[misc]  # held by the function alone
    del large
    run_within(60, lambda: None)  # in the same thread, which has then let go of what it did before

    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = (
        "import os\nfrom agent.deadline import run_within\n"
        "run_within(60, lambda: None)\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(run_within(60, lambda: 7))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )

    assert done.stdout == "7\n"
