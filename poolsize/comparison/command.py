"""`poolsize compare`: the differences between runs, and whether they are significant."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import complete_runs, json_option, plot_option, save_plot
from poolsize.command_line.run_file import complete_run
from poolsize.errors import BadInput
from poolsize.units import count

if TYPE_CHECKING:  # --help starts without the analysis
    from pathlib import Path

    from poolsize.comparison.comparison import Comparison


@click.command(
    cls=GroupedCommand, examples={"A server before and after a change": "poolsize compare before.jsonl after.jsonl"}
)
@click.argument("runs", nargs=-1, metavar="RUN RUN...", shell_complete=complete_runs)
@click.option(
    "--across",
    metavar="FIELD",
    help="The one field that may differ, e.g. server.  [default: the field in which they differ]",
)
@plot_option
@json_option
def compare(runs: tuple[str, ...], across: str | None, plot: "Path | None", as_json: bool) -> None:
    """Compare each run with the first run: for example runs of two servers, or of a server before and after a change.

    The runs may differ in only one field, e.g. server, workload, users or thread_handling.
    """
    from poolsize.comparison.text import comparison_text, comparison_values
    from poolsize.present.text.json_text import json_text

    comparison = compare_files(runs, across)
    click.echo(json_text(comparison_values(comparison)) if as_json else comparison_text(comparison))
    if plot:
        from poolsize.comparison.plots import comparison_figure

        save_plot(comparison_figure(comparison), plot)


def compare_files(runs: Sequence[str], across: str | None = None) -> "Comparison":
    """Return the comparison of runs, by the paths of their files, with the first.

    across: the field that may differ; None for any one field. Raises BadInput for fewer than two files, and for a file
    that is named twice, also by different paths.
    """
    if len(runs) < 2:
        raise BadInput(f"compare: {count(len(runs), 'run')} given: name two or more, the reference first")
    files = [os.path.realpath(run) for run in runs]  # a loop of links is an error of its own
    for run, file in zip(runs, files, strict=True):
        if files.count(file) > 1:
            raise BadInput(f"compare: {run} is named twice; name each run once")
    from poolsize.comparison.comparison import compare as compare_runs

    return compare_runs({run: complete_run(run) for run in runs}, across)
