"""The between-step noise of curves that others recorded or published, for scripts/calibrate."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from statistics import NormalDist, fmean

import numpy as np

from poolsize.analysis.curve import fit_curve
from poolsize.analysis.hypotheses import PRIOR
from poolsize.analysis.observation import Observation
from poolsize.analysis.stats.confidence import standard_error
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording

WINDOW_SECONDS = 10


def noise_table(recordings: Sequence[Recording]) -> str:
    """Table 3: the between-step noise of recorded curves beside the prior's."""
    if recordings:
        noises = np.array([noise for recording in recordings for noise in recorded_noises(recording)])
        source = f"{len(noises)} sizes of {len(recordings)} recordings, windows of {WINDOW_SECONDS} s"
    else:
        noises = np.array([noise_of_means(curve.recording) for curve in published_curves().values()])
        source = f"{len(noises)} published curves, scatter of their means around the fitted curve"
    middle, spread, grid = PRIOR.usual_between_step_noise, PRIOR.noise_spread, PRIOR.between_step_noise
    lines = [
        f"Table 3. Between-step noise (standard deviation, a share): {source}",
        f"{'':>10}  {'quantile':>8}  {'measured':>9}  {'prior *':>9}",
    ]
    for quantile in (0.05, 0.25, 0.5, 0.75, 0.95):
        expected = middle * np.exp(spread * NormalDist().inv_cdf(quantile))
        lines.append(f"{'':>10}  {quantile:>8g}  {np.quantile(noises, quantile):>9.2%}  {expected:>9.2%}")
    shares = ", ".join(f"{value:g}: {np.mean(noises <= value):.0%}" for value in grid)
    lines.append(f"share at or below each value of the grid *: {shares}")
    positive = np.log(noises[noises > 0])
    lines.append(
        f"of those above 0 ({len(positive)}): geometric mean {np.exp(positive.mean()):.2%}, standard deviation of the "
        f"logarithm {positive.std():.2f}; in use * {middle:.2%} and {spread:g}"
    )
    return "\n".join(lines)


def recorded_noises(recording: Recording) -> list[float]:
    """Return for each size by how much more windows of 10 s differ than their seconds show, a share."""
    noises = []
    for seconds in recording.by_size.values():
        series = seconds.throughput
        starts = range(0, len(series) - WINDOW_SECONDS + 1, WINDOW_SECONDS)
        windows = [standard_error(series[start : start + WINDOW_SECONDS]) for start in starts]
        if len(windows) < 3:
            continue
        means, errors = np.array(windows).T
        if means.mean() > 0:
            noises.append(float(np.sqrt(max(0.0, means.var(ddof=1) - (errors**2).mean())) / means.mean()))
    return noises


def noise_of_means(recording: Recording) -> float:
    """Return the noise that the fit sees in one exact mean a size, with a flat prior of its size."""
    sizes = recording.sizes
    points = [Observation(size, fmean(recording.by_size[size].throughput), 0.0) for size in sizes]
    curve = fit_curve(points, sizes, replace(PRIOR, noise_spread=100.0))
    return sqrt(curve.between_variance)
