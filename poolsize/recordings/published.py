"""Figures from the literature, shipped with their sources: curves that can be replayed, and a survey of pools."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from poolsize.recordings.recording import Recording, Seconds
from poolsize.shipped import shipped

MEAN_SECONDS = 10
"""A published mean stands for so many equal seconds."""


@dataclass(frozen=True)
class PublishedCurve:
    """A curve as somebody published it.

    source, server, machine, workload: as told there; cores: of the database's host, or None. unit: of its throughput.
    recording: one mean a size, and the number of callers where that was fixed; nobody published a p95.
    """

    name: str
    source: str
    server: str
    machine: str
    workload: str
    cores: int | None
    unit: str
    recording: Recording


@dataclass(frozen=True)
class PoolTiming:
    """How long one Java pool took for the work of a test, shared by so many threads.

    test: its short name; description: what was done how often, with which driver and pool.
    """

    test: str
    description: str
    pool: str
    threads: int
    elapsed_ms: float
    source: str


@cache
def published_curves() -> Mapping[str, PublishedCurve]:
    """Name -> curve, in the order of the file."""
    rows = _rows("published_curves.csv")
    found = {}
    for name, same in groupby(sorted(rows, key=lambda row: row["curve"]), key=lambda row: row["curve"]):
        points = sorted(same, key=lambda row: int(row["x"]))
        first = points[0]
        found[name] = PublishedCurve(
            name=name,
            source=first["source"],
            server=first["server"],
            machine=first["machine"],
            workload=first["workload"],
            cores=int(first["cores"]) if first["cores"] else None,
            unit=first["throughput_unit"],
            recording=Recording(
                {int(row["x"]): _steady(float(row["throughput"])) for row in points},
                int(first["concurrency"]) if first["concurrency"] else None,
            ),
        )
    return {name: found[name] for name in dict.fromkeys(row["curve"] for row in rows)}


@cache
def published_pools() -> tuple[PoolTiming, ...]:
    """Every timing of the survey, in the order of the file: test by test, and pool by pool."""
    return tuple(
        PoolTiming(
            row["test"], row["description"], row["pool"], int(row["threads"]), float(row["elapsed_ms"]), row["source"]
        )
        for row in _rows("published_pools.csv")
    )


def _rows(name: str) -> list[dict[str, str]]:
    with shipped(f"data/published/{name}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _steady(throughput: float) -> Seconds:
    return Seconds((throughput,) * MEAN_SECONDS, (0.0,) * MEAN_SECONDS)
