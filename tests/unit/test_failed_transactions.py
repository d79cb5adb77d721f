"""Failed transactions count in the percentiles of the total time, as at least the pool timeout."""

from dataclasses import replace

import pytest

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.load.master_step import Ending, assemble
from poolsize.load.messages import StepSecond, WorkerReport
from poolsize.load.recorder import Cost, StepRecorder, WorkerSecond
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run, Step
from tests.conftest import a_run, a_step

MS = 1_000_000
TIMEOUT_MS = 500.0
SECONDS = 8


def worker_second(recorder: StepRecorder, timeouts: int) -> WorkerSecond:
    """Return a second with 100 transactions of 10 ms, of which some time out and one fails after 3 ms."""
    for number in range(100):
        if number < timeouts:
            recorder.of("task").failed("pool_timeout", TimeoutError(), int(TIMEOUT_MS + 20) * MS)
        elif number == timeouts:
            recorder.of("task").failed("deadlock", ValueError(), 3 * MS)
        else:
            recorder.of("task").record((0, 4 * MS, 6 * MS))
    return recorder.end_second()


def measured(timeouts: int) -> Step:
    recorder = StepRecorder(["task"])
    seconds = [worker_second(recorder, timeouts) for _ in range(SECONDS)]
    report = WorkerReport.of(4, [1, 2], seconds, Cost(0.1, 0.0, 0.1))
    collected = [StepSecond.of(second) for second in seconds]
    planned = PlannedStep(order=0, pool_size=2, repeat=0)
    return assemble(
        planned,
        "2026-01-02T03:04:05+00:00",
        collected,
        Ending(0, SECONDS, None),
        {"local": 2},
        {"local": report},
        TIMEOUT_MS,
    )


def analysis_of(*steps: Step) -> Analysis:
    run = a_run({step.pool_size: 100 for step in steps})
    plan = replace(run.plan, pool_timeout_seconds=TIMEOUT_MS / 1000)
    return analyze(Run(replace(run.setting, plan=plan), steps))


@pytest.mark.parametrize(("timeouts", "p95_ms", "p99_ms"), [(0, 10, 10), (3, 10, 520), (9, 520, 520)])
def test_the_printed_percentiles_count_failures_as_at_least_the_timeout(
    timeouts: int, p95_ms: float, p99_ms: float
) -> None:
    """Of the successful transactions alone, every percentile is 10 ms."""
    step = measured(timeouts)
    total = analysis_of(step).at(2).total
    assert (total.p50, total.mean) == pytest.approx((10, 10), rel=0.002)
    assert (total.p95, total.p99) == pytest.approx((p95_ms, p99_ms), rel=0.002)
    assert total.max == pytest.approx(TIMEOUT_MS + 20 if timeouts else TIMEOUT_MS, rel=0.002)
    assert step.sections["total"]["p99"] == pytest.approx((p99_ms,) * SECONDS, rel=0.002)
    assert step.sections["usage"]["p99"] == pytest.approx((6,) * SECONDS, rel=0.002)


def test_a_failure_whose_time_a_lost_worker_took_with_it_counts_as_the_timeout() -> None:
    step = replace(a_step(4, [1000] * 10), checks=())
    untimed = analysis_of(replace(step, errors={"pool_timeout": (500, *[20] * 10)})).at(4).total
    without = analysis_of(step).at(4).total
    assert (without.p99, untimed.p99) == pytest.approx((64, TIMEOUT_MS), rel=0.002)
    assert (untimed.p95, untimed.mean) == (without.p95, without.mean)


def test_a_step_without_failures_stores_no_histogram_of_them() -> None:
    latencies = a_step(4, [100] * 10).latencies
    assert latencies is not None
    assert latencies.failed == ""
    stored = measured(3).latencies
    assert stored is not None
    assert stored.failed != ""


def test_a_limit_on_p99_is_not_kept_by_a_pool_whose_users_time_out() -> None:
    """Without the failures, p99 of 4 connections is 64 ms."""
    run = a_run({2: 300, 4: 1000, 8: 1000})
    plan = replace(run.plan, pool_timeout_seconds=TIMEOUT_MS / 1000)
    steps = tuple(
        replace(
            step,
            checks=(),
            errors={"pool_timeout": (0, *[20] * 10)},
            sections={"total": dict.fromkeys(("p50", "p75", "p90", "p95", "p99", "p99_9"), (TIMEOUT_MS,) * 8)},
        )
        if step.pool_size == 4
        else replace(step, sections={"total": dict.fromkeys(("p50", "p75", "p90", "p95", "p99", "p99_9"), (64.0,) * 8)})
        for step in run.steps
    )
    limited = recommend(analyze(Run(replace(run.setting, plan=plan), steps)), LatencyLimits(max_p99_ms=100))
    assert limited.pool_size is not None
    assert limited.pool_size > 4
