"""StartingPoint -> Recommendation: the answer of the formula."""

from poolsize.answer.finding import Caution, Finding, Reason, ToDivide
from poolsize.answer.recommendation import Formula, Recommendation
from poolsize.formula import StartingPoint


class PhysicalCores(Reason, code="cores"):
    """The formula's cores: logical CPUs / threads per core."""

    cores: int
    logical_cpus: int
    threads_per_core: int


class NoDisks(Reason, code="no_disks"):
    """The data needs no disk."""


class DisksUncached(Reason, code="disks_uncached"):
    """All disks count, because the share of reads that miss the cache is not known."""

    disks: int


class DisksCached(Reason, code="disks_cached"):
    """Disks count by the share of reads that miss the cache."""

    disks: int
    miss_share: float
    effective_disks: float


class DeadlockFloor(Reason, code="deadlock_floor"):
    """The fewest connections of a process without deadlock. connections: the formula's."""

    deadlock_floor: int
    connections: int


class OnlyStartingPoint(Caution, code="starting_point"):
    """The formula is a place to start measuring."""


class ServedAtOnce(ToDivide, code="served_at_once"):
    """The formula's connections are those of all clients together."""


class OnSsd(Caution, code="ssd"):
    """The formula was never analysed for SSDs."""


class FloorAboveFormula(Caution, code="floor_above_formula"):
    """The deadlock floor is above the formula's connections."""


def from_formula(start: StartingPoint) -> Recommendation:
    """Return the recommendation of a starting point, with a range from half of its pool size to twice.

    The range begins at the deadlock floor or above. The reasons come before the warnings.
    """
    floor, hit_rate = start.deadlock_floor, start.cache_hit_rate
    disks: Finding = DisksUncached(start.disks)
    if start.disks == 0:
        disks = NoDisks()
    elif hit_rate is not None:
        disks = DisksCached(start.disks, 1 - hit_rate, start.effective_disks)
    findings = (
        PhysicalCores(start.cores, start.logical_cpus, start.threads_per_core),
        disks,
        None if floor is None else DeadlockFloor(floor, start.connections),
        OnlyStartingPoint(),
        ServedAtOnce(),
        OnSsd() if start.ssd else None,
        FloorAboveFormula() if floor is not None and floor > start.connections else None,
    )
    return Recommendation(
        basis="formula",
        pool_size=start.pool_size,
        range=(max(floor or 1, start.pool_size // 2), start.pool_size * 2),
        formula=Formula.of(start),
        verdict=None,
        findings=tuple(finding for finding in findings if finding),
        sweep_sizes=start.sizes,
    )
