"""The browser that the report is tested in: where it is, and how a machine of ours comes by it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from agent.errors import SettingsError

PACKAGES = ("chromium", "chromium-driver", "fonts-noto-cjk")  # Debian's names
LONGEST_S = 900.0  # of one apt-get; a mirror that hangs must not hold up the tests for ever
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Browser:
    """Paths of the browser and of the driver through which it is led."""

    binary: str
    driver: str


def find() -> Browser | None:
    """The browser on the PATH; None unless its driver is there too."""
    binary = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return Browser(binary, driver) if binary and driver else None


def fetch() -> Browser:
    """The browser, installed first where it is missing and that can be done. Raises SettingsError."""
    found = find()
    if found is None and _can_install():
        _install()
        found = find()
    if found is None:
        raise SettingsError("there is no Chromium with its driver: install chromium and chromedriver")
    return found


def _can_install() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def _install() -> None:
    print(
        f"Installing {' '.join(PACKAGES)} with apt-get, to test the report in.", file=sys.stderr, flush=True
    )
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        try:
            done = subprocess.run(
                ["apt-get", "-qq", *command],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LONGEST_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SettingsError(f"apt-get {command[0]} did not end well: {error}") from None
        if done.returncode:
            last = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it says nothing"]
            raise SettingsError(f"apt-get {command[0]} failed ({last[0]}): install {' '.join(PACKAGES)}")
