"""The models of a run, each fitted when it is first used: estimators, closed network, bimodal usage times.

An estimator returns a pool size from the observations, and predicts throughput at other sizes. The plateau and the
closed network estimate the smallest size within the tolerance of capacity. The USL estimates the peak of throughput.
Kneedle estimates the point where the curve bends most.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from math import ceil

import numpy as np
from hdrh.histogram import HdrHistogram

from poolsize.analysis.application_size import ApplicationSize, application_sizes
from poolsize.analysis.bimodal import MOSTLY, BimodalUsage, TransactionPool, bimodal_kinds, bimodal_usage
from poolsize.analysis.curve import candidates, fit_between
from poolsize.analysis.models.closed_network import NOTHING_MEASURED, FittedNetwork, MeasuredStations
from poolsize.analysis.models.network_fit import fit_network
from poolsize.analysis.models.usl import Usl, fit_usl
from poolsize.analysis.observation import Observation
from poolsize.analysis.plateau import ROUNDING, TOLERANCE, Plateau, plateau
from poolsize.analysis.service_demand import saturated_server_ms
from poolsize.analysis.size_summary import BySize, SizeSummary
from poolsize.analysis.stats.confidence import TAILS
from poolsize.runs.check import Check

SAMPLES = 100
"""Sampled curves in Kneedle, from which a 95 % range is read."""
FEWEST_SIZES = 3
"""With fewer sizes a curve has no knee."""
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


@dataclass(frozen=True)
class Terms:
    """What an estimator goes by, beside the observations.

    tolerance: share of capacity by which throughput at the estimate may be lower.
    measured: the service demands that were measured.
    of_grid: whether the user chose the measured sizes, in place of a search.
    """

    tolerance: float = TOLERANCE
    measured: MeasuredStations = NOTHING_MEASURED
    of_grid: bool = True


Observations = Sequence[Observation]
"""Of the valid steps, ascending in pool size."""


@dataclass(frozen=True)
class Estimator:
    """A method of estimating a pool size.

    estimate: returns the size with its 95 % range. predict: returns the predicted throughput per second at a size, or
    None with too few sizes, and of a method without a model of throughput.
    """

    estimate: Callable[[Observations, Terms], Estimate]
    predict: Callable[[Observations, Terms, int], float | None]


def estimates(observations: Observations, terms: Terms = Terms()) -> Mapping[str, Estimate]:
    """Return estimator -> its estimate, with its range and its tests."""
    return {name: _tested(estimator, observations, terms) for name, estimator in ESTIMATORS.items()}


def _tested(estimator: Estimator, observations: Observations, terms: Terms) -> Estimate:
    """Return an estimator's estimate, tested by leaving sizes out: the largest, and up to 12 inner sizes in turn."""
    sizes, rates, _ = means_by_size(observations)
    answer = estimator.estimate(observations, terms)
    shorter = estimator.estimate(_without(observations, sizes[-1]), terms).pool_size if len(sizes) > 2 else None
    moved = shorter / answer.pool_size - 1 if shorter and answer.pool_size else None
    inner = list(zip(sizes, rates, strict=True))[1:-1]
    errors = [
        predicted / rate - 1
        for size, rate in inner[:: max(1, -(-len(inner) // LEFT_OUT))]
        if (predicted := estimator.predict(_without(observations, size), terms, size)) is not None and rate
    ]
    error = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return replace(answer, error=error, moved=moved)


def _without(observations: Observations, size: int) -> Observations:
    return [observation for observation in observations if observation.pool_size != size]


def _plateau(observations: Observations, terms: Terms) -> Estimate:
    """Return the start of the fitted curve's plateau: the answer that poolsize gives."""
    answer = plateau(fit_between(observations), terms.tolerance, of_grid=terms.of_grid)
    return Estimate(answer.pool_size, answer.low, answer.high)


def _usl(observations: Observations, _: Terms) -> Estimate:
    """Return the peak of the universal scalability law inside the measured sizes, to which its range is clipped."""
    sizes, rates, errors = means_by_size(observations)
    law = fit_usl(sizes, rates, errors)
    if law is None or not sizes[0] <= law.peak <= sizes[-1]:
        return Estimate(None)
    low, high = np.clip([law.low, law.high], sizes[0], sizes[-1]).tolist()
    return Estimate(round(law.peak), round(low), round(high))


def _network(observations: Observations, terms: Terms) -> Estimate:
    """Return the plateau of the closed network fitted to the observations; its range is that of the fit's samples."""
    network = fitted_network(tuple(observations), terms.measured)
    if network is None:
        return Estimate(None)
    measured = sorted({observation.pool_size for observation in observations})
    sizes = candidates(measured[0], measured[-1], measured)
    sampled = [_network_plateau(other, sizes, terms.tolerance) for other in network.samples]
    low, high = np.quantile(sampled, TAILS, method="nearest").tolist()
    return Estimate(_network_plateau(network, sizes, terms.tolerance), low, high)


def _network_plateau(network: FittedNetwork, sizes: Sequence[int], tolerance: float) -> int:
    """Return the smallest size within the tolerance; linear between the sizes."""
    rates = network.throughput(sizes)
    goal = (1 - tolerance) * float(rates.max())
    above = int(np.argmax(rates >= goal))
    if above == 0:
        return sizes[0]
    return ceil(np.interp(goal, rates[above - 1 : above + 1], sizes[above - 1 : above + 1]) - ROUNDING)


def _rate(model: Usl | FittedNetwork | None, size: int) -> float | None:
    return None if model is None else float(model.throughput([size])[0])


def _kneedle(observations: Observations, _: Terms) -> Estimate:
    """Return Kneedle's knee of the measured means; its range is of SAMPLES curves, each mean varied by its error.

    No estimate where fewer than half of these curves have a knee.
    """
    sizes, rates, errors = means_by_size(observations)
    answer = knee(sizes, rates)
    noise = np.random.default_rng(0).standard_normal((SAMPLES, len(rates)))
    curves = rates + np.multiply(errors, noise)
    knees = [size for curve in curves if (size := knee(sizes, curve.tolist())) is not None]
    if answer is None or 2 * len(knees) < SAMPLES:
        return Estimate(None)
    low, high = np.quantile(knees, TAILS, method="nearest").tolist()
    return Estimate(answer, low, high)


@lru_cache(maxsize=32)  # an answer needs the network of all observations twice, as an estimator and for applications
def fitted_network(observations: tuple[Observation, ...], measured: MeasuredStations) -> FittedNetwork | None:
    """Return the closed network that fits the observations best; None with fewer than 4 sizes or a throughput of 0."""
    return fit_network(*means_by_size(observations), measured)


PLATEAU = "plateau"
ESTIMATORS: Mapping[str, Estimator] = {
    PLATEAU: Estimator(_plateau, lambda observations, _, size: fit_between(observations).at(size)),
    "usl": Estimator(_usl, lambda observations, _, size: _rate(fit_usl(*means_by_size(observations)), size)),
    "closed_network": Estimator(
        _network, lambda observations, terms, size: _rate(fitted_network(tuple(observations), terms.measured), size)
    ),
    "kneedle": Estimator(_kneedle, lambda *_: None),
}
"""Every estimator by the name that output and JSON use, in their order. A new estimator is a line here."""


def means_by_size(observations: Observations) -> tuple[list[int], list[float], list[float]]:
    """Return the sizes, ascending, the mean throughput at each (per second), and the mean's standard error."""
    groups = groupby(observations, key=lambda observation: observation.pool_size)
    means = [Observation.mean(list(group)) for _, group in groups]
    sizes = [mean.pool_size for mean in means]
    return sizes, [mean.throughput for mean in means], [mean.standard_error for mean in means]


def knee(sizes: Sequence[float], throughput: Sequence[float]) -> int | None:
    """Return the pool size at the knee of a rising, flattening curve, by Kneedle; None where the curve has no knee.

    Both axes are scaled to 0..1. The knee is the point furthest above the diagonal. The curve must then fall towards
    the diagonal by the mean distance of two sizes (sensitivity 1). The knee moves when more sizes are measured.
    Source: Satopaa, Albrecht, Irwin and Raghavan (2011), "Finding a 'Kneedle' in a Haystack".
    sizes: ascending. throughput: a value for each size, in any unit.
    """
    numbers, rates = np.asarray(sizes, float), np.asarray(throughput, float)
    if len(numbers) < FEWEST_SIZES or rates.min() == rates.max():
        return None
    above = (rates - rates.min()) / np.ptp(rates) - (numbers - numbers[0]) / np.ptp(numbers)
    before, after = np.r_[above[0], above[:-1]], np.r_[above[1:], above[-1]]
    peak, threshold = None, 0.0
    for place in range(len(above) - 1):
        if above[place] >= max(before[place], after[place]):
            peak, threshold = place, above[place] - 1 / (len(above) - 1)
        if above[place] <= min(before[place], after[place]):
            peak = None  # after a dip, only a later peak can be the knee
        if peak is not None and above[place + 1] < threshold:
            return round(float(numbers[peak]))
    return None


@dataclass(frozen=True)
class FittedModels:
    """The models of one run, each fitted when it is first used.

    observations: of the valid steps, ascending in pool size; empty at a fixed rate, where throughput follows the rate.
    plateau, by_size: of the run's Analysis. of_grid: whether the user chose the pool sizes. means_only: whether the
    noise is unknown, and with it the range of each estimate.
    """

    observations: Sequence[Observation]
    plateau: Plateau | None
    by_size: BySize
    of_grid: bool
    means_only: bool

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Estimator -> its pool size with range, where it is known, and tests; empty at a fixed rate."""
        if self.plateau is None or not self.observations:
            return {}
        all_estimates = estimates(self.observations, Terms(self.plateau.tolerance, self._measured, self.of_grid))
        if self.means_only:
            return {name: replace(estimate, low=None, high=None) for name, estimate in all_estimates.items()}
        return all_estimates

    @cached_property
    def sizes(self) -> Mapping[str, int | None]:
        """Estimator -> its pool size, without the tests of `estimates`, which take longer."""
        if self.plateau is None or not self.observations:
            return {PLATEAU: self.plateau.pool_size if self.plateau else None}
        terms = Terms(self.plateau.tolerance, self._measured)
        return {
            name: self.plateau.pool_size if name == PLATEAU else estimator.estimate(self.observations, terms).pool_size
            for name, estimator in ESTIMATORS.items()
        }

    @cached_property
    def network(self) -> FittedNetwork | None:
        """The closed network fitted to the valid sizes; None with fewer than 4, and at a fixed rate."""
        return fitted_network(tuple(self.observations), self._measured) if self.observations else None

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

        Transactions of another kind are as frequent with any number of connections. Transactions that wait for each
        other in the database are rarer with fewer connections, and there are none with one connection.
        modes: the modes of the usage times at that size.
        """
        long = modes.long
        if size.pool_size > 1:
            smallest = self.by_size.valid[0].pool_size
            usage = self.by_size.histogram("usage", smallest) if smallest < size.pool_size else None
            fewer = None if usage is None else bimodal_usage(usage)
            if fewer is None or fewer.long.share < MOSTLY * long.share:
                return True
        lock_wait_ms, disk_reads = (
            (self.by_size.counter(name, size.pool_size) or 0.0) / size.throughput.mean
            for name in ("Innodb_row_lock_time", "Innodb_buffer_pool_reads")
        )
        longer_ms = long.share * (long.usage_ms - modes.short.usage_ms)
        return lock_wait_ms >= MOSTLY * longer_ms or disk_reads >= MOSTLY * long.share

    def two_pools(self, connections: int) -> tuple[TransactionPool, ...]:
        """Return a pool for short and a pool for long transactions.

        connections: of a pool for all transactions. Empty where usage times are not bimodal, and for a single
        connection.
        """
        return self.bimodal.pools(connections) if self.bimodal and connections > 1 else ()

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
        """The pool sizes of applications that add ADDED_MS to the time in the database; empty where none is known.

        An application that adds nothing needs no more connections than the load generator. Where the network says that
        it certainly does, the network is wrong.
        """
        network = self.network_with_client
        if network is None or self.plateau is None:
            return ()
        rows = application_sizes(network, self.plateau.tolerance)
        return () if rows and not rows[0].added_ms and rows[0].range[0] > self.plateau.pool_size else rows

    @property
    def _plateau_size(self) -> SizeSummary | None:
        """The summary of the measured size nearest to the plateau, or None without a plateau."""
        return None if self.plateau is None else self.by_size.nearest(self.plateau.pool_size)

    @property
    def _measured(self) -> MeasuredStations:
        """The CPU of the load generator and of the server, at the largest valid size, where they are measured best."""
        demands = self.by_size.valid[-1].demands if self.observations else None
        return demands.stations if demands else NOTHING_MEASURED
