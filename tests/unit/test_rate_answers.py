"""Answers at an arrival rate: the limit that no size keeps, busy pools, and what the report says of both."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.finding import Finding
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import NO_LIMITS, LatencyLimits, LimitBroken
from poolsize.answer.recommendation import Recommendation
from poolsize.errors import BadInput
from poolsize.load.recorder import histogram
from poolsize.predict.explorer import what_if_text
from poolsize.present.report import report_html, report_markdown
from poolsize.present.text.analysis import analysis_text
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.setting import repeat_command
from poolsize.present.text.short_of_run import plateau_range_text, range_text
from poolsize.runs.check import Check
from poolsize.runs.run import QUANTILES, CheckResult, Latencies, Run, Step
from tests.conftest import a_run, a_step, in_ci

RATE = 300.0
NOT_SERVED = CheckResult(Check.ARRIVALS, False, {"due_per_second": RATE, "throughput": 160.0})
LIMIT = LatencyLimits(max_p95_ms=20)
P95_MS = {1: 5000, 2: 416, 4: 80, 8: 36.7}
"""The demonstration of a review: p95 still falls at the largest size, and no size keeps 20 ms."""


def at_a_rate(p95_ms: Mapping[int, float], busy: Mapping[int, float] | None = None, noise: float = 0.01) -> Run:
    """Return a run at 300/s that the smallest size does not serve.

    p95_ms: pool size -> p95 of the total time. busy: pool size -> utilisation, by default 0.98 x 2 / pool size.
    noise: share by which the p95 of the sections varies.
    """
    shares = busy or {size: 0.98 * 2 / size for size in p95_ms}
    steps = tuple(_step(size, order, value, shares[size], noise) for order, (size, value) in enumerate(p95_ms.items()))
    overloaded = [replace(steps[0], checks=(NOT_SERVED,))] * 2
    run = a_run(dict.fromkeys(p95_ms, round(RATE)), users=1000)
    plan = replace(run.plan, rate=RATE)
    return replace(run, setting=replace(run.setting, plan=plan), steps=(*overloaded, *steps[1:]))


def _step(size: int, order: int, p95_ms: float, share: float, noise: float) -> Step:
    total = str(histogram([{round(p95_ms * 1000): 100}]).encode(), "ascii")
    sections = {quantile: tuple(p95_ms * (1 + noise * sign) for sign in (1, -1) * 4) for quantile in QUANTILES}
    step = a_step(size, [round(RATE)] * 10, 1000, order)
    return replace(
        step,
        rate=RATE,
        latencies=Latencies(total, total, total),
        sections=dict.fromkeys(("wait", "usage", "total"), sections),
        backlog=(0,) * 11,
        busy=(share * size,) * 11,
        checks=(),
    )


def finding(answer: Recommendation, code: str) -> Finding | None:
    return next((found for found in answer.findings if found.code == code), None)


def words(answer: Recommendation) -> str:
    return " ".join((*reason_sentences(answer.findings), *warning_sentences(answer.findings)))


@pytest.mark.costly
def test_at_a_rate_no_range_is_printed() -> None:
    run = at_a_rate(P95_MS)
    analysis = analyze(run)
    answer, text = recommend(analysis), analysis_text(analysis)
    assert range_text(answer) == plateau_range_text(analysis) == ""
    assert "95 % range" not in recommendation_text(answer) + text + what_if_text(run)
    assert "The smallest measured pool that serves 300/s has 2 connections." in text


def test_an_overload_that_was_measured_twice_puts_no_answer_in_doubt() -> None:
    twice = at_a_rate({1: 5000, 8: 18})
    plan = replace(twice.plan, attempts=1)
    once = replace(twice, setting=replace(twice.setting, plan=plan), steps=twice.steps[1:])
    answer = recommend(analyze(twice))
    assert (answer.pool_size, answer.verdict) == (8, "measured")
    assert answer.findings == recommend(analyze(once)).findings


def test_a_limit_that_no_size_keeps_at_a_rate_gets_the_fastest_size_and_a_way_on() -> None:
    answer = recommend(analyze(at_a_rate(P95_MS)), LIMIT)
    assert (answer.pool_size, answer.verdict) == (8, "edge")
    assert answer.sweep_sizes == (8, 16, 32, 64)
    (broken,) = [each for each in answer.findings if isinstance(each, LimitBroken)]
    assert broken is not None
    assert (broken.lowest.pool_size, broken.rate) == (8, RATE)
    assert "--pool-sizes 8,16,32,64" in words(answer)
    assert "The lowest measured p95 is 36.7 ms, at 8 connections" in words(answer)
    assert "users" not in words(answer)


@pytest.mark.costly
def test_a_limit_that_no_size_keeps_gets_the_smallest_of_equally_fast_sizes() -> None:
    answer = recommend(analyze(at_a_rate({1: 5000, 2: 416, 4: 37.5, 8: 36.7, 16: 37}, noise=0.05)), LIMIT)
    assert (answer.pool_size, answer.verdict) == (4, "measured")
    assert "Larger pools are not faster. Use a lower rate" in words(answer)
    precise = recommend(analyze(at_a_rate({1: 5000, 2: 416, 4: 42, 8: 36.7, 16: 37})), LIMIT)
    assert precise.pool_size == 8


def test_a_step_too_short_for_its_queue_keeps_no_limit_for_certain() -> None:
    """2 connections that are 98 % busy at 300/s need 32 s to change the queue's length, and the steps have 11 s."""
    answer = recommend(analyze(at_a_rate({1: 5000, 2: 15, 4: 18, 8: 18})), LIMIT)
    assert answer.pool_size == 4
    assert "The true percentiles at the pool size 2 are higher than the measured ones" in words(answer)
    assert "measure with --step-time 130s." in words(answer)
    assert "true percentiles" not in words(recommend(analyze(at_a_rate({1: 5000, 4: 18, 8: 18})), LIMIT))


def test_the_price_table_has_the_measured_times_at_the_rate() -> None:
    answer = recommend(analyze(at_a_rate(P95_MS)))
    times_ms = {price.pool_size: price.at_rate.total_ms for price in answer.prices if price.at_rate}
    assert {size: times.p95 for size, times in times_ms.items() if times} == pytest.approx(
        {size: p95_ms for size, p95_ms in P95_MS.items() if size > 1}, rel=0.01
    )
    text = recommendation_text(answer)
    assert "Total time at 300/s:\n\npool" in text
    assert "The total times were measured at this arrival rate." in text


def test_the_times_of_a_size_between_the_measured_ones_are_not_called_measured() -> None:
    answer = recommend(at_a_rate(P95_MS), current=6)
    measured = {price.pool_size: price.at_rate.measured for price in answer.prices if price.at_rate}
    assert measured == {size: size in P95_MS for size in (2, 4, 6, 8)}
    assert "computed" in recommendation_text(answer)


def test_a_limit_that_a_larger_size_keeps_decides_at_a_rate() -> None:
    answer = recommend(analyze(at_a_rate(P95_MS)), LatencyLimits(max_p95_ms=100))
    assert (answer.pool_size, answer.verdict) == (4, "measured")
    assert "The smallest measured pool that serves the arrival rate 300/s has 2 connections (98 % busy)" in words(
        answer
    )
    assert "Without the limit the pool size would be 2." in words(answer)


@pytest.mark.parametrize(("share", "warned"), [(0.91, True), (0.89, False)])
def test_a_busy_pool_that_serves_the_rate_has_a_warning(share: float, warned: bool) -> None:
    answer = recommend(analyze(at_a_rate(P95_MS, {1: 1.9, 2: share, 4: 0.5, 8: 0.25})))
    assert answer.pool_size == 2
    assert (finding(answer, "high_utilisation") is not None) == warned
    assert ("2 connections are 91 % busy" in words(answer)) == warned
    assert ("4 connections are 50 % busy" in words(answer)) == warned


def test_where_every_pool_is_busy_the_way_on_is_larger_pools() -> None:
    answer = recommend(analyze(at_a_rate({1: 5000, 2: 416, 4: 80}, {1: 1.9, 2: 0.97, 4: 0.95})))
    busy = finding(answer, "high_utilisation")
    assert busy is not None
    assert "would overload the pool: measure --pool-sizes 4,8,16,32" in words(answer)


@pytest.mark.long
@pytest.mark.parametrize(
    ("limit_ms", "outcome"),
    in_ci(
        [
            (20, "p95 within 20 ms: not kept"),
            (100, "p95 within 100 ms: kept, and it decides the pool size"),
            (500, "p95 within 500 ms: kept"),
        ],
        (100, "p95 within 100 ms: kept, and it decides the pool size"),
    ),
)
def test_the_report_names_the_limit_and_its_outcome(limit_ms: float, outcome: str) -> None:
    closed = a_run({4: 390, 8: 400, 16: 396, 32: 360, 64: 300}, users=256)
    analysis = analyze(at_a_rate(P95_MS))
    answer = recommend(analysis, LatencyLimits(max_p95_ms=limit_ms))
    for text in (report_html(analysis, answer), report_markdown(analysis, answer)):
        assert f"Latency limit {outcome}" in text
    closed_analysis = analyze(closed)
    limits = LatencyLimits(max_p95_ms=5)
    assert "Latency limit p95 within 5 ms: not kept" in report_markdown(
        closed_analysis, recommend(closed_analysis, limits)
    )
    assert "Latency limit" not in report_markdown(closed_analysis, recommend(closed_analysis))


@pytest.mark.long
def test_the_table_has_the_utilisation_at_a_rate_only() -> None:
    at_rate, closed = analyze(at_a_rate(P95_MS)), analyze(a_run({1: 100, 2: 200, 4: 390, 8: 400}))
    for text in (analysis_text(at_rate), report_markdown(at_rate, recommend(at_rate))):
        assert "busy" in text
        assert "98 %" in text
    for text in (analysis_text(closed), report_markdown(closed, recommend(closed))):
        assert "busy" not in text


def with_limit(run: Run, max_p95_ms: float) -> Run:
    return replace(run, setting=replace(run.setting, plan=replace(run.plan, max_p95_ms=max_p95_ms)))


@pytest.mark.costly
def test_the_limit_of_the_sweep_holds_unless_another_is_given() -> None:
    run = with_limit(at_a_rate(P95_MS), 100)
    assert recommend(run).pool_size == 4
    assert recommend(run, LatencyLimits(max_p95_ms=50)).pool_size == 8
    assert recommend(run, NO_LIMITS).pool_size == 2
    assert "Latency limit p95 within 100 ms: kept" in report_markdown(analyze(run), recommend(run))
    assert "--max-p95 100ms" in repeat_command(run)


def test_a_limit_of_the_sweep_on_what_the_run_does_not_know_is_left_out() -> None:
    steps = tuple(replace(step, latencies=None, p95_ms=(0.0,) * 11) for step in a_run({1: 100, 2: 200, 4: 390}).steps)
    run = with_limit(replace(a_run({1: 100, 2: 200, 4: 390}), steps=steps), 100)
    assert recommend(run).pool_size == 4
    with pytest.raises(BadInput, match="`max_p95_ms` 100ms: the run does not know its p95"):
        recommend(run, LatencyLimits(max_p95_ms=100))


@pytest.mark.costly
def test_no_range_is_claimed_for_a_size_that_a_limit_decides() -> None:
    closed = a_run({4: 390, 8: 400, 16: 396, 32: 360, 64: 300}, users=256)
    assert "95 % range" in recommendation_text(recommend(closed))
    assert "95 % range" not in recommendation_text(recommend(closed, LatencyLimits(max_p95_ms=645)))
