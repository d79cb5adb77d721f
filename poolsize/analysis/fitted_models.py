"""The models of a run, each fitted when it is first used: estimators, closed network, bimodal usage times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hdrh.histogram import HdrHistogram

from poolsize.analysis.bimodal import BimodalUsage, Mode, bimodal_usage
from poolsize.analysis.bottleneck import Bottleneck
from poolsize.analysis.by_size import BySize
from poolsize.analysis.estimates import PLATEAU, Estimate, answers, estimates
from poolsize.analysis.estimators import fitted_network
from poolsize.analysis.models.network_fit import NOTHING_MEASURED, FittedNetwork, MeasuredStations
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import Plateau
from poolsize.analysis.size_summary import SizeSummary
from poolsize.runs.check import Check


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
        """Estimator -> its pool size, without the ranges and tests of `estimates`, which take longer."""
        if self.plateau is None or not self.observations:
            return {PLATEAU: self.plateau.pool_size if self.plateau else None}
        others = answers(self.observations, self.plateau.tolerance, self._measured)
        return {PLATEAU: self.plateau.pool_size, **others}

    @cached_property
    def network(self) -> FittedNetwork | None:
        """The closed network fitted to the valid sizes; None with fewer than 4, and at a fixed rate."""
        return fitted_network(self.observations, self._measured) if self.observations else None

    @cached_property
    def bimodal(self) -> BimodalUsage | None:
        """The short and the long mode of the usage times at the plateau; None where they are not bimodal."""
        usage = self.usage_histogram
        if usage is None or self._plateau_size is None or self._plateau_size.failed(Check.GENERATOR):
            return None  # a saturated load generator makes usage times bimodal by itself
        return bimodal_usage(usage)

    def two_pools(self, connections: int) -> tuple[tuple[int, Mode], tuple[int, Mode]] | None:
        """Return the pool size and the mode of a pool for short and of a pool for long transactions.

        connections: of both pools together. None where usage times are not bimodal, and for a single connection.
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
    def database_sizes(self) -> tuple[int, tuple[int, int]] | None:
        """The pool size that saturates the database alone, and its lowest and highest value over all measured sizes.

        It follows from the service demands at the plateau. None where no processor is the bottleneck, or the server's
        service demand is not known.
        """
        if self.plateau is None or self.bottleneck is None or not self.bottleneck.name.is_processor:
            return None
        by_pool_size = {
            size.pool_size: size.demands.database_size(self.plateau.tolerance)
            for size in self.by_size.valid
            if size.demands and not size.demands.inferred and size.demands.server_ms > 0
        }
        known = [size for size in by_pool_size.values() if size]
        assert self._plateau_size is not None
        at_plateau = by_pool_size.get(self._plateau_size.pool_size)
        return (at_plateau, (min(known), max(known))) if at_plateau else None

    @property
    def _plateau_size(self) -> SizeSummary | None:
        """The summary of the measured size nearest to the plateau, or None without a plateau."""
        return None if self.plateau is None else self.by_size.nearest(self.plateau.pool_size)

    @property
    def _measured(self) -> MeasuredStations:
        """The CPU of the load generator and of the server, at the largest valid size, where they are measured best."""
        demands = self.by_size.valid[-1].demands
        return demands.stations if demands else NOTHING_MEASURED
