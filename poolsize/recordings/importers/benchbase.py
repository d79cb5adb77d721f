"""The files of BenchBase (OLTPBench): the summary of a run, and the figures of its seconds."""

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
)
from poolsize.recordings.recording import table_of

SECONDS, SUMMARY = ".results.csv", ".summary.json"
RATES = ("Goodput (requests/second)", "Throughput (requests/second)")
P95 = "95th Percentile Latency (m"
"""The unit follows, after "m": milliseconds or microseconds."""


def read(path: Path, summary: Mapping[str, Any]) -> Iterator[LoadRun]:
    """Yield the run of a summary: its successful requests per second at so many terminals. Raises BadInput."""
    rate = next((value for name in RATES if (value := number_at(summary, name)) is not None), None)
    if rate is None:
        raise BadInput(f"{path} is neither a summary of k6 nor of BenchBase: it has neither `metrics` nor {RATES[1]!r}")
    latencies = summary.get("Latency Distribution")
    us = number_at(latencies, f"{P95}icroseconds)") or 0.0
    yield mean_of_run(_terminals(path, summary), rate, us / 1000, "p95")


def read_seconds(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the run of a file *.results.csv; its number of terminals is in the summary beside it. Raises BadInput."""
    beside = path.with_name(path.name.removesuffix(SECONDS) + SUMMARY)
    if not path.name.endswith(SECONDS) or not beside.is_file():
        raise BadInput(f"{path} lacks the number of terminals: keep BenchBase's {SUMMARY} of the same run beside it")
    terminals = _terminals(beside, json_of(beside, content(beside, MOST_JSON_BYTES)))
    rows = table_of(path, text)
    header = [name.strip() for name in next(rows)]
    place = next((place for place, name in enumerate(header) if name.startswith(P95)), None)
    to_ms = 1e-3 if place is not None and "micro" in header[place] else 1.0
    try:
        figures = [
            (float(row[0]), float(row[1]), 0.0 if place is None else float(row[place]) * to_ms) for row in rows if row
        ]
    except (ValueError, IndexError):
        raise BadInput(f"{path}: a line lacks a number") from None
    if figures:
        moments, rates, p95s_ms = zip(*figures, strict=True)
        yield LoadRun(terminals, rates, p95s_ms, "p95", common_interval(moments))


def _terminals(path: Path, summary: Mapping[str, Any]) -> int:
    terminals = number_at(summary, "terminals")
    if terminals is None or not 1 <= terminals <= 1e9:
        raise BadInput(f"{path}: BenchBase's summary lacks the number of `terminals`")
    return int(terminals)
