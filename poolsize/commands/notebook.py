"""`poolsize notebook`: the analysis notebook, opened on a run, or the comparing one on several."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import click

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
    for run in runs:
        load_run(run)  # a bad file is refused here, not in a cell
    paths = [str(Path(run).resolve()) for run in runs]
    name = "compare" if len(runs) > 1 else "analysis"
    if runs:
        os.environ["POOLSIZE_RUNS" if len(runs) > 1 else "POOLSIZE_RUN"] = os.pathsep.join(paths)
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
