"""`poolsize notebook`: the analysis notebook, opened on a run."""

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
@click.argument("run", required=False)
def notebook(run: str | None) -> None:
    """Open the analysis notebook on a run; on an example run without one.

    The notebook is copied to poolsize-analysis.ipynb here unless that is there already, so it is yours to change.
    """
    if run:
        load_run(run)  # a bad file is refused here, not in a cell
        os.environ["POOLSIZE_RUN"] = str(Path(run).resolve())
    if find_spec("jupyterlab") is None:
        raise BadInput("JupyterLab is not installed: pip install jupyter")
    copy = Path("poolsize-analysis.ipynb")
    try:
        if not copy.exists():
            shutil.copyfile(shipped("notebooks/analysis.ipynb"), copy)
    except OSError as error:
        raise BadInput(f"{copy} can't be written here ({error.strerror}): go to a folder of yours") from None
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    os.execv(sys.executable, [sys.executable, "-m", "jupyter", "lab", str(copy), *as_root])  # noqa: S606 (no shell)
