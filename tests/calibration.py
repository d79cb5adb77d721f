"""Shows the effect of the fitted curve's constants: simulations whose truth is known, and recorded curves.

    calibration.py [FOLDER of recordings]...    else those beside this checkout, else the published curves
Five tables; a * marks the constant in use. Coverage is the share of runs in which the 95 % range of the plateau holds
the start of the true plateau; its standard error is 0.7 % at 95 % and 1.4 % at 70 %. Width is the range's mean, in
doublings.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy.special import logsumexp

from poolsize.analysis.hypotheses import PRIOR, Prior, bends
from poolsize.analysis.plateau import CERTAINTY, RANGE, plateau, plateau_range
from poolsize.analysis.vector import Vector
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording
from poolsize.sweep.replay import recording_of
from tests.recorded_noise import noise_table
from tests.simulation import SIZES, Case, cases, knee, retrograde, saturating, usual

RECORDINGS = Path(__file__).parents[2] / "shared" / "curves" / "percona"
FAMILIES = {"saturating": saturating, "retrograde": retrograde, "knee": knee}
"""A knee is straight lines with a corner, sharper than any curve that was measured: the hard case."""
BETWEEN = (0.005, 0.015, 0.03)
RUNS, FEWER_RUNS = 1000, 400
STEP_SECONDS = 15
RANGES = ((0.05, 0.95), (0.035, 0.965), (0.025, 0.975), (0.018, 0.982), RANGE, (0.005, 0.995))
CERTAINTIES = (0.5, 0.65, CERTAINTY, 0.9, 0.95)
ALTERNATIVES: Mapping[str, Sequence[object]] = {
    "level": (1.0, 3.0, 9.0),
    "tail": (-0.1, -0.01, 0.05),
    "tail_deviation": (0.04, 0.08, 0.16),
    "rise": (0.5, 0.62, 0.7),
    "rise_deviation": (0.08, 0.15, 0.3),
    "sharpness": ((1.0, 4.0), PRIOR.sharpness, (0.5, *PRIOR.sharpness)),
    "bends_per_doubling": (2, 4, 8),
    "bends_beyond": (1.0, 2.0, 4.0),
    "roughness": ((0.05, 0.12), PRIOR.roughness, (*PRIOR.roughness, 0.6)),
    "usual_roughness": (0.03, 0.06, 0.12),
    "roughness_spread": (0.4, 0.8, 1.6),
    "between_step_noise": ((0.006, 0.025), PRIOR.between_step_noise, (0.0015, *PRIOR.between_step_noise, 0.4)),
    "usual_between_step_noise": (0.004, 0.0075, 0.015, 0.03),
    "noise_spread": (0.5, 1.1, 2.2),
    "disturbed": (0.005, 0.02, 0.05),
    "disturbance": (0.15, 0.3, 0.6),
    "most_disturbed": (1 / 5, 1 / 3, 1 / 2),
}
"""What table 4 puts in the place of each constant of the prior, the one in use among them.

The likelihood of exact curves does not depend on the noise, the coverage does.
"""
POOLED_STEPS = (0, 1, 3, 10, 100)
EXACT = 0.005
"""Noise of a known curve's means, a share: so much the likelihood of table 4 forgives."""


def coverage_and_width(runs: Iterable[Case], prior: Prior = PRIOR) -> tuple[float, float]:
    """Return how often the plateau's range holds the truth, and the range's mean width in doublings."""
    inside, widths = [], []
    for run in runs:
        estimate = plateau(run.fit(prior), of_grid=False)
        inside.append(estimate.low <= run.truth <= estimate.high)
        widths.append(np.log2(estimate.high / estimate.low))
    return fmean(inside), fmean(widths)


def range_table() -> str:
    """Table 1: coverage for several quantiles of the posterior."""
    lines = [
        "Table 1. RANGE: coverage of the plateau's range, by the quantiles of the posterior at its ends",
        f"{'curves':>12}  {'steps':>8}  {'between-step':>12}  {_columns(f'{low:g}-{high:g}' for low, high in RANGES)}",
    ]
    rows = []
    for name, steps, between, runs in _settings():
        rows.append((name, _held(runs)))
        lines.append(f"{name:>12}  {steps:>8}  {between:>12.1%}  {_columns(map(_percent, rows[-1][1]))}")
    for label, of_knees in (("all but knees", False), ("knees", True)):
        means = np.mean([held for name, held in rows if (name == "knee") == of_knees], axis=0)
        lines.append(f"{label:>36}  {_columns(map(_percent, means))}")
    lines.append(f"{'in use':>36}  {_columns('*' if ends == RANGE else '' for ends in RANGES)}")
    return "\n".join(lines)


def _settings() -> Iterator[tuple[str, str, float, list[Case]]]:
    """Yield curves, steps, between-step noise and simulated runs; the last three as tests/unit/test_curve.py has."""
    for name, family in FAMILIES.items():
        for between in BETWEEN:
            yield name, f"1 x {STEP_SECONDS} s", between, cases(family, RUNS, between=between, length=STEP_SECONDS)
    for repeats, length, within in ((1, 15, 0.05), (3, 15, 0.05), (3, 60, 0.02)):
        runs = cases(usual, RUNS, between=0.0, length=length, repeats=repeats, within=within)
        yield "usual", f"{repeats} x {length} s", 0.0, runs


def _held(runs: Iterable[Case]) -> list[float]:
    inside = []
    for run in runs:
        curve = run.fit()
        answer = plateau(curve, of_grid=False).pool_size
        ends = [plateau_range(curve, quantiles=quantiles) for quantiles in RANGES]
        inside.append([min(answer, low) <= run.truth <= max(answer, high) for low, high in ends])
    return [float(share) for share in np.mean(inside, axis=0)]


def certainty_table() -> str:
    """Table 2: what an answer costs and risks that is within the tolerance with this or that probability."""
    curves = [
        (run, run.fit())
        for family in FAMILIES.values()
        for between in BETWEEN
        for run in cases(family, FEWER_RUNS, between=between, length=STEP_SECONDS)
    ]
    lines = [
        "Table 2. CERTAINTY: answers within 5 % of capacity, and their size as a multiple of the true plateau's",
        f"{'':>2}  certainty  within 5 %  size: median  90th pc.",
    ]
    fine = np.geomspace(SIZES[0], SIZES[-1], 2000)
    for certainty in CERTAINTIES:
        sizes = np.array([plateau(curve, of_grid=False, certainty=certainty).pool_size for _, curve in curves])
        within = [
            float(run.shape(np.array(float(size)))) >= 0.95 * run.shape(fine).max()
            for (run, _), size in zip(curves, sizes, strict=True)
        ]
        ratios = sizes / np.array([run.truth for run, _ in curves])
        lines.append(
            f"{_mark(certainty == CERTAINTY)}  {certainty:>9g}  {fmean(within):>10.1%}  {np.median(ratios):>12.2f}"
            f"  {np.quantile(ratios, 0.9):>8.2f}"
        )
    return "\n".join(lines)


def prior_table(recordings: Sequence[Recording]) -> str:
    """Table 4: how well the prior with another constant explains known curves, and what that does to the answer."""
    random = np.random.default_rng(6)
    simulated = [(np.array(SIZES), shape(np.array(SIZES))) for shape in (usual(random) for _ in range(FEWER_RUNS))]
    known = recordings or [curve.recording for curve in published_curves().values()]
    measured = [
        (np.array(recording.sizes), np.array([fmean(seconds.throughput) for seconds in recording.by_size.values()]))
        for recording in known
    ]
    runs, knees = (cases(family, FEWER_RUNS, between=0.015, length=STEP_SECONDS) for family in (usual, knee))
    lines = [
        "Table 4. The prior: log likelihood of a known curve less that with the constant in use, coverage and width",
        f"{'':>2}  {'constant':>24}  {'value':>44}  simulated  recorded  usual: coverage  width  knees: coverage",
    ]
    likelihood_in_use = [_log_likelihood(PRIOR, curves) for curves in (simulated, measured)]
    for constant, values in ALTERNATIVES.items():
        for value in values:
            prior = replace(PRIOR, **{constant: value})  # type: ignore[arg-type]  # each value is of its field's type
            of_simulated, of_measured = (
                _log_likelihood(prior, curves) - in_use
                for curves, in_use in zip((simulated, measured), likelihood_in_use, strict=True)
            )
            (coverage, width), (of_knees, _) = coverage_and_width(runs, prior), coverage_and_width(knees, prior)
            lines.append(
                f"{_mark(prior == PRIOR)}  {constant:>24}  {_text(value):>44}  {of_simulated:>+9.2f}"
                f"  {of_measured:>+8.2f}  {coverage:>15.1%}  {width:>5.2f}  {of_knees:>15.1%}"
            )
    return "\n".join(lines)


def _log_likelihood(prior: Prior, curves: Sequence[tuple[Vector, Vector]]) -> float:
    """Return the mean log density of known curves under the prior, over all its roughnesses and bends."""
    rough = -0.5 * (np.log(np.array(prior.roughness) / prior.usual_roughness) / prior.roughness_spread) ** 2
    densities = []
    for measured, rates in curves:
        sizes = tuple(measured.tolist())
        rises = bends(prior, sizes, sizes[0], sizes[-1])
        spread = prior.rise_deviation**2 * rises[:, :, None] * rises[:, None, :] + EXACT**2 * np.eye(len(sizes))
        covariances = prior.covariances(sizes)[:, None] + spread
        apart = np.log(rates / rates.max()) - prior.tail * np.log2(sizes) - prior.rise * rises
        solved = np.linalg.solve(covariances, np.broadcast_to(apart[..., None], (*covariances.shape[:-1], 1)))[..., 0]
        terms = -0.5 * (solved * apart).sum(axis=-1) - 0.5 * np.linalg.slogdet(covariances)[1]
        densities.append(float(logsumexp(terms + rough[:, None]) - logsumexp(rough) - np.log(len(rises))))
    return fmean(densities)


def pooled_table() -> str:
    """Table 5: as how many steps the noise of all sizes counts in each size's own."""
    lines = [
        "Table 5. pooled_steps: coverage with short steps (6 s), whose within-step noise differs by size or not",
        f"{'':>2}  pooled_steps  equal noise  width  noise that differs by a factor of 1.6  width",
    ]
    equal, uneven = (
        cases(usual, RUNS, between=0.015, length=6, uneven=log_deviation) for log_deviation in (0.0, np.log(1.6))
    )
    for pooled in POOLED_STEPS:
        prior = replace(PRIOR, pooled_steps=pooled)
        (of_equal, width), (of_uneven, uneven_width) = (coverage_and_width(runs, prior) for runs in (equal, uneven))
        lines.append(
            f"{_mark(prior == PRIOR)}  {pooled:>12}  {of_equal:>11.1%}  {width:>5.2f}  {of_uneven:>37.1%}"
            f"  {uneven_width:>5.2f}"
        )
    return "\n".join(lines)


def _columns(texts: Iterable[str]) -> str:
    return "  ".join(f"{text:>11}" for text in texts)


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _mark(in_use: bool) -> str:
    return " *" if in_use else "  "


def _text(value: object) -> str:
    return " ".join(f"{number:g}" for number in value) if isinstance(value, tuple) else f"{value:g}"


def main() -> None:
    """Print the tables."""
    folders = [Path(folder) for folder in sys.argv[1:]] or [RECORDINGS]
    recordings = [recording_of(path) for folder in folders for path in sorted(folder.glob("*.csv*"))]
    for table in (
        range_table,
        certainty_table,
        lambda: noise_table(recordings),
        lambda: prior_table(recordings),
        pooled_table,
    ):
        print(table(), end="\n\n", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
