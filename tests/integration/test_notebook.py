"""The notebooks: run from top to bottom on every example and on a run just measured; their stored outputs are fresh."""

import base64
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from poolsize.comparison.comparison import compare
from poolsize.comparison.text import difference_sentences
from tests.conftest import EXAMPLES, POOLSIZE, ROOT, Command, assert_swept, example, in_ci, measured_again
from tests.golden import PIXELS

NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
KERNELS, CELL_SECONDS = 3, 60
"""Kernels that try a notebook at most; the longest time of a cell of a notebook that takes 8 s in all."""
SHOWN = "oltp_read_write-mariadb"
"""What the stored outputs show, so that the notebook runs on it anyway."""
PAIRS = (
    "scan-mariadb scan-mysql",
    "insert-mariadb insert-mysql",
    "oltp_read_write-mariadb oltp_read_write-mysql",
)


def executed(name: str, folder: Path, **parameters: object) -> Any:
    """Run a notebook with these parameters, and return it with its outputs.

    Kernels that start at once may take the same TCP port (jupyter_client issue 487), so each has sockets of its own.
    Jupyter at times waits for ever for a cell that has ended (jupyter_client issue 922); then the notebook runs again.
    """
    import papermill  # every process that collects the tests would take seconds for it
    from nbclient.exceptions import CellTimeoutError
    from traitlets.config import Config

    done = folder / "out.ipynb"
    for kernel in range(1, KERNELS + 1):
        with tempfile.TemporaryDirectory() as sockets:
            own_sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
            try:
                papermill.execute_notebook(
                    NOTEBOOKS[name], done, parameters, cwd=folder, progress_bar=False, config=own_sockets,
                    execution_timeout=CELL_SECONDS,
                )  # fmt: skip
                break
            except CellTimeoutError:
                if kernel == KERNELS:
                    raise
    return read(done)


def read(path: Path) -> Any:
    import nbformat  # takes seconds as well

    return nbformat.read(path, as_version=4)


def texts(notebook: Any) -> list[str]:
    """What the cells printed or showed as text, widgets left out: their names are new each time."""
    texts = []
    for output in outputs(notebook):
        if output.get("output_type") == "stream":
            texts.append(output["text"])
        elif "image/png" not in output.get("data", {}):
            texts.append(output["data"]["text/plain"])
    return texts


def images(notebook: Any) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    pngs = [output["data"]["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})]
    return [255 * matplotlib.image.imread(io.BytesIO(base64.b64decode(png))) for png in pngs]


def outputs(notebook: Any) -> list[Any]:
    return [
        output
        for cell in notebook.cells
        if cell.cell_type == "code" and "interactive" not in cell.metadata.get("tags", [])
        for output in cell.outputs
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(NOTEBOOKS, "analysis"))
def test_the_stored_outputs_are_what_it_shows_now(name: str, tmp_path: Path) -> None:
    stored = read(NOTEBOOKS[name])
    fresh = executed(name, tmp_path)
    assert texts(fresh) == texts(stored), "run scripts/notebooks and look at what changed"
    pairs = list(zip(images(fresh), images(stored), strict=True))
    assert pairs
    for new, old in pairs:
        assert new.shape == old.shape
        assert np.sqrt(np.mean((new - old) ** 2)) <= PIXELS, "run scripts/notebooks and look at what changed"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_code_host_can_show_it(name: str) -> None:
    """No output needs a kernel, and none names a place of the machine it ran on."""
    text = NOTEBOOKS[name].read_text()
    assert text.count('"image/png"') >= 4
    assert "widget-view" not in text
    assert str(ROOT) not in text
    assert "/home/" not in text
    notebook = json.loads(text)
    of_images = [output["metadata"]["image/png"] for cell in notebook["cells"] for output in cell.get("outputs", ())
                 if "image/png" in output.get("data", {})]  # fmt: skip
    assert all(metadata["alt"] for metadata in of_images)
    assert all(cell["outputs"] or "import" in "".join(cell["source"]) or cell["metadata"].get("tags")
               for cell in notebook["cells"] if cell["cell_type"] == "code")  # fmt: skip


@pytest.mark.long
@pytest.mark.experiment
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {SHOWN}))
def test_the_analysis_runs_on_every_example(tmp_path: Path, name: str) -> None:
    done = executed("analysis", tmp_path, RUN=str(EXAMPLES[name]))
    assert len(images(done)) >= 7
    assert any("Use " in text for text in texts(done))


@pytest.mark.long
def test_a_notebook_of_a_run_shows_it_the_next_day_too(
    poolsize_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executed by itself, without the command that made it."""
    monkeypatch.setattr(os, "execv", lambda *_: None)
    assert poolsize_here("notebook", str(EXAMPLES["scan-mariadb"])).returncode == 0
    monkeypatch.setitem(NOTEBOOKS, "mine", tmp_path / "poolsize-scan-mariadb.ipynb")
    assert any("scan on MariaDB" in text or "Use 2 connections" in text for text in texts(executed("mine", tmp_path)))


@pytest.mark.long
@pytest.mark.experiment
def test_the_analysis_runs_on_a_replay(tmp_path: Path, poolsize: Command) -> None:
    assert poolsize("sweep", "--replay", "cisco", "--cores", "8", "--output", "a.jsonl").returncode == 0
    assert len(images(executed("analysis", tmp_path, RUN=str(tmp_path / "a.jsonl")))) == 2


@pytest.mark.long
@pytest.mark.experiment
@pytest.mark.parametrize("names", PAIRS)
def test_the_comparison_runs_on_pairs_of_examples(tmp_path: Path, names: str) -> None:
    pair = names.split()
    done = executed("compare", tmp_path, RUNS=[str(EXAMPLES[name]) for name in pair])
    shown = "".join("".join(texts(done)).split())
    comparison = compare({name: example(name) for name in pair})
    for difference in comparison.others:
        for sentence in difference_sentences(comparison, difference):
            assert "".join(sentence.split()) in shown


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.experiment
@measured_again
def test_both_run_on_what_was_just_measured(poolsize: Command, tmp_path: Path) -> None:
    short = ("--pool-sizes", "1,2,4", "--users", "16", "--step-time", "3s", "--warm-up", "1s")
    done = poolsize("sweep", "--workload", "select_one", *short, "--output", "a.jsonl")
    assert_swept(done)
    shutil.copyfile(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    runs = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert len(images(executed("analysis", tmp_path, RUN=runs[0], CURRENT=2))) >= 7
    compared = " ".join(texts(executed("compare", tmp_path, RUNS=runs)))
    assert "No significant difference in throughput" in " ".join(compared.split())


def test_a_module_in_the_current_folder_takes_no_part(tmp_path: Path) -> None:
    """Before, a jupyter.py beside somebody's run was executed in place of Jupyter."""
    executed = tmp_path / "executed"
    (tmp_path / "jupyter.py").write_text(f"open({str(executed)!r}, 'w').close()")
    jupyter = subprocess.Popen(
        [POOLSIZE, "notebook"],
        cwd=tmp_path, env=os.environ | {"BROWSER": "true"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert jupyter.stderr is not None
        assert any("Serving notebooks from local directory" in line for line in jupyter.stderr)
    finally:
        os.killpg(jupyter.pid, signal.SIGKILL)
        jupyter.communicate()
    assert not executed.exists()
