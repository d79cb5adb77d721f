"""Facts -> StartingPoint: the formula and its bounds.

    connections = cores * 2 + effective_disks

Source: PostgreSQL wiki, "Number of Database Connections"; HikariCP, "About Pool Sizing". The deadlock floor,
``threads * (connections_per_thread - 1) + 1``, is from the latter.
"""

from dataclasses import dataclass

from poolsize.errors import BadInput

SWEEP_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)


@dataclass(frozen=True)
class StartingPoint:
    """Where to start measuring, and what it was computed from.

    cores: physical cores of the database's host: logical_cpus / threads_per_core.
    disks: disks that hold the data. cache_hit_rate: share of reads served from memory, 0 to 1, or None if unknown.
    effective_disks: disks that a cache miss waits for: 0 when the active data is cached, up to all of them.
    ssd: whether the disks are SSDs, for which the formula was never analysed.
    connections: cores * 2 + effective_disks, rounded.
    deadlock_floor: the fewest connections with which users that hold several at once can't deadlock; None when each
        holds one.
    pool_size: connections, raised to the deadlock floor.
    sizes: pool sizes worth measuring around it, ascending.
    """

    cores: int
    logical_cpus: int
    threads_per_core: int
    disks: int
    cache_hit_rate: float | None
    effective_disks: float
    ssd: bool
    connections: int
    deadlock_floor: int | None
    pool_size: int
    sizes: tuple[int, ...]


def starting_point(
    cores: int,
    *,
    disks: int = 1,
    cache_hit_rate: float | None = None,
    ssd: bool = False,
    threads_per_core: int = 1,
    app_threads: int | None = None,
    connections_per_thread: int | None = None,
) -> StartingPoint:
    """Return the formula's answer for a database host.

    cores: the host's physical cores, or its logical CPUs when threads_per_core is given, which divides them.
    disks: disks that hold the data. cache_hit_rate: 0 (every read waits for a disk) to 1 (no read does).
    app_threads, connections_per_thread: threads of one application process, and connections that each holds at once.
    Raises BadInput for values that no host can have.
    """
    _require(cores >= 1, f"`cores` {cores}: a database host has at least 1 core; try `cores` 8")
    _require(disks >= 0, f"`disks` {disks}: give the number of disks that hold the data, 0 or more")
    _require(
        cache_hit_rate is None or 0 <= cache_hit_rate <= 1,
        f"`cache_hit_rate` {cache_hit_rate}: a share of reads served from memory, from 0 to 1, e.g. 0.95",
    )
    _require(threads_per_core >= 1, f"`threads_per_core` {threads_per_core}: 2 with hyper-threading, 1 without")
    physical = max(1, cores // threads_per_core)
    effective = disks * (1 - (cache_hit_rate or 0.0))
    connections = physical * 2 + round(effective)
    floor = deadlock_floor(app_threads, connections_per_thread)
    size = max(connections, floor or 1)
    return StartingPoint(
        cores=physical,
        logical_cpus=cores,
        threads_per_core=threads_per_core,
        disks=disks,
        cache_hit_rate=cache_hit_rate,
        effective_disks=effective,
        ssd=ssd,
        connections=connections,
        deadlock_floor=floor,
        pool_size=size,
        sizes=sizes_around(size, at_least=floor or 1),
    )


def deadlock_floor(app_threads: int | None, connections_per_thread: int | None) -> int | None:
    """Return the fewest connections with which threads that hold several at once always let one thread proceed.

    ``threads * (connections_per_thread - 1) + 1``: 3 threads with 4 connections each need 10. None where neither is
    given. Raises BadInput where only one is given, or a value is below 1.
    """
    if app_threads is None and connections_per_thread is None:
        return None
    if app_threads is None or connections_per_thread is None:
        raise BadInput("`app_threads` and `connections_per_thread` go together: the floor needs both")
    _require(app_threads >= 1, f"`app_threads` {app_threads}: an application has at least 1 thread")
    _require(
        connections_per_thread >= 1,
        f"`connections_per_thread` {connections_per_thread}: a thread that uses the pool holds at least 1",
    )
    return app_threads * (connections_per_thread - 1) + 1


def sizes_around(size: int, *, at_least: int = 1) -> tuple[int, ...]:
    """Return sizes from an eighth of size to four times of it, a doubling apart, none below at_least."""
    return tuple(sorted({max(at_least, int(size * factor)) for factor in SWEEP_FACTORS}))


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BadInput(message)
