"""`poolsize import`: a recorded curve to replay, or a run to analyze, from the files of other load tools."""

from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import FILE
from poolsize.errors import BadInput
from poolsize.terminal import pasteable

if TYPE_CHECKING:  # --help starts without the analysis
    from pathlib import Path

    from poolsize.recordings.recording import Recording

MOST_SHOWN = 30
"""Pool sizes that are listed one by one."""


@click.command(
    "import",
    cls=GroupedCommand,
    examples={
        "A run from outputs of sysbench": "poolsize import threads-1.log threads-8.log --output run.jsonl",
        "A recording from the history of Locust": "poolsize import shop_stats_history.csv --output curve.csv",
    },
)
@click.argument("logs", nargs=-1, required=True, type=FILE)
@click.option("--cores", type=int, help="Physical cores of the database's host, if --output is a run.")
@click.option("--disks", type=int, help="Disks of the database's host, if --output is a run.")
@click.option(
    "--output",
    required=True,
    type=FILE,
    metavar="FILE",
    help="A recording (.csv, .csv.gz) or a run (.jsonl).",
)
def import_logs(logs: "tuple[Path, ...]", cores: int | None, disks: int | None, output: "Path") -> None:
    """Convert the files of other load tools to a run or to a recording.

    `recommend` and `analyze` read a run. A recording holds the throughput at each pool size; `sweep --replay` uses it
    in place of a server. `poolsize recommend --curve` answers from LOGS without either.

    LOGS are outputs of sysbench, mysqlslap, HammerDB and wrk; summaries of k6 and BenchBase, and BenchBase's
    *.samples.csv; JMeter's results as CSV; Locust's *_stats_history.csv; or a table with columns such as threads,tps.
    The number of threads, users, clients or connections becomes the pool size, so each of them must have had its own
    connection. Use the intervals of a tool, such as sysbench's --report-interval=1: from a single mean for each pool
    size, the range of the answer stays unknown.
    """
    if output.exists():
        raise BadInput(f"--output {output} already exists: name another file")
    is_run = output.suffix == ".jsonl"
    if not is_run and not output.name.endswith((".csv", ".csv.gz")):
        raise BadInput(f"--output {output}: the name must end in .csv or .csv.gz (a recording), or in .jsonl (a run)")
    if not is_run and (cores, disks) != (None, None):
        raise BadInput("a recording does not store --cores and --disks: give them to poolsize sweep --replay")
    from poolsize.recordings.importers import read_logs

    recording = read_logs(logs)
    if is_run:
        from poolsize.runs.store import RunWriter
        from poolsize.sweep.replay import recorded_run

        run = recorded_run(recording, logs[0].name, cores, disks)
        with RunWriter(output, run.setting) as writer:
            for step in run.steps:
                writer.append(step)
        then = pasteable("poolsize", "recommend", "--run", output)
    else:
        from poolsize.recordings.recording import write_recording

        write_recording(recording, output)
        then = pasteable("poolsize", "sweep", "--replay", output)
    sizes = recording.sizes
    is_short = len(sizes) <= MOST_SHOWN
    shown = ", ".join(map(str, sizes)) if is_short else f"{sizes[0]} to {sizes[-1]}, {len(sizes):,} of them"
    click.echo(f"{output} contains the pool sizes {shown}.{_lacking(recording)} Next: {then}")


def _lacking(recording: "Recording") -> str:
    """Return a sentence about what an answer lacks, with a space before; "" where it lacks nothing."""
    if len(recording.sizes) == 1:
        return " An answer compares two pool sizes or more: measure others, and import all files together."
    if recording.means_only:
        return " A pool size has too few figures to show how much they vary, so the range of an answer stays unknown."
    return "" if recording.interval_seconds <= 1 else f" Each figure is a mean over {recording.interval_seconds:g} s."
