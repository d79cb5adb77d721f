"""`poolsize analyze`: a run's figures by pool size, as a table and a plot."""

import sys
from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import OUTPUT, GroupedCommand
from poolsize.command_line.options import complete_runs, json_option, plot_option, save_plot

if TYPE_CHECKING:  # pathlib stays out of --help
    from pathlib import Path


@click.command(
    cls=GroupedCommand,
    others=OUTPUT,
    examples={
        "The figures of a run": "poolsize analyze run.jsonl",
        "The same, with a plot": "poolsize analyze run.jsonl --plot run.png",
    },
)
@click.argument("run", shell_complete=complete_runs)
@plot_option
@json_option
def analyze(run: str, plot: "Path | None", as_json: bool) -> None:
    """Show the figures of RUN, one line per pool size, with the estimates and the bottleneck."""
    from poolsize.analysis.analysis import analyze as summarize  # --help starts without the analysis
    from poolsize.present.text.analysis import analysis_text, analysis_values
    from poolsize.present.text.json_text import json_text
    from poolsize.runs.store import load_run, resume_command
    from poolsize.sweep.next_step import remaining
    from poolsize.sweep.options import with_flags

    analysis = summarize(load_run(run))
    if left := remaining(analysis.run):
        finish = with_flags(resume_command(run))
        click.echo(f"poolsize: the run is incomplete ({left}); finish it with: {finish}", err=True)
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(json_text(analysis_values(analysis)) if as_json else analysis_text(analysis, encoding))
    if plot:
        from poolsize.present.plots import figure

        save_plot(figure(analysis), plot)
