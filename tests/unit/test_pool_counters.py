"""What a step's checks and times make of the counters of an application's pools."""

from dataclasses import replace
from math import isnan

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.checks import check_step
from poolsize.answer.from_run import recommend
from poolsize.present.report import report_html, report_markdown
from poolsize.present.text.analysis import analysis_text, analysis_values
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.runs.check import Check
from poolsize.runs.compared_field import compared_field
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.units import at_most
from tests.conftest import a_run, a_step


def of_application(step: Step, **counters: float) -> Step:
    """The step as an application's: without wait and usage times, with these counters in every second."""
    assert step.latencies is not None
    return replace(
        step,
        latencies=replace(step.latencies, wait=None, usage=None),
        server={name: (value,) * len(step.throughput) for name, value in counters.items()},
        server_connections=None,
    )


def judged(step: Step) -> dict[Check, CheckResult]:
    return {result.check: result for result in check_step(step, 0.01)}


def test_a_service_with_too_few_threads_is_told_so() -> None:
    """64 users wait, the pool has 32 connections, and the service has 8 worker threads: 8 are in use, none waits."""
    step = of_application(a_step(32, [100] * 10), pool_active=8, pool_waiting=0, pool_count=1)
    failed = judged(step)[Check.SERVICE_THREADS]
    assert not failed.passed
    assert failed.values["wanting_requests"] == 8
    assert failed.values["waiting_users"] == pytest.approx(64, rel=0.01)
    assert not failed.check.disqualifies


@pytest.mark.parametrize(("size", "active", "waiting"), [(32, 31.5, 4), (80, 20, 0)], ids=["full", "few users"])
def test_a_full_pool_and_few_users_are_no_fault_of_the_service(size: int, active: float, waiting: float) -> None:
    results = judged(of_application(a_step(size, [100] * 10), pool_active=active, pool_waiting=waiting, pool_count=1))
    assert results[Check.SERVICE_THREADS].passed
    assert results[Check.USERS_LIMITED].passed == (size == 32)


@pytest.mark.parametrize(("processes", "passed"), [(1.0, False), (1.4, False), (2.0, True), (5.0, True)])
def test_pools_that_nobody_uses_are_no_pools(processes: float, passed: bool) -> None:
    """Of 2 pools of 3, one had all users: 3 connections opened, and 45 % less throughput than with both."""
    step = replace(of_application(a_step(3, [100] * 10), application_processes=processes), server_connections=3)
    used = {result.check: result for result in check_step(step, 0.01, pools=2)}[Check.POOLS_USED]
    assert used.passed == passed
    assert used.check.retryable
    assert used.check.disqualifies
    assert ("only 1 of 2 pools was used" in check_sentence(used)) == (not passed)


def test_without_metrics_and_for_one_pool_there_is_no_such_check() -> None:
    assert Check.SERVICE_THREADS not in judged(of_application(a_step(32, [100] * 10)))
    assert Check.POOLS_USED not in judged(of_application(a_step(3, [100] * 10), application_processes=1.0))


def of_run(run: Run, host: str = "http://shop", /, **counters: float) -> Run:
    """The run as that of an application's pool."""
    application = MeasuredApplication("shop.toml", "0" * 64, host, started=True, variables=("POOL_SIZE",))
    steps = tuple(of_application(step, **counters) for step in run.steps)
    steps = tuple(replace(step, checks=check_step(step, 0.01)) for step in steps)
    return Run(replace(run.setting, application=application, private=False), steps)


@pytest.mark.costly
def test_a_busy_load_generator_puts_an_answer_in_doubt_and_does_not_forbid_it() -> None:
    """The throughput is true, and the user can give more workers; no CPU time of a request is needed for that."""
    answer = recommend(
        of_run(a_run({1: 100, 2: 190, 4: 200, 8: 201}, cpu=0.98), pool_active=8, pool_count=1, pool_max=8)
    )
    assert answer.verdict == "generator-limited"
    assert answer.pool_size in {2, 3}
    assert "POOL_SIZE=" not in recommendation_text(answer)  # nothing to paste while it is in doubt


@pytest.mark.long
def test_a_report_needs_no_warning() -> None:
    """The pool that was measured is the application's own, whose answer has no caution in every run."""
    analysis = analyze(of_run(a_run({1: 100, 2: 190, 4: 200, 8: 201}), pool_active=8, pool_count=1, pool_max=8))
    answer = recommend(analysis)
    assert not answer.doubts
    for page in (report_html(analysis, answer), report_markdown(analysis, answer)):
        assert "Caution" not in page


def test_two_hosts_of_an_application_differ_in_one_field() -> None:
    run = a_run({1: 100, 2: 190, 4: 200, 8: 201})
    assert compared_field({"a": of_run(run, "http://old"), "b": of_run(run, "http://new")}) == "application"


def test_mean_times_follow_from_the_metrics_by_littles_law() -> None:
    """At 100/s, 8 busy connections are 80 ms a request; requests that wait 24 s in each second wait 240 ms each."""
    run = of_run(a_run({8: 100, 16: 110}), pool_active=8.0, pool_wait_seconds=24.0, pool_count=1.0, pool_max=8.0)
    analysis = analyze(run)
    assert analysis.at(8).usage.mean == pytest.approx(80, rel=0.01)
    assert analysis.at(8).wait.mean == pytest.approx(240, rel=0.01)
    text = analysis_text(analysis)
    assert "usage mean" in text
    assert "80 ms" in text


def with_readings(active: tuple[float, ...], **counters: float) -> Run:
    """A run at 100/s of 640 ms each, 64 requests in progress, whose pools show these connections in use."""
    run = of_run(a_run({80: 100, 100: 100}), pool_count=1.0, **counters)
    steps = tuple(replace(step, server={**step.server, "pool_active": active}) for step in run.steps)
    return replace(run, steps=steps)


def test_a_usage_time_by_readings_has_their_sampling_error() -> None:
    """At 100/s, readings of 4 and 8 in turn are 60 ms, of which 10 show no more than 6 ms or so."""
    analysis = analyze(with_readings((4.0, 8.0) * 5 + (0.0,)))  # the last after the users' last requests
    usage = analysis_values(analysis)["steps"][0]["sampled_usage"]
    assert usage is not None
    assert usage.usage_ms == pytest.approx(60, rel=0.01)
    assert 0 < usage.error < 0.5
    assert f"60 ms ±{at_most(usage.error)}" in analysis_text(analysis)
    rare = analyze(with_readings((0.0, 1.0, *[0.0] * 9)))
    assert "usage mean" not in analysis_text(rare)


def test_a_usage_time_by_readings_that_is_longer_than_the_response_time_is_left_out() -> None:
    """96 connections in use, of 64 requests in progress; a sum of usage times counts more than readings."""
    analysis = analyze(with_readings((96.0,) * 11, pool_wait_seconds=1.0))
    assert isnan(analysis.at(100).usage.mean)
    assert analysis.at(100).wait.mean == pytest.approx(10, rel=0.01)
    text = " ".join(analysis_text(analysis).split())
    assert "not used at the pool sizes 80 and 100: at 100, it is 960 ms by readings of the metrics page" in text
    assert "leaves at most 630 ms" in text
    summed = analyze(with_readings((96.0,) * 11, pool_usage_seconds=8.0))
    assert summed.at(100).usage.mean == pytest.approx(80, rel=0.01)
    assert "not used" not in analysis_text(summed)
