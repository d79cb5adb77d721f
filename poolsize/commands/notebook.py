"""`poolsize notebook`: the analysis notebook, opened on a run, or the comparing one on several."""

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from poolsize.analysis.differences import compared_field
from poolsize.errors import BadInput
from poolsize.shipped import shipped
from poolsize.store import load_run


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
def notebook(runs: tuple[str, ...]) -> None:
    """Open the analysis notebook on a run, on an example without one; or several runs beside each other.

    The notebook is copied to poolsize-analysis.ipynb here (poolsize-compare.ipynb for several) unless that is there
    already, so it is yours to change.
    """
    loaded = {run: load_run(run) for run in runs}  # what can't be shown is refused here, not in a cell
    name = "analysis"
    if len(runs) > 1:
        name = "compare"
        compared_field(loaded)
        os.environ["POOLSIZE_RUNS"] = json.dumps([str(Path(run).resolve()) for run in runs])
    elif runs:
        os.environ["POOLSIZE_RUN"] = str(Path(runs[0]).resolve())
    if find_spec("jupyterlab") is None:
        raise BadInput("JupyterLab is not installed: pip install jupyter")
    copy = Path(f"poolsize-{name}.ipynb")
    try:
        if not copy.exists():
            shutil.copyfile(shipped(f"notebooks/{name}.ipynb"), copy)
    except OSError as error:
        raise BadInput(f"{copy} can't be written here ({error.strerror}): go to a folder of yours") from None
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    os.execv(sys.executable, [sys.executable, "-m", "jupyter", "lab", str(copy), *as_root])  # noqa: S606 (no shell)
