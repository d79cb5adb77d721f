"""Samples of several normal variables that are the same on every processor."""

import numpy as np

from poolsize.analysis.vector import Matrix, Vector


def normal_samples(means: Vector, covariance: Matrix, number: int, random: np.random.Generator) -> Matrix:
    """Return samples of normal variables, shape (number, variables).

    NumPy's own multivariate_normal depends on the signs of eigenvectors, which depend on the processor's kernels.
    covariance: shape (variables, variables); a variable without an error is the same in all samples.
    """
    return np.asarray(means + random.standard_normal((number, len(means))) @ _square_root(covariance))


def _square_root(covariance: Matrix) -> Matrix:
    """Return a matrix that turns independent standard normal rows into rows with this covariance.

    The symmetric square root of the correlations is unique.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(errors > 0, errors, 1.0)
    correlations = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    variances, directions = np.linalg.eigh(correlations)
    root = (directions * np.sqrt(np.maximum(variances, 0.0))) @ directions.T
    return np.asarray(root * errors)
