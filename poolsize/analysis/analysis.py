"""Run -> Analysis: throughput and latencies by pool size, the fitted curve, its plateau and its bottleneck."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from poolsize.analysis.application_pool import PoolUse, free_pools
from poolsize.analysis.attempts import (
    curve_places,
    curve_steps,
    mean_counter,
    retried_places,
    steps_by_size,
    valid_steps,
    verification_steps,
)
from poolsize.analysis.bottleneck import OF_APPLICATION, Bottleneck, Evidence, bottleneck
from poolsize.analysis.curve import FittedCurve, fit_between
from poolsize.analysis.fitted_models import FittedModels
from poolsize.analysis.latency_curve import LatencyCurve
from poolsize.analysis.observation import Observation, group_neighbouring_sizes
from poolsize.analysis.plateau import CERTAINTY, TOLERANCE, Plateau, contradicts, open_loop_plateau, plateau
from poolsize.analysis.rate_evidence import VerifiedStep, verified_step
from poolsize.analysis.service_demand import SATURATED, service_demands
from poolsize.analysis.size_summary import (
    BySize,
    RunNoise,
    SizeSummary,
    checked_sizes,
    size_summary,
)
from poolsize.analysis.speed import SPEED_TOLERANCE, speed_correction, with_speed_checks
from poolsize.errors import BadInput, WorkFailed
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Run, Setting, Step

NOT_SHOWN = 0.5
"""The highest probability of a size whose steps are too short for its queue: they show too low percentiles."""
GROWN = 1.1
"""A transaction that reads this multiple of pages later in a run, or more, has larger tables to read."""


@dataclass(frozen=True)
class DataGrowth:
    """The pages of data that a transaction reads in the first step at a pool size, and in the last."""

    pool_size: int
    pages: float
    later_pages: float

    @property
    def factor(self) -> float:
        """The later pages over the first."""
        return self.later_pages / self.pages


@dataclass(frozen=True)
class Analysis:
    """The analysis of a run.

    steps: the steps of the throughput curve, in the order they were measured, failed attempts left out.
    sizes: one summary per pool size, ascending.
    curve: fitted to the valid steps; None at a fixed rate, and without a valid step that did a transaction.
    plateau: of the fitted curve; at a fixed rate, the smallest size that served the rate; None without a valid step.
    bottleneck: what limits throughput from the plateau on; None at a fixed rate, in a replay, and without a plateau.

    `by_size` looks a pool size up; `models` fits the models that the plateau does not need.
    """

    run: Run
    steps: Sequence[Step]
    sizes: tuple[SizeSummary, ...]
    curve: FittedCurve | None
    plateau: Plateau | None
    bottleneck: Bottleneck | None

    @property
    def setting(self) -> Setting:
        """Where and how the run was measured."""
        return self.run.setting

    @cached_property
    def by_size(self) -> BySize:
        """An index of the measured pool sizes."""
        return BySize(self.sizes, dict(steps_by_size(self.steps)), self.run.timeout_ms)

    @cached_property
    def models(self) -> FittedModels:
        """The models, each fitted when it is first used."""
        observed = () if self.curve is None else observations(self.steps)
        of_grid = self.run.plan.search is None
        return FittedModels(observed, self.plateau, self.by_size, of_grid, self.run.setting.means_only)

    def at(self, pool_size: int) -> SizeSummary:
        """Return the summary of a measured size. Raises BadInput that names the measured sizes for another size."""
        for size in self.sizes:
            if size.pool_size == pool_size:
                return size
        measured = ", ".join(str(size.pool_size) for size in self.sizes)
        raise BadInput(f"`pool_size` {pool_size} was not measured; the measured sizes are {measured}")

    @property
    def valid_sizes(self) -> tuple[SizeSummary, ...]:
        """The sizes that may enter an estimate, ascending."""
        return self.by_size.valid

    @cached_property
    def free_pools(self) -> tuple[PoolUse, PoolUse] | None:
        """The use of an application's smallest pool, and of the smallest that was never full (see free_pools).

        None where a measured size may limit throughput, and without the application's metrics. Sizes that the users
        never filled count where the users pause: their number and their pauses are then the user's own load.
        """
        if self.setting.application is None:
            return None
        by_size = [(size, PoolUse.of(self.by_size.steps[size.pool_size], self.setting.pools)) for size in self.sizes]
        counted = [
            use
            for size, use in by_size
            if size.valid or (size.disqualified_by == {Check.USERS_LIMITED} and use and use.is_paced)
        ]
        uses = [use for use in counted if use]
        if not uses or len(uses) < len(counted):
            return None
        saturated_cpu = self.bottleneck is not None and self.bottleneck.name in OF_APPLICATION
        tolerance = self.plateau.tolerance if self.plateau else TOLERANCE
        return free_pools(uses, tolerance, saturated_cpu=saturated_cpu)

    @cached_property
    def is_crowded(self) -> bool:
        """Whether no core of the machine of an application's sweep was free at the answer."""
        if self.setting.application is None:
            return False
        nearest = self.by_size.nearest(self.plateau.pool_size) if self.plateau else self.sizes[-1]
        steps = self.by_size.steps[nearest.pool_size]
        busy, cores = (mean_counter(steps, name) for name in ("machine_cpu", "machine_cores"))
        return bool(busy and cores and busy >= SATURATED * cores)

    @property
    def speed_corrections(self) -> tuple[float, ...]:
        """Shares by which the throughput of valid steps is corrected to the usual speed, those of 3 % and more."""
        changes = [speed_correction(step)[0] - 1 for step in self.steps if step.valid]
        return tuple(change for change in changes if abs(change) >= SPEED_TOLERANCE)

    @cached_property
    def data_growth(self) -> DataGrowth | None:
        """The growth of the data during the run: each size that was measured again has more pages; None for none."""
        pages: dict[int, list[float]] = {}
        for step in self.steps:
            reads = step.counter("Innodb_buffer_pool_read_requests")
            if reads and step.mean_throughput:
                pages.setdefault(step.pool_size, []).append(reads / step.mean_throughput)
        growths = [DataGrowth(size, each[0], each[-1]) for size, each in pages.items() if len(each) > 1]
        if len(growths) < 2 or min(each.factor for each in growths) <= 1:
            return None
        largest = max(growths, key=lambda each: each.factor)
        return largest if largest.factor >= GROWN else None

    @property
    def contradiction(self) -> SizeSummary | None:
        """The best measured size, where it is faster than the fitted curve's capacity beyond its own noise, or None."""
        best = max(self.valid_sizes, key=lambda size: size.throughput.mean, default=None)
        if best is None or self.plateau is None or self.curve is None or best.throughput.low <= self.plateau.capacity:
            return None
        return best if contradicts(self.plateau, best.pool_size, best.throughput.mean) else None

    @property
    def excluded(self) -> tuple[Step, ...]:
        """The steps that enter no figure: failed attempts, and disqualified repeats of a size with valid repeats.

        They are in the order they were measured.
        """
        valid = {size.pool_size for size in self.valid_sizes}
        places = zip(curve_places(self.run.plan, self.run.steps), self.steps, strict=True)
        disqualified = [place for place, step in places if not step.valid and step.pool_size in valid]
        return tuple(self.run.steps[place] for place in sorted(retried_places(self.run) + disqualified))

    @property
    def failed_attempts(self) -> tuple[Step, ...]:
        """The steps that failed a check because of a disturbance, in the order they were measured."""
        return tuple(step for step in self.run.steps if step.disturbed)

    @property
    def knows_usage(self) -> bool:
        """Whether the run knows wait and usage times; a replay and the run of an application do not."""
        return all(step.knows_usage for step in self.steps)

    @property
    def knows_percentiles(self) -> bool:
        """Whether the run knows the percentiles of the total time; a replay knows p95 alone."""
        return all(step.latencies for step in self.steps)

    @property
    def knows_p95(self) -> bool:
        """Whether the run knows a p95 of the total time at any size."""
        return any(size.total.p95 > 0 for size in self.sizes)

    @cached_property
    def failures(self) -> Mapping[Check, Mapping[int, CheckResult]]:
        """Check -> pool size -> the check's last failed result at that size."""
        failed: dict[Check, dict[int, CheckResult]] = {}
        for size in self.sizes:
            for result in size.failed_checks:
                failed.setdefault(result.check, {})[size.pool_size] = result
        return failed

    def throughput_at(self, pool_size: float) -> float:
        """Return the transactions per second at a pool size between the smallest and the largest valid size.

        It is the mean measured at a valid size. Between valid sizes it is the fitted curve's; at a fixed rate, the mean
        measured at the nearest valid size. Where the steps have two levels, it is the fitted curve's everywhere.
        """
        if self.curve and self.curve.lower_level:
            return self.fitted_at(pool_size)
        nearest = self.by_size.nearest(pool_size)
        return nearest.throughput.mean if nearest.pool_size == pool_size else self.fitted_at(pool_size)

    def fitted_at(self, pool_size: float) -> float:
        """Return the fitted curve's transactions per second; at a fixed rate, the mean at the nearest valid size."""
        return self.curve.at(pool_size) if self.curve else self.by_size.nearest(pool_size).throughput.mean

    @cached_property
    def latency_curve(self) -> LatencyCurve:
        """Percentiles of the total time over pool sizes, with their uncertainty. At least one size must be valid."""
        return LatencyCurve.of(self.curve, self.by_size)

    def size_within(self, limits_ms: Mapping[str, float]) -> tuple[int | None, Mapping[int, float]]:
        """Return the best pool size that keeps latency limits, and each size's probability to keep all of them.

        limits_ms: quantile of the total time, which the run knows -> its limit in ms. A size keeps them if the
        probability is at least CERTAINTY, as for the plateau, so that an answer promises the same. The best size is the
        plateau's if it keeps them, else the smallest whose throughput is within the tolerance of the highest of the
        sizes that keep them. Sizes between measured sizes count. None where no size keeps them, and without limits.
        """
        plateau = self.plateau
        if not limits_ms or plateau is None:
            return None, {}
        curve = self.latency_curve
        probabilities = dict(zip(curve.sizes, curve.probability(limits_ms).tolist(), strict=True))
        for size in curve.sizes:
            if self.by_size.nearest(size).unsettled_seconds:
                probabilities[size] = min(probabilities[size], NOT_SHOWN)
        within = [size for size, probability in probabilities.items() if probability >= CERTAINTY]
        if not within or plateau.pool_size in within:
            return (plateau.pool_size if within else None), probabilities
        least = (1 - plateau.tolerance) * max(map(self.fitted_at, within))
        return next(size for size in within if self.fitted_at(size) >= least), probabilities

    @cached_property
    def verified(self) -> tuple[VerifiedStep, ...]:
        """The steps that measured the answer at parts of its throughput, in an open loop."""
        timeout_ms = self.run.timeout_ms
        return tuple(
            verified_step(step, self.throughput_at(step.pool_size), timeout_ms)
            for step in verification_steps(self.run)
            if self.valid_sizes
        )

    @property
    def best_size(self) -> int | None:
        """The size at which the fitted curve is highest, measured or not; None at a fixed rate."""
        return self.curve.best_size if self.curve else None

    @property
    def statements(self) -> float | None:
        """Mean statements of one transaction by the server's count, other clients' included; None without the count."""
        counts = [(step.counter("Questions"), step.mean_throughput) for step in valid_steps(self.steps)]
        per_transaction = [questions / throughput for questions, throughput in counts if questions and throughput]
        return fmean(per_transaction) if per_transaction else None


def analyze(run: Run, tolerance: float = TOLERANCE) -> Analysis:
    """Return the analysis of a run, complete or not.

    tolerance: share of capacity by which the plateau's throughput may be lower. Raises WorkFailed for a run without a
    step, and BadInput for a run with a damaged histogram.
    """
    if not run.steps:
        raise WorkFailed("the run has no complete step, so there is nothing to analyze")
    run = with_speed_checks(run)
    steps = curve_steps(run.plan, run.steps)
    groups = [tuple(group) for _, group in steps_by_size(steps)]
    noise, setting = RunNoise.of(groups), run.setting
    sizes = checked_sizes(
        [
            size_summary(
                group, service_demands(group, groups[0][0], setting.cores), noise, run.timeout_ms, setting.pools
            )
            for group in groups
        ]
    )
    observed = observations(steps)
    measured = [observation.pool_size for observation in observed]
    fitted = estimate = None
    if run.plan.rate is not None and observed:
        estimate = open_loop_plateau(measured, run.plan.rate, tolerance)
    elif any(observation.throughput for observation in observed):
        fitted = fit_between(observed)
        estimate = plateau(fitted, tolerance, of_grid=run.plan.search is None)
    return Analysis(run, steps, sizes, fitted, estimate, _bottleneck(run, steps, estimate))


def observations(steps: Sequence[Step]) -> Sequence[Observation]:
    """Return an observation of each valid step, ascending in pool size.

    With more than 64 sizes, neighbouring sizes have a common size (see group_neighbouring_sizes).
    """
    observed = [Observation.of(step) for step in steps if step.valid]
    return group_neighbouring_sizes(sorted(observed, key=lambda observation: observation.pool_size))


def _bottleneck(run: Run, steps: Sequence[Step], estimate: Plateau | None) -> Bottleneck | None:
    """Return the bottleneck from the plateau on, by the steps at its size and above.

    None at a fixed rate, which itself limits throughput, and in a replay, which has no server.
    """
    if estimate is None or run.plan.rate is not None or run.setting.recording is not None:
        return None
    valid = valid_steps(steps)
    first = min(estimate.pool_size, max(step.pool_size for step in valid))
    return bottleneck(Evidence([step for step in valid if step.pool_size >= first], run.setting, run.calibration))
