"""Write requirements.txt and requirements-dev.txt anew from their .in files: every version, every hash.

    python scripts/lock.py                 keeps every version that still fits
    python scripts/lock.py --upgrade       takes the newest that fit

One file serves Python 3.10 to 3.12 on every system. The resolver lives in a throw-away environment.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLVER = "uv==0.13.9"
COMPILE = [
    "pip",
    "compile",
    "--universal",
    "--generate-hashes",
    "--python-version",
    "3.10",
    "--no-header",
    "--quiet",
]


def main(options: list[str]) -> int:
    """Compile both files with ``options`` for the resolver; returns its exit code, 0 if all is well."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        resolver = _install_resolver(folder)
        for source, constraints in (("requirements", []), ("requirements-dev", ["-c", "requirements.txt"])):
            locked = f"{source}.txt"
            shutil.copy(ROOT / locked, folder / locked)  # versions in it are kept where they still fit
            command = [resolver, *COMPILE, *options, *constraints, f"{source}.in", "-o", str(folder / locked)]
            code = subprocess.call(command, cwd=ROOT)
            if code:
                return code
            _replace(folder / locked, ROOT / locked)
    return 0


def _install_resolver(folder: Path) -> str:
    subprocess.check_call([sys.executable, "-m", "venv", str(folder / "venv")])
    binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.check_call([str(binaries / "python"), "-m", "pip", "install", "--quiet", RESOLVER])
    return str(binaries / "uv")


def _replace(source: Path, target: Path) -> None:
    """Copy next to the target first: the temporary folder may be on another disk."""
    aside = target.with_suffix(".new")
    shutil.copy(source, aside)
    aside.replace(target)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
