"""Observations: each step reduced to its mean throughput and the standard error of that mean."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import ceil, hypot, sqrt
from statistics import fmean

from poolsize.analysis.speed import corrected, speed_correction
from poolsize.analysis.stats.confidence import standard_error
from poolsize.runs.run import Step

MOST_SIZES = 64
"""With more pool sizes than this, neighbouring sizes share a group: as many candidates would take too long."""
MOST_STEPS = 128
"""With more steps than this, repeats of a size are averaged: fitting costs the cube of the number of steps."""
GROUP_WIDTH = 1 / 16
"""Width of a group of sizes, in doublings."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One step, reduced to two figures.

    throughput: mean transactions per second. standard_error: of that mean, per second, from the step's own
    seconds and from the correction to the machine's usual speed. seconds: that the step counted.
    """

    pool_size: int
    throughput: float
    standard_error: float
    seconds: int = 1

    @classmethod
    def of(cls, step: Step, correction: tuple[float, float] | None = None) -> "Observation":
        """Return the observation of a step, from its counted seconds.

        correction: factor of its throughput, and the factor's standard error, a share; None for the correction to the
        machine's usual speed in the run.
        """
        if step.latencies is None and len(step.throughput) == 1:
            return cls(step.pool_size, step.mean_throughput, 0.0)  # another tool's mean, whose noise nothing shows
        factor, noise = correction or speed_correction(step)
        mean, error = _mean_and_error(corrected(step, factor))
        return cls(step.pool_size, mean, hypot(error, noise * mean) if noise else error, len(step.counted) or 1)

    @classmethod
    def mean(cls, observations: Sequence["Observation"]) -> "Observation":
        """Return the mean of observations of one size, with the standard error of that mean."""
        number = len(observations)
        throughput = fmean(observation.throughput for observation in observations)
        error = sqrt(sum(observation.standard_error**2 for observation in observations)) / number
        seconds = sum(observation.seconds for observation in observations)
        return cls(observations[0].pool_size, throughput, error, seconds)


_mean_and_error = lru_cache(maxsize=4096)(standard_error)
"""Kept, because a search fits all earlier steps again for every step that it plans."""


def pool_repeats(observations: Sequence[Observation]) -> Sequence[Observation]:
    """Return at most MOST_STEPS observations, or a few more: the repeats of a size are averaged in groups where needed.

    Up to MOST_STEPS they stay as they are. Each group has slow and fast repeats.
    """
    groups_of = ceil(len(observations) / MOST_STEPS)
    if groups_of == 1:
        return observations
    ordered = sorted(observations, key=lambda step: (step.pool_size, step.throughput, step.standard_error))
    return [
        Observation.mean(repeats[place :: ceil(len(repeats) / groups_of)])
        for repeats in (list(group) for _, group in groupby(ordered, key=lambda step: step.pool_size))
        for place in range(ceil(len(repeats) / groups_of))
    ]


def group_neighbouring_sizes(observations: Sequence[Observation]) -> Sequence[Observation]:
    """Return the observations with neighbouring sizes replaced by their middle size, where there are many sizes.

    Up to 64 sizes the observations stay as they are; above, each doubling has 16 sizes at most. The smallest and the
    largest size always stay. observations: ascending in size, not empty.
    """
    sizes = sorted({observation.pool_size for observation in observations})
    if len(sizes) <= MOST_SIZES:
        return observations
    groups = [[sizes[0]]]
    for size in sizes[1:-1]:
        if len(groups) == 1 or size >= groups[-1][0] * 2**GROUP_WIDTH:
            groups.append([])
        groups[-1].append(size)
    middle = {size: group[len(group) // 2] for group in [*groups, sizes[-1:]] for size in group}
    return [replace(observation, pool_size=middle[observation.pool_size]) for observation in observations]
