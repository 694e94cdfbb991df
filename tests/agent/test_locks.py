"""One process at a time, and a holder that died holds nothing."""

import subprocess
import sys
import threading

import pytest

from agent.locks import locked


def test_the_file_is_gone_afterwards_even_after_an_error(tmp_path):
    def fail():
        with locked(tmp_path / "lock"):
            assert (tmp_path / "lock").exists()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not (tmp_path / "lock").exists()


def test_the_second_waits_for_the_first_and_is_told_once(tmp_path):
    order, waiting = [], threading.Event()

    def second():
        with locked(tmp_path / "lock", on_wait=waiting.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(tmp_path / "lock"):
        thread.start()
        assert waiting.wait(timeout=10)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_holder_that_was_killed_holds_nothing(tmp_path):
    code = (
        "import sys, pathlib, agent.locks as l\n"
        "with l.locked(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline().strip() == b"held"
        holder.kill()
    assert (tmp_path / "lock").exists()
    with locked(tmp_path / "lock", on_wait=lambda: pytest.fail("waited for the dead")):
        pass
