"""The pool size of an application, by the closed network fitted to a run.

A connection in use is in the database, or it waits for its client. The run's client is the load generator, whose CPU is
a station of the network. An application takes the place of this station: its CPU time, where it is known, as a station,
and the rest of its time as a delay, for which nothing queues. The time in the database stays as fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from poolsize.analysis.curve import PER_DOUBLING, candidates
from poolsize.analysis.models.closed_network import NOT_MEASURED, FittedNetwork, Station
from poolsize.analysis.stats.confidence import TAILS

ADDED_MS = (0.0, 1.0, 2.0, 5.0, 20.0)
"""Times that an application adds to the time in the database, in ms: the rows of the table."""
LARGEST = 2000
"""The largest pool size, in connections, that is looked for."""
GRID = candidates(1, LARGEST)
"""Pool sizes at which capacity is looked for."""
FLAT = 0.1
"""Throughput no longer rises if a doubling of the pool size gains less than this share of the tolerance."""
CERTAINTY = 0.95
"""The answer is within the tolerance with at least this probability.

It is above that of a measured size (plateau.CERTAINTY), because too small a pool costs an application more than too
large a pool. A chosen value.
"""
LOSS_FACTOR = 1.75
"""A network's throughput loss at a size is true within about this factor (standard deviation of its logarithm).

A chosen value. With HikariCP (tests/java), two workloads on two servers lost 0.6 to 2.3 times as much as predicted at
the five measured sizes with a predicted loss of 4 to 16 %.
"""
WIDEST = 8
"""A size is not determined if the upper end of its range is more than this multiple of the lower end."""


@dataclass(frozen=True)
class ApplicationSize:
    """The pool size of an application.

    usage_time_ms: mean usage time of a transaction when nothing queues. added_ms: the application's own part of it, in
    ms; the other part is the time in the database.
    cpu_time_ms: the CPU time of the application in usage_time_ms; 0 if not known. cores: that the application may use.
    pool_size: the smallest within the tolerance of capacity in a share of CERTAINTY of the sampled networks, whose
    losses are multiplied by random factors (LOSS_FACTOR). range: the 95 % range of that size.
    throughput: transactions per second at pool_size. capacity: the highest throughput.
    """

    usage_time_ms: float
    added_ms: float
    pool_size: int
    range: tuple[int, int]
    throughput: float
    capacity: float
    cpu_time_ms: float = 0.0
    cores: int = 1

    @property
    def cpu(self) -> Station:
        """The application's CPU, as a station of a network."""
        return Station(self.cpu_time_ms, self.cores)

    @property
    def is_certain(self) -> bool:
        """Whether the upper end of the range is at most WIDEST times the lower end, and below the largest size."""
        return self.range[1] <= WIDEST * self.range[0] and self.range[1] < LARGEST


def application_sizes(network: FittedNetwork, tolerance: float) -> tuple[ApplicationSize, ...]:
    """Return the pool sizes of applications that add ADDED_MS, ascending.

    Sizes that are not determined, and those above 2,000 connections, are left out. network: of the run.
    tolerance: share of capacity by which throughput at a size may be lower.
    """
    rows = (
        _size(network, added_ms, [(sample, added_ms) for sample in network.samples], tolerance) for added_ms in ADDED_MS
    )
    return tuple(row for row in rows if row and row.is_certain)


def size_for_usage_time(
    network: FittedNetwork, usage_time_ms: float, tolerance: float, cpu_time_ms: float = 0.0, cores: int = 1
) -> ApplicationSize | None:
    """Return the pool size of an application with this usage time; None where it needs more than 2,000 connections.

    usage_time_ms: mean when nothing queues; below the database's time, the application adds nothing. cpu_time_ms,
    cores: as in ApplicationSize. network, tolerance: as in application_sizes.
    """
    samples = [(sample, max(0.0, usage_time_ms - sample.database_ms)) for sample in network.samples]
    added_ms = max(0.0, usage_time_ms - network.database_ms)
    size = _size(network, added_ms, samples, tolerance, Station(cpu_time_ms, cores))
    return size and replace(size, usage_time_ms=usage_time_ms, cpu_time_ms=cpu_time_ms, cores=cores)


def with_locks_held(network: FittedNetwork, size: ApplicationSize, tolerance: float) -> tuple[int, float] | None:
    """Return the pool size and the capacity of an application that holds row locks for all of its own time.

    None where the network has no further queue, in which transactions wait for each other.
    """
    if not network.queue.demand_ms:
        return None
    application = network.with_application(size.added_ms, size.cpu)
    return _plateau(application.holding_locks(size.added_ms), tolerance)


def shortest_usage_time_ms(network: FittedNetwork) -> float:
    """Return the lower end of the 95 % range of the database's part of a lone transaction, in ms."""
    return float(np.quantile([sample.database_ms for sample in network.samples], TAILS[0]))


def _size(
    network: FittedNetwork,
    added_ms: float,
    samples: Sequence[tuple[FittedNetwork, float]],
    tolerance: float,
    cpu: Station = NOT_MEASURED,
) -> ApplicationSize | None:
    """Return the pool size of an application. samples: sampled networks, and the time in ms that it adds in each."""
    application = network.with_application(added_ms, cpu)
    plateau = _plateau(application, tolerance)
    if plateau is None:
        return None
    shuffled = np.random.default_rng(0).permutation((np.arange(len(samples)) + 0.5) / len(samples))
    loss_factors = LOSS_FACTOR ** ndtri(shuffled)  # quantiles of a log-normal distribution
    plateaus = [
        _plateau(sample.with_application(sample_ms, cpu), tolerance / loss_factor)
        for (sample, sample_ms), loss_factor in zip(samples, loss_factors, strict=True)
    ]
    sizes = [sampled[0] if sampled else LARGEST for sampled in plateaus]
    low, enough, high = np.quantile(sizes, [TAILS[0], CERTAINTY, TAILS[1]], method="nearest").tolist()
    throughput = float(application.throughput([enough])[0])
    return ApplicationSize(network.database_ms + added_ms, added_ms, enough, (low, high), throughput, plateau[1])


def _plateau(network: FittedNetwork, tolerance: float) -> tuple[int, float] | None:
    """Return the smallest size within the tolerance of capacity, and capacity; None with more than 2,000 connections.

    Capacity is the throughput at the first pool size beyond which throughput no longer rises.
    """
    highest_rates = [each.servers**each.scaling / each.demand_ms for each in network.stations if each.demand_ms]
    needed = 2 * network.database_ms * min(highest_rates)
    begin = min(len(GRID), PER_DOUBLING + 1 + int(np.searchsorted(GRID, needed)))
    for end in [*range(begin, len(GRID), PER_DOUBLING), len(GRID)]:
        rates = network.throughput(GRID[:end])
        capacity = float(rates.max())
        if capacity > (1 + FLAT * tolerance) * rates[:-PER_DOUBLING].max():
            continue
        above = int(np.argmax(rates >= (1 - tolerance) * capacity))
        between = range(GRID[above - 1] + 1 if above else 1, GRID[above] + 1)
        if len(between) == 1:
            return GRID[above], capacity
        first = int(np.argmax(network.throughput(between) >= (1 - tolerance) * capacity))
        return between[first], capacity
    return None
