"""`poolsize import`: a recorded curve to replay, or a run to analyze, from files of other load tools."""

from pathlib import Path

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.errors import BadInput
from poolsize.recordings.importers import read_logs
from poolsize.recordings.recording import write_recording
from poolsize.runs.store import RunWriter
from poolsize.sweep.replay import recorded_run
from poolsize.terminal import pasteable

MOST_SHOWN = 30
"""Pool sizes that are listed one by one."""


@click.command(
    "import",
    cls=GroupedCommand,
    examples={
        "A run from logs of sysbench": "poolsize import threads-1.log threads-8.log --output run.jsonl",
        "A recording from the history of Locust": "poolsize import shop_stats_history.csv --output curve.csv",
    },
)
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cores", type=int, help="Physical cores of the database's host, if --output is a run.")
@click.option("--disks", type=int, help="Disks of the database's host, if --output is a run.")
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A recording (.csv, .csv.gz) or a run (.jsonl).",
)
def import_logs(logs: tuple[Path, ...], cores: int | None, disks: int | None, output: Path) -> None:
    """Convert sysbench's logs or a Locust history to a run or to a recording.

    `recommend` and `analyze` read a run. A recording holds the throughput at each pool size; `sweep --replay` uses it
    in place of a server.

    LOGS are either sysbench's outputs with --report-interval=1 and --percentile=95 (one or more for each number of
    threads), or one *_stats_history.csv from Locust. The number of threads or users becomes the pool size, so each
    thread or user must have had its own connection.
    """
    if output.exists():
        raise BadInput(f"--output {output} already exists: name another file")
    is_run = output.suffix == ".jsonl"
    if not is_run and not output.name.endswith((".csv", ".csv.gz")):
        raise BadInput(f"--output {output}: the name must end in .csv or .csv.gz (a recording), or in .jsonl (a run)")
    if not is_run and (cores, disks) != (None, None):
        raise BadInput("a recording does not store --cores and --disks: give them to poolsize sweep --replay")
    recording = read_logs(logs)
    if is_run:
        run = recorded_run(recording, logs[0].name, cores, disks)
        with RunWriter(output, run.setting) as writer:
            for step in run.steps:
                writer.append(step)
        then = pasteable("poolsize", "recommend", "--run", output)
    else:
        write_recording(recording, output)
        then = pasteable("poolsize", "sweep", "--replay", output)
    sizes = recording.sizes
    is_short = len(sizes) <= MOST_SHOWN
    shown = ", ".join(map(str, sizes)) if is_short else f"{sizes[0]} to {sizes[-1]}, {len(sizes):,} of them"
    click.echo(f"{output} contains the pool sizes {shown}. Next: {then}")
