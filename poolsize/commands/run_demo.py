"""What `poolsize demo` does: a stored search for a pool size, played again in 20 s, and its answer."""

import shutil
from pathlib import Path
from time import sleep

import click

from poolsize.command_line.options import save_plot
from poolsize.command_line.run_file import show_answer
from poolsize.command_line.signals import terminable
from poolsize.errors import BadInput, Interrupted
from poolsize.files import shipped
from poolsize.present.text.progress import ProgressBar
from poolsize.runs.line_file import OWNER_ONLY
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.sweep.events import SecondPassed
from poolsize.sweep.loop import events_of
from poolsize.sweep.opening import new_file

SECONDS = 20.0
"""How long the search takes, played again."""


def run_demo() -> None:
    """Play the search, show its answer and draw it. Raises BadInput where the files can't be written."""
    recorded = shipped("data/examples/search-mariadb.jsonl")
    run, path = load_run(recorded), new_file(None, "demo")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(recorded, path)
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
    show_answer(str(path), run, recommend(analysis))
    save_plot(figure(analysis), path.with_suffix(".png"))
    click.echo("poolsize: to measure a server of your own: poolsize sweep --url mysql://USER@HOST/", err=True)


def _play(run: Run, path: Path) -> None:
    """Show the events of the run's sweep. path: of the run. The time on the display is the sweep's own."""
    seconds, passed = sum(len(step.throughput) for step in run.steps), 0
    click.echo(f"poolsize: plays {seconds} s of a stored search in {SECONDS:.0f} s; no database is used", err=True)
    with ProgressBar(clock=lambda: passed) as bar:
        for event in events_of(run, str(path)):
            bar.show(event)
            if isinstance(event, SecondPassed):
                sleep(SECONDS / seconds)
                passed += 1
