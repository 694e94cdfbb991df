"""The browser for the tests: found, installed where that can be done, and else one sentence says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.errors import SettingsError
from scripts import chromium
from scripts.chromium import Browser

APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> "$LOG"
{body}
"""
INSTALLS = (
    'case "$*" in *install*) for n in chromium chromedriver; do cp "$0" "$(dirname "$0")/$n"; done;; esac'
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="apt-get and its stand-ins are programs of a shell")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of which we are root, and on which there is nothing but what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cp", "dirname"):
        found = next(path for path in (Path("/bin", name), Path("/usr/bin", name)) if path.exists())
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 0)
    return folder


def put(folder: Path, name: str, body: str = "") -> str:
    path = folder / name
    path.write_text(APT.format(body=body), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_what_is_there_is_not_installed(machine: Path) -> None:
    put(machine, "apt-get", "exit 1")
    expected = Browser(put(machine, "chromium-browser"), put(machine, "chromedriver"))

    assert chromium.fetch() == expected


def test_a_browser_without_its_driver_is_none(machine: Path) -> None:
    put(machine, "chromium")

    assert chromium.find() is None


def test_a_missing_browser_is_installed_and_that_is_said(
    machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(machine, "apt-get", INSTALLS)

    assert chromium.fetch() == Browser(str(machine / "chromium"), str(machine / "chromedriver"))
    assert "Installing chromium chromium-driver fonts-noto-cjk" in capsys.readouterr().err
    update, install = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert update == "noninteractive -qq update"
    assert install.endswith("-y --no-install-recommends chromium chromium-driver fonts-noto-cjk")


def test_what_apt_get_says_last_is_in_the_sentence(machine: Path) -> None:
    put(machine, "apt-get", "echo 'E: no such mirror'; exit 100")

    with pytest.raises(SettingsError, match=r"apt-get update failed \(E: no such mirror\): install chromium"):
        chromium.fetch()


def test_without_root_nothing_is_tried(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(machine, "apt-get", INSTALLS)
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 1000)

    with pytest.raises(SettingsError, match="there is no Chromium with its driver"):
        chromium.fetch()
    assert not (tmp_path / "log").exists()
