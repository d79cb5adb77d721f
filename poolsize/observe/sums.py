"""Sums of the readings of a number, and the periods that they make: the same for metrics, a server and a process."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Vector

if TYPE_CHECKING:  # pydantic stays out of `instrument`
    from poolsize.observe.observation import S

MOST_VALUE = 1e12
"""Larger values, also computed ones, are not known."""
DECIMALS = 6


@dataclass(frozen=True)
class Sums:
    """What readings add up to; a value for each period, or for each number that is read.

    weight: number of the readings, or the time for which they stand. total, squares: sums of the readings and of their
    squares by weight. highest: the highest reading.
    """

    weight: Any = 0.0
    total: Any = 0.0
    squares: Any = 0.0
    highest: Any = 0.0

    @classmethod
    def of(cls, readings: Vector, weights: NDArray[Any]) -> Self:
        """Return the sums of readings over the first axis; one without weight is not the highest."""
        counted = readings * (weights > 0)
        return cls(
            weights.sum(0), (readings * weights).sum(0), (readings**2 * weights).sum(0), counted.max(0, initial=0)
        )

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of the readings of both."""
        return Sums(
            self.weight + other.weight, self.total + other.total, self.squares + other.squares,
            np.maximum(self.highest, other.highest),
        )  # fmt: skip

    @property
    def statistics(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The weight, the mean, the variance and the highest reading; NaN where there are no readings."""
        weight = np.where(self.weight > 0, self.weight, np.nan)
        mean = self.total / weight
        return weight, mean, np.maximum(self.squares / weight - mean**2, 0.0), self.highest + 0 * weight


def squared_variation(difference: Vector, uses: Vector, other_uses: Vector) -> Vector:
    """Return estimates of the squared coefficient of variation of usage times, each by two of their means.

    difference: of the two means, over the mean usage time. uses, other_uses: the usages of both. If usage times are
    independent of each other, the difference between means of n and of m has the variance of a usage time times
    (1/n + 1/m).
    """
    return np.asarray(difference**2 / (1 / uses + 1 / other_uses))


def span_of(
    kind: "type[S]", started: float, period_seconds: float, names: Mapping[str, Any], **values: Vector | float | None
) -> "S | None":
    """Return periods, without those at both ends of which nothing is known; None if no value is known.

    started: seconds since the epoch at which the first begins. names: all fields but the series. values: of each
    series, or the value of the only period.
    """
    rows = {name: np.atleast_1d(np.asarray(row, dtype=float)) for name, row in values.items()}
    known = np.flatnonzero(~np.isnan(list(rows.values())).all(axis=0))
    if not known.size:
        return None
    first, until = int(known[0]), int(known[-1]) + 1
    parts = ((name, np.where(row > MOST_VALUE, np.nan, np.maximum(row, 0.0))) for name, row in rows.items())
    series: dict[str, Any] = {
        name: tuple(np.where(np.isnan(row), None, row.round(DECIMALS)).tolist())  # type: ignore[call-overload]
        for name, part in parts
        if not np.isnan(row := part[first:until]).all()
    }
    moment = datetime.fromtimestamp(started + period_seconds * first, UTC).isoformat()
    return kind(started=moment, period_seconds=period_seconds, **names, **series)
