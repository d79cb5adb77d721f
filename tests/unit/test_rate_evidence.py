"""Whether a pool serves an arrival rate: by its own rules, a step accepts enough capacity and refuses too little."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from poolsize.analysis.checks import arrivals
from poolsize.analysis.rate_evidence import RateEvidence, is_growing, unsettled_seconds
from poolsize.load.master_step import Ending, ending
from poolsize.load.messages import StepSecond
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import CheckResult, StopReason
from tests.conftest import a_step, in_ci
from tests.open_loop_simulation import Service, exponential, nearly_constant, open_loop

RATE, POOL_SIZE = 500.0, 8
PLAN = SweepPlan((POOL_SIZE,), 1000, "scan", warm_up_seconds=3, step_seconds=15, rate=RATE)
RUNS = 50
SIZES, RUNS_OF_A_SIZE = (1, 2, 4, 8), 50
RATES = (1.0, 2.0, 5.0, 20.0, 100.0)


def ending_of(seconds: Sequence[StepSecond], plan: SweepPlan = PLAN) -> Ending | None:
    """Return the ending of a step that is looked at each second; None if it is longer than the seconds."""
    planned, lengths = PlannedStep(0, plan.sizes[0], 0, plan.rate), range(1, len(seconds) + 1)
    return next((end for length in lengths if (end := ending(plan, planned, seconds[:length]))), None)


def result_of(seconds: Sequence[StepSecond], plan: SweepPlan = PLAN) -> CheckResult:
    """Return the result of the check on a step that ends by its own rules. seconds: of the longest step."""
    end = ending_of(seconds, plan)
    assert end is not None
    assert plan.rate is not None
    kept = seconds[: end.last]
    step = replace(
        a_step(plan.sizes[0], [round(plan.rate)] * len(kept)),
        rate=plan.rate,
        warm_up_seconds=end.first,
        throughput=tuple(second.transactions for second in kept),
        p95_ms=tuple(second.p95_ms for second in kept),
        backlog=tuple(second.backlog for second in kept),
        busy=tuple(second.busy for second in kept),
        stopped=end.stopped,
    )
    return arrivals(step)


@pytest.mark.long
@pytest.mark.parametrize("service", in_ci([exponential, nearly_constant], exponential))
@pytest.mark.parametrize(
    ("capacity", "least", "most"),
    in_ci(
        [(0.96, 0.0, 0.05), (0.98, 0.0, 0.05), (1.0, 0.0, 0.1), (1.05, 0.95, 1.0)], (0.98, 0.0, 0.05), (1.05, 0.95, 1.0)
    ),
)
def test_a_rate_counts_as_served_only_with_the_capacity_for_it(
    capacity: float, least: float, most: float, service: Service
) -> None:
    """Poisson arrivals at 500/s for 8 connections; the rates before the evidence was looked at: 0.85 to 1.0."""
    random = np.random.default_rng(1)
    steps = [open_loop(POOL_SIZE, RATE, capacity, service, PLAN.longest_seconds, random) for _ in range(RUNS)]
    served = sum(result_of(seconds).passed for seconds in steps) / RUNS
    assert least <= served <= most


def steps_at(
    rate: float, utilisation: float, step_seconds: int, length: int
) -> Iterator[tuple[SweepPlan, list[StepSecond]]]:
    """Yield the plans and the simulated seconds of steps of all sizes."""
    for size in SIZES:
        random = np.random.default_rng(size)
        plan = replace(PLAN, sizes=(size,), rate=rate, step_seconds=step_seconds)
        for _ in range(RUNS_OF_A_SIZE):
            yield plan, open_loop(size, rate, 1 / utilisation, exponential, length, random)


@pytest.mark.long
@pytest.mark.parametrize("step_seconds", in_ci([15, 60], 15))
@pytest.mark.parametrize("rate", in_ci(RATES, 2.0))
def test_a_queue_that_is_long_by_chance_does_not_stop_a_step(rate: float, step_seconds: int) -> None:
    """At 80 % utilisation. 5 s of arrivals as the limit stopped 14 and 53 % of the steps at 1/s, 5 and 27 % at 2/s."""
    length = PLAN.warm_up_seconds + step_seconds
    ends = [ending_of(seconds, plan) for plan, seconds in steps_at(rate, 0.8, step_seconds, length)]
    assert sum(end is not None and end.stopped is not None for end in ends) < 0.01 * len(ends)


@pytest.mark.long
@pytest.mark.parametrize(("rate", "utilisation"), in_ci(product(RATES, (1.2, 2.0)), (20.0, 2.0)))
def test_an_overload_is_refused_within_the_longest_step(rate: float, utilisation: float) -> None:
    """At 1/s, 60 arrivals scatter too much for an early stop; where 5 s of arrivals pile up in a step, it stops."""
    longest = PLAN.longest_seconds
    results = [result_of(seconds, plan) for plan, seconds in steps_at(rate, utilisation, PLAN.step_seconds, longest)]
    assert sum(result.passed for result in results) <= 0.05 * len(results)
    if rate >= 20 and utilisation == 2:
        assert all(result.values.get("stopped") == StopReason.BACKLOG for result in results)


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "rate", "utilisation", "step_seconds"),
    in_ci([(8, 20.0, 0.8, 15), (8, 100.0, 0.95, 60)], (8, 20.0, 0.8, 15)),
)
def test_a_step_lasts_until_its_queue_has_shown_its_percentiles(
    size: int, rate: float, utilisation: float, step_seconds: int
) -> None:
    """The mean p95 is within 15 % of the true one; without the relaxation time it was 16 % too low at 100/s."""
    random = np.random.default_rng(4)
    plan = replace(PLAN, sizes=(size,), rate=rate, step_seconds=step_seconds)
    truth = open_loop(size, rate, 1 / utilisation, exponential, 5_000, random)
    measured_ms = []
    for _ in range(RUNS):
        seconds = open_loop(size, rate, 1 / utilisation, exponential, plan.longest_seconds, random)
        end = ending_of(seconds, plan)
        assert end is not None
        measured_ms.append(p95_ms(seconds[end.first : end.last]))
    assert np.mean(measured_ms) == pytest.approx(p95_ms(truth), rel=0.15)


def p95_ms(seconds: Sequence[StepSecond]) -> float:
    return StepSecond.sum_of(seconds).p95_ms


def test_a_step_too_short_for_its_queue_is_known() -> None:
    """8 connections that are 90 % busy at 20/s forget the queue's length in 17 s; 13 times as long is enough."""
    short, long = (replace(a_step(8, [20] * seconds), rate=20.0, busy=(7.2,) * (seconds + 1)) for seconds in (60, 230))
    assert unsettled_seconds(short) == pytest.approx(17.1, rel=0.01)
    assert unsettled_seconds(long) is None
    assert unsettled_seconds(replace(short, busy=(4.0,) * 61)) is None
    assert unsettled_seconds(replace(short, rate=None)) is None


def evidence(pool_size: int, transactions: list[float], busy: list[float], backlog: list[float]) -> RateEvidence:
    found = RateEvidence.of(RATE, pool_size, transactions, busy, backlog, [5.0] * len(busy))
    assert found is not None
    return found


def test_utilisation_is_the_share_of_the_connections_that_the_rate_needs() -> None:
    """A second of 500 transactions that occupy 6 connections: 12 ms each."""
    served = evidence(8, [500, 480, 520, 500] * 4, [6, 5.76, 6.24, 6] * 4, [0] * 16)
    assert served.utilisation.mean == pytest.approx(0.75)
    assert (served.is_served, served.is_decided) == (True, True)
    overloaded = evidence(6, [490.0] * 16, [6.0] * 16, [500.0] * 16)
    assert overloaded.utilisation.mean == pytest.approx(500 / 490)
    assert (overloaded.is_served, overloaded.is_decided) == (False, True)


def test_a_queue_that_grows_fails_below_full_utilisation_too() -> None:
    backlog = [20.0 * second + (3 if second % 2 else 0) for second in range(16)]
    growing = evidence(64, [480.0] * 16, [48.0] * 16, backlog)
    assert growing.utilisation.high < 1
    assert (growing.is_served, growing.is_decided) == (False, True)


def test_a_pool_too_close_to_its_capacity_is_not_decided() -> None:
    close = evidence(8, [500, 450, 550, 480, 520] * 3, [7.9, 7.8, 7.9, 7.9, 7.8] * 3, [0] * 15)
    assert (close.is_served, close.is_decided) == (False, False)


def test_a_p95_that_grows_fails() -> None:
    series: list[list[float]] = [[500.0] * 16, [6.0] * 16, [0.0] * 16, [20.0 + 4 * second for second in range(16)]]
    found = RateEvidence.of(RATE, 8, *series)
    assert found is not None
    assert (found.is_served, found.growth) == (False, {"p95_ms": (20.0, 80.0)})


def test_without_busy_connections_there_is_no_evidence() -> None:
    assert RateEvidence.of(RATE, 8, [500] * 4, [], [], [5] * 4) is None
    assert RateEvidence.of(RATE, 8, [0] * 4, [8] * 4, [0] * 4, [0] * 4) is None


@pytest.mark.costly
def test_growth_is_more_than_the_wandering_of_a_random_walk() -> None:
    random = np.random.default_rng(3)
    steps = random.normal(0, 1, (2000, 15))
    assert np.mean([is_growing(walk) for walk in np.cumsum(steps, axis=1).tolist()]) < 0.05
    assert np.mean([is_growing(walk) for walk in np.cumsum(steps + 1.2, axis=1).tolist()]) > 0.95
    assert not any(is_growing(level) for level in steps.tolist())
    assert not is_growing([0.0, 100.0, 200.0])
    assert is_growing([0.0, 100.0, 200.0, 300.0])
