"""What `poolsize notebook` does: it copies the notebook for runs or an observation, and opens it in JupyterLab."""

import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from poolsize.command_line.run_file import complete_run
from poolsize.comparison.command import compare_files
from poolsize.comparison.text import run_names
from poolsize.errors import BadInput
from poolsize.files import shipped
from poolsize.sweep.opening import free_path

MODULES = ("jupyterlab", "ipywidgets", "nbformat", "pandas")
"""Modules that this command and the notebooks import from the extra `notebook`."""

RUN_LINE = re.compile(r"^(RUNS?|OBSERVATION) = .*$", re.MULTILINE)
"""The line of a notebook's parameters cell that names its run, its runs or its observation."""
EXAMPLE_LINES = re.compile(r"^(?:from poolsize.files .*\n+|EXAMPLES = .*\n)", re.MULTILINE)
"""Lines of the parameters cell that find the examples, which a notebook of other runs does not need."""
NAMED_RUNS = 3
"""The file name of a comparison names at most so many runs."""


def run_notebook(runs: Sequence[str]) -> None:
    """Copy the notebook that shows these files, and become JupyterLab. Raises BadInput."""
    missing = [module for module in MODULES if find_spec(module) is None]
    if missing:
        raise BadInput(
            f"notebooks need {', '.join(missing)}: install them with pip install '.[notebook]' in poolsize's folder"
        )
    shows = _checked(runs)
    names = [name.replace("/", "-") for name in run_names(runs)] if runs else ["analysis"]
    if len(runs) > 1:
        more = [f"{len(names) - NAMED_RUNS}-more"] if len(names) > NAMED_RUNS else []
        names = ["compare", *names[:NAMED_RUNS], *more]
    copy = free_path(Path("-".join(["poolsize", *names])), ".ipynb")
    try:
        _copy(shipped(f"notebooks/{shows}.ipynb"), copy, runs)
    except OSError as error:
        way_out = "change to a folder in which you may write"
        raise BadInput(f"{copy} can't be written here ({error.strerror}): {way_out}") from None
    click.echo(f"poolsize: wrote {copy}", err=True)
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    words = [sys.executable, "-P", "-m", "jupyter", "lab", str(copy), *as_root]
    os.execv(sys.executable, words)  # noqa: S606 (no shell)


def _checked(runs: Sequence[str]) -> str:
    """Return the name of the notebook that shows these files. Raises the errors of files that it can't show."""
    from poolsize.observe.pool_answer import pool_named
    from poolsize.observe.store import is_observation, load_observation

    if len(runs) > 1:
        compare_files(runs)
        return "compare"
    if runs and is_observation(runs[0]):
        pool_named(load_observation(runs[0]), None)
        return "production"
    if runs:
        complete_run(runs[0])
    return "analysis"


def _copy(source: Path, target: Path, runs: Sequence[str]) -> None:
    """Copy a notebook, with the runs in its parameters cell. Its outputs, which show an example, stay only without."""
    import nbformat

    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    paths = [str(Path(run).resolve()) for run in runs]
    value = paths if len(paths) > 1 else "".join(paths)
    for cell in notebook.cells if runs else ():
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = RUN_LINE.sub(lambda line: f"{line[1]} = {value!r}", EXAMPLE_LINES.sub("", cell.source))
    nbformat.write(notebook, target)
