"""The usual speed of a machine over a run, how strongly throughput follows it, and the correction to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, hypot, log, sqrt
from statistics import fmean, median_high, pstdev

from poolsize.runs.check import Check
from poolsize.runs.run import Run, Step
from poolsize.runs.step_speed import busy_share, cpu_share, is_corrected, known_speed, second_speeds, step_speed

MOST_SENSITIVE = 2.0
"""Largest power of the speed that throughput follows."""
PRIOR_DEVIATION = 0.5
"""Standard deviation of that power around 1 before the run has shown it."""
STEP_DEVIATION = 0.025
"""Standard deviation of a step's throughput on a quiet machine, a share, beside that of its own seconds."""
LARGEST_EXCESS = 2.0
"""Standard deviations that one step may count: what else disturbed a step is not an effect of the speed."""
FEWEST_SECONDS = 30
"""Fewer seconds do not show which part of their speed is noise."""
LEAST_NOISE = 0.1
"""Smallest share of the variance of a second's speed that counts as noise."""


@dataclass(frozen=True)
class Sensitivity:
    """The power of the machine's speed that throughput follows where the CPU does all the work.

    error: its standard error.
    """

    power: float
    error: float


BEFORE_STEPS = Sensitivity(1.0, PRIOR_DEVIATION)
"""The sensitivity before the run has shown it."""


def learnt_sensitivity(repeats: Sequence[Sequence[tuple[Step, float]]]) -> Sensitivity:
    """Return the sensitivity by the repeats of each pool size, by Bayes' rule.

    repeats: for each pool size, steps with the logarithm of the slowness that throughput would follow at power 1.
    """
    usable = [[pair for pair in group if _shows_speed(pair[0])] for group in repeats]
    steps = [step for group in usable for step, _ in group]
    if not steps:
        return BEFORE_STEPS
    variance = STEP_DEVIATION**2 + median_high([_relative_error(step) for step in steps]) ** 2
    slower = [offset for group in usable for offset in _offsets([slowness for _, slowness in group])]
    fewer = [offset for group in usable for offset in _offsets([-log(step.mean_throughput) for step, _ in group])]
    most = LARGEST_EXCESS * sqrt(variance)
    excess = [min(most, max(-most, y - x)) for x, y in zip(slower, fewer, strict=True)]
    precision = PRIOR_DEVIATION**-2 + sum(x * x for x in slower) / variance
    power = 1 + sum(x * y for x, y in zip(slower, excess, strict=True)) / variance / precision
    return Sensitivity(min(MOST_SENSITIVE, max(1.0, power)), 1 / sqrt(precision))


def noise_share(steps: Sequence[Step], power: float) -> float:
    """Return the share of the variance of a second's speed, within the steps, that throughput does not follow.

    Throughput would follow a speed without noise by the given power; it follows what was measured by less. It is 1
    where the seconds don't show it.
    """
    speeds, throughputs = [], []
    for step in steps:
        part = cpu_share(step)
        pairs = zip(second_speeds(step), step.counted, strict=False)
        seconds = [(part * log(speed), log(count)) for speed, count in pairs if speed and count > 0]
        if _shows_speed(step) and seconds:
            speeds += _offsets([speed for speed, _ in seconds])
            throughputs += _offsets([count for _, count in seconds])
    squares = sum(speed * speed for speed in speeds)
    if len(speeds) < FEWEST_SECONDS or not squares:
        return 1.0
    followed = sum(speed * count for speed, count in zip(speeds, throughputs, strict=True)) / squares
    return min(1.0, max(LEAST_NOISE, 1 - followed / power))


def _shows_speed(step: Step) -> bool:
    """Return whether throughput shows the effect of the speed: it is corrected, and nothing else went wrong."""
    others = [result for result in step.failed_checks if result.check is not Check.SPEED]
    return is_corrected(step) and not others and step.mean_throughput > 0


def _relative_error(step: Step) -> float:
    """Return the standard error of a step's mean throughput by its own seconds, a share."""
    return pstdev(step.counted) / step.mean_throughput / sqrt(len(step.counted))


def _offsets(values: Sequence[float]) -> list[float]:
    """Return the differences of values from their mean."""
    mean = fmean(values) if values else 0.0
    return [value - mean for value in values]


MOST_CORRECTED = 2.0
"""A step that failed the check may still be the only step at its size; its correction is a factor up to this."""
FEWEST_STEPS = 3
"""Fewer steps do not show which speed is usual."""
APART = 0.1
"""Two steps show the effect of the run's own load if their busy cores differ by this share of all cores."""
STEEPEST = -1.0
"""Slope of log speed over the share of busy cores: two hyper-threads of a core halve each other's speed."""


def usual_speed(run: Run) -> float | None:
    """Return the median speed of the steps, the higher of two middle values; None with fewer than FEWEST_STEPS.

    The unit is that of the counter machine_speed. The calibration and the verification do not count: they are another
    load, and a verification must not change the curve that it verifies.
    """
    measured = [speed for step in _curve(run) if (speed := step_speed(step)) is not None]
    return median_high(measured) if len(measured) >= FEWEST_STEPS else None


def has_server_process(run: Run) -> bool:
    """Return whether the server's process is on this machine: the speed is then that of the server's machine, too."""
    return any(step.counter("process_cpu") is not None for step in run.steps)


@dataclass(frozen=True)
class UsualSpeed:
    """The usual speed of steps on one machine: its logarithm is a line over the share of busy cores.

    The line is that of Theil (1950) and Sen (1968), with the median step of each pool size and run: neither a slow step
    moves it, nor a size that was measured again and again. second_noise: standard deviation of the noise of a second's
    speed, a share. variance: of the steps' log speeds around the line, without the variance of a mean over seconds.
    sensitivity: how strongly throughput follows the speed.
    """

    intercept: float
    slope: float
    second_noise: float
    variance: float = 0.0
    sensitivity: Sensitivity = BEFORE_STEPS

    @classmethod
    def of(cls, *runs: Run) -> "UsualSpeed | None":
        """Return the usual speed by the steps of all runs' curves; None where fewer than FEWEST_STEPS have a speed."""
        known = [[step for step in _curve(run) if step_speed(step) is not None] for run in runs]
        steps = [step for of_run in known for step in of_run]
        if len(steps) < FEWEST_STEPS:
            return None
        groups = [group for of_run in known for group in _by_size(of_run)]
        points = [_median_point(group) for group in groups]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if abs(b[0] - a[0]) >= APART]
        slope = min(0.0, max(STEEPEST, median_high(slopes))) if slopes else 0.0
        line = cls(
            intercept=median_high([y - slope * x for x, y in points]),
            slope=slope,
            second_noise=median_high([_second_deviation(step) for step in steps]),
        )
        line = line._with_variance(steps)
        sensitivity = learnt_sensitivity([[(step, line._slowness(step)) for step in group] for group in groups])
        second_noise = line.second_noise * sqrt(noise_share(steps, sensitivity.power))
        return replace(line, sensitivity=sensitivity, second_noise=second_noise)._with_variance(steps)

    def speed(self, step: Step) -> float:
        """Return the usual speed under the load of a step."""
        return exp(self.intercept + self.slope * busy_share(step))

    def noise(self, step: Step) -> float:
        """Return the standard error of a step's speed, a share."""
        return self.second_noise / sqrt(len(_known_seconds(step)))

    def correction(self, step: Step) -> tuple[float, float]:
        """Return the factor from a step's throughput to that at the usual speed, and its standard error, a share.

        The factor is 1 where nothing is corrected.
        """
        if not is_corrected(step) or not self.variance:
            return 1.0, 0.0
        slowness, most = self._slowness(step), log(MOST_CORRECTED)
        of_speed = self.sensitivity.power * cpu_share(step) * self.noise(step) * sqrt(self._shrinkage(step))
        factor = exp(min(most, max(-most, self.sensitivity.power * slowness)))
        return factor, hypot(of_speed, self.sensitivity.error * slowness)

    def _slowness(self, step: Step) -> float:
        """Return the logarithm of the usual speed over that of a step, by the CPU's part in its transactions."""
        return self._shrinkage(step) * cpu_share(step) * log(self.speed(step) / known_speed(step))

    def _shrinkage(self, step: Step) -> float:
        """Return how much a deviation counts: the share of the steps' variance in it; the rest is noise (Stein)."""
        return self.variance / (self.variance + self.noise(step) ** 2) if self.variance else 0.0

    def _with_variance(self, steps: Sequence[Step]) -> "UsualSpeed":
        squares = [log(known_speed(step) / self.speed(step)) ** 2 - self.noise(step) ** 2 for step in steps]
        return replace(self, variance=max(0.0, fmean(squares)))


def _by_size(steps: Sequence[Step]) -> list[list[Step]]:
    sizes = sorted({step.pool_size for step in steps})
    return [[step for step in steps if step.pool_size == size] for size in sizes]


def _median_point(steps: Sequence[Step]) -> tuple[float, float]:
    """Return the share of busy cores and the log speed of the step with the median speed, the higher of two."""
    middle = sorted(steps, key=known_speed)[len(steps) // 2]
    return busy_share(middle), log(known_speed(middle))


def _second_deviation(step: Step) -> float:
    """Return the standard deviation of the speed of a step's counted seconds, a share."""
    speeds = _known_seconds(step)
    return pstdev(speeds) / fmean(speeds)


def _known_seconds(step: Step) -> list[float]:
    return [speed for speed in second_speeds(step) if speed is not None]


def _curve(run: Run) -> list[Step]:
    """Return the steps of the throughput curve."""
    return [step for step in run.steps if step.rate == run.plan.rate]
