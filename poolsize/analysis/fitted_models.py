"""The models of a run, each fitted when it is first used: estimators, closed network, bimodal usage times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.application_size import ApplicationSize, application_sizes
from poolsize.analysis.bimodal import BimodalUsage, Mode, bimodal_kinds, bimodal_usage
from poolsize.analysis.bottleneck import Bottleneck
from poolsize.analysis.by_size import BySize
from poolsize.analysis.estimators import (
    ClosedNetworkEstimator,
    Estimator,
    KneedleEstimator,
    PlateauEstimator,
    UslEstimator,
    fitted_network,
    means_by_size,
)
from poolsize.analysis.models.fitted_network import NOTHING_MEASURED, FittedNetwork, MeasuredStations
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import TOLERANCE, Plateau
from poolsize.analysis.service_demand import saturated_server_ms
from poolsize.analysis.size_summary import SizeSummary
from poolsize.runs.check import Check

PLATEAU = "plateau"
ESTIMATORS: Mapping[str, type[Estimator]] = {
    PLATEAU: PlateauEstimator,
    "usl": UslEstimator,
    "closed_network": ClosedNetworkEstimator,
    "kneedle": KneedleEstimator,
}
"""Every estimator by the name that output and JSON use, in their order. A new estimator is a line here."""

MOVED = 0.2
"""An estimate is unstable if it changes by more than this share without the largest measured size."""
LEFT_OUT = 12
"""The largest number of sizes that are left out, one at a time, to test an estimator."""


@dataclass(frozen=True)
class Estimate:
    """One estimator's pool size and its tests.

    pool_size: connections; None where there is no estimate inside the measured sizes. low, high: its 95 % range.
    error: root mean square error, a share, of the throughput predicted at each size when that size is left out. None
    for an estimator that predicts no throughput.
    moved: share by which pool_size changes without the largest measured size; None without both estimates.
    """

    pool_size: int | None
    low: int | None = None
    high: int | None = None
    error: float | None = None
    moved: float | None = None

    @property
    def unstable(self) -> bool:
        """Whether the estimate changes by more than 20 % without the largest measured size."""
        return self.moved is not None and abs(self.moved) > MOVED


def estimates(
    observations: Sequence[Observation],
    tolerance: float = TOLERANCE,
    measured: MeasuredStations = NOTHING_MEASURED,
    *,
    of_grid: bool = True,
) -> Mapping[str, Estimate]:
    """Return estimator -> its estimate, with its range and its tests.

    observations: ascending in size. tolerance: share of capacity. measured: service demands.
    of_grid: whether the user chose the measured sizes, in place of a search.
    """
    return {
        name: _tested(estimator(tolerance, measured, of_grid), observations) for name, estimator in ESTIMATORS.items()
    }


def _tested(estimator: Estimator, observations: Sequence[Observation]) -> Estimate:
    """Return an estimator's estimate, tested by leaving sizes out: the largest, and up to 12 inner sizes in turn."""
    sizes, rates, _ = means_by_size(observations)
    answer = estimator.estimate(observations)
    shorter = estimator.estimate(_without(observations, sizes[-1])).pool_size if len(sizes) > 2 else None
    moved = shorter / answer.pool_size - 1 if shorter and answer.pool_size else None
    inner = list(zip(sizes, rates, strict=True))[1:-1]
    inner = inner[:: max(1, -(-len(inner) // LEFT_OUT))]
    predictions = [(estimator.predict(_without(observations, size), size), rate) for size, rate in inner]
    errors = [predicted / rate - 1 for predicted, rate in predictions if predicted is not None and rate]
    error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return Estimate(answer.pool_size, answer.low, answer.high, error, moved)


def _without(observations: Sequence[Observation], size: int) -> Sequence[Observation]:
    return [observation for observation in observations if observation.pool_size != size]


@dataclass(frozen=True)
class FittedModels:
    """The models of one run, each fitted when it is first used.

    observations: of the valid steps, ascending in pool size; empty at a fixed rate, where throughput follows the rate.
    plateau, bottleneck, by_size: of the run's Analysis. of_grid: whether the user chose the pool sizes.
    """

    observations: Sequence[Observation]
    plateau: Plateau | None
    bottleneck: Bottleneck | None
    by_size: BySize
    of_grid: bool

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Estimator -> its pool size with range and tests; empty at a fixed rate."""
        if self.plateau is None or not self.observations:
            return {}
        return estimates(self.observations, self.plateau.tolerance, self._measured, of_grid=self.of_grid)

    @cached_property
    def sizes(self) -> Mapping[str, int | None]:
        """Estimator -> its pool size, without the tests of `estimates`, which take longer."""
        if self.plateau is None or not self.observations:
            return {PLATEAU: self.plateau.pool_size if self.plateau else None}
        others = {
            name: estimator(self.plateau.tolerance, self._measured).estimate(self.observations).pool_size
            for name, estimator in ESTIMATORS.items()
            if name != PLATEAU
        }
        return {PLATEAU: self.plateau.pool_size, **others}

    @cached_property
    def network(self) -> FittedNetwork | None:
        """The closed network fitted to the valid sizes; None with fewer than 4, and at a fixed rate."""
        return fitted_network(self.observations, self._measured) if self.observations else None

    @cached_property
    def bimodal(self) -> BimodalUsage | None:
        """Short and long transactions at the plateau; None where usage times are not bimodal.

        In a workload with several tasks, some tasks are short and some are long. In a workload with one task, the usage
        times have two modes that nothing else explains.
        """
        usage, size = self.usage_histogram, self._plateau_size
        if usage is None or size is None or size.failed(Check.GENERATOR):
            return None  # a saturated load generator makes usage times bimodal by itself
        if size.kinds:
            return bimodal_kinds({name: (kind.transactions, kind.usage.mean) for name, kind in size.kinds.items()})
        modes = bimodal_usage(usage)
        return modes if modes and not self._is_explained(modes, size) else None

    def _is_explained(self, modes: BimodalUsage, size: SizeSummary) -> bool:
        """Return whether waits in the database may explain the long mode at a size, or a smaller size was not measured.

        modes: the modes of the usage times at that size.
        """
        if size.pool_size > 1:
            smallest = self.by_size.valid[0].pool_size
            usage = self.by_size.histogram("usage", smallest) if smallest < size.pool_size else None
            if usage is None or not modes.lasts_as_in(bimodal_usage(usage)):
                return True
        lock_wait_ms, disk_reads = (
            (self.by_size.counter(name, size.pool_size) or 0.0) / size.throughput.mean
            for name in ("Innodb_row_lock_time", "Innodb_buffer_pool_reads")
        )
        return modes.is_explained(lock_wait_ms, disk_reads)

    def two_pools(self, connections: int) -> tuple[tuple[int, Mode], tuple[int, Mode]] | None:
        """Return the pool size and the mode of a pool for short and of a pool for long transactions.

        connections: of one pool for both. None where usage times are not bimodal, and for a single connection.
        """
        modes = self.bimodal
        if modes is None or connections < 2:
            return None
        short_size, long_size = modes.pools(connections)
        return (short_size, modes.short), (long_size, modes.long)

    @cached_property
    def usage_histogram(self) -> HdrHistogram | None:
        """Histogram of the usage times, in us, at the measured size nearest to the plateau; None in a replay."""
        plateau_size = self._plateau_size
        return None if plateau_size is None else self.by_size.histogram("usage", plateau_size.pool_size)

    @cached_property
    def network_with_client(self) -> FittedNetwork | None:
        """The network, if it knows the load generator's part of a transaction; else None, and nothing is fitted."""
        if not self._measured.client.demand_ms or self.network is None:
            return None
        demands = {size.throughput.mean: size.demands for size in self.by_size.valid if size.demands}
        saturated_ms, measured_ms = saturated_server_ms(demands), self.network.cpu.demand_ms
        share = min(1.0, saturated_ms / measured_ms) if saturated_ms and measured_ms else 1.0
        return replace(self.network, saturated_share=share)

    @cached_property
    def application_sizes(self) -> tuple[ApplicationSize, ...]:
        """The pool sizes of applications that add ADDED_MS to the time in the database; empty where none is known."""
        network = self.network_with_client
        return application_sizes(network, self.plateau.tolerance) if network and self.plateau else ()

    @property
    def _plateau_size(self) -> SizeSummary | None:
        """The summary of the measured size nearest to the plateau, or None without a plateau."""
        return None if self.plateau is None else self.by_size.nearest(self.plateau.pool_size)

    @property
    def _measured(self) -> MeasuredStations:
        """The CPU of the load generator and of the server, at the largest valid size, where they are measured best."""
        demands = self.by_size.valid[-1].demands if self.observations else None
        return demands.stations if demands else NOTHING_MEASURED
