"""The sizes of a grid on which the answer hangs are measured again, so that one bad step can't decide it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from statistics import geometric_mean

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.plateau import Plateau
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Run
from poolsize.sweep.next_step import next_step, remaining
from tests.conftest import a_setting, a_step, in_ci
from tests.simulation import SIZES, seconds, true_plateau

RATES = throughputs([Station(1.0, 12, 0.0)], 0.5, SIZES[-1])
"""12 servers and a delay: the true plateau begins at 19."""
PLAN = SweepPlan(SIZES, 600, "scan", warm_up_seconds=0, step_seconds=15)
A_STEP = replace(a_step(1, [100] * 10), latencies=None, checks=())


def truth(sizes: np.ndarray) -> np.ndarray:
    return np.asarray(1000 * np.interp(sizes, np.arange(1, SIZES[-1] + 1), RATES))


def measured(plan: SweepPlan, rates: Callable[[float, Run, PlannedStep], Iterable[float]]) -> Run:
    """A grid swept to its end. rates: of each second of a step, by the true rate of its size."""
    run = Run(replace(a_setting(SIZES), plan=plan), ())
    while isinstance(planned := next_step(run), PlannedStep):
        true_rate = float(truth(np.array(float(planned.pool_size))))
        step = replace(
            A_STEP, pool_size=planned.pool_size, repeat=planned.repeat, order=planned.order, warm_up_seconds=0,
            throughput=tuple(rates(true_rate, run, planned)), p95_ms=(),
        )  # fmt: skip
        run = replace(run, steps=(*run.steps, step))
    return run


def swept(seed: int, spoiled: int = 0, factor: float = 1.0) -> Run:
    """A grid swept to its end; the first step of the spoiled size has this multiple of its throughput."""
    random = np.random.default_rng(seed)

    def rates(mean: float, run: Run, planned: PlannedStep) -> Iterable[float]:
        mean *= 1 + 0.015 * random.standard_normal()
        first = all(step.pool_size != planned.pool_size for step in run.steps)
        mean *= factor if first and planned.pool_size == spoiled else 1.0
        return seconds(mean, 0.05, PLAN.step_seconds, random)

    return measured(PLAN, rates)


def plateau_of(run: Run) -> Plateau:
    plateau = analyze(run).plateau
    assert plateau
    return plateau


SEEDS = range(12)


def typical(size: int, factor: float) -> float:
    """The geometric mean of the answers."""
    return geometric_mean(plateau.pool_size for plateau in plateaus(size, factor))


@cache
def plateaus(size: int, factor: float) -> tuple[Plateau, ...]:
    """The plateau of each seed."""
    return tuple(plateau_of(swept(seed, size, factor)) for seed in SEEDS)


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "factor"), in_ci([(32, 0.67), (256, 1.33), (256, 0.67), (16, 0.67), (8, 1.33)], (16, 0.67))
)
def test_one_bad_step_moves_the_answer_by_half_at_most(size: int, factor: float) -> None:
    assert typical(0, 1.0) / 1.5 <= typical(size, factor) <= 1.5 * typical(0, 1.0)
    assert sum(plateau.low <= true_plateau(truth) <= plateau.high for plateau in plateaus(size, factor)) >= 11


@pytest.mark.costly
def test_a_bad_step_at_the_largest_size_is_measured_again() -> None:
    run = swept(1, 256, 1.33)
    assert sum(step.pool_size == 256 for step in run.steps) >= 2
    assert len(run.steps) <= 2 * len(SIZES)


@pytest.mark.costly
def test_a_grid_without_its_confirmation_is_complete() -> None:
    run = swept(1)
    planned = replace(run, steps=run.steps[: len(SIZES)])
    assert remaining(planned) is None
    assert analyze(planned).plateau


def test_a_clear_curve_needs_hardly_any_confirmation() -> None:
    """Without noise, and with every size twice, there is nothing to confirm."""
    run = measured(replace(PLAN, repeats=2), lambda rate, _run, _planned: (rate,) * 15)
    assert len(run.steps) == 2 * len(SIZES)
