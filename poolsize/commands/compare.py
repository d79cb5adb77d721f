"""`poolsize compare`: runs beside each other, and whether they differ."""

from pathlib import Path

import click

from poolsize.analysis.summary import analyze
from poolsize.comparison import compare as compare_runs
from poolsize.errors import BadInput
from poolsize.present.comparison_text import comparison_json, comparison_text
from poolsize.store import load_run
from poolsize.units import count


@click.command()
@click.argument("runs", nargs=-1, metavar="RUN RUN...")
@click.option(
    "--across", metavar="FIELD", help="The one field that may differ, e.g. server.  [default: found by itself]"
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it, to a .png or .svg.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(runs: tuple[str, ...], across: str | None, plot: Path | None, as_json: bool) -> None:
    """Compare runs with the first of them: a thread pool on and off, two servers, before and after.

    They may differ in one field, such as server, workload, users or thread_handling.
    """
    if len(runs) < 2:
        raise BadInput(f"compare: {count(len(runs), 'run')} given: name two or more, the first to compare others with")
    if len(set(runs)) < len(runs):
        twice = next(run for run in runs if runs.count(run) > 1)
        raise BadInput(f"compare: {twice} is named twice, and does not differ from itself")
    found = compare_runs({run: analyze(load_run(run)) for run in runs}, across)
    click.echo(comparison_json(found) if as_json else comparison_text(found))
    if plot:
        from poolsize.present.plots import comparison_figure, save_figure

        save_figure(comparison_figure(found), plot)
        click.echo(f"poolsize: drew {plot}", err=True)
