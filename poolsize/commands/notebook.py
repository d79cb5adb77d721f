"""`poolsize notebook`: a copy of the notebook for runs or for an observation, opened in JupyterLab."""

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import complete_runs
from poolsize.errors import BadInput

if TYPE_CHECKING:  # pathlib stays out of --help
    from pathlib import Path

MODULES = ("jupyterlab", "ipywidgets", "nbformat", "pandas")
"""Modules that this command and the notebooks import from the extra `notebook`."""
RUN_LINE = r"(?m)^(RUNS?|OBSERVATION) = .*$"
"""The line of a notebook's parameters cell that names its run, its runs or its observation."""
EXAMPLE_LINES = r"(?m)^(?:from poolsize.files .*\n+|EXAMPLES = .*\n)"
"""Lines of the parameters cell that find the examples, which a notebook of other runs does not need."""
NAMED_RUNS = 3
"""The file name of a comparison names at most so many runs."""


@click.command(
    cls=GroupedCommand,
    examples={
        "A notebook on your run": "poolsize notebook run.jsonl",
        "A notebook on what was observed in production": "poolsize notebook observation.jsonl",
        "A notebook that compares two runs": "poolsize notebook before.jsonl after.jsonl",
    },
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
def notebook(runs: tuple[str, ...]) -> None:
    """Open a notebook that analyses a run or an observation, or compares runs. Without RUN, it shows an example.

    The notebook is a new file in the current folder: poolsize-RUN.ipynb, or for several runs
    poolsize-compare-RUN-RUN.ipynb. You can edit it. Its first code cell names the runs. An older notebook of that name
    is kept; the new file gets a number.
    """
    from importlib.util import find_spec
    from pathlib import Path

    from poolsize.comparison.text import run_names
    from poolsize.files import shipped
    from poolsize.sweep.opening import free_path

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
    from poolsize.command_line.run_file import complete_run
    from poolsize.comparison.command import compare_files
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


def _copy(source: "Path", target: "Path", runs: Sequence[str]) -> None:
    """Copy a notebook, with the runs in its parameters cell. Its outputs, which show an example, stay only without."""
    import nbformat

    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    paths = [os.path.realpath(run) for run in runs]
    value = paths if len(paths) > 1 else "".join(paths)
    for cell in notebook.cells if runs else ():
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if "parameters" in cell.metadata.get("tags", []):
            without_examples = re.sub(EXAMPLE_LINES, "", cell.source)
            cell.source = re.sub(RUN_LINE, lambda line: f"{line[1]} = {value!r}", without_examples)
    nbformat.write(notebook, target)
