"""Periods from readings: counters that restart, scrapes that are missing, instances and pools told apart."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import BadInput
from poolsize.facts.pool_metrics import Sample, page_samples, sample_of
from poolsize.observe.observation import ObservedPool, PoolSpan
from poolsize.observe.pool_answer import pool_answers
from poolsize.observe.process_load import ProcessLoad, process_load
from poolsize.observe.samples import LEAST_COVERED, Readings, instance_of
from tests.observe.production import observed
from tests.observe.workload import Floats, Workload

START = 1_700_000_040.0
"""A whole minute."""
USAGE, USES = "hikaricp_connections_usage_seconds_sum", "hikaricp_connections_usage_seconds_count"
ACTIVE, SIZE = "hikaricp_connections_active", "hikaricp_connections_max"


def metric(name: str, labels: Mapping[str, str] | None = None) -> Sample:
    sample = sample_of(name, {"pool": "a", **(labels or {})}, 1.0)
    assert sample is not None
    return sample


def spans_of(
    series: Mapping[str, Iterable[tuple[float, float]]], period_seconds: float = 60.0, **labels: str
) -> list[PoolSpan]:
    """Return the spans of series: name -> (seconds from the start, value)."""
    readings = Readings(period_seconds)
    for name, values in series.items():
        at, of = np.array(list(values), dtype=float).reshape(-1, 2).T
        readings.add(metric(name, labels), "shop", START + at, of)
    return readings.take()[0]


def paged(pages: Mapping[int, str], name: str = "") -> Readings:
    """Return the readings of metrics pages, by the seconds from the start."""
    readings = Readings()
    for t, page in pages.items():
        for sample in page_samples(page):
            readings.add(sample, name, np.array([START + t]), np.array([sample.value]))
    return readings


def every(seconds: float, until: float, value: float, slope: float = 0.0) -> list[tuple[float, float]]:
    return [(t, value + slope * t) for t in np.arange(0, until + 0.001, seconds)]


def test_the_mean_in_use_is_the_rate_of_the_usage_time() -> None:
    series = {USAGE: every(15, 180, 100, 2.5), USES: every(15, 180, 7, 100), ACTIVE: every(15, 179, 2)}
    (span,), load = spans_of(series), load_of(series)
    assert load.in_use.tolist() == pytest.approx([2.5, 2.5, 2.5])
    assert (span.in_use_mean, span.in_use_max, span.samples) == ((2, 2, 2), (2, 2, 2), (4, 4, 4))
    assert span.uses == pytest.approx((6000, 6000, 6000))
    assert (span.library, span.pool, span.instance) == ("HikariCP", "a", "shop")
    assert span.started == "2023-11-14T22:14:00+00:00"


def test_without_usage_times_the_mean_in_use_is_that_of_the_gauge() -> None:
    (span,) = spans_of({ACTIVE: [(0, 1), (20, 2), (40, 6), (60, 3)]})
    assert (span.in_use_mean, span.in_use_max, span.samples) == ((3, 3), (6, 3), (3, 1))
    assert span.in_use_variance == pytest.approx((14 / 3, 0))


def test_usages_longer_than_a_period_are_seen_by_the_gauge() -> None:
    """A connection held for an hour counts 3,600 s in the minute in which it comes back."""
    usage = [(0, 0.0), (60, 0.0), (120, 0.0), (179, 3600.0), (240, 3600.0), (300, 3600.0)]
    uses = [(t, float(value > 0)) for t, value in usage]
    load = load_of({USAGE: usage, USES: uses, ACTIVE: every(10, 299, 1)})
    assert load.in_use[1:4].tolist() == [1, 1, 1]


def test_the_last_reading_of_a_process_is_no_busy_minute() -> None:
    """A deploy ends it within a minute, of which a single reading of the gauge is known, and no use."""
    times = np.arange(0, 3631, 30)
    usage, uses = (np.column_stack([times, slope * np.minimum(times, 3600)]) for slope in (5, 100))
    active = [(t, 8.0 if t >= 3600 else 5.0) for t in times]
    assert load_of({USAGE: usage, USES: uses, ACTIVE: active}).in_use[-1] < 3


@pytest.mark.parametrize(("minutes", "in_use"), [(5, 1), (7, 1), (10, 1), (30, 1), (10, 5)])
def test_a_long_usage_among_short_ones_is_in_use_while_it_lasts(minutes: int, in_use: int) -> None:
    """A nightly export beside usages of 10 ms: by the sums, 5 to 30 connections more in its last minute."""
    times = np.arange(0, 3601, 30)
    usage, uses = in_use * times + 60.0 * minutes * (times >= 2430), 100 * in_use * times
    active = in_use + ((times < 2430) & (times > 2430 - 60 * minutes)).astype(float)
    series = {USAGE: np.column_stack([times, usage]), USES: np.column_stack([times, uses])}
    load = load_of(series | {ACTIVE: np.column_stack([times, active]), SIZE: [(t, 50.0) for t in times]})
    assert load.load.max() < in_use + 1.1
    assert load.in_use.sum() == pytest.approx(60 * in_use + minutes, abs=1.5)
    assert load.usage_ms
    assert 9.9 < load.usage_ms < 21


def test_a_stall_on_both_sides_of_a_minutes_end_is_in_use_in_both() -> None:
    """16 requests wait for 40 s: the last 20 s of a minute, and the first 20 s of the next minute."""
    times = np.arange(0, 601)
    usage, uses = times + 640.0 * (times >= 320), 100.0 * times
    active = np.where((times >= 280) & (times < 320), 16.0, 1.0)
    series = {USAGE: np.column_stack([times, usage]), USES: np.column_stack([times, uses])}
    load = load_of(series | {ACTIVE: np.column_stack([times, active]), SIZE: [(t, 50.0) for t in times]})
    assert load.in_use.max() == pytest.approx(6, abs=0.2)


def test_long_usages_overlap() -> None:
    """Two exports of 30 minutes."""
    times = np.arange(0, 3901, 30)
    usage = times + 1800.0 * (times >= 2430) + 1800.0 * (times >= 3630)
    series = {USAGE: np.column_stack([times, usage]), USES: np.column_stack([times, 100 * times])}
    active = 1 + ((times >= 630) & (times < 2430)) + ((times >= 1830) & (times < 3630)).astype(float)
    load = load_of(series | {ACTIVE: np.column_stack([times, active]), SIZE: [(t, 50.0) for t in times]})
    assert load.in_use.max() < 3.1


def test_a_long_usage_from_before_a_page_was_read_is_in_use_once() -> None:
    """A report of 15 minutes ends after 5 minutes of readings each second."""
    times = np.arange(0, 601)
    series = {
        USAGE: np.column_stack([times, 10 * times + 900.0 * (times >= 290)]),
        USES: [(t, 1000.0 * t) for t in times],
    }
    active = np.where(times < 290, 11.0, 10.0)
    load = load_of(series | {ACTIVE: np.column_stack([times, active]), SIZE: [(t, 50.0) for t in times]})
    assert load.in_use.max() <= 11


def test_a_minute_of_readings_shows_connections_that_are_held() -> None:
    times = range(61)
    series = {USAGE: [(t, 0.0) for t in times], USES: [(t, 0.0) for t in times], ACTIVE: [(t, 5.0) for t in times]}
    assert load_of(series).mean == pytest.approx(5)


@pytest.mark.parametrize(("rate", "every"), [(100, 60), (1, 60), (100, 1)])
def test_a_stalled_minute_that_the_gauge_misses_counts(rate: int, every: int) -> None:
    """16 requests wait for 30 s in the server, between two readings of the gauge, which a page repeats for a minute."""
    times = np.arange(0, 3601, every)
    sums = rate * 0.01 * times + 480 * (times >= 1860)
    series = {USAGE: np.column_stack([times, sums]), USES: np.column_stack([times, rate * times])}
    load = load_of(series | {ACTIVE: [(t, rate // 100) for t in times], SIZE: [(t, 50.0) for t in times]})
    assert load.in_use.max() == pytest.approx(8 + rate * 0.01)


def test_a_slow_database_at_the_peak_is_no_long_usage() -> None:
    """Readings of a minute vary by chance, and usage times are longer for 4 hours: the sums are exact."""
    times = np.arange(0, 86_401, 60)
    in_use, usage_s = (np.where(times // 3600 % 24 >= 20, of, low) for of, low in ((10, 0.5), (0.02, 0.01)))
    sums, uses = np.cumsum(60.0 * in_use), np.cumsum(60 * in_use / usage_s)
    active = np.random.default_rng(1).poisson(in_use)
    load = load_of({name: np.column_stack([times, of]) for name, of in ((USAGE, sums), (USES, uses), (ACTIVE, active))})
    assert load.in_use[1205:1435].mean() == pytest.approx(10, rel=0.02)
    assert load.counted.mean() > 0.98


def test_connections_that_are_never_given_back_are_in_use() -> None:
    """5 connections held for ever are in no sum of usage times."""
    times = np.arange(0, 3601, 30)
    usage, uses = ([(t, slope * t) for t in times] for slope in (1, 100))
    assert load_of({USAGE: usage, USES: uses, ACTIVE: [(t, 6.0) for t in times]}).mean == pytest.approx(6)
    assert load_of({USAGE: usage, USES: uses, ACTIVE: [(t, t // 30 % 3) for t in times]}).counted.all()


def test_connections_that_are_held_at_the_end_are_in_use() -> None:
    """4 workers hold a connection each in the last 40 minutes of a day."""
    times = np.arange(0, 86_401, 15)
    series = {USAGE: np.column_stack([times, times]), USES: np.column_stack([times, 100 * times])}
    load = load_of(series | {ACTIVE: [(t, 5.0 if t >= 84_000 else 1.0) for t in times]})
    assert load.in_use[-20:-1] == pytest.approx(5)
    assert load.counted[:1300].all()


def load_of(series: Mapping[str, Any]) -> ProcessLoad:
    """Return the load of a pool with these series."""
    load = process_load(ObservedPool.of(spans_of(series)))
    assert load
    return load


def test_a_restart_loses_only_what_nobody_read() -> None:
    (span,) = spans_of({USAGE: [(0, 500), (30, 530), (45, 5), (60, 20), (120, 80)]})
    assert span.usage_seconds == pytest.approx((30 + 5 + 15, 60))


def test_several_processes_that_answer_by_turns_are_known_by_their_gauges() -> None:
    """The workers of a web server without a common page: each reading is of another worker's counters."""
    usage = [(t, (500.0 if t // 5 % 2 else 90.0) + t) for t in range(0, 121, 5)]
    (span,) = spans_of({USAGE: usage, ACTIVE: every(5, 119, 2)})
    assert (span.in_use_mean, span.usage_seconds) == ((2, 2), ())


def test_missing_scrapes_spread_the_increase_over_the_gap() -> None:
    (span,) = spans_of({USAGE: [(0, 0), (30, 30), (150, 150), (180, 180)]})
    assert span.usage_seconds == pytest.approx((60, 60, 60))


def test_over_a_long_gap_nothing_is_known() -> None:
    near = [(t, t) for t in range(0, 121, 30)]
    (span,) = spans_of({USAGE: [*near, *((t + 1200, 50 * t) for t, _ in near)]})
    assert span.usage_seconds[:2] == pytest.approx((60, 60))
    assert set(span.usage_seconds[2:20]) == {None}
    assert span.usage_seconds[20:] == pytest.approx((3000, 3000))


def test_a_period_that_readings_hardly_cover_is_not_known() -> None:
    (span,) = spans_of({USAGE: [(40, 0), (60, 20), (120, 80), (155, 115)]})
    assert span.usage_seconds == pytest.approx((60, 60))
    assert span.started == "2023-11-14T22:15:00+00:00"


@pytest.mark.parametrize("taken_each_minute", [False, True])
def test_the_gauge_does_not_stand_in_where_the_counters_cover_little(taken_each_minute: bool) -> None:
    """A process that starts late in a minute shows 2 readings of it: its mean there is not known."""
    usage, uses = ([(at, slope * at) for at in range(45, 181, 15)] for slope in (0.45, 9))
    readings, spans = Readings(), list[PoolSpan]()
    for name, values in ((USAGE, usage), (USES, uses), (ACTIVE, [(at, 1.0) for at, _ in usage])):
        readings.add(metric(name), "shop", START + np.array(values)[:, 0], np.array(values)[:, 1])
    if taken_each_minute:
        spans = [*readings.take(START + 60)[0], *readings.take(START + 120)[0]]
    spans += readings.take()[0]
    means = [mean for span in spans for mean in span.in_use_mean or (None,) * len(span.samples)]
    assert means[:3] == [None, 1, 1]
    assert spans[0].samples[0] == 1


def test_the_gauge_stands_in_for_a_counter_that_was_read_once() -> None:
    (span,) = spans_of({USAGE: [(30, 9)], ACTIVE: [(30, 2)]})
    assert span.in_use_mean == (2,)


def test_values_that_no_pool_has_are_left_out() -> None:
    values = [(0, 2), (10, np.nan), (20, -1), (30, np.inf), (35, 1e300), (40, 4)]
    (span,) = spans_of({ACTIVE: values, "hikaricp_connections_max": [(0, -1), (10, 2_147_483_647)]})
    assert (span.in_use_mean, span.size) == ((3,), ())


def test_readings_of_far_moments_take_no_memory() -> None:
    with pytest.raises(BadInput, match="periods of all series"):
        spans_of({ACTIVE: [(0, 2), (5e9, 3)]})


def test_computed_values_that_no_record_has_are_not_known() -> None:
    (span,) = spans_of({ACTIVE: [(0, 1e12), (1, 0)]}, pool="a" * 20_000)
    assert (span.in_use_max, span.in_use_variance) == ((1e12,), ())


def test_a_second_series_of_the_same_labels_changes_nothing() -> None:
    readings = Readings()
    for _ in range(2):
        readings.add(metric(USAGE), "", START + np.array([0.0, 60.0]), np.array([0.0, 60.0]))
    (span,) = readings.take()[0]
    assert span.usage_seconds == (60,)


def test_series_of_the_same_pool_with_other_labels_count_together() -> None:
    readings = Readings()
    for status in ("ok", "failed"):
        sample = metric("db_client_connections_use_time_milliseconds_sum", {"status": status})
        readings.add(sample, "", START + np.array([0.0, 60.0]), np.array([0.0, 30_000.0]) * sample.value)
    (span,) = readings.take()[0]
    assert span.usage_seconds == (60,)


def test_a_peak_counts_in_the_period_in_which_it_rises() -> None:
    page = 'agroal_active_count{{datasource="a"}} 2\nagroal_max_used_count{{datasource="a"}} {}\n'
    peaks = {0: 9, 30: 9, 60: 9, 90: 12, 120: 12}
    (span,) = paged({t: page.format(peak) for t, peak in peaks.items()}).take()[0]
    assert span.in_use_max == (2, 12, 2)


def scraped(*targets: dict[str, str], seconds: tuple[float, float] = (0.0, 600.0)) -> Readings:
    readings = Readings()
    for offset, labels in enumerate(targets):
        at = np.arange(*seconds, 15.0) + START + 3 * offset
        readings.add(metric(USAGE, labels), "", at, 2.0 * at)
    return readings


def test_services_with_the_same_name_of_a_pool_are_apart_and_their_instances_together() -> None:
    shops = [{"job": "pods", "application": "shop", "instance": f"10.0.0.{host}:80"} for host in (1, 2)]
    mail = {"job": "mail", "instance": "10.0.0.1:90"}
    spans = scraped(*shops, mail).take()[0]
    assert sorted(span.pool for span in spans) == ["mail/a", "shop/a", "shop/a"]
    assert {answer.name: answer.processes for answer in pool_answers(observed(spans))} == {"shop/a": 2, "mail/a": 1}


def test_a_process_that_two_jobs_scrape_counts_once_and_is_of_the_job_with_fewer_processes() -> None:
    jobs = {"pods": (1, 2, 3), "shop": (1, 2), "mail": (3,)}
    targets = [{"job": job, "instance": f"10.0.0.{host}:80"} for job, hosts in jobs.items() for host in hosts]
    spans = scraped(*targets).take()[0]
    assert sorted(span.instance for span in spans) == ["mail/10.0.0.3:80", "shop/10.0.0.1:80", "shop/10.0.0.2:80"]


@pytest.mark.parametrize(
    "labels", [{"service_instance_id": "{}"}, {"exported_instance": "{}"}, {"pid": "{}"}, {"cluster": "{}"}]
)
def test_processes_behind_one_address_are_several(labels: dict[str, str]) -> None:
    """Those of a collector, of a web server with workers, and of clusters that have the same addresses."""
    targets = [
        {"job": f"job{each}", "instance": "collector:80", **{name: text.format(each) for name, text in labels.items()}}
        for each in (1, 2)
    ]
    assert len(scraped(*targets).take()[0]) == 2


def test_processes_of_one_job_are_several_whatever_their_address_is() -> None:
    pods = [{"job": "shop", "pod": f"shop-{number}", "instance": "shop:80"} for number in (1, 2)]
    assert len(scraped(*pods).take()[0]) == 2


def test_an_address_that_another_service_has_later_is_no_copy() -> None:
    readings = scraped({"job": "shop", "instance": "10.0.0.1:80"})
    later = {"job": "mail", "instance": "10.0.0.1:80"}
    at = START + np.arange(600.0, 1200.0, 15.0)
    readings.add(metric(USAGE, later), "", at, 2.0 * at)
    assert {span.pool for span in readings.take()[0]} == {"mail/a", "shop/a"}


def test_springs_gauges_of_a_pool_that_hikari_counts_are_no_second_pool() -> None:
    readings = Readings()
    for name, its in (("jdbc_connections_active", {"pool": "", "name": "dataSource"}), (ACTIVE, {})):
        readings.add(metric(name, its), "shop", np.array([START]), np.array([3.0]))
    readings.add(metric("jdbc_connections_active"), "other", np.array([START]), np.array([3.0]))
    assert [(span.instance, span.library) for span in readings.take()[0]] == [
        ("shop", "HikariCP"), ("other", "Spring"),
    ]  # fmt: skip


def page_of(usages: Floats, begin: float = START, rests: int = 1) -> ObservedPool:
    """Return the pool of a page of PAGE_SECONDS. usages: of 20 a second, in the order of their ends.

    It is read each second, and its values change each `rests` seconds. A process restarts at 100 s, and readings are
    lost at 33, 34 and 190 s.
    """
    ended = np.sort(np.random.default_rng(4).uniform(0, PAGE_SECONDS, len(usages)))
    readings, spans = Readings(origin=begin), list[PoolSpan]()
    for t in (at for at in range(8, PAGE_SECONDS) if at not in (33, 34, 190)):
        counted = (ended <= t // rests * rests) & (ended > (0 if t < 100 else 99.5))
        for name, value in ((USAGE, usages[counted].sum()), (USES, counted.sum()), (ACTIVE, 5)):
            readings.add(metric(name), "", np.array([begin + t]), np.array([float(value)]))
        spans += readings.take(begin + t - 10)[0]
    (pool,) = observed([*spans, *readings.take()[0]]).pools
    return pool


def usages_of(kind: str, seed: int) -> Floats:
    """Return the usage times of PAGE_SECONDS, in seconds."""
    number, random = 20 * PAGE_SECONDS, np.random.default_rng(seed)
    return Workload(20, 0.25, *KINDS_OF_USAGE[kind][:2]).usages(number, random)


PAGE_SECONDS = 240
KINDS_OF_USAGE: Mapping[str, Any] = {
    "constant": ("constant", 1.0, 0.0), "exponential": ("exponential", 1.0, 1.0),
    "log-normal": ("log-normal", 4.0, 4.0),
}  # fmt: skip
"""Kind and variation of a workload, and the squared coefficient of variation."""


@pytest.mark.parametrize(("rests", "factor"), [(1, 1.8), (5, 2.2)], ids=["each second", "cached for 5 s"])
@pytest.mark.parametrize("kind", KINDS_OF_USAGE)
def test_four_minutes_of_a_page_show_how_usage_times_vary(kind: str, rests: int, factor: float) -> None:
    """Within a factor of the truth, which rises as fewer means show it."""
    variation = KINDS_OF_USAGE[kind][2]
    for seed in range(5):
        pool = page_of(usages_of(kind, seed), START + 0.123, rests)
        means = np.nan_to_num(pool["usage_means"])
        assert (229 if rests == 1 else 46) - 8 <= means.sum() <= (229 if rests == 1 else 46)
        shown = np.average(np.nan_to_num(pool["usage_variation"]), weights=means)
        assert variation / factor - 1e-9 <= shown <= variation * factor + 1e-9
        load = process_load(pool)
        assert load is not None
        low, high = load.variations
        assert low <= variation <= high
        assert (load.variation or 0) < 1 if kind == "constant" else high == 8


def test_a_mean_usage_time_that_changes_from_minute_to_minute_is_no_variation_within_them() -> None:
    minutes = np.repeat([1.0, 1.5, 0.4, 1.0], 20 * 60)
    for kind in ("constant", "exponential"):
        variation = KINDS_OF_USAGE[kind][2]
        shown = np.nanmedian(page_of(minutes * usages_of(kind, 1))["usage_variation"])
        assert variation / 1.8 <= shown <= variation * 1.8 + 0.1  # a reading may be of both minutes


def test_a_pause_of_a_second_is_not_taken_for_usage_times_that_always_vary_so() -> None:
    usages = usages_of("constant", 1)
    usages[2_000:2_030] *= 5
    load = process_load(page_of(usages))
    assert load is not None
    assert load.variation is None
    assert load.varies_as_assumed


def test_few_usages_do_not_show_that_there_are_no_long_ones() -> None:
    load = process_load(page_of(usages_of("constant", 1)[:900]))
    assert load is not None
    assert load.variation is None


def test_a_pool_whose_labels_change_is_followed() -> None:
    """A deploy changes the label of a version: the counters of the old version say nothing any more."""
    readings, spans = Readings(), list[PoolSpan]()
    for t in range(1, 240):
        labels = {"version": "1" if t < 60 else "2"}
        for name, value in ((USAGE, 0.25 * 20 * (t % 60)), (USES, 20 * (t % 60)), (ACTIVE, 5)):
            readings.add(metric(name, labels), "", np.array([START + t]), np.array([float(value)]))
        spans += readings.take(START + t - 10)[0]
    (pool,) = observed([*spans, *readings.take()[0]]).pools
    assert np.isfinite(pool["usage_variation"][2:]).all()


def test_pools_of_the_same_name_in_several_namespaces_are_different_pools() -> None:
    readings, at = Readings(), np.arange(START, START + 300, 15)
    for namespace in ("prod", "staging"):
        readings.add(metric(ACTIVE, {"job": "shop", "namespace": namespace}), "", at, np.full(len(at), 3.0))
    assert {span.pool for span in readings.take()[0]} == {"prod/shop/a", "staging/shop/a"}


def test_replicas_of_a_prometheus_count_once() -> None:
    readings, at = Readings(), np.arange(START, START + 300, 15)
    for replica in "ab":
        readings.add(metric(ACTIVE, {"prometheus_replica": replica}), "", at, np.full(len(at), 3.0))
    (span,) = readings.take()[0]
    assert span.in_use_mean == (3,) * 5


def test_a_pool_with_impossible_readings_is_left_out_alone() -> None:
    notes = list[str]()
    readings = Readings(note=notes.append)
    for pool, begin in (("a", START), ("b", 60.0)):
        readings.add(metric(ACTIVE, {"pool": pool}), "", np.array([begin, START + 60]), np.array([3.0, 3]))
    assert [span.pool for span in readings.take()[0]] == ["a"]
    assert notes == [
        "the pool b of (no name) is left out: its readings are 28,333,335 periods apart, of at most 300,000"
    ]


@pytest.mark.parametrize("begin", [0.0, 0.123])
def test_readings_a_period_apart_show_no_variation_within_it(begin: float) -> None:
    series = {USAGE: every(60, 600, 0, 2.5), USES: every(60, 600, 0, 100), ACTIVE: every(60, 599, 4)}
    (span,) = spans_of({name: [(t + begin, value) for t, value in values] for name, values in series.items()})
    assert (span.usage_variation, span.usage_means) == ((), ())


@pytest.mark.costly
def test_periods_are_taken_once_as_they_end() -> None:
    whole, parts = Readings(), Readings()
    taken = []
    for t in range(0, 301, 5):
        for name, value in ((USAGE, 3.0 * t + t % 4 + t**2 / 99), (USES, 40.0 * t), (ACTIVE, 2.0 + t % 3)):
            for readings in (whole, parts):
                readings.add(metric(name), "", np.array([START + t]), np.array([value]))
        taken += parts.take(START + t - 10)[0]
    taken += parts.take()[0]
    (span,) = whole.take()[0]
    assert tuple(value for each in taken for value in each.in_use_mean) == pytest.approx(span.in_use_mean)
    assert tuple(value for each in taken for value in each.samples) == span.samples
    assert tuple(value for each in taken for value in each.usage_variation) == pytest.approx(span.usage_variation)
    assert sum(len(each.uses) for each in taken) == len(span.uses) == 6


def test_buckets_are_differences_between_bounds() -> None:
    readings = Readings()
    for t, numbers in ((0, (5, 5, 5, 9, 9)), (30, (7, 7, 7, 13, 14))):
        for bound, number in zip(("0.001", "0.002", "0.005", "0.01", "+Inf"), numbers, strict=True):
            sample = metric("hikaricp_connections_usage_seconds_bucket", {"le": bound})
            readings.add(sample, "", np.array([START + t]), np.array([float(number)]))
        readings.add(metric(ACTIVE), "", np.array([START + t]), np.array([1.0]))
    (span,) = readings.take()[0]
    assert span.usage_buckets == ((1, 2), (5, 0), (10, 2), (None, 1))  # 5 ms is the lower bound of the third


def test_the_server_has_a_span_of_its_own() -> None:
    pages = {
        t: f"mysql_global_status_threads_running {2 + t / 30}\nmysql_global_status_threads_connected 40\n"
        f'mysql_global_status_connection_errors_total{{error="max_connections"}} {t}\n'
        'mysql_global_status_connection_errors_total{error="internal"} 999\n'
        "mysql_global_variables_max_connections 500\n"
        for t in (0, 30, 60)
    }
    pools, (server,) = paged(pages, "db:9104").take()
    assert pools == []
    assert (server.running_mean, server.running_max, server.connected_max) == ((2.5, 4), (3, 4), (40, 40))
    assert (server.refused, server.max_connections, server.instance) == ((60, None), 500, "db:9104")


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"job": "shop", "instance": "10.0.0.1:8080"}, "shop/10.0.0.1:8080"),
        ({"job": "shop", "pod": "a-1", "instance": "10.0.0.1:80", "namespace": "live"}, "live/shop/a-1/10.0.0.1:80"),
        ({"service_name": "shop", "host": "web1", "instance": "web1:80"}, "shop/web1:80"),
        ({}, ""),
    ],
)  # fmt: skip
def test_instances_are_named_by_their_labels(labels: dict[str, str], name: str) -> None:
    assert instance_of(labels, "") == name


COUNTS = st.lists(st.tuples(st.floats(1, 200), st.floats(0, 1e6)), min_size=2, max_size=30)


@pytest.mark.costly
@given(COUNTS, st.sampled_from([15.0, 60.0, 300.0]))
def test_no_increase_is_negative_and_none_counts_twice(steps: list[tuple[float, float]], period: float) -> None:
    """Whatever restarts and gaps there are; only a period that is not wholly covered counts for more than it saw."""
    at = np.cumsum([gap for gap, _ in steps])
    values = [value for _, value in steps]
    rises = [after - before if after >= before else after for before, after in pairwise(values)]
    spans = spans_of({USAGE: zip(at, values, strict=True), ACTIVE: [(t, 1.0) for t in at]}, period)
    found = [value for span in spans for value in span.usage_seconds if value is not None]
    assert all(value >= 0 for value in found)
    assert sum(found) <= sum(rises) / LEAST_COVERED + 1


@pytest.mark.costly
@given(st.lists(st.tuples(st.floats(allow_nan=True), st.floats(allow_nan=True)), max_size=20))
def test_no_reading_breaks_the_periods(values: list[tuple[float, float]]) -> None:
    readings = Readings()
    for t, value in values:
        for name in (USAGE, ACTIVE):
            readings.add(metric(name), "", np.array([t]), np.array([value]))
    readings.take()
