"""`poolsize notebook`: a copy of the notebook for one run, or of the notebook for several, opened in JupyterLab."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from poolsize.commands.compare import compare_files
from poolsize.commands.run_file import complete_run
from poolsize.errors import BadInput
from poolsize.shipped import shipped

MODULES = ("jupyterlab", "ipywidgets", "nbformat", "pandas")
"""Modules that this command and the notebooks import from the extra `notebook`."""


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
def notebook(runs: tuple[str, ...]) -> None:
    """Open the analysis notebook on a run, on an example without one; or several runs beside each other.

    The notebook is copied to poolsize-analysis.ipynb here (poolsize-compare.ipynb for several) unless that is there
    already, so it is yours to change.
    """
    _require_modules()
    runs_shown = _runs_shown(runs)
    name = "compare" if len(runs) > 1 else "analysis"
    copy = Path(f"poolsize-{name}.ipynb")
    try:
        if not copy.exists():
            _copy(shipped(f"notebooks/{name}.ipynb"), copy, keep_outputs=not runs)
    except OSError as error:
        raise BadInput(f"{copy} can't be written here ({error.strerror}): go to a folder of yours") from None
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    words = [sys.executable, "-m", "jupyter", "lab", str(copy), *as_root]
    os.execve(sys.executable, words, os.environ | runs_shown)  # noqa: S606 (no shell)


def _require_modules() -> None:
    """Raise BadInput, which names the extra, unless all of its modules are installed."""
    missing = [module for module in MODULES if find_spec(module) is None]
    if missing:
        raise BadInput(f"notebooks need {', '.join(missing)}: pip install 'poolsize[notebook]'")


def _runs_shown(runs: tuple[str, ...]) -> dict[str, str]:
    """Return the environment variable that names the runs to the notebook; empty without runs, for its example.

    Raises BadInput or WorkFailed for runs that the notebook can't show.
    """
    if not runs:
        return {}
    if len(runs) == 1:
        complete_run(runs[0])
        return {"POOLSIZE_RUN": str(Path(runs[0]).resolve())}
    compare_files(runs)
    return {"POOLSIZE_RUNS": json.dumps([str(Path(run).resolve()) for run in runs])}


def _copy(source: Path, target: Path, *, keep_outputs: bool) -> None:
    """Copy a notebook. keep_outputs: whether to copy its outputs, which show the examples and no other run."""
    import nbformat

    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not keep_outputs:
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, target)
