"""Recordings from files of other load tools: which program wrote a file, and the curve of several files."""

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mode

from poolsize.bounds import MOST_SECONDS
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.recordings.importers import histories, summaries, sysbench, table
from poolsize.recordings.importers.load_run import LoadRun
from poolsize.recordings.recording import COLUMNS, GZIP, Recording, Seconds, read_recording

MOST_BYTES = 2**26
"""The largest file: JMeter's of some 500,000 requests."""
MOST_RUNS = 10_000
"""Of all files together."""
HEAD_BYTES = 20_000
"""The beginning of a file, which tells its program."""
Reader = Callable[[Path, bytes], Iterable[LoadRun]]

REFUSED = {
    r'\{"(type|metric)":"|metric_name,timestamp,': "has k6's single points, not its summary: run k6 with "
    "--summary-export FILE, and give that",
    r"<\?xml[^>]{0,200}>\s{0,9}<testResults": "is JMeter's XML: write CSV, with "
    "-Jjmeter.save.saveservice.output_format=csv",
    '"?(Label"?,"?# Samples|sampler_label"?,"?aggregate_)': "is JMeter's aggregate report, which lacks the number of "
    "threads: give the results file (.jtl), or a table with the columns threads,throughput",
    '"?Type"?,"?Name"?,"?(Request Count|# requests)': "is Locust's summary, which lacks the number of users: give the "
    "history, *_stats_history.csv",
}
"""How a file begins that has no curve -> the end of its refusal."""
READERS: Sequence[tuple[str, Reader]] = (
    (r"\s{0,1000}\{", summaries.of_json),
    ('"?Timestamp"?,', histories.locust),
    ('"?timeStamp"?[,;\t]"?elapsed', histories.jmeter),
    (r"Time \(seconds\), ?(Requests, ?)?Throughput \(requests/second\)", summaries.benchbase_seconds),
    (r"[^\n,]{0,80},[^\n,]{0,80}(,\d{1,9}\.\d{3}){3},\d{1,9},\d{1,9}\s", summaries.slap_table),
    (r"[\s\S]*?^Running .{1,40} test @ ", summaries.wrk),
    (r"[\s\S]*?Number of clients running queries:", summaries.slap),
    (r"[\s\S]*?(Active Virtual Users configured|System achieved \d)", summaries.hammerdb),
    (r"[\s\S]*?(^sysbench \d|^\[ {0,9}\d{1,9}s ?\] |\(\d[\d.]{0,20} per sec)", sysbench.read),
)
"""How a file begins, or what its beginning contains, and the reader of its program; the first that fits reads it."""


def read_logs(paths: Sequence[Path]) -> Recording:
    """Return a single recording of all files of load tools, whose number of users becomes the pool size.

    The tools are sysbench, mysqlslap, HammerDB, BenchBase, JMeter, k6, wrk and Locust; a table with columns such as
    threads and tps, and a recording, are read too. Raises BadInput for a file that can't be read, has another format,
    or lacks a figure.
    """
    runs: list[LoadRun] = []
    seconds = 0
    for path in paths:
        text = content(path, MOST_BYTES)
        if _is_recording(text):
            if len(paths) > 1:
                raise BadInput(f"{path} is a complete recording: give this file alone")
            return read_recording(path)
        for run in _reader_of(path, text)(path, text):
            if not run.can_be:
                raise BadInput(f"{path}: pool size {run.pool_size:,}: a figure is below 0, too large, or not a number")
            runs.append(run)
            seconds += len(run.throughput)
            if seconds > MOST_SECONDS or len(runs) > MOST_RUNS:
                raise BadInput(
                    f"the files have more than {MOST_SECONDS:,} seconds or {MOST_RUNS:,} runs together, counted up to "
                    f"{path}: give fewer files"
                )
    if not any(throughput for run in runs for throughput in run.throughput):
        raise BadInput(f"{paths[0]}: no throughput above 0, so there is no curve")
    return _combined(runs)


def _head(text: bytes) -> str:
    return text[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _is_recording(text: bytes) -> bool:
    return text.startswith(GZIP) or {*COLUMNS} <= {*next(csv.reader(_head(text).splitlines()[:1]), [])}


def _reader_of(path: Path, text: bytes) -> Reader:
    """Return the reader of a file's program. Raises BadInput for a file that has no curve."""
    head = _head(text)
    if refusal := next((refusal for pattern, refusal in REFUSED.items() if re.match(pattern, head)), None):
        raise BadInput(f"{path} {refusal}")
    return next((reader for pattern, reader in READERS if re.match(pattern, head, re.MULTILINE)), table.read)


def _combined(runs: Sequence[LoadRun]) -> Recording:
    """Return the recording of all runs, not empty. At a size that has seconds, means of whole runs do not count."""
    quantiles = [run.quantile for run in runs if run.quantile]
    quantile = mode(quantiles) if quantiles else "p95"
    by_size: dict[int, list[LoadRun]] = {}
    for run in runs:
        by_size.setdefault(run.pool_size, []).append(run)
    return Recording(
        {size: _seconds(by_size[size], quantile) for size in sorted(by_size)},
        quantile=quantile,
        interval_seconds=max((run.interval_seconds for run in runs if run.interval_seconds), default=1.0),
    )


def _seconds(runs: Sequence[LoadRun], quantile: str) -> Seconds:
    """Return the seconds of the runs at one size; another percentile than the recording's is unknown in it."""
    kept = [run for run in runs if run.interval_seconds] or runs
    latency_ms = [run.latency_ms if run.quantile == quantile else (0.0,) * len(run.throughput) for run in kept]
    return Seconds(
        tuple(value for run in kept for value in run.throughput),
        tuple(value for values in latency_ms for value in values),
    )
