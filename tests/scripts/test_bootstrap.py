"""The environment: which Python makes it, when it counts as there, and what mends it."""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import threading
import venv
from pathlib import Path

import pytest

from scripts import bootstrap
from scripts.bootstrap import DEVELOPMENT, RUNTIME, Trouble

ROOT = Path(__file__).resolve().parents[2]
HERE = bootstrap.this_version()
posix_only = pytest.mark.skipif(os.name == "nt", reason="its stand-ins for Python are shell scripts")


def stand_in(folder, name, script):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def elsewhere(monkeypatch):
    """The running Python is one that the pins do not fit."""
    monkeypatch.setattr(bootstrap, "this_version", lambda: "3.13")
    monkeypatch.setenv("PATH", "")


# --- which Python --------------------------------------------------------------------------------------


def test_a_python_that_fits_is_used_itself():
    assert bootstrap.fitting_python() == sys.executable or bootstrap.is_inside()


@posix_only
def test_another_python_on_the_path_must_really_start_and_be_of_the_version(elsewhere, tmp_path, monkeypatch):
    stand_in(tmp_path / "shims", f"python{HERE}", "echo 'command not found' >&2; exit 127")
    stand_in(tmp_path / "liar", f"python{HERE}", "printf '3.13\\nTrue\\n/usr/bin/python3\\n'")
    good = stand_in(tmp_path / "good", f"python{HERE}", f'exec "{sys.executable}" "$@"')
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("shims", "liar", "good")))
    assert bootstrap.probe([str(good)])[0] == HERE
    assert bootstrap.fitting_python() == bootstrap.probe([str(good)])[2]


def test_without_any_the_sentence_names_what_is_needed(elsewhere):
    with pytest.raises(Trouble, match=r"3\.10, 3\.11 or 3\.12.*3\.13"):
        bootstrap.fitting_python()


@posix_only
def test_a_python_without_ensurepip_is_passed_over(elsewhere, tmp_path, monkeypatch):
    stand_in(tmp_path / "a", "python3.12", "printf '3.12\\nFalse\\n/usr/bin/python3.12\\n'")
    stand_in(tmp_path / "b", "python3.10", "printf '3.10\\nTrue\\n/opt/python3.10\\n'")
    monkeypatch.setenv("PATH", str(tmp_path / "a"))
    with pytest.raises(Trouble, match=r"3\.12 has no ensurepip.*apt install python3\.12-venv"):
        bootstrap.fitting_python()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert bootstrap.fitting_python() == "/opt/python3.10"


# --- when it is there ----------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    """A project whose environment is made of empty files, and finished."""
    for name in DEVELOPMENT:
        (tmp_path / name).write_text(f"# {name}\n", encoding="utf-8")
    python = bootstrap.venv_python(tmp_path)
    python.parent.mkdir(parents=True)
    python.touch()
    bootstrap._write_stamp(RUNTIME, tmp_path)
    return tmp_path


def test_the_stamp_says_that_it_is_ready(root):
    assert bootstrap.is_ready(RUNTIME, root)


def test_the_development_packages_are_asked_for_separately(root):
    assert not bootstrap.is_ready(DEVELOPMENT, root)
    bootstrap._write_stamp(DEVELOPMENT, root)
    assert bootstrap.is_ready(DEVELOPMENT, root)
    assert bootstrap.is_ready(RUNTIME, root)


def test_a_changed_requirement_makes_it_stale(root):
    (root / "requirements.txt").write_text("requests==2.32.5\n", encoding="utf-8")
    assert not bootstrap.is_ready(RUNTIME, root)


def test_an_interpreter_that_went_away_makes_it_stale(root):
    bootstrap.venv_python(root).unlink()
    assert not bootstrap.is_ready(RUNTIME, root)


@posix_only
def test_an_interpreter_that_was_exchanged_beneath_makes_it_stale(root):
    bootstrap.venv_python(root).unlink()
    bootstrap.venv_python(root).symlink_to(sys.executable)
    assert not bootstrap.is_ready(RUNTIME, root)


# --- making and mending --------------------------------------------------------------------------------


@pytest.fixture
def steps(monkeypatch):
    """What ``build`` does, without doing it: an environment whose pip starts, and an install that works."""
    done = []
    monkeypatch.setattr(bootstrap, "_has_pip", lambda python: python.exists())
    monkeypatch.setattr(bootstrap, "_make_venv", lambda root: done.append("venv"))
    monkeypatch.setattr(bootstrap, "_install", lambda files, root: done.append("install"))
    return done


def test_a_stale_environment_is_brought_up_to_date_in_place(root, steps):
    bootstrap.build(DEVELOPMENT, root)
    assert steps == ["install"]
    assert bootstrap.is_ready(DEVELOPMENT, root)


def test_an_interrupted_install_is_no_environment_and_the_next_run_begins_anew(root, steps, monkeypatch):
    def interrupt(files, root):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bootstrap, "_install", interrupt)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.build(DEVELOPMENT, root)
    assert not bootstrap.is_ready(DEVELOPMENT, root)
    bootstrap.build(DEVELOPMENT, root)
    assert steps == ["venv", "install"]
    assert bootstrap.is_ready(DEVELOPMENT, root)


def test_two_runs_at_once_make_it_once(root, steps):
    together = threading.Barrier(2)

    def run():
        together.wait()
        bootstrap.build(DEVELOPMENT, root)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steps == ["install"]
    assert not (root / ".venv.lock").exists()


@posix_only
def test_an_environment_that_cannot_be_made_leaves_nothing(root, monkeypatch):
    broken = stand_in(root / "bin", "python3.11", 'mkdir -p "$3/lib"; echo "disk on fire"; exit 1')
    monkeypatch.setattr(bootstrap, "fitting_python", lambda: str(broken))
    with pytest.raises(Trouble, match="cannot make an environment"):
        bootstrap._make_venv(root)
    assert not (root / ".venv").exists()


@pytest.mark.parametrize(("output", "way_out"), [("[Errno 28]", "make room"), ("no such host", "network")])
def test_pips_last_lines_and_a_way_out_are_said(root, monkeypatch, capsys, output, way_out):
    lines = [f"line {number}" for number in range(20)]
    monkeypatch.setattr(bootstrap, "_run", lambda command, env: (1, "\n".join([*lines, output])))
    with pytest.raises(Trouble, match=way_out):
        bootstrap._install(RUNTIME, root)
    out, err = capsys.readouterr()
    assert out == ""
    assert output in err
    assert "line 3" not in err


# --- the script as a whole -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A checkout that needs no package, with an agent that says what it was given."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__", "tasks"))
    (root / "agent").mkdir()
    for name in ("locks.py", "errors.py", "redaction.py", "weights.py"):
        shutil.copy(ROOT / "agent" / name, root / "agent" / name)
    (root / "agent" / "settings.py").write_text(
        "from types import SimpleNamespace as Settings\n"
        "def load_settings():\n"
        "    return Settings(api_key='x', base_url='', model='', local_model_path='')\n",
        encoding="utf-8",
    )
    (root / "agent" / "options.py").write_text(
        "from types import SimpleNamespace\n"
        "def parse(arguments):\n"
        "    return SimpleNamespace(model='', base_url='')\n",
        encoding="utf-8",
    )
    (root / "agent" / "__main__.py").write_text(
        "import sys\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(7)\n", encoding="utf-8"
    )
    for name in DEVELOPMENT:
        (root / name).touch()
    return root


def start(root, *arguments, without="", version=None):
    """Run run.py of ``root`` with nothing on the PATH, on a Python that is changed as told."""
    changes = root / f"changes-{without}-{version}"
    changes.mkdir(exist_ok=True)
    lines = ["import sys"]
    lines += [f"sys.modules[{without!r}] = None"] if without else []
    lines += [f"sys.version_info = {version}"] if version else []
    (changes / "sitecustomize.py").write_text("\n".join(lines), encoding="utf-8")
    env = os.environ | {"PATH": "", "PYTHONPATH": str(changes)} if without or version else dict(os.environ)
    script = [sys.executable, str(root / "scripts" / "run.py"), *arguments]
    done = subprocess.run(script, input="stdin", capture_output=True, encoding="utf-8", env=env, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_wrong_python_is_one_sentence_and_exit_code_2(project):
    code, out, err = start(project, "question", version=(3, 13, 0, "final", 0))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "3.10, 3.11 or 3.12" in err
    assert not (project / ".venv").exists()


def test_a_python_without_ensurepip_leaves_no_half_made_environment(project):
    code, out, err = start(project, "question", without="ensurepip")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"python{HERE}-venv" in err
    assert not (project / ".venv").exists()


def test_help_needs_no_environment(project):
    code, out, err = start(project, "--help")
    assert (code, err) == (0, "")
    assert "--small" in out
    assert not (project / ".venv").exists()


def test_the_agents_output_and_exit_code_are_passed_on_and_the_second_run_makes_nothing(project):
    # Making one from nothing takes pip ten seconds; this one borrows ours.
    venv.create(project / ".venv")
    packages = sysconfig.get_path("purelib", vars={"base": str(project / ".venv")})
    (Path(packages) / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    code, out, err = start(project, "二十 三", "--json")
    assert (code, out) == (7, "['二十 三', '--json'] stdin\n")
    assert err == "Making the environment in .venv (once, about a minute).\n"
    assert start(project, "again") == (7, "['again'] stdin\n", "")


def test_the_scripts_can_be_read_by_an_old_python():
    import ast

    for name in ("run", "test", "bootstrap", "__init__"):
        source = (ROOT / "scripts" / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(source, feature_version=(3, 6))
        futures = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ]
        assert futures == []
