"""Figures from the literature, shipped with their sources: throughput curves, and a survey of Java pools.

Also the curves and timings of the scenarios that repeat the literature's experiments.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from poolsize.errors import BadInput
from poolsize.files import shipped
from poolsize.recordings.recording import Recording, Seconds

MEAN_SECONDS = 10
"""A published mean becomes a recording of this many equal seconds."""


@dataclass(frozen=True)
class PublishedCurve:
    """A throughput curve from the literature, or from a scenario that repeats it.

    server, workload: as the source states them. cores: of the database host; None where unknown.
    unit: of the throughput, such as requests/s. recording: one throughput a pool size, without p95; its users where the
    source fixed their number.
    """

    name: str
    server: str
    workload: str
    cores: int | None
    unit: str
    recording: Recording


@dataclass(frozen=True)
class PoolTiming:
    """The time that one pool took for a test of the survey, as published or repeated.

    test, pool: their names. threads: number of threads that shared the pool. elapsed_ms: of the whole test, in ms.
    """

    test: str
    pool: str
    threads: int
    elapsed_ms: float


@cache
def published_curves() -> Mapping[str, PublishedCurve]:
    """Return the published curves by name, in the order of data/published/published_curves.csv."""
    return _curves("data/published/published_curves.csv")


@cache
def known_curves() -> Mapping[str, PublishedCurve]:
    """Return the published curves by name, then those of the scenarios, as in data/examples/scenario_curves.csv."""
    return {**published_curves(), **_curves("data/examples/scenario_curves.csv")}


@cache
def published_pools() -> tuple[PoolTiming, ...]:
    """Return the survey's timings in the order of data/published/published_pools.csv: by test, then by pool."""
    return _pools("data/published/published_pools.csv")


def timings_of(test: str, pools: Sequence[str] | None) -> tuple[PoolTiming, ...]:
    """Return the published timings of a test, of these pools; None for all pools.

    The pools may also be those of the scenario `pools`, in data/examples/scenario_pools.csv. Raises BadInput for a pool
    that has no timing.
    """
    if pools is None:
        return tuple(timing for timing in published_pools() if timing.test == test)
    repeated = _pools("data/examples/scenario_pools.csv")
    known = [timing for timing in (*published_pools(), *repeated) if timing.test == test]
    for pool in pools:
        if all(timing.pool != pool for timing in known):
            names = dict.fromkeys(timing.pool for timing in known)
            raise BadInput(f"{pool}: no pool of the test {test}; it has {', '.join(names)}")
    return tuple(timing for pool in pools for timing in known if timing.pool == pool)


def _pools(file: str) -> tuple[PoolTiming, ...]:
    return tuple(
        PoolTiming(row["test"], row["pool"], int(row["threads"]), float(row["elapsed_ms"])) for row in _rows(file)
    )


def _curves(file: str) -> Mapping[str, PublishedCurve]:
    rows_of: dict[str, list[dict[str, str]]] = {}
    for row in _rows(file):
        rows_of.setdefault(row["curve"], []).append(row)
    return {name: _curve(rows) for name, rows in rows_of.items()}


def _curve(rows: Sequence[Mapping[str, str]]) -> PublishedCurve:
    points = sorted(rows, key=lambda row: int(row["x"]))
    first = points[0]
    return PublishedCurve(
        name=first["curve"],
        server=first["server"],
        workload=first["workload"],
        cores=int(first["cores"]) if first["cores"] else None,
        unit=first["throughput_unit"],
        recording=Recording(
            {int(row["x"]): _steady(float(row["throughput"])) for row in points},
            int(first["concurrency"]) if first["concurrency"] else None,
        ),
    )


def _rows(name: str) -> list[dict[str, str]]:
    with shipped(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _steady(throughput: float) -> Seconds:
    return Seconds((throughput,) * MEAN_SECONDS, (0.0,) * MEAN_SECONDS)
