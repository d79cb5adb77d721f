"""A table of pool sizes and throughputs, as people post them: columns such as threads and tps."""

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path

from poolsize.bounds import MOST_SECONDS, shown
from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import LoadRun, common_interval, mean_of_run, usual_quantile
from poolsize.recordings.recording import table_of

SIZES = (
    "pool_size", "poolsize", "pool", "connections", "connection", "conns", "conn", "max_connections", "threads",
    "thread", "thds", "num_threads", "nthreads", "thread_count", "clients", "client", "num_clients", "concurrency",
    "concurrent_users", "users", "user", "user_count", "virtual_users", "vus", "vu", "terminals", "workers", "size",
)  # fmt: skip
RATES = (
    "tps", "throughput", "throughput_s", "throughput_requests_second", "transactions_s", "transactions_sec",
    "transactions_per_second", "transactions_per_sec", "trx_s", "txn_s", "qps", "queries_s", "queries_sec",
    "queries_per_second", "queries_per_sec", "rps", "req_s", "req_sec", "reqs_s", "requests_s", "requests_sec",
    "requests_per_second", "requests_per_sec", "ops", "ops_s", "ops_sec", "ops_per_sec", "operations_s", "avg_tps",
    "mean_tps", "average_tps", "avg_qps", "rate", "tpm", "nopm", "tpmc", "transactions_per_minute",
)  # fmt: skip
A_MINUTE = {"tpm", "nopm", "tpmc", "transactions_per_minute"}
MOMENTS = ("second", "seconds", "time", "time_s", "time_seconds", "elapsed", "elapsed_s", "t", "timestamp")
LATENCY = re.compile(
    r"(?:lat(?:ency)?_|response_time_)?(?:ms_)?p?(?P<q>\d{2}(?:_9{1,3})?)(?:th)?(?:_percentile)?(?:_latency)?"
    r"(?:_(?P<unit>ms|us|s))?$"
)
LATEST_SECOND = 1e11
"""A later Unix time is in milliseconds."""
TO_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, None: 1.0}
OTHER = re.compile(r"[^a-z0-9]{1,100}")
FORMATS = (
    "an output of sysbench, mysqlslap, HammerDB, wrk; a summary of k6 or BenchBase; a results file of JMeter; a "
    "history of Locust; or a table with the columns threads,tps"
)


def read(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield what each pool size did in a table: its rows are seconds if it has a column of time, else runs.

    Raises BadInput for a file that is no such table.
    """
    head = text[:2000].partition(b"\n")[0].decode("latin-1")
    rows = table_of(path, text, max(",;\t|", key=head.count))
    header = [OTHER.sub("_", name.casefold()).strip("_") for name in next(rows, [])]
    size_place, rate_place = _place(header, SIZES), _place(header, RATES)
    if size_place is None or rate_place is None:
        raise BadInput(f"{path} is none of the files that poolsize reads: {FORMATS}")
    moment_place = _place(header, MOMENTS)
    matches = {place: match for place, name in enumerate(header) if (match := LATENCY.match(name))}
    latencies = {match["q"].replace("_", "."): (place, TO_MS[match["unit"]]) for place, match in matches.items()}
    quantile, (latency_place, to_ms) = usual_quantile(latencies) or (None, (None, 1.0))
    per_second = 1 / 60 if header[rate_place] in A_MINUTE else 1.0
    by_size: dict[int, list[tuple[float, float, float]]] = {}
    for number, row in enumerate(rows, 2):
        if number > MOST_SECONDS:
            raise BadInput(f"{path} has more than {MOST_SECONDS:,} lines: shorten it")
        if not any(map(str.strip, row)):
            continue
        try:
            ms = float(row[latency_place] or 0) * to_ms if latency_place is not None else 0.0
            moment = _seconds(row[moment_place]) if moment_place is not None else 0.0
            by_size.setdefault(int(row[size_place]), []).append((moment, float(row[rate_place]) * per_second, ms))
        except (ValueError, IndexError):
            with_comma = next(
                (row[each] for each in (size_place, rate_place) if "," in "".join(row[each : each + 1])), ""
            )
            advice = f": write {shown(with_comma)} without thousands separators, and with a decimal point"
            raise BadInput(
                f"{path}: line {number} lacks a number of {header[size_place]} or {header[rate_place]}"
                f"{advice if with_comma else ''}"
            ) from None
    for size, figures in by_size.items():
        moments, rates, latency_ms = zip(*figures, strict=True)
        if interval := common_interval(moments):
            yield LoadRun(size, rates, latency_ms, quantile, interval)
        else:
            yield from (mean_of_run(size, rate, ms, quantile) for rate, ms in zip(rates, latency_ms, strict=True))


def _seconds(moment: str) -> float:
    """Return a moment in seconds; a Unix time may be in milliseconds. Raises ValueError."""
    value = float(moment)
    if not isfinite(value):
        raise ValueError(moment)
    return value / 1000 if value > LATEST_SECOND else value


def _place(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)
