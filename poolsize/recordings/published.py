"""Figures from the literature, shipped with their sources: throughput curves, and a survey of Java pools.

Also the curves and timings of the scenarios that repeat the literature's experiments.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from poolsize.errors import BadInput
from poolsize.files import shipped
from poolsize.recordings.recording import Recording, Seconds

MEAN_SECONDS = 10
"""A published mean becomes a recording of this many equal seconds."""


@dataclass(frozen=True)
class PublishedCurve:
    """A throughput curve from the literature, or from a scenario that repeats it.

    source, server, machine, workload: as the source states them. cores: of the database host; None where unknown.
    unit: of the throughput, such as requests/s. recording: one throughput a pool size, without p95; its users where the
    source fixed their number.
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
    """The time that one pool took for a test of the survey, as published or repeated.

    test: short name. description: the test's work, with its driver. pool: name of the pool.
    threads: number of threads that shared the pool. elapsed_ms: of the whole test, in ms. source: of the survey.
    """

    test: str
    description: str
    pool: str
    threads: int
    elapsed_ms: float
    source: str


@cache
def published_curves() -> Mapping[str, PublishedCurve]:
    """Return the published curves by name, in the order of data/published/published_curves.csv."""
    return _curves("data/published/published_curves.csv")


@cache
def repeated_curves() -> Mapping[str, PublishedCurve]:
    """Return the curves of the scenarios by name, in the order of data/examples/scenario_curves.csv."""
    return _curves("data/examples/scenario_curves.csv")


def known_curves() -> Mapping[str, PublishedCurve]:
    """Return the published and the repeated curves by name."""
    return {**published_curves(), **repeated_curves()}


@cache
def published_pools() -> tuple[PoolTiming, ...]:
    """Return the survey's timings in the order of data/published/published_pools.csv: by test, then by pool."""
    return _pools("data/published/published_pools.csv")


@cache
def repeated_pools() -> tuple[PoolTiming, ...]:
    """Return the timings of the scenario `pools`, in the order of data/examples/scenario_pools.csv."""
    return _pools("data/examples/scenario_pools.csv")


def timings_of(test: str, pools: Sequence[str] | None) -> tuple[PoolTiming, ...]:
    """Return the published and the repeated timings of a test, of these pools; None for all that are published.

    Raises BadInput for a pool that has none.
    """
    if pools is None:
        return tuple(timing for timing in published_pools() if timing.test == test)
    known = [timing for timing in (*published_pools(), *repeated_pools()) if timing.test == test]
    for pool in pools:
        if all(timing.pool != pool for timing in known):
            names = dict.fromkeys(timing.pool for timing in known)
            raise BadInput(f"{pool}: no pool of the test {test}; it has {', '.join(names)}")
    return tuple(timing for pool in pools for timing in known if timing.pool == pool)


def _pools(file: str) -> tuple[PoolTiming, ...]:
    return tuple(
        PoolTiming(
            row["test"], row["description"], row["pool"], int(row["threads"]), float(row["elapsed_ms"]), row["source"]
        )
        for row in _rows(file)
    )


def _curves(file: str) -> Mapping[str, PublishedCurve]:
    rows = _rows(file)
    by_name = sorted(rows, key=lambda row: row["curve"])
    curves = {name: _curve(list(group)) for name, group in groupby(by_name, key=lambda row: row["curve"])}
    return {name: curves[name] for name in dict.fromkeys(row["curve"] for row in rows)}


def _curve(rows: Sequence[Mapping[str, str]]) -> PublishedCurve:
    points = sorted(rows, key=lambda row: int(row["x"]))
    first = points[0]
    return PublishedCurve(
        name=first["curve"],
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


def _rows(name: str) -> list[dict[str, str]]:
    with shipped(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _steady(throughput: float) -> Seconds:
    return Seconds((throughput,) * MEAN_SECONDS, (0.0,) * MEAN_SECONDS)
