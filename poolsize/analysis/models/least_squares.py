"""Least squares from many starting points at once, by Levenberg and Marquardt's method with bounds.

Marquardt (1963), "An Algorithm for Least-Squares Estimation of Nonlinear Parameters". SciPy's solver takes one starting
point at a time; here every step is one array operation for all of them. A parameter at a bound is held there while
the cost falls beyond the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Matrix, Vector

FIRST_DAMPING = 1e-2
"""Damping of the first step: a share of the squared derivatives."""
LEAST_DAMPING = 1e-12
"""Below this, the equations of two parameters with the same effect are singular in floating point."""
MOST_DAMPING = 1e12
"""A start whose cost falls with no lower damping than this is at its minimum."""
LOOSEN, TIGHTEN = 0.2, 5.0
"""Factors of the damping after a step that lowers the cost, and after a step that does not."""
UNMOVED = 1e-9
"""A start has converged when no parameter moves by more than this share."""
MOST_STEPS = 200
"""Limit of the number of steps."""

Model = Callable[[Matrix, NDArray[np.int64]], tuple[Matrix, Matrix]]
"""Parameters of some starts, shape (starts, parameters), and the numbers of these starts -> their residuals, shape
(starts, residuals), and the derivatives of the residuals, shape (starts, residuals, parameters)."""


@dataclass(frozen=True)
class Minima:
    """The minimum that each starting point led to.

    parameters: shape (starts, parameters). costs: half the sums of squares, shape (starts,). derivatives: of the
    residuals at the minimum, shape (starts, residuals, parameters).
    """

    parameters: Matrix
    costs: Vector
    derivatives: Matrix


def least_squares(model: Model, starts: Matrix, low: Matrix, high: Matrix, tolerance: float) -> Minima:
    """Return the minimum that each starting point leads to.

    starts, low, high: shape (starts, parameters). tolerance: a start is at its minimum when a step lowers its cost by
    a smaller share.
    """
    parameters = np.clip(starts, low, high)
    residuals, derivatives = model(parameters, np.arange(len(starts)))
    costs, damping = 0.5 * (residuals**2).sum(axis=1), np.full(len(starts), FIRST_DAMPING)
    active = np.arange(len(starts))
    for _ in range(MOST_STEPS):
        if not len(active):
            break
        before = parameters[active]
        step = _step(before, residuals[active], derivatives[active], damping[active], (low[active], high[active]))
        after = np.clip(before + step, low[active], high[active])
        new_residuals, new_derivatives = model(after, active)
        new_costs = 0.5 * (new_residuals**2).sum(axis=1)
        lower = new_costs <= costs[active]
        settled = lower & (costs[active] - new_costs <= tolerance * costs[active])
        unmoved = (np.abs(after - before) <= UNMOVED * np.abs(before)).all(axis=1)
        improved = active[lower]
        parameters[improved], costs[improved] = after[lower], new_costs[lower]
        residuals[improved], derivatives[improved] = new_residuals[lower], new_derivatives[lower]
        damping[active] = np.maximum(LEAST_DAMPING, damping[active] * np.where(lower, LOOSEN, TIGHTEN))
        active = active[~(settled | unmoved | (damping[active] > MOST_DAMPING))]
    return Minima(parameters, costs, derivatives)


def _step(
    parameters: Matrix, residuals: Matrix, derivatives: Matrix, damping: Vector, bounds: tuple[Matrix, Matrix]
) -> Matrix:
    """Return the damped Gauss-Newton step of each start, 0 for a parameter that is held at its bound."""
    gradient = np.einsum("srp,sr->sp", derivatives, residuals)
    held = ((parameters <= bounds[0]) & (gradient >= 0)) | ((parameters >= bounds[1]) & (gradient <= 0))
    free = np.where(held[:, None, :], 0.0, derivatives)
    squares = np.einsum("srp,srq->spq", free, free)
    lengths = np.sqrt(np.einsum("spp->sp", squares))
    scale = 1 / np.where(lengths > 0, lengths, 1.0)
    scaled = squares * scale[:, :, None] * scale[:, None, :]
    diagonal = np.arange(parameters.shape[1])
    scaled[:, diagonal, diagonal] = 1 + damping[:, None]
    direction = np.where(held, 0.0, -gradient) * scale
    return np.asarray(np.linalg.solve(scaled, direction[:, :, None])[:, :, 0] * scale)
