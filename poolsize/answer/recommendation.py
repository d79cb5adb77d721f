"""Recommendation: a pool size, its range, a verdict on it, findings and a price table; and the formula's."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Self

from poolsize.answer.finding import Caution, Finding, Reason, ToDivide
from poolsize.formula import StartingPoint
from poolsize.quick_record import QuickRecord

if TYPE_CHECKING:  # neither numpy nor what only a run's answer needs is part of `poolsize recommend --cores 8`
    from poolsize.analysis.application_size import ApplicationSize
    from poolsize.analysis.bimodal import TransactionPool
    from poolsize.answer.price import Price
    from poolsize.answer.verdict import OpenEnd, Verdict
    from poolsize.runs.plan import MeasuredApplication


class Formula(QuickRecord):
    """The formula's answer for the database's host: connections = cores * 2 + effective_disks."""

    cores: int
    effective_disks: float
    connections: int

    @classmethod
    def of(cls, start: StartingPoint) -> Self:
        """Return the formula's part of a starting point."""
        return cls(start.cores, start.effective_disks, start.connections)


class Recommendation(QuickRecord):
    """The answer.

    basis: "formula" for a starting point, "measured" for a run.
    pool_size: connections of the pool, or of each of the application's pools that were measured; None where the verdict
        forbids a number. With the usage time of an application, of that application; else of the load generator.
    range: lowest and highest pool size. Of a plateau, the 95 % range of its start; of an application, its 95 % range;
        for a formula, half of pool_size (at least the deadlock floor) and twice pool_size. None where none was
        estimated: without a pool size, at a fixed rate, for a size that a latency limit decides, for the only size.
    range_open: the end of the 95 % range beyond which the answer may lie, because no such pool was measured, or None.
    formula: the formula's answer for the database's host.
    verdict: whether a measured size is usable, and if not, why; None for a formula.
    findings: reasons, warnings and refusals, in the order to read them.
    throughput: transactions per second at pool_size; None for a formula.
    database_size: the pool size that keeps the saturated resource busy when no client adds time: a limit, never what
        to configure; None where it is not known. database_range: its 95 % range.
    application: the pool size for the usage time that was given, or None.
    application_sizes: the pool sizes of applications that add 0, 1, 2, 5 and 20 ms to the time in the database, by the
        fitted closed network; empty where none is known.
    limit_probability: that pool_size keeps the latency limits; None without limits.
    measured_in: the application whose pools were measured; None where the pool was poolsize's own.
    two_pools: for short and for long transactions, where usage times are bimodal; else empty.
    estimates: estimator -> its pool size. prices: the price table, ascending in pool size.
    sweep_sizes: sizes worth measuring next.
    """

    basis: Literal["formula", "measured"]
    pool_size: int | None
    range: tuple[int, int] | None
    formula: Formula
    verdict: "Verdict | None"
    findings: tuple[Finding, ...]
    range_open: "OpenEnd | None" = None
    throughput: float | None = None
    database_size: int | None = None
    database_range: tuple[int, int] | None = None
    application: "ApplicationSize | None" = None
    application_sizes: "tuple[ApplicationSize, ...]" = ()
    limit_probability: float | None = None
    measured_in: "MeasuredApplication | None" = None
    two_pools: "tuple[TransactionPool, ...]" = ()
    estimates: Mapping[str, int | None] | None = None
    prices: "tuple[Price, ...]" = ()
    sweep_sizes: tuple[int, ...] = ()

    @property
    def connections(self) -> int | None:
        """Connections for all clients of the database together; None without a pool size."""
        pools = self.measured_in.pools if self.measured_in else 1
        return None if self.pool_size is None else pools * self.pool_size

    @property
    def in_doubt(self) -> bool:
        """Whether the pool size is not to be used before a further measurement."""
        has_doubt = self.pool_size is None or self.verdict not in {None, "measured", "not-the-limit"}
        return has_doubt or bool(self.doubts)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings that put the pool size in doubt: whoever uses the size must read them."""
        return tuple(finding for finding in self.findings if finding.is_doubt)


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
