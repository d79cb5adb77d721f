"""`poolsize analyze`: a run's figures by pool size, as a table and a plot."""

from pathlib import Path

import click

from poolsize.analysis.analysis import analyze as summarize
from poolsize.present.json.analysis import analysis_json
from poolsize.present.text.analysis import analysis_text
from poolsize.runs.store import load_run
from poolsize.sweep.next_step import remaining


@click.command()
@click.argument("run")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it, to a .png or .svg.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def analyze(run: str, plot: Path | None, as_json: bool) -> None:
    """Show what a run says, one line a pool size, and draw it."""
    analysis = summarize(load_run(run))
    if left := remaining(analysis.run):
        click.echo(f"poolsize: {left}; finish it with: poolsize sweep --resume {run}", err=True)
    click.echo(analysis_json(analysis) if as_json else analysis_text(analysis))
    if plot:
        from poolsize.present.plots import figure, save_figure

        save_figure(figure(analysis), plot)
        click.echo(f"poolsize: drew {plot}", err=True)
