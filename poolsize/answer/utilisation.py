"""The warning that a pool which serves an arrival rate has hardly a connection to spare."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from poolsize.answer.finding import Code, Finding, warning
from poolsize.answer.way_out import sweep_larger

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

HIGH = 0.9
"""Above this utilisation, wait times rise steeply: M/M/1 has 1 outstanding transaction at 0.5, 9 at 0.9, 19 at 0.95."""


def high_utilisation(analysis: "Analysis", sizes: Iterable[int]) -> tuple[Finding, ...]:
    """Return a warning for each size whose connections are more than 90 % busy at the run's arrival rate.

    sizes: measured in an open loop. A size at which no transaction ended has no warning.
    """
    return tuple(_warning(analysis, size) for size in dict.fromkeys(sizes) if _utilisation(analysis, size) > HIGH)


def _warning(analysis: "Analysis", size: int) -> Finding:
    larger = [
        other.pool_size
        for other in analysis.valid_sizes
        if other.pool_size > size and _utilisation(analysis, other.pool_size) <= HIGH
    ]
    values = {"pool_size": size, "utilisation": _utilisation(analysis, size), "rate": analysis.setting.plan.rate}
    if not larger:
        return warning(Code.HIGH_UTILISATION, sweep_larger(analysis), **values)
    spare = {"larger_size": larger[0], "larger_utilisation": _utilisation(analysis, larger[0])}
    return warning(Code.HIGH_UTILISATION, None, **values, **spare)


def _utilisation(analysis: "Analysis", size: int) -> float:
    return analysis.at(size).utilisation or 0.0
