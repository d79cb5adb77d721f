"""`poolsize demo`: a stored search for a pool size, played again in 20 s, and its answer."""

from time import sleep
from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.errors import BadInput, Interrupted

if TYPE_CHECKING:  # --help starts without the analysis
    from pathlib import Path

    from poolsize.runs.run import Run

SECONDS = 20.0
"""How long the search takes, played again."""


@click.command(cls=GroupedCommand, examples={"A search and its answer, without a database": "poolsize demo"})
def demo() -> None:
    """Play a stored search again, in 20 s and without a database, and show its answer.

    The search measured a MariaDB server on two cores for three minutes. The command copies its run to data/runs in the
    current folder, and draws a plot beside it. Try the other commands on this run.
    """
    from poolsize.command_line.options import save_plot
    from poolsize.command_line.run_file import show_answer
    from poolsize.command_line.signals import terminable
    from poolsize.files import shipped
    from poolsize.runs.line_file import OWNER_ONLY
    from poolsize.runs.store import load_run
    from poolsize.sweep.opening import new_file

    recorded = shipped("data/examples/search-mariadb.jsonl")
    run, path = load_run(recorded), new_file(None, "demo")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(recorded.read_bytes())
        path.chmod(OWNER_ONLY)
    except OSError as error:
        raise BadInput(f"{path} can't be written ({error.strerror}): go to a folder of your own") from None
    try:
        with terminable():
            _play(run, path)
    except KeyboardInterrupt as error:
        path.unlink()
        raise Interrupted("interrupted", *error.args) from None
    from poolsize.analysis.analysis import analyze  # their imports would delay the first line
    from poolsize.answer.from_run import recommend
    from poolsize.present.plots import figure

    analysis = analyze(run)
    show_answer(str(path), analysis, recommend(analysis))
    save_plot(figure(analysis), path.with_suffix(".png"))
    click.echo("poolsize: to measure a server of your own: poolsize sweep --url mysql://USER@HOST/", err=True)


def _play(run: "Run", path: "Path") -> None:
    """Show the events of the run's sweep. path: of the run. The time on the display is the sweep's own."""
    from poolsize.present.text.progress import ProgressBar
    from poolsize.sweep.events import SecondPassed
    from poolsize.sweep.loop import events_of

    seconds, passed = sum(len(step.throughput) for step in run.steps), 0
    click.echo(f"poolsize: plays {seconds} s of a stored search in {SECONDS:.0f} s; no database is used", err=True)
    with ProgressBar(clock=lambda: passed) as bar:
        for event in events_of(run, str(path)):
            bar.show(event)
            if isinstance(event, SecondPassed):
                sleep(SECONDS / seconds)
                passed += 1
