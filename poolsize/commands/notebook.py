"""`poolsize notebook`: the analysis notebook, opened on a run."""

import os
import shutil
import sys
from pathlib import Path

import click

from poolsize.errors import BadInput
from poolsize.shipped import shipped
from poolsize.store import load_run


@click.command()
@click.argument("run", required=False)
def notebook(run: str | None) -> None:
    """Open the analysis notebook on a run; on an example run without one.

    The notebook is copied to poolsize-analysis.ipynb here unless that is there already, so it is yours to change.
    """
    if run:
        load_run(run)  # a bad file is refused here, not in a cell
        os.environ["POOLSIZE_RUN"] = str(Path(run).resolve())
    copy = Path("poolsize-analysis.ipynb")
    if not copy.exists():
        shutil.copyfile(shipped("notebooks/analysis.ipynb"), copy)
    try:
        os.execv(sys.executable, [sys.executable, "-m", "jupyter", "lab", str(copy)])  # noqa: S606 (no shell is needed)
    except OSError as error:
        raise BadInput(f"jupyter can't be started: {error}; install it with pip install jupyter") from None
