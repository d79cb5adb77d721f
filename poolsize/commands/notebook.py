"""`poolsize notebook`: the analysis notebook, opened on a run, or the comparing one on several."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from poolsize.commands.compare import compared
from poolsize.commands.run_file import complete_run
from poolsize.errors import BadInput
from poolsize.shipped import shipped


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
def notebook(runs: tuple[str, ...]) -> None:
    """Open the analysis notebook on a run, on an example without one; or several runs beside each other.

    The notebook is copied to poolsize-analysis.ipynb here (poolsize-compare.ipynb for several) unless that is there
    already, so it is yours to change.
    """
    name = "compare" if len(runs) > 1 else "analysis"
    if len(runs) > 1:
        compared(runs)  # what can't be shown is refused here, not in a cell
        os.environ["POOLSIZE_RUNS"] = json.dumps([str(Path(run).resolve()) for run in runs])
    elif runs:
        complete_run(runs[0])
        os.environ["POOLSIZE_RUN"] = str(Path(runs[0]).resolve())
    if find_spec("jupyterlab") is None:
        raise BadInput("JupyterLab is not installed: pip install jupyter")
    copy = Path(f"poolsize-{name}.ipynb")
    try:
        if not copy.exists():
            _copy(shipped(f"notebooks/{name}.ipynb"), copy, keep_outputs=not runs)
    except OSError as error:
        raise BadInput(f"{copy} can't be written here ({error.strerror}): go to a folder of yours") from None
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    os.execv(sys.executable, [sys.executable, "-m", "jupyter", "lab", str(copy), *as_root])  # noqa: S606 (no shell)


def _copy(source: Path, target: Path, *, keep_outputs: bool) -> None:
    """Copy a notebook; without what it showed of the examples, where other runs are to be shown."""
    import nbformat

    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not keep_outputs:
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, target)
