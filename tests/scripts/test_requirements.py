"""The lock is exact and complete, the card's pins are in it, and it is what runs here."""

import importlib.metadata
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def blocks(name):
    """Each requirement of a lock with the lines beneath it, hashes included."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.split(r"\n(?=[A-Za-z0-9])", text.strip())


def requirement(block):
    return Requirement(block.split("\\")[0].strip())


def locked(name):
    return [requirement(block) for block in blocks(name)]


def asked_for(name):
    """The requirements of an .in file."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def here(name):
    """Names and versions in a lock that hold for this Python and system."""
    return {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin in locked(name)
        if pin.marker is None or pin.marker.evaluate()
    }


@pytest.mark.parametrize("pin", ["langchain==0.1.16", "langchain-openai==0.1.3", "openai==1.23.2"])
def test_the_cards_pins_are_exact(pin):
    name, version = pin.split("==")
    assert here("requirements.txt")[name] == version


def test_requests_is_there_and_httpx_is_one_that_openai_1_23_can_use():
    pins = here("requirements.txt")
    assert "requests" in pins
    assert tuple(map(int, pins["httpx"].split(".")[:2])) < (0, 28)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_one_version_with_hashes(name):
    for block in blocks(name):
        assert re.fullmatch(r"==[^,*]+", str(requirement(block).specifier)), block.splitlines()[0]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block.splitlines()[0]


@pytest.mark.parametrize("stem", ["requirements", "requirements-dev"])
def test_the_lock_was_made_from_what_is_asked_for(stem):
    pins = {canonicalize_name(pin.name): pin for pin in locked(f"{stem}.txt")}
    wanted = asked_for(f"{stem}.in")
    assert wanted
    for want in wanted:
        pin = pins[canonicalize_name(want.name)]
        assert want.specifier.contains(str(pin.specifier).removeprefix("==")), want


def test_the_two_locks_agree_where_they_overlap():
    runtime, development = here("requirements.txt"), here("requirements-dev.txt")
    both = runtime.keys() & development.keys()
    assert {name: runtime[name] for name in both} == {name: development[name] for name in both}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_what_is_installed_is_what_is_locked(name):
    pins = here(name)
    assert {package: importlib.metadata.version(package) for package in pins} == pins


def test_a_chat_client_can_be_built():
    from langchain_openai import ChatOpenAI

    assert ChatOpenAI(api_key="x", model="gpt-4o").model_name == "gpt-4o"
