"""Curves from the literature, shipped with their sources, as recordings that can be replayed."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from poolsize.recording import Recording, Seconds
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


@cache
def published_curves() -> Mapping[str, PublishedCurve]:
    """Name -> curve, in the order of the file."""
    with shipped("data/published/published_curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
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


def _steady(throughput: float) -> Seconds:
    return Seconds((throughput,) * MEAN_SECONDS, (0.0,) * MEAN_SECONDS)
