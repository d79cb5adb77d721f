"""Summaries of runs, with a mean throughput: JSON of k6 and BenchBase; texts of mysqlslap, HammerDB, wrk and wrk2.

BenchBase also writes the figures of seconds, beside its summary.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.recordings.importers.load_run import LoadRun, common_interval, mean_of_run, usual_quantile
from poolsize.recordings.recording import lines_of, table_of

MOST_JSON_BYTES = 2**22
"""The largest summary: k6 has a few figures for each of its metrics, BenchBase few in all."""
SUMMARY, CONFIGURATION = ".summary.json", ".config.xml"
OF_SECONDS = re.compile(r"\.(samples|results)\.csv$")
"""The end of the name of a file of seconds, or of windows, of all transaction types together."""
THROUGHPUT = "Throughput (requests/second)"
RATES = ("Goodput (requests/second)", THROUGHPUT)
P95 = "95th Percentile Latency (m"
"""The unit follows, after "m": milliseconds or microseconds."""
K6_PERCENTILE = re.compile(r"p\((\d{1,2}(?:\.\d{1,4})?)\)$")
SLAP = {
    "Average number of seconds to run all queries": "s",
    "Number of clients running queries": "clients",
    "Average number of queries per client": "queries",
}
"""Name of a figure of mysqlslap's -> what it is."""
SLAP_LINE = re.compile(rf"({'|'.join(SLAP)}): {{1,9}}(\d{{1,12}}(?:\.\d{{1,12}})?)")
HAMMERDB_USERS = re.compile(
    r"(?:.{0,30}:)? {0,9}\"?(?:\d{1,9} VU \* \d{1,9} AC = )?(\d{1,9}) Active (?:Virtual Users|Sessions) configured"
)
"""A virtual user has a connection; with asynchronous clients (AC), each of these has one."""
HAMMERDB_RESULT = re.compile(
    r".{0,60}System achieved (\d{1,15}) (?:NOPM|.{1,30} TPM) (?:from|at) (\d{1,15}) (.{1,30} TPM|NOPM)"
)
WRK_CONNECTIONS = re.compile(r"\d{1,9} threads and (\d{1,9}) connections")
WRK_QUANTILE = re.compile(r"(\d{1,3}(?:\.\d{1,5})?)% {1,20}(\d{1,12}(?:\.\d{1,6})?)(us|ms|s|m|h)$")
WRK_REQUESTS = re.compile(r"(\d{1,15}) requests in (\d{1,12}(?:\.\d{1,6})?)(us|ms|s|m|h),")
WRK_FAILED = re.compile(r"Non-2xx or 3xx responses: (\d{1,15})")
WRK_RATE = re.compile(r"Requests/sec: {1,20}(\d{1,15}(?:\.\d{1,6})?)")
MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}


def of_json(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Return the run of a summary of k6 or BenchBase. Raises BadInput for any other file."""
    summary = _json_of(path, text)
    return (_of_k6 if "metrics" in summary else _of_benchbase)(path, summary)


def _json_of(path: Path, text: bytes) -> dict[str, Any]:
    """Return the JSON object in a file. Raises BadInput for any other file."""
    if len(text) > MOST_JSON_BYTES:
        raise BadInput(f"{path} is longer than {MOST_JSON_BYTES // 2**20} MiB: give the summary of the run")
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput(f"{path} is not complete JSON") from None
    if not isinstance(value, dict):
        raise BadInput(f"{path} is not the summary of k6 or BenchBase: its JSON has no names")
    return value


def _number_at(values: Any, name: str) -> float | None:
    """Return the number under a name in a JSON object; None where there is none."""
    value = values.get(name) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _of_benchbase(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run of a summary: its successful requests per second at so many terminals. Raises BadInput.

    Throughput includes failed requests, and goodput the successful requests of the warm-up: the lower counts.
    """
    rates = [rate for name in RATES if (rate := _number_at(summary, name)) is not None]
    if not rates:
        raise BadInput(
            f"{path} is neither a summary of k6 nor of BenchBase: it has neither `metrics` nor {THROUGHPUT!r}"
        )
    latencies = summary.get("Latency Distribution")
    us = _number_at(latencies, f"{P95}icroseconds)") or 0.0
    yield mean_of_run(_terminals(path, summary), min(rates), us / 1000, "p95")


def benchbase_seconds(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the run of a file of seconds; its number of terminals is in the summary beside it. Raises BadInput.

    BenchBase divides the requests of the last window by a whole window, which the run seldom fills: it is left out. A
    run of a single window has the mean of the summary.
    """
    beside = path.with_name(OF_SECONDS.sub("", path.name) + SUMMARY)
    if not beside.is_file():
        raise BadInput(
            f"{path} lacks the number of terminals: give BenchBase's *.samples.csv or *.results.csv of all transaction "
            f"types, and keep the *{SUMMARY} of the same run beside it"
        )
    summary = _json_of(beside, content(beside, MOST_JSON_BYTES))
    rows = table_of(path, text)
    header = [name.strip() for name in next(rows)]
    rate = [name.startswith(THROUGHPUT) for name in header].index(True)
    p95 = next((place for place, name in enumerate(header) if name.startswith(P95)), None)
    to_ms = 1e-3 if p95 is not None and "micro" in header[p95] else 1.0
    try:
        figures = [
            (float(row[0]), float(row[rate]), 0.0 if p95 is None else float(row[p95]) * to_ms) for row in rows if row
        ]
    except (ValueError, IndexError):
        raise BadInput(f"{path}: a line lacks a number") from None
    if len(figures) < 2:
        yield from _of_benchbase(beside, summary)
    else:
        _, of_seconds, p95s_ms = zip(*figures[:-1], strict=True)
        yield LoadRun(
            _terminals(beside, summary), of_seconds, p95s_ms, "p95", common_interval([row[0] for row in figures])
        )


def _terminals(path: Path, summary: Mapping[str, Any]) -> int:
    terminals = _number_at(summary, "terminals")
    if terminals is None or not 1 <= terminals <= 1e9:
        raise BadInput(f"{path}: BenchBase's summary lacks the number of `terminals`")
    beside = path.with_name(path.name.removesuffix(SUMMARY) + CONFIGURATION)
    if beside.is_file() and b"<active_terminals" in content(beside, MOST_JSON_BYTES):
        raise BadInput(
            f"{beside}: the phases have numbers of terminals of their own (active_terminals): run each alone"
        )
    return int(terminals)


def _of_k6(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run: requests, or else iterations, per second without failed ones, at so many virtual users.

    Raises BadInput without a rate, and where the number of virtual users is missing.
    """

    def figures(metric: str) -> dict[str, Any]:
        metrics = summary["metrics"]
        metric_values = metrics.get(metric) if isinstance(metrics, dict) else None
        values = metric_values.get("values", metric_values) if isinstance(metric_values, dict) else None
        return values if isinstance(values, dict) else {}

    users = (
        _number_at(figures("vus"), "max")
        or _number_at(figures("vus_max"), "max")
        or _number_at(figures("vus"), "value")
    )
    if not users or not 1 <= users <= 1e9:
        raise BadInput(f"{path}: the summary of k6 lacks the number of virtual users, the metric `vus`")
    fewest = _number_at(figures("vus"), "min")
    if fewest is not None and fewest < users:
        raise BadInput(
            f"{path}: k6 had {fewest:g} to {users:g} virtual users, so the mean is of no pool size: keep --vus"
        )
    metric = "http_reqs" if figures("http_reqs") else "iterations"
    rate = _number_at(figures(metric), "rate")
    if rate is None:
        raise BadInput(f"{path}: the summary of k6 lacks the rate of `http_reqs` and of `iterations`")
    failed = figures("http_req_failed") if metric == "http_reqs" else {}
    share = _number_at(failed, "rate") or _number_at(failed, "value") or 0.0
    duration = figures("http_req_duration" if metric == "http_reqs" else "iteration_duration")
    names = {match[1]: name for name in duration if (match := K6_PERCENTILE.match(name))}
    quantile, name = usual_quantile(names) or (None, "")
    yield mean_of_run(int(users), rate * (1 - share), _number_at(duration, name) or 0.0, quantile)


def slap(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of mysqlslap's text: queries per second of each number of clients."""
    figures: dict[str, float] = {}
    for line in map(str.strip, lines_of(path, text)):
        if match := SLAP_LINE.match(line):
            figures[SLAP[match[1]]] = float(match[2])
        if figures.keys() == {"s", "clients", "queries"}:
            yield _of_slap(path, **figures)
            figures = {}


def slap_table(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of mysqlslap's --csv: engine, kind, mean, shortest, longest seconds, clients, queries of each."""
    for row in table_of(path, text):
        if not row:
            continue
        try:
            _, _, seconds, _, _, clients, queries = row[:7]
            figures = float(seconds), float(clients), float(queries)
        except ValueError:
            raise BadInput(f"{path}: a line lacks a figure that mysqlslap --csv writes") from None
        yield _of_slap(path, *figures)


def _of_slap(path: Path, s: float, clients: float, queries: float) -> LoadRun:
    if not s > 0 or not queries >= 1 or not 1 <= clients <= 1e9:
        raise BadInput(f"{path}: mysqlslap ran no query per client, or in no time: give more with --number-of-queries")
    return mean_of_run(int(clients), clients * queries / s)


def hammerdb(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of HammerDB's output: transactions (TPM) per second of each number of virtual users."""
    users, is_any = 0, False
    for line in map(str.strip, lines_of(path, text)):
        if match := HAMMERDB_USERS.match(line):
            users = int(match[1])
        elif match := HAMMERDB_RESULT.match(line):
            if not users:
                raise BadInput(f"{path}: a result has no line `Active Virtual Users configured` before it")
            per_minute = int(match[2] if match[3] != "NOPM" else match[1])
            yield mean_of_run(users, per_minute / 60)
            users, is_any = 0, True
    if not is_any:
        raise BadInput(f"{path} has no line `TEST RESULT : System achieved ... NOPM from ... TPM` of HammerDB's")


def wrk(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs of outputs of wrk and wrk2: requests per second without failed ones, at so many connections.

    The percentile, which --latency prints, is p95 where it is there, else the highest below p99.9.
    """
    connections, failed, quantiles, seconds = 0, 0, dict[str, float](), 0.0
    is_any = False
    for line in map(str.strip, lines_of(path, text)):
        if match := WRK_CONNECTIONS.match(line):
            connections, failed, quantiles = int(match[1]), 0, {}
        elif (match := WRK_QUANTILE.match(line)) and float(match[1]) <= 99:
            quantiles[match[1]] = float(match[2]) * MS[match[3]]
        elif match := WRK_REQUESTS.match(line):
            seconds = float(match[2]) * MS[match[3]] / 1000
        elif match := WRK_FAILED.match(line):
            failed = int(match[1])
        elif (match := WRK_RATE.match(line)) and connections:
            name, ms = usual_quantile(quantiles) or (None, 0.0)
            rate = float(match[1]) - (failed / seconds if seconds else 0.0)
            yield mean_of_run(connections, max(0.0, rate), ms, name)
            connections, is_any = 0, True
    if not is_any:
        raise BadInput(f"{path}: a run of wrk has no line Requests/sec after its connections: it did not end")
