"""The summaries of k6 and BenchBase (OLTPBench), which are JSON, and BenchBase's figures of seconds."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.recordings.importers.load_run import (
    MOST_JSON_BYTES,
    LoadRun,
    common_interval,
    json_of,
    mean_of_run,
    number_at,
    usual_quantile,
)
from poolsize.recordings.recording import table_of

SUMMARY, CONFIGURATION = ".summary.json", ".config.xml"
OF_SECONDS = re.compile(r"\.(samples|results)\.csv$")
"""The end of the name of a file of seconds, or of windows, of all transaction types together."""
THROUGHPUT = "Throughput (requests/second)"
RATES = ("Goodput (requests/second)", THROUGHPUT)
P95 = "95th Percentile Latency (m"
"""The unit follows, after "m": milliseconds or microseconds."""


def read_benchbase(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run of a summary: its successful requests per second at so many terminals. Raises BadInput.

    Throughput includes failed requests, and goodput the successful requests of the warm-up: the lower counts.
    """
    rates = [rate for name in RATES if (rate := number_at(summary, name)) is not None]
    if not rates:
        raise BadInput(
            f"{path} is neither a summary of k6 nor of BenchBase: it has neither `metrics` nor {THROUGHPUT!r}"
        )
    latencies = summary.get("Latency Distribution")
    us = number_at(latencies, f"{P95}icroseconds)") or 0.0
    yield mean_of_run(_terminals(path, summary), min(rates), us / 1000, "p95")


def read_seconds(path: Path, text: bytes) -> Iterator[LoadRun]:
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
    summary = json_of(beside, content(beside, MOST_JSON_BYTES))
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
        yield from read_benchbase(beside, summary)
    else:
        _, of_seconds, p95s_ms = zip(*figures[:-1], strict=True)
        yield LoadRun(
            _terminals(beside, summary), of_seconds, p95s_ms, "p95", common_interval([row[0] for row in figures])
        )


def _terminals(path: Path, summary: Mapping[str, Any]) -> int:
    terminals = number_at(summary, "terminals")
    if terminals is None or not 1 <= terminals <= 1e9:
        raise BadInput(f"{path}: BenchBase's summary lacks the number of `terminals`")
    beside = path.with_name(path.name.removesuffix(SUMMARY) + CONFIGURATION)
    if beside.is_file() and b"<active_terminals" in content(beside, MOST_JSON_BYTES):
        raise BadInput(
            f"{beside}: the phases have numbers of terminals of their own (active_terminals): run each alone"
        )
    return int(terminals)


PERCENTILE = re.compile(r"p\((\d{1,2}(?:\.\d{1,4})?)\)$")


def read_k6(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run: requests, or else iterations, per second without failed ones, at so many virtual users.

    Raises BadInput without a rate, and where the number of virtual users is missing.
    """

    def figures(metric: str) -> Any:
        metrics = summary["metrics"]
        values = metrics.get(metric) if isinstance(metrics, dict) else None
        return values.get("values", values) if isinstance(values, dict) else {}

    users = (
        number_at(figures("vus"), "max") or number_at(figures("vus_max"), "max") or number_at(figures("vus"), "value")
    )
    if not users or not 1 <= users <= 1e9:
        raise BadInput(f"{path}: the summary of k6 lacks the number of virtual users, the metric `vus`")
    fewest = number_at(figures("vus"), "min")
    if fewest is not None and fewest < users:
        raise BadInput(
            f"{path}: k6 had {fewest:g} to {users:g} virtual users, so the mean is of no pool size: keep --vus"
        )
    metric = "http_reqs" if figures("http_reqs") else "iterations"
    rate = number_at(figures(metric), "rate")
    if rate is None:
        raise BadInput(f"{path}: the summary of k6 lacks the rate of `http_reqs` and of `iterations`")
    failed = figures("http_req_failed") if metric == "http_reqs" else {}
    share = number_at(failed, "rate") or number_at(failed, "value") or 0.0
    duration = figures("http_req_duration" if metric == "http_reqs" else "iteration_duration")
    names = {match[1]: name for name in duration if (match := PERCENTILE.match(name))} if duration else {}
    quantile, name = usual_quantile(names) or (None, "")
    yield mean_of_run(int(users), rate * (1 - share), number_at(duration, name) or 0.0, quantile)
