"""The notebook runs from its first cell to its last, and shows what its text says: in a kernel of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.command import ROOT, Command
from tests.service import Service

NOTEBOOK = ROOT / "scripts" / "quickstart.ipynb"
LONGEST_S = 150  # of one cell: the first imports LangChain, which takes a very busy machine a minute
UNSET = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AGENT_MODEL", "LOCAL_MODEL_PATH")

pytestmark = pytest.mark.timeout(3 * LONGEST_S)  # of all cells together, when the machine is that busy


class Shown:
    """What the cells of an executed notebook show, by their ids."""

    def __init__(self, notebook: Any) -> None:
        self.cells = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}

    def text(self, cell: str) -> str:
        return "".join(output.text for output in self.cells[cell] if output.output_type == "stream")

    def html(self, cell: str) -> str:
        (page,) = (output.data["text/html"] for output in self.cells[cell] if "data" in output)
        return page

    @property
    def stderr(self) -> str:
        outputs = itertools.chain.from_iterable(self.cells.values())
        return "".join(output.text for output in outputs if output.get("name") == "stderr")


def execute(folder: Path, environment: dict[str, str]) -> Shown:
    """Execute the notebook as ``jupyter execute`` does; a cell that raises fails.

    In a process of its own, because nbclient leaves sockets open, of which pyzmq warns there.
    """
    executed = folder / "executed.ipynb"
    # The notebook has to find its packages by itself, and no settings of the user's Jupyter have a say.
    environment |= {"PYTHONPATH": "", "JUPYTER_PATH": str(_jupyter_path(folder))}
    environment |= {
        name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")
    }
    program = "from nbclient.cli import main; main()"
    options = ["--kernel_name=this", f"--output={executed}", f"--timeout={LONGEST_S}"]
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program, str(NOTEBOOK), *options],
        env=environment,
        capture_output=True,
        timeout=2 * LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return Shown(nbformat.read(executed, as_version=4))


def _jupyter_path(folder: Path) -> Path:
    """A folder with one kernel, this interpreter: another one of the user's may have any Python."""
    kernel = folder / "jupyter" / "kernels" / "this"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "this", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder / "jupyter"


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Executed where there is no model to ask; empty variables, so that no .env sets them."""
    folder = tmp_path_factory.mktemp("scripted")
    return execute(folder, Command(folder).env(**dict.fromkeys(UNSET, "")))


def test_without_a_model_the_replies_are_scripted_and_it_says_why(scripted: Shown) -> None:
    assert scripted.text("model").startswith("replies by script: no model to ask: set OPENAI_API_KEY")


def test_no_cell_writes_to_stderr(scripted: Shown) -> None:
    assert scripted.stderr == ""


def test_a_result_shows_its_answer_and_its_steps(scripted: Shown) -> None:
    page = scripted.html("ask")

    assert "They pay 75 together." in page
    assert "Calculator[6*12.50]" in page
    assert page.count("<tr>") == 1 + 2
    assert scripted.text("look").splitlines()[0] == "They pay 75 together."
    assert scripted.text("look").splitlines()[1].startswith("final_answer after 2 steps and ")
    assert "1 ['Calculator'] ['75']" in scripted.text("look")


def test_steps_come_one_by_one(scripted: Shown) -> None:
    assert scripted.text("iter").splitlines() == [
        *("step 1: Calculator[15% of 80] -> 12", "step 2: Calculator[12/4] -> 3"),
        "15% of 80 is 12, and a quarter of that is 3.",
    ]


def test_ones_own_tool_is_asked(scripted: Shown) -> None:
    assert "<td" in scripted.html("tool")
    assert "Stock[A-17]" in scripted.html("tool")
    assert "There are 42 pieces of A-17." in scripted.html("tool")


def test_the_second_question_builds_on_the_first(scripted: Shown) -> None:
    assert scripted.text("memory").splitlines() == ["They pay 75 together.", "Eight people pay 100."]


def test_a_tool_that_always_fails_ends_at_the_cap_with_a_reason(scripted: Shown) -> None:
    assert scripted.text("stop") == "stopped by: max_iterations | forced: True\n"
    assert "the warehouse does not answer" in scripted.html("stop")


def test_agent_executor_answers_the_same_and_raises_what_a_tool_raises(scripted: Shown) -> None:
    answer = "There are 42 pieces of A-17."
    assert [line.split(":")[1].strip() for line in scripted.text("executor").splitlines()] == [answer] * 2

    raised, ours = scripted.text("broken").splitlines()
    assert raised == "AgentExecutor raised ConnectionError('the warehouse does not answer')"
    assert ours == "ours: I cannot say: the warehouse does not answer. (final_answer)"


def test_with_a_service_the_same_cells_ask_it(tmp_path: Path) -> None:
    with Service(itertools.repeat("Thought: known\nFinal Answer: forty-two")) as service:
        shown = execute(tmp_path, Command(tmp_path, service).env())

    assert shown.text("model") == "asking gpt-4o\n"
    assert shown.stderr == ""
    assert "forty-two" in shown.html("ask")
    assert [line.split()[-1] for line in shown.text("executor").splitlines()] == ["forty-two"] * 2
    asked = [[message["content"] for message in request["messages"]] for request in service.requests]
    (second,) = (contents for contents in asked if "And if two more come along?" in contents)
    assert "forty-two" in str(second)  # the answer to the first question


def test_it_is_kept_without_outputs() -> None:
    """So that a change of the notebook is a change of what it says."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    nbformat.validate(notebook)
