"""The noise of every series that a run stores: throughput, and the quantiles of each latency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from poolsize.analysis.attempts import valid_steps
from poolsize.analysis.stats.noise import Noise
from poolsize.analysis.stats.percentiles import log_series
from poolsize.runs.run import LATENCIES, QUANTILES, Step

Sections = Mapping[str, Mapping[str, Sequence[float]]]
"""The sections of a step: see Step."""


@dataclass(frozen=True, eq=False)
class RunNoise:
    """The noise of a run.

    throughput: of the counted seconds. latencies: latency (wait, usage, total) -> quantile -> noise of its logarithm in
    the sections of the steps.
    """

    throughput: Noise
    latencies: Mapping[str, Mapping[str, Noise]]

    @classmethod
    def of(cls, sizes: Sequence[Sequence[Step]]) -> Self:
        """Return the noise of a run. sizes: the steps of each pool size; only valid steps count, if there are any."""
        valid = [valid_steps(steps) for steps in sizes]
        counted = valid if any(map(len, valid)) else sizes
        sections = [[step.sections for step in steps if step.sections] for steps in counted]
        return cls(
            Noise.of([[step.corrected() for step in steps] for steps in counted]),
            {
                latency: {quantile: Noise.of(_log_series(sections, latency, quantile)) for quantile in QUANTILES}
                for latency in LATENCIES
            },
        )


def _log_series(sections: Sequence[Sequence[Sections]], latency: str, quantile: str) -> list[list[tuple[float, ...]]]:
    """Return for each size the logarithms of a quantile in the sections of its steps, where a step has the latency."""
    return [[log_series(step[latency][quantile]) for step in steps if latency in step] for steps in sections]
