"""Observations: each step reduced to its mean throughput and the standard error of that mean."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from poolsize.analysis.stats.confidence import standard_error
from poolsize.runs.run import Step

MOST_SIZES = 64
"""With more pool sizes than this, neighbouring sizes share a group: fitting costs the cube of their number."""
GROUP_WIDTH = 1 / 16
"""Width of a group of sizes, in doublings."""


@dataclass(frozen=True)
class Observation:
    """One step. throughput: mean, per second. standard_error: of that mean, as the step's own seconds show it."""

    pool_size: int
    throughput: float
    standard_error: float

    @classmethod
    def of(cls, step: Step) -> "Observation":
        """Return the observation of a step's counted seconds."""
        return cls(step.pool_size, *_mean_and_error(step.counted))


@lru_cache(maxsize=4096)  # a search fits all earlier steps again for every step that it plans
def _mean_and_error(seconds: tuple[float, ...]) -> tuple[float, float]:
    return standard_error([seconds])


def group_neighbouring_sizes(observations: Sequence[Observation]) -> Sequence[Observation]:
    """Return the observations with at most some 64 + 16 sizes a doubling: neighbours get their middle size.

    Up to 64 sizes the observations stay as they are. The smallest and the largest size are never grouped.
    observations: ascending in size, at least one.
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
