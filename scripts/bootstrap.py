"""The environment in .venv: made once from the exact requirements, checked in a millisecond after that.

What is here runs before there is an environment, on whatever Python the user has: the standard
library only, and nothing that Python 3.6 could not read.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator  # noqa: UP035 - Python 3.6 reads this

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ("requirements.txt",)
DEVELOPMENT = ("requirements.txt", "requirements-dev.txt")
FITTING = ("3.12", "3.11", "3.10")  # what the pins in requirements.txt install on
PROBE = """\
import importlib.util, sys
print("%d.%d" % sys.version_info[:2])
print(importlib.util.find_spec("ensurepip") is not None)
print(sys.executable)
"""


class Trouble(Exception):
    """The environment cannot be had; the message is one sentence with the way out."""


def say(text: str) -> None:
    """Tell the user; stdout is for answers alone."""
    print(text, file=sys.stderr, flush=True)


def venv_python(root: Path = ROOT) -> Path:
    """The interpreter of the environment, whether it is there or not."""
    return root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_inside(root: Path = ROOT) -> bool:
    """Whether the running interpreter is the environment's own."""
    venv = str(root / ".venv")
    return os.path.isdir(venv) and os.path.samefile(sys.prefix, venv)


def enter(files: "tuple[str, ...]", root: Path = ROOT) -> None:
    """Return inside the environment with ``files`` installed: by starting the running script anew in it.

    Raises:
        Trouble: no fitting Python, or the packages cannot be installed.
    """
    if not is_ready(files, root):
        if not is_inside(root):
            python = fitting_python()
            if python != sys.executable:
                hand_over([python, *sys.argv])
        build(files, root)
    if not is_inside(root):
        hand_over([str(venv_python(root)), *sys.argv])


def hand_over(command: "list[str]") -> None:
    """Let ``command`` take this process's place: its input, output and exit code.

    Raises:
        Trouble: it cannot be started.
    """
    sys.stdout.flush()
    try:
        if os.name != "nt":
            os.execv(command[0], command)  # noqa: S606 - no shell is wanted
        process = subprocess.Popen(command)
    except OSError as error:
        raise Trouble(f"{command[0]} does not start ({error}): remove .venv and try again.") from error
    while True:
        try:
            sys.exit(process.wait())
        except KeyboardInterrupt:
            continue  # the child got the same Ctrl-C, and says how it ends


# --- is it there? ----------------------------------------------------------------------------------


def is_ready(files: "tuple[str, ...]", root: Path = ROOT) -> bool:
    """Whether the environment holds exactly ``files`` as they are now, by the stamp that ``build`` left."""
    try:
        stamp = _stamp_path(root).read_text(encoding="utf-8").splitlines()
        return venv_python(root).exists() and set(_stamp_lines(files, root)) <= set(stamp)
    except (OSError, ValueError):
        return False


def _stamp_path(root: Path) -> Path:
    return root / ".venv" / "installed.txt"


def _stamp_lines(files: "tuple[str, ...]", root: Path) -> "list[str]":
    # The interpreter beneath is part of it: an upgrade of the system's Python can pull it away.
    lines = [f"python {os.path.realpath(str(venv_python(root)))}"]
    for name in files:
        lines.append(f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}")
    return lines


def _write_stamp(files: "tuple[str, ...]", root: Path) -> None:
    aside = _stamp_path(root).with_suffix(".new")
    aside.write_text("\n".join(_stamp_lines(files, root)) + "\n", encoding="utf-8")
    aside.replace(_stamp_path(root))


# --- making it -------------------------------------------------------------------------------------


def build(files: "tuple[str, ...]", root: Path = ROOT) -> None:
    """Make or mend the environment. Whatever interrupts this, the next run begins again.

    Raises:
        Trouble: it could not be made; pip's last lines are on stderr.
    """
    from agent.locks import locked

    try:
        with locked(root / ".venv.lock", on_wait=lambda: say("Another run is making .venv: waiting for it.")):
            if not is_ready(files, root):
                _build(files, root)
    except OSError as error:
        raise Trouble(f"The environment in {root / '.venv'} cannot be written: {error}.") from error


def _build(files: "tuple[str, ...]", root: Path) -> None:
    say("Making the environment in .venv (once, about a minute).")
    unfinished = root / ".venv" / "unfinished"
    if unfinished.exists() or not _has_pip(venv_python(root)):
        _make_venv(root)
    # From here to the stamp pip may be stopped half-way through a package, which it would later
    # take for an installed one: a mark that survives makes the next run start from nothing.
    unfinished.touch()
    _install(files, root)
    _write_stamp(files, root)
    unfinished.unlink()


def _has_pip(python: Path) -> bool:
    version, _, _ = probe([str(python)])
    return version in FITTING and _run([str(python), "-m", "pip", "--version"])[0] == 0


def _make_venv(root: Path) -> None:
    venv, python = root / ".venv", fitting_python()
    if is_inside(root) and os.name == "nt":
        raise Trouble(
            "The environment must be made anew: run this with another Python than the one in .venv."
        )
    if venv.exists():
        shutil.rmtree(str(venv))
    try:
        code, output = _run([python, "-m", "venv", str(venv)])
    except BaseException:
        shutil.rmtree(str(venv), ignore_errors=True)
        raise
    if code != 0:
        shutil.rmtree(str(venv), ignore_errors=True)
        _show_end(output)
        raise Trouble(f"{python} cannot make an environment: {_other_python()}")


def _install(files: "tuple[str, ...]", root: Path) -> None:
    command = [str(venv_python(root)), "-m", "pip", "install", "--require-hashes", "--quiet", "--no-input"]
    command.append("--disable-pip-version-check")
    for name in files:
        command += ["-r", str(root / name)]
    env = dict(os.environ, PIP_USER="0")  # the user's own pip settings hold, but not where to put things
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"):
        env.pop(name, None)
    code, output = _run(command, env)
    if code != 0:
        _show_end(output)
        full = "[Errno 28]" in output
        way_out = "make room on the disk" if full else "see pip's lines above (is the network there?)"
        raise Trouble(f"The packages could not be installed: {way_out}, and run the same command again.")


def _run(command: "list[str]", env: "dict[str, str] | None" = None) -> "tuple[int, str]":
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _show_end(output: str, lines: int = 8) -> None:
    for line in output.splitlines()[-lines:]:
        say(f"  {line}")


# --- which Python ------------------------------------------------------------------------------------


def fitting_python() -> str:
    """An interpreter that the pins fit and that can make environments: this one, or one on the PATH.

    Raises:
        Trouble: there is none.
    """
    unable = ""
    for version, able, executable in _pythons():
        if version in FITTING and able:
            return executable
        if version in FITTING:
            unable = unable or version
    if unable:
        raise Trouble(
            f"Python {unable} has no ensurepip to make an environment with: {_other_python(unable)}"
        )
    raise Trouble(
        f"This needs Python 3.10, 3.11 or 3.12, and Python {this_version()} is none of them: "
        "install one, or run this with it."
    )


def this_version() -> str:
    """Major and minor version of the running interpreter."""
    return "{}.{}".format(*sys.version_info)


def _pythons() -> "Iterator[tuple[str, bool, str]]":
    """Version, whether it can make environments, and path: of this interpreter, then of all others."""
    # Inside .venv it is the interpreter beneath that counts, for .venv itself may be about to go.
    beneath = getattr(sys, "_base_executable", None) if is_inside() else None
    yield this_version(), importlib.util.find_spec("ensurepip") is not None, beneath or sys.executable
    for command in _candidates():
        yield probe(command)


def _other_python(version: str = "3") -> str:
    package = f"python{version}-venv"
    return (
        f"install it (Debian, Ubuntu: apt install {package}), or run this with another Python 3.10 to 3.12."
    )


def _candidates() -> "list[list[str]]":
    if os.name == "nt":
        return [["py", f"-{version}"] for version in FITTING] + [["python3"], ["python"]]
    # Every folder of the PATH, not the first only: pyenv's shims may stand before a Python that starts.
    names = [f"python{version}" for version in FITTING] + ["python3", "python"]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    paths = [os.path.join(folder, name) for name in names for folder in folders if folder]
    return [[path] for path in paths if os.access(path, os.X_OK)]


def probe(command: "list[str]") -> "tuple[str, bool, str]":
    """Start ``command``: its version ("" if it does not start), whether it has ensurepip, its path."""
    env = dict(os.environ, PYTHONIOENCODING="utf-8")
    try:
        output = subprocess.check_output(
            [*command, "-c", PROBE], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, timeout=20
        )
        version, able, executable = output.decode("utf-8").splitlines()
    except (OSError, ValueError, subprocess.SubprocessError):
        return "", False, ""
    return version, able == "True", executable
