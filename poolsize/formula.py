"""Facts -> StartingPoint: the formula, its bounds and its warnings.

The formula is PostgreSQL's wiki's, made known by HikariCP's "About Pool Sizing":
``connections = cores * 2 + effective_disks``. The deadlock floor is from the same page:
``threads * (connections_per_thread - 1) + 1``.
"""

from dataclasses import dataclass

from poolsize.errors import BadInput

SWEEP_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)


@dataclass(frozen=True)
class StartingPoint:
    """Where to start measuring.

    cores: physical cores of the database's host.
    effective_disks: disks that a cache miss waits for: 0 when the active data is cached, up to all of them.
    connections: cores * 2 + effective_disks, rounded to a whole number.
    deadlock_floor: the fewest connections with which callers that hold several at once can't deadlock,
        or None when each holds one.
    pool_size: connections, raised to the deadlock floor.
    sizes: pool sizes worth measuring around it, ascending.
    reasons, warnings: one sentence each.
    """

    cores: int
    effective_disks: float
    connections: int
    deadlock_floor: int | None
    pool_size: int
    sizes: tuple[int, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


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
    """Apply the formula to a database host.

    cores: the host's cores; logical CPUs when threads_per_core is given, which divides them.
    disks: spindles that hold the data. cache_hit_rate: 0 (every read waits for a disk) to 1 (none does).
    Raises BadInput for values no host can have.
    """
    _require(cores >= 1, f"--cores {cores}: a database host has at least 1 core; try --cores 8")
    _require(disks >= 0, f"--disks {disks}: give the number of disks that hold the data, 0 or more")
    _require(
        cache_hit_rate is None or 0 <= cache_hit_rate <= 1,
        f"--cache-hit-rate {cache_hit_rate}: a share of reads served from memory, from 0 to 1, e.g. 0.95",
    )
    _require(threads_per_core >= 1, f"--threads-per-core {threads_per_core}: 2 with hyper-threading, 1 without")
    physical = max(1, cores // threads_per_core)
    effective = disks * (1 - (cache_hit_rate or 0.0))
    connections = physical * 2 + round(effective)
    floor = deadlock_floor(app_threads, connections_per_thread)
    size = max(connections, floor or 1)
    return StartingPoint(
        cores=physical,
        effective_disks=effective,
        connections=connections,
        deadlock_floor=floor,
        pool_size=size,
        sizes=sizes_around(size, at_least=floor or 1),
        reasons=_reasons(physical, cores, threads_per_core, disks, cache_hit_rate, floor, connections),
        warnings=_warnings(ssd=ssd, floor=floor, connections=connections),
    )


def deadlock_floor(app_threads: int | None, connections_per_thread: int | None) -> int | None:
    """Fewest connections with which app_threads callers holding several each always let one proceed.

    ``threads * (connections_per_thread - 1) + 1``: 3 threads with 4 connections each need 10.
    """
    if app_threads is None and connections_per_thread is None:
        return None
    if app_threads is None or connections_per_thread is None:
        raise BadInput("--app-threads and --connections-per-thread go together: the floor needs both")
    _require(app_threads >= 1, f"--app-threads {app_threads}: an application has at least 1 thread")
    _require(
        connections_per_thread >= 1,
        f"--connections-per-thread {connections_per_thread}: a thread that uses the pool holds at least 1",
    )
    return app_threads * (connections_per_thread - 1) + 1


def sizes_around(size: int, *, at_least: int = 1) -> tuple[int, ...]:
    """Sizes from an eighth to four times of size, a doubling apart."""
    return tuple(sorted({max(at_least, int(size * factor)) for factor in SWEEP_FACTORS}))


def _require(fine: bool, message: str) -> None:
    if not fine:
        raise BadInput(message)


def _reasons(
    physical: int,
    cores: int,
    threads_per_core: int,
    disks: int,
    cache_hit_rate: float | None,
    floor: int | None,
    connections: int,
) -> tuple[str, ...]:
    reasons = [
        f"cores = {physical}: physical cores of the database's host; hyper-threads don't count"
        + (f" ({cores} logical CPUs / {threads_per_core})" if threads_per_core > 1 else "")
    ]
    if disks == 0:
        reasons.append("effective_disks = 0: no disk to wait for")
    elif cache_hit_rate is None:
        reasons.append(
            f"effective_disks = {disks}: as if no read came from memory; "
            "it falls to 0 as the active data fits the cache (--cache-hit-rate)"
        )
    else:
        reasons.append(
            f"effective_disks = {disks * (1 - cache_hit_rate):g}: {disks} x the {1 - cache_hit_rate:.0%} "
            "of reads that miss memory"
        )
    if floor is not None:
        reasons.append(
            f"deadlock floor = {floor}: with fewer, callers that each hold several connections "
            "can wait for one another for ever; a minimum, not an optimum"
            + (f", and here it is above the formula's {connections}" if floor > connections else "")
        )
    return tuple(reasons)


def _warnings(*, ssd: bool, floor: int | None, connections: int) -> tuple[str, ...]:
    warnings = [
        "This is a place to start measuring, not an answer: sweep around it.",
        (
            "It counts what the database serves at once, for all clients together: "
            "divide it over your application's instances and processes."
        ),
    ]
    if ssd:
        warnings.append(
            "The formula was never analysed for SSDs; fewer waits mean fewer connections, "
            "so look below this number first."
        )
    if floor is not None and floor > connections:
        warnings.append(
            "The deadlock floor is above what the hardware asks for: let a caller hold fewer connections at once."
        )
    return tuple(warnings)
