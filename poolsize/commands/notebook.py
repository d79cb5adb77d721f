"""`poolsize notebook`: its help."""

import click

from poolsize.command_line.completion import complete_runs
from poolsize.command_line.grouped_command import GroupedCommand


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
    from poolsize.commands.run_notebook import run_notebook  # --help starts without the analysis

    run_notebook(runs)
