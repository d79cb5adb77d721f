"""Answers for simulated production, whose truth is known; and what no simulation needs."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolsize.answer.fleet import Service
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.traffic import Traffic
from poolsize.answer.traffic_findings import Observed
from poolsize.answer.traffic_need import process_need
from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.pool_metrics import page_samples
from poolsize.observe.drift import drift, read_reference, unproven
from poolsize.observe.pool_answer import PoolAnswer, pool_answers, pool_named, saturated_threads
from poolsize.observe.process_load import (
    ASSUMED_VARIATION,
    VARIATION_RANGE,
    Bursts,
    ProcessLoad,
    in_use_at_most,
    process_load,
    variation_of,
)
from poolsize.observe.replay import replayed
from poolsize.observe.report import observation_markdown
from poolsize.observe.samples import Readings
from poolsize.observe.text import in_use_text, observed_text, observed_values, verdict
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.short import SAME
from tests.conftest import ROOT, Command
from tests.observe.production import STARTED, observed, plain, server_of, span_of, stored
from tests.observe.workload import Floats, Served, Workload, serve

HOUR = 3_600.0
EXPONENTIAL = Workload(50.0, 0.1)


def answer_of(served: Served, shown: str = "buckets", **options: float) -> PoolAnswer:
    (answer,) = pool_answers(observed([span_of(served, shown, **options)]))  # type: ignore[arg-type]
    return answer


@pytest.mark.costly
@pytest.mark.parametrize("shown", ["gauges", "counters", "buckets"])
@pytest.mark.parametrize("period", [30.0, 60.0])
def test_what_is_in_use_and_the_need_are_those_of_the_simulation(shown: str, period: float) -> None:
    served = serve(EXPONENTIAL, 20, HOUR, 1)
    answer, fine = answer_of(served, shown, period=period, every=5.0), served.in_use(np.arange(10, HOUR, 0.02))
    assert answer.busiest.mean == pytest.approx(fine.mean(), rel=0.05)
    assert abs(answer.busiest.in_use_p99_9 - np.quantile(fine, 0.999)) <= 1
    assert abs(answer.need - 8) <= 1
    assert not answer.censored


@pytest.mark.parametrize("every", [15.0, 30.0])
def test_few_readings_of_random_arrivals_show_no_bursts(every: float) -> None:
    """A day of scrapes, two or four in each period."""
    readings, at = Readings(), np.arange(0, 24 * HOUR, every)
    in_use = np.random.default_rng(1).poisson(8, len(at)).astype(float)
    for sample in page_samples("hikaricp_connections_active 1"):
        readings.add(sample, "a", STARTED.timestamp() + at, in_use)
    (answer,) = pool_answers(observed(readings.take()[0]))
    assert answer.busiest.bursts.times == 1
    assert abs(answer.need - 12) <= 1


def sampled(loads: Floats, random: np.random.Generator) -> ProcessLoad:
    """What samples each second show of a pool with so many connections in use on average in each minute."""
    samples = random.poisson(loads, (60, len(loads)))
    (pool,) = observed([
        plain(
            periods=len(loads), in_use_mean=samples.mean(0), in_use_max=samples.max(0), in_use_variance=samples.var(0),
            samples=60.0, size=200.0,
        )
    ]).pools  # fmt: skip
    load = process_load(pool)
    assert load
    return load


@pytest.mark.parametrize("minutes", [4, 10, 60])
def test_samples_of_constant_traffic_show_no_busiest_minute(minutes: int) -> None:
    """Means of minutes differ by chance: the largest is no peak."""
    random = np.random.default_rng(2)
    loads = [sampled(np.full(minutes, 3.0), random) for _ in range(100)]
    assert sum(load.load.max() == pytest.approx(load.mean) for load in loads) >= 97


@pytest.mark.parametrize(("load", "varies"), [(10, 0.2), (10, 0.4), (30, 0.2), (30, 0.4)])
def test_the_busiest_minute_is_nearly_as_busy_as_its_samples_show(load: float, varies: float) -> None:
    """Each minute has a rate of its own, far from that of its neighbours."""
    random, errors = np.random.default_rng(3), []
    for _ in range(20):
        loads = load * np.maximum(0.0, 1 + varies * random.standard_normal(240))
        errors.append(sampled(loads, random).load.max() / loads.max() - 1)
    assert abs(np.mean(errors)) <= 0.05


def test_a_busy_minute_alone_is_less_exact_than_busy_quarters_of_an_hour() -> None:
    loads, random = np.full(240, 10.0), np.random.default_rng(4)
    together = sampled(np.where(np.arange(240) < 120, 20.0, 10.0), random)
    assert together.load_error == pytest.approx(np.sqrt(20 / 60 / 15), rel=0.3)
    loads[100] = 20.0
    assert sampled(loads, random).load_error == pytest.approx(np.sqrt(20 / 60), rel=0.3)


def test_a_replay_adds_up_all_periods_and_a_queue_outlasts_its_own() -> None:
    """Two quiet minutes, one that a pool of 4 can't serve, and the minutes in which it serves what is late."""
    uses, size = np.array([600.0, 600, 6_000, 600, 600] + [0] * 35), 4
    (answer,) = pool_answers(observed([plain(periods=40, uses=uses, usage_seconds=0.1 * uses)]))
    small, large = replayed(answer.loads, answer.traffic(), [size, 30])
    assert small.wait_ms.p99 == pytest.approx(1000 * 6_000 * 0.1 * 0.6 / 4, rel=0.3)
    assert small.share_waiting > 0.7
    assert 2 <= small.periods_above_limit <= 4
    assert (large.wait_ms.p99, large.periods_above_limit, large.one_away) == (0, 0, None)


@pytest.mark.costly
@pytest.mark.parametrize("pool_size", [2, 4])
def test_a_pool_that_is_too_small_is_never_answered_without_at_least(pool_size: int) -> None:
    answer = answer_of(serve(EXPONENTIAL, pool_size, HOUR, 2))
    assert answer.censored
    assert answer.need > pool_size
    assert f"; at least {answer.need}" in verdict(answer)
    assert verdict(answer).startswith("censored: in use at its maximum in ")


def test_the_need_is_above_a_pool_for_which_requests_waited_though_few_connections_are_in_use_on_average() -> None:
    """Bursts between two readings: a mean wait of 107 ms, and a usage time of 40 ms."""
    counts: dict[str, Any] = {
        "size": 8,
        "uses": 390,
        "usage_seconds": 15.6,
        "wait_seconds": 41.7,
        "in_use_max": 2,
        "samples": 4,
    }
    observation = observed([plain(instance=name, **counts) for name in "ab"])
    (answer,) = pool_answers(observation)
    assert verdict(answer) == "censored: a mean wait of 107 ms; at least 9 connections"
    assert "99.9 %" not in in_use_text(answer)
    assert drift(pool_answers(observation), read_reference("8")) == (
        "shop: the need is at least 9, above the pool size of 8.",
    )
    sizes = [
        recommend_for(answer.traffic(growth, Service("shop", instances))).pool_size
        for growth, instances in [(1.0, 2), (2.0, 2), (1.0, 1), (1.0, 4), (0.5, 2)]
    ]
    assert sizes == [9, 9, 9, 5, 5]
    limits = [(answer.traffic(max_wait_p99_ms=limit_ms).least_need, limit_ms) for limit_ms in (50.0, 60_000.0)]
    assert limits == [(9, 50.0), (1, 60_000.0)]


def test_the_time_to_test_and_open_connections_is_no_sign_of_a_small_pool() -> None:
    counts: dict[str, Any] = {"size": 20, "uses": 600, "usage_seconds": 1.8, "wait_seconds": 0.3, "samples": 60}
    (answer,) = pool_answers(observed([plain(in_use_max=2, waiting_max=0, **counts)]))
    assert verdict(answer).startswith("at most 2 of 20 connections were in use")


def test_a_pool_that_was_full_but_whose_waits_are_not_known_is_needed_at_least() -> None:
    """A high-water mark: that no request waits at one reading does not show that none waited."""
    series: dict[str, Any] = {"size": 20, "in_use_mean": 5, "in_use_max": 20, "waiting_mean": 0, "waiting_max": 0}
    (answer,) = pool_answers(observed([plain(periods=1, samples=1, **series)]))
    assert verdict(answer) == "censored: in use at its maximum in 1 of 1 busy minute; at least 20 connections"
    (answer,) = pool_answers(observed([plain(periods=1, samples=200, **series)]))
    assert not answer.censored


def test_a_pool_of_another_size_is_not_needed_where_only_the_smaller_one_was_full() -> None:
    series: dict[str, Any] = {"uses": 60, "usage_seconds": 60, "in_use_mean": 1}
    full = plain(instance="old", size=2, in_use_max=2, waiting_max=3, wait_seconds=60, **series)
    (answer,) = pool_answers(observed([full, plain(instance="new", size=20, in_use_max=3, wait_seconds=0, **series)]))
    assert answer.censored.least_need == 3


def test_the_size_of_periods_with_short_waits_is_not_needed() -> None:
    """60 minutes at a size of 50, then 60 at a size of 4, at which the pool is full."""
    both = {"size": (50, 4), "in_use_max": (5, 4), "waiting_max": (0, 3), "wait_seconds": (0.6, 60)}
    series: dict[str, Any] = {name: np.repeat(values, 60).astype(float) for name, values in both.items()}
    (answer,) = pool_answers(observed([plain(periods=120, uses=60, usage_seconds=6, samples=60, **series)]))
    assert answer.censored.least_need == 5


def test_processes_that_follow_each_other_are_observed_for_their_whole_time() -> None:
    spans = [plain(instance=name, uses=60, usage_seconds=6, in_use_max=most, samples=4)
             for name, most in (("a", 2), ("b", 3))]  # fmt: skip
    later = replace(spans[1], started=(STARTED + timedelta(hours=1)).isoformat())
    (answer,) = pool_answers(observed([spans[0], later]))
    assert (answer.processes, answer.seconds) == (1, 7_200)
    assert verdict(answer).startswith("at most 3 connections were in use at any reading in 2 hours. ")


@pytest.mark.parametrize(
    ("library", "most", "shown"),
    [("SQLAlchemy", 3.0, "at most 3 connections were in use in 60"), ("", None, "were in use for 99.9 % of the time")],
)
def test_only_a_high_water_mark_is_the_most_at_any_time(library: str, most: float | None, shown: str) -> None:
    span = replace(plain(uses=60, usage_seconds=6), library=library, in_use_max=() if most is None else (most,) * 60)
    assert shown in verdict(pool_answers(observed([span]))[0])


def test_the_most_in_use_is_beside_the_size_of_its_own_process() -> None:
    series: dict[str, Any] = {"usage_seconds": 6, "samples": 4}
    large = plain(instance="large", uses=60, size=20, in_use_max=12, **series)
    small = plain(instance="small", uses=30, size=8, in_use_max=2, **(series | {"usage_seconds": 12}))
    (answer,) = pool_answers(observed([large, small]))
    assert answer.busiest.pool.instance == "small"
    assert verdict(answer).startswith("at most 12 of 20 connections were in use at any reading")
    (observation,) = (each for each in answer.findings(answer.traffic(), 1.0, None, ()) if isinstance(each, Observed))
    assert "at most 12 of 20 connections of a process in use at any reading" in sentence(observation)
    (answer,) = pool_answers(observed([plain(periods=1, uses=9, usage_seconds=1, in_use_max=1, samples=1)]))
    assert verdict(answer).startswith("at most 1 connection was in use at the only reading in ")


@pytest.mark.costly
@pytest.mark.parametrize("shown", ["gauges", "counters", "buckets"])
def test_a_pool_that_is_full_now_and_then_is_large_enough_where_waits_are_short(shown: str) -> None:
    answer = answer_of(serve(replace(EXPONENTIAL, rate=40.0), 9, HOUR, 2), shown)
    assert answer.censored.at_maximum > 1
    assert not answer.censored
    assert abs(answer.need - 7) <= 1


@pytest.mark.costly
def test_timeouts_count_as_demand() -> None:
    served = serve(replace(EXPONENTIAL, rate=60.0), 5, HOUR, 3, timeout_s=1.0)
    answer = answer_of(served)
    assert answer.censored.timeouts == pytest.approx(len(served.timed_out), rel=0.01)
    assert answer.peak_together > 5
    assert "timeouts" in verdict(answer)


def test_a_single_timeout_is_a_sign() -> None:
    observation = observed(
        [plain(uses=60, usage_seconds=6, timeouts=0), plain(instance="b", uses=1, usage_seconds=0.1, timeouts=0.1)]
    )
    assert pool_answers(observation)[0].censored


@pytest.mark.parametrize(
    ("running", "cores", "is_saturated"), [(65.0, None, True), (65.0, 16, True), (3.0, 8, False), (5.0, None, False)]
)
def test_a_saturated_server_says_nothing_of_need(running: float, cores: int | None, is_saturated: bool) -> None:
    observation = observed([plain(in_use_mean=4)], [server_of(running, cores, 60)])
    (answer,) = pool_answers(observation)
    assert (saturated_threads(observation.servers) is not None) == is_saturated == bool(answer.censored)
    assert verdict(answer).startswith("saturated: 65 threads run on the server") == is_saturated


def test_of_several_servers_nothing_says_which_the_pools_use() -> None:
    pool = plain(in_use_mean=3, samples=60, in_use_max=8, size=20)
    for other, threads in ((40.0, 40), (2.0, None)):
        servers = [replace(server_of(running, None, 60), instance=str(running)) for running in (65.0, other)]
        assert pool_answers(observed([pool], servers))[0].censored.saturated == threads


def test_requests_that_seldom_wait_do_not_cut_demand_off() -> None:
    """Each minute 3 of 6,000 requests wait for 4 ms, in a pool of Go."""
    series: dict[str, Any] = {"in_use_mean": 4.75, "in_use_variance": 4.75, "in_use_max": 9, "size": 10, "samples": 60}
    span = plain(**series, wait_seconds=0.012, waiting_mean=0.0002)
    started = replace(span, wait_seconds=(None, *span.wait_seconds[1:]), waiting_mean=(None, *span.waiting_mean[1:]))
    for each in (span, started, replace(started, size=(8.0,) * 60, in_use_max=(8.0,) * 60)):
        (answer,) = pool_answers(observed([each]))
        assert not answer.censored


def test_the_rate_does_not_count_connections_that_are_never_given_back() -> None:
    """100 requests of 10 ms a second, beside 5 connections that are held."""
    series: dict[str, Any] = {"uses": 6000, "usage_seconds": 60, "in_use_mean": 6, "in_use_variance": 1, "samples": 4}
    (answer,) = pool_answers(observed([plain(**series)]))
    assert answer.rate == pytest.approx(100)


def test_a_recorded_mean_is_exact() -> None:
    """`instrument` records each moment: an export of 10 minutes is in use while it lasts."""
    last = np.arange(60) == 30
    exact = np.where((np.arange(60) > 20) & (np.arange(60) <= 30), 2.0, 1.0)
    series: dict[str, Any] = {"uses": 6000, "usage_seconds": np.where(last, 660.0, 60.0), "in_use_mean": exact}
    (answer,) = pool_answers(observed([replace(plain(**series, in_use_max=7, size=15), library="SQLAlchemy")]))
    assert answer.busiest.in_use.tolist() == exact.tolist()


def test_a_pool_that_ended_is_named(tmp_path: Path) -> None:
    spans = [plain("shop", in_use_mean=3, samples=60), plain("jobs", in_use_mean=3, samples=60, periods=30)]
    path = stored(tmp_path / "a.jsonl", observed(spans))
    lines = drift(pool_answers(observed(spans)), read_reference("20"))
    assert not drift(pool_answers(observed(spans)), read_reference(path))
    silent = (
        "The last reading is of 2026-01-05 00:30 UTC. Check whether the service runs, and whether its pool has a new "
        "name."
    )
    assert lines == (f"jobs: {silent}",)
    assert silent in " ".join(observed_text(observed(spans), why=True).split())


def test_processes_that_start_for_the_peak_share_it() -> None:
    """4 processes all day, and 8 more in its busiest 3 hours, each with 5 connections in use."""
    series: dict[str, Any] = {"in_use_mean": 5.0, "samples": 60, "in_use_variance": 5}
    spans = [plain(instance=str(i), periods=24 * 60, **series) for i in range(4)]
    at_peak = (STARTED + timedelta(hours=15)).isoformat()
    spans += [replace(plain(instance=str(i), periods=180, **series), started=at_peak) for i in range(4, 12)]
    (answer,) = pool_answers(observed(spans))
    assert answer.processes == 12
    assert answer.share == pytest.approx(1, abs=0.1)
    assert answer.traffic().loaded(None).of_process().load == pytest.approx(5, rel=0.1)


def test_requests_that_give_up_while_connections_are_free_are_no_demand() -> None:
    """The database is away for a minute: 20 requests time out."""
    away = np.arange(60) == 30
    figures: dict[str, Any] = {
        "uses": np.where(away, 20, 600.0), "usage_seconds": np.where(away, 60, 180.0), "size": 20.0,
        "timeouts": np.where(away, 200, 0.0),
    }  # fmt: skip
    for in_use_max, samples, in_use in ((5.0, 60, 1), (np.where(away, 20, 5.0), 60, 2), (5.0, 2, 2)):
        (answer,) = pool_answers(observed([plain(**figures, in_use_max=in_use_max, samples=samples)]))
        assert answer.busiest.in_use[30] == in_use
        assert bool(answer.censored) == (in_use == 2)
    in_unknown_period = plain(in_use_mean=3, samples=60, periods=59, timeouts=0)
    late = replace(
        in_unknown_period, in_use_mean=(None, *in_unknown_period.in_use_mean[1:]), timeouts=(7.0,) + (0.0,) * 58
    )
    (answer,) = pool_answers(observed([late]))
    assert (answer.censored.timeouts, answer.without_answer) == (7, 0)
    answers = pool_answers(observed([plain(**figures, in_use_max=5.0, samples=60)]))
    assert drift(answers, read_reference("20")) == ()
    assert "200 requests gave up while connections were free" in observed_text(
        observed([plain(**figures, in_use_max=5.0, samples=60)]), why=True
    )


@pytest.mark.parametrize(("running", "busy", "is_saturated"), [(2.4, 0.02, False), (1.2, 1.9, True), (65.0, 0.1, True)])
def test_threads_that_sleep_do_not_saturate_a_server(running: float, busy: float, is_saturated: bool) -> None:
    """On two cores: statements that sleep; statements that compute; statements that wait for locks."""
    server = replace(server_of(running, 2, 3), busy_cores=(busy,) * 3)
    assert (saturated_threads(observed([], [server]).servers) is not None) == is_saturated


@pytest.mark.costly
def test_a_usage_time_that_rises_with_the_connections_in_use_is_the_database_s() -> None:
    rates = 30 + 25 * np.sin(np.arange(240) / 20)
    usages = 0.1 * (1 + rates / 50)
    uses = 60 * rates
    span = plain(periods=240, uses=uses, usage_seconds=uses * usages)
    (answer,) = pool_answers(observed([span]))
    assert answer.growing is not None
    assert answer.growing.low_ms == pytest.approx(110, rel=0.1)
    assert answer.growing.high_ms == pytest.approx(210, rel=0.1)
    assert "requests wait in the database" in observed_text(observed([span]), why=True)


@pytest.mark.costly
def test_random_usage_times_do_not_rise() -> None:
    assert answer_of(serve(replace(EXPONENTIAL, kind="log-normal", variation=6.0), 20, HOUR, 4)).growing is None


def test_the_busiest_process_decides_and_the_others_count() -> None:
    spans = [plain(instance=name, uses=60 * rate, usage_seconds=6 * rate) for name, rate in (("a", 40), ("b", 10))]
    (answer,) = pool_answers(observed(spans))
    assert (answer.processes, answer.busiest.pool.instance) == (2, "a")
    assert answer.together == pytest.approx(5)
    assert answer.rate == pytest.approx(50)
    assert answer.share == pytest.approx(1.6)
    assert answer.traffic().of_process().load == pytest.approx(4)


def test_without_usage_times_the_need_is_in_their_units() -> None:
    (answer,) = pool_answers(observed([plain(in_use_mean=5, samples=60, in_use_variance=5, in_use_max=9)]))
    assert answer.rate is None
    assert abs(answer.need - 8) <= 1
    assert "below the usage time" in verdict(answer)


def test_connections_that_are_never_given_back_count() -> None:
    (answer,) = pool_answers(observed([plain(uses=600, usage_seconds=60, in_use_mean=4, samples=4)]))
    assert answer.busiest.mean == pytest.approx(4)


@pytest.mark.parametrize(
    "series", [{"in_use_mean": 1e9}, {"usage_seconds": 1e12, "uses": 1.0}, {"size": 1e12}, {"in_use_max": 1e9}]
)
def test_numbers_that_no_pool_has_are_not_known(series: dict[str, Any]) -> None:
    """They took terabytes: the chances of 0, 1, 2, ... connections are computed up to them."""
    sane: dict[str, Any] = {"in_use_mean": 3, "samples": 60, "in_use_variance": 3}
    (answer,) = pool_answers(observed([plain(**sane), plain(instance="b", **(sane | series))]))
    known = ([plain(**sane)], [plain(**sane), plain(instance="b", **sane)])
    of_one, of_two = (pool_answers(observed(pools))[0].need for pools in known)
    assert answer.need == (of_one if "in_use_mean" in series else of_two)


@pytest.mark.parametrize("series", [{"uses": 0, "usage_seconds": 0}, {"in_use_mean": 0, "in_use_max": 0, "samples": 9}])
def test_a_pool_that_was_never_in_use_has_no_number(series: dict[str, Any]) -> None:
    """An account that sees only its own connections may see none in use, under any rate."""
    unused = observed([plain(size=10, **series)])
    for why in (False, True):
        text = " ".join(observed_text(unused, why=why).split())
        assert text.startswith("shop: no answer")
        assert "No connection was in use in 60 minutes: observe for longer, or at the peak." in text
        assert not re.search(r"\d connection", text)
    (pool,) = observed_values(unused)["pools"]
    assert pool["need"] is None
    with pytest.raises(WorkFailed, match=r"observe for longer, or at the peak$"):
        pool_named(unused, "shop")
    account = observed([plain(size=10, held_max=2, **series)])
    with pytest.raises(WorkFailed, match="at the peak, or by --metrics in place of --url"):
        pool_named(account, None)
    both = observed([plain(size=10, **series), plain("tasks", uses=60, usage_seconds=6)])
    assert "no answer" in observed_text(both)
    assert "no answer" in observation_markdown(both, "both.jsonl")


def test_a_pool_of_which_nothing_is_known_is_named() -> None:
    assert "Nothing says how many connections of shop are in use." in observed_text(observed([plain(size=10)]))
    beside = observed([plain(size=10), plain("tasks", uses=600, usage_seconds=60)])
    assert "Nothing says how many connections of shop are in use." in observed_text(beside)
    unused = observed_text(observed([plain(size=10), plain("tasks", size=3, uses=0, usage_seconds=0)]))
    assert "tasks: no answer" in unused
    assert "Next" not in unused


def test_a_need_above_the_lower_bound_of_before_shows_no_drift(tmp_path: Path) -> None:
    before = observed([plain(uses=600, usage_seconds=60, size=2, in_use_max=2, waiting_max=3, samples=60)])
    reference = read_reference(stored(tmp_path / "before.jsonl", before))
    now = observed([plain(uses=3_000, usage_seconds=300, size=40)])
    assert drift(pool_answers(now), reference) == ()
    (line,) = unproven(now, pool_answers(now), reference)
    assert re.fullmatch(r"shop: the need was at least \d+, and is \d+\.", line)


def test_a_check_of_unused_pools_says_why_it_has_no_answer() -> None:
    idle = observed([plain(size=10, uses=0, usage_seconds=0), plain("tasks", size=3)])
    lines = [*unproven(idle, pool_answers(idle), read_reference("20"))]
    assert lines[0] == "Nothing says how many connections of tasks are in use."
    assert lines[1].startswith("shop: no answer. No connection was in use in 60 minutes: ")


def test_names_of_strangers_do_not_reach_the_terminal() -> None:
    text = observed_text(observed([plain("a\x1b[31m\nb" * 100, uses=60, usage_seconds=6)]))
    assert "\x1b" not in text
    assert len(text) < 1_000


def test_the_variation_of_usage_times_comes_from_buckets() -> None:
    bounds = [*np.geomspace(0.1, 10_000, 60).tolist(), None]
    times = np.random.default_rng(0).exponential(20.0, 100_000)
    counts = np.histogram(times, [0.0, *bounds[:-1], np.inf])[0]
    assert variation_of(tuple(zip(bounds, counts.tolist(), strict=True)), times.mean()) == pytest.approx(1, rel=0.1)
    assert variation_of(((5.0, 0.0), (10.0, 99.0), (20.0, 0.0), (None, 0.0)), 10.0) == pytest.approx(0, abs=0.01)
    assert variation_of((), 10.0) is None


def test_means_of_a_few_long_tailed_usage_times_are_not_taken_for_even_ones() -> None:
    """The median difference between means of 3 usage times says 0.5, though their variation is 4."""
    times = serve(Workload(3 / 60, 0.1, "log-normal", 4.0), 20, 500 * 60.0, 1)
    load = answer_of(times, "counters").busiest
    assert np.median(load.series("uses")) == 3
    assert load.variation is None
    assert load.variations == VARIATION_RANGE


def test_the_need_without_known_variation_is_in_the_middle_of_its_range() -> None:
    """Loads from half a connection to 50 in use: as far from the low end of the range as from the high end."""
    load, (low, high) = answer_of(serve(EXPONENTIAL, 20, HOUR, 4)).busiest, VARIATION_RANGE
    usages = [load.usage_of(variation, 100.0) for variation in (low, ASSUMED_VARIATION, high)]
    rates = (10 * np.geomspace(0.5, 50, 30)).tolist()
    needs = [[process_need(Traffic(rate, usage, Service("shop", 1))).pool_size for rate in rates] for usage in usages]
    below, above = np.diff(needs, axis=0)
    assert min(below.min(), above.min()) >= 0
    assert below.mean() == pytest.approx(above.mean(), abs=0.2)


def test_a_pool_without_limit_has_poisson_use_and_a_full_one_uses_all() -> None:
    at_most = in_use_at_most(np.array([4.0]), Bursts(), None, 20)[0]
    assert int(np.argmax(at_most >= 0.999)) == 11
    assert in_use_at_most(np.array([9.0]), Bursts(), 6, 6)[0].tolist() == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.costly
def test_drift_names_each_condition_that_no_longer_fits(tmp_path: Path) -> None:
    calm = observed([plain(uses=600, usage_seconds=60, size=4)])
    busy = observed([plain(uses=3_000, usage_seconds=300, size=4), plain("other", uses=1, usage_seconds=0.1)])
    assert drift(pool_answers(calm), read_reference("4")) == ()
    assert drift(pool_answers(busy), read_reference("4")) == (
        "shop: the need is at least 7, above the pool size of 4.",
    )
    before = read_reference(stored(tmp_path / "before.jsonl", calm))
    assert drift(pool_answers(calm), before) == ()
    assert len(drift(pool_answers(busy), before)) == 3
    assert drift(pool_answers(calm), read_reference(stored(tmp_path / "busy.jsonl", busy))) == (
        "other: the stored observation has this pool, and this observation does not.",
    )
    run = drift(pool_answers(busy), read_reference("data/examples/oltp_read_write-mysql.jsonl"))
    assert any("shop: the need" in line for line in run)
    for reference in ("0", "9" * 5_000, str(tmp_path / "none"), ""):
        with pytest.raises(BadInput, match="check"):
            read_reference(reference)


@pytest.mark.costly
def test_json_has_the_keys_of_the_design() -> None:
    (pool,) = observed_values(observed([span_of(serve(EXPONENTIAL, 20, HOUR, 1), "buckets")]))["pools"]
    keys = "name labels in_use_mean in_use_p99_9 in_use_max size wait_ms usage_ms timeouts censored need verdict"
    assert set(keys.split()) <= pool.keys()
    assert re.match(r"at most \d+ of 20 connections were in use at any reading in 60 minutes. ", pool["verdict"])


@pytest.mark.costly
def test_the_example_is_answered_beside_its_own_size_and_with_a_typed_percentile(poolsize_here: Command) -> None:
    words = ("recommend", "--observation", str(ROOT / "data/examples/observation.jsonl"), "--json")
    values, spread = (json.loads(poolsize_here(*words, *more).stdout) for more in ((), ("--usage-p99", "300ms")))
    assert {"range", "growth", "censored", "observation"} <= values.keys()
    assert {"traffic_observed", "traffic_current"} <= {finding["code"] for finding in values["findings"]}
    assert [size["pool_size"] for size in values["sizes"]][-1] == values["observation"]["size"] == 20
    assert spread["traffic"]["usage_p99_ms"] == pytest.approx(300)
    (low, high), need = (
        json.loads(poolsize_here(*words, "--instances", "8", "--processes", "2").stdout)[each]
        for each in ("range", "need")
    )
    assert low <= need <= high
    run = str(ROOT / "data/examples/oltp_read_write-mysql.jsonl")
    assert json.loads(poolsize_here(*words, "--run", run).stdout)["range"] is None
    assert "traffic_spread_assumed" not in {finding["code"] for finding in spread["findings"]}
    for form in ((), ("--why",)):
        beyond = poolsize_here(*words[:-1], "--growth", "100x", "--cores", "8", *form)
        assert beyond.returncode == 1
        assert "No pool size helps." in " ".join(beyond.stdout.split())
        assert "poolsize config" not in beyond.stdout


@pytest.mark.parametrize(
    ("more", "growth"),
    [
        ((), ""), (("--instances=8",), "2x"), (("--instances=8", "--growth=1.1x"), "2.2x"),
        (("--instances=8", "--growth=0.5x"), "2x"), (("--instances=8", "--growth=2x"), ""),
        (("--instances=4", "--processes=2"), "2x"), (("--instances=2",), ""),
    ],
)  # fmt: skip
def test_traffic_of_few_processes_for_more_is_named(poolsize_here: Command, more: tuple[str, ...], growth: str) -> None:
    """The example is of 4 processes: with 8, each has half of the traffic."""
    words = ("recommend", "--observation", str(ROOT / "data/examples/observation.jsonl"), *more, "--why")
    text = " ".join(poolsize_here(*words).stdout.split())
    assert ("is divided among" in text) == bool(growth)
    assert re.findall(r"use --growth (\S+)\.(?: |$)", text) == ([growth] if growth else [])


def test_traffic_that_a_server_counted_is_that_of_all_processes(poolsize_here: Command, tmp_path: Path) -> None:
    pool = plain(in_use_mean=5, samples=60, in_use_variance=5, in_use_max=9, held_max=20)
    words = ("recommend", "--observation", stored(tmp_path / "a.jsonl", observed([pool])), "--usage-time=20ms")
    text = poolsize_here(*words, "--instances=4", "--why").stdout
    assert text.startswith("Use ")
    assert "divided among" not in text


def test_the_short_answer_for_several_pools_has_its_main_doubt_and_a_command_for_a_pool() -> None:
    both = observed([plain("a", uses=600, usage_seconds=300), plain("b", uses=600, usage_seconds=60)])
    text = observed_text(both)
    assert "  Caution  a: " in text
    assert "recommend --observation FILE --pool a\n" in text
    assert SAME in text
    assert "--pool" not in observed_text(observed([plain("a", uses=600, usage_seconds=300)]), why=True)


def test_an_answer_for_a_pool_of_several_says_what_it_assumes(poolsize_here: Command, tmp_path: Path) -> None:
    """Gauges without usage times, for an hour: a size in its range, and three doubts."""
    gauges = plain("b", in_use_mean=5, samples=60, in_use_variance=5, in_use_max=9)
    path = stored(tmp_path / "a.jsonl", observed([plain("a", uses=600, usage_seconds=60), gauges]))
    words = ("recommend", "--observation", path, "--pool", "b", "--usage-time", "20ms")
    text, values = poolsize_here(*words).stdout, json.loads(poolsize_here(*words, "--json").stdout)
    low, high = values["range"]
    assert low < values["need"] < high
    assert f"  Need     {values['need']} connections (95 % range {low} to {high}): with these," in text
    codes = [finding["code"] for finding in values["findings"]]
    assert {"traffic_one_of_pools", "traffic_short_observation", "traffic_spread_assumed"} <= {*codes}
    spread = json.loads(poolsize_here(*words, "--usage-p99", "60ms", "--json").stdout)
    assert spread["range"][1] - spread["range"][0] < high - low
    assert "traffic_spread_assumed" not in [finding["code"] for finding in spread["findings"]]


@pytest.mark.costly
def test_cut_off_demand_leads_to_no_smaller_pool(poolsize_here: Command, tmp_path: Path) -> None:
    counts: dict[str, Any] = {"size": 8, "uses": 390, "usage_seconds": 15.6, "wait_seconds": 41.7}
    path = stored(tmp_path / "a.jsonl", observed([plain(instance=name, **counts) for name in "ab"]))
    words = ("recommend", "--observation", path, "--cores", "8")
    text, values = poolsize_here(*words).stdout, json.loads(poolsize_here(*words, "--json").stdout)
    assert "Use at least 9 connections in each of 2 processes" in text
    assert "--size 18 --usage-time 40ms --instances 2" in text
    assert "  Today" not in text
    assert {"traffic_current", "traffic_need", "traffic_holds"}.isdisjoint(
        finding["code"] for finding in values["findings"]
    )
    assert (values["pool_size"], values["need"], values["range"]) == (9, 9, None)
    assert (values["sizes"], values["replay"], values["observation"]["in_use_p99_9"]) == ([], [], None)
    assert "wait p99" not in poolsize_here(*words, "--why").stdout
    limited = poolsize_here(*words, "--max-connections", "20", "--why").stdout
    assert re.search(r"^Use \d+ connection", limited, re.MULTILINE)
    assert "p99 wait" not in limited


def test_a_saturated_server_leads_to_no_configuration(poolsize_here: Command, tmp_path: Path) -> None:
    observation = observed([plain(size=30, uses=600, usage_seconds=60)], [server_of(65.0, 8, 60)])
    stored(tmp_path / "a.jsonl", observation)
    text = poolsize_here("recommend", "--observation", "a.jsonl", "--cores", "8").stdout
    assert "The server is saturated" in text
    assert "poolsize config" not in text
