"""Facts -> StartingPoint: the formula, and the deadlock floor below which no pool may be.

    connections = cores * 2 + effective_disks

Source: PostgreSQL wiki, "Number of Database Connections"; HikariCP, "About Pool Sizing". The deadlock floor,
``threads * (connections_per_thread - 1) + 1``, is from the latter.
"""

from poolsize.bounds import MOST_CORES, MOST_DISKS
from poolsize.errors import BadInput
from poolsize.quick_record import QuickRecord

CONNECTIONS_PER_CORE = 2
MOST_THREADS = 1_000_000
"""A larger number of threads of an application is a typing error."""
SWEEP_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
"""Multiples of a pool size that are worth measuring around it."""


class StartingPoint(QuickRecord):
    """The pool size to start measuring from, and the facts it is computed from.

    cores: physical cores of the database's host: logical_cpus / threads_per_core.
    disks: disks that hold the data. cache_hit_rate: share of reads served from memory, 0 to 1, or None if unknown.
    effective_disks: disks times the share of reads that miss the cache; all disks where that share is unknown.
    ssd: whether the disks are SSDs, for which the formula was never analysed.
    connections: cores * 2 + effective_disks, rounded.
    deadlock_floor: the fewest connections with which threads that hold several at once can't deadlock; None where
        neither threads nor connections per thread were named.
    pool_size: connections, raised to the deadlock floor.
    sizes: pool sizes worth measuring around pool_size, ascending.
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
    """Return the formula's pool size for a database host.

    cores: the host's physical cores; with threads_per_core above 1, its logical CPUs.
    disks: disks that hold the data. cache_hit_rate: 0 (every read waits for a disk) to 1 (no read does).
    ssd: whether the disks are SSDs; it adds a warning and changes no number.
    app_threads: threads of one application process. connections_per_thread: connections that each thread holds at once.
    Raises BadInput for values that no host can have.
    """
    require_cores(cores)
    if not 1 <= threads_per_core <= cores:
        raise BadInput(f"`threads_per_core` {threads_per_core}: 2 with hyper-threading, 1 without")
    physical = max(1, cores // threads_per_core)
    effective = effective_disks(disks, cache_hit_rate)
    connections = physical * CONNECTIONS_PER_CORE + round(effective)
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
        sizes=tuple(sorted({max(floor or 1, int(size * factor)) for factor in SWEEP_FACTORS})),
    )


def effective_disks(disks: int, cache_hit_rate: float | None) -> float:
    """Return the disks times the share of reads that miss the cache; all disks where that share is unknown.

    Raises BadInput for values that no host can have.
    """
    if not 0 <= disks <= MOST_DISKS:
        raise BadInput(f"`disks` {disks}: give the number of disks that hold the data, from 0 to {MOST_DISKS:,}")
    if cache_hit_rate is not None and not 0 <= cache_hit_rate <= 1:
        raise BadInput(
            f"`cache_hit_rate` {cache_hit_rate}: a share of reads served from memory, from 0 to 1, e.g. 0.95"
        )
    return disks * (1 - (cache_hit_rate or 0.0))


def require_cores(cores: int) -> None:
    """Raise BadInput for a number of cores that no database host has."""
    if cores < 1:
        raise BadInput(f"`cores` {cores}: a database host has at least 1 core; try `cores` 8")
    if cores > MOST_CORES:
        raise BadInput(f"`cores` {cores}: a database host has {MOST_CORES:,} cores at most; try `cores` 8")


def deadlock_floor(app_threads: int | None, connections_per_thread: int | None) -> int | None:
    """Return the fewest connections with which threads that hold several connections at once can't deadlock.

    ``app_threads * (connections_per_thread - 1) + 1``: 3 threads with 4 connections each need 10. With one connection
    fewer, every thread can wait for its last connection at once. None where both arguments are None.
    Raises BadInput where exactly one argument is None, or a value is outside of 1 to 1,000,000.
    Source: HikariCP, "About Pool Sizing".
    """
    if app_threads is None and connections_per_thread is None:
        return None
    if app_threads is None or connections_per_thread is None:
        raise BadInput("`app_threads` and `connections_per_thread` go together: the floor needs both")
    if not 1 <= app_threads <= MOST_THREADS:
        raise BadInput(f"`app_threads` {app_threads}: an application has 1 to {MOST_THREADS:,} threads")
    if not 1 <= connections_per_thread <= MOST_THREADS:
        raise BadInput(
            f"`connections_per_thread` {connections_per_thread}: a thread that uses the pool holds 1 to "
            f"{MOST_THREADS:,}"
        )
    return app_threads * (connections_per_thread - 1) + 1
