"""How strongly throughput follows the machine's measured speed, learnt from the steps of a run.

A neighbour on the same physical cores slows the caches and the memory more than the small piece of work that measures
the speed, so throughput may follow a power of the measured speed. And that piece of work sees one hundredth of a second
only, so a part of what changes from one second to the next is noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean, median_high, pstdev

from poolsize.runs.check import Check
from poolsize.runs.run import Step
from poolsize.runs.step_speed import cpu_share, is_corrected, second_speeds

MOST_SENSITIVE = 2.0
"""Largest power of the speed that throughput follows."""
PRIOR_DEVIATION = 0.5
"""Standard deviation of that power around 1 before the run has shown it."""
STEP_DEVIATION = 0.025
"""Standard deviation of a step's throughput on a quiet machine, a share, beside that of its own seconds."""
LARGEST_EXCESS = 2.0
"""Standard deviations that one step may count: what else disturbed a step is no effect of the speed."""
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
    return [value - fmean(values) for value in values]
