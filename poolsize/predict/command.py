"""`poolsize predict`: throughput and latencies with other cores, another round trip, or other users."""

from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import complete_runs, duration_option, json_option, plot_option, read_by, save_plot
from poolsize.sweep.readers import milliseconds, pool_sizes

if TYPE_CHECKING:  # pathlib stays out of --help
    from pathlib import Path


@click.command(
    cls=GroupedCommand,
    examples={
        "The same workload on 16 cores": "poolsize predict run.jsonl --cores 16",
        "500 users who pause for a second": "poolsize predict run.jsonl --users 500 --think-time 1s",
    },
)
@click.argument("run", shell_complete=complete_runs)
@click.option("--cores", type=int, help="Physical cores of the database's host.")
@duration_option(
    "--round-trip", "round_trip_ms", read=milliseconds, help="Network round trip of one statement, e.g. 5ms."
)
@duration_option(
    "--think-time", "think_time_ms", read=milliseconds, help="Mean pause of a user between transactions, e.g. 550ms."
)
@click.option("--users", type=int, help="Users of all instances together, up to 1000000.")
@click.option(
    "--instances",
    type=int,
    default=1,
    show_default=True,
    help="Instances of the application. Users and pool size are totals, divided evenly among them.",
)
@click.option(
    "--pool-sizes",
    "sizes",
    metavar="SIZES",
    callback=read_by(pool_sizes),
    help="Sizes to predict, e.g. 8,16,32.  [default: the measured sizes, and twice and 4 times the "
    "largest, as far as users fill them]",
)
@plot_option
@json_option
def predict(run: str, sizes: tuple[int, ...] | None, plot: "Path | None", as_json: bool, **different: Any) -> None:
    """Predict throughput and latencies of RUN's workload with other cores, round trips, think times or users.

    The prediction uses a queueing model fitted to the run. It has queues for the CPU of the load generator, for the
    CPU of the server, and for the rest of the database, such as locks. Network round trips have no queue.
    Options that you leave out keep the values of the run.
    """
    from poolsize.analysis.analysis import analyze  # --help starts without the analysis
    from poolsize.predict.prediction import WhatIf
    from poolsize.predict.prediction import predict as predict_from
    from poolsize.predict.text import prediction_text, prediction_values
    from poolsize.present.text.json_text import json_text
    from poolsize.runs.store import load_run

    prediction = predict_from(analyze(load_run(run)), WhatIf(**different), sizes)
    click.echo(json_text(prediction_values(prediction)) if as_json else prediction_text(prediction))
    if plot:
        from poolsize.predict.plots import prediction_figure

        save_plot(prediction_figure(prediction), plot)
