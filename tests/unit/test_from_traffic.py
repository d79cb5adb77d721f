"""The pool size that a traffic needs, beside what the database can use and what the limits allow."""

import json
from dataclasses import replace
from math import inf, isinf
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from poolsize.answer.application import ClientTimes, usage_of_run
from poolsize.answer.finding import Finding
from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_from_traffic import plan_fleet_for
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.traffic import SharedDatabase, Supply, Traffic, knee_rate
from poolsize.answer.traffic_findings import (
    NEAR,
    BeyondSupply,
    Collapses,
    KeepsWait,
    LimitBound,
    LittleHeadroom,
    NearSupply,
    SupplyUnknown,
    ThreadsBound,
    WaitsElsewhere,
    WideSpread,
    ways_within,
)
from poolsize.answer.traffic_need import smallest_pool
from poolsize.command_line.run_file import complete_run, supply_of
from poolsize.errors import BadInput
from poolsize.formula import starting_point
from poolsize.present.text.json_text import json_text
from poolsize.present.text.sentences.findings import reason_sentences, sentence
from poolsize.present.text.traffic import traffic_in_short, traffic_values
from poolsize.traffic.pool_use import ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes, log_normal
from tests.conftest import EXAMPLES, Command
from tests.pool_simulation import SimulatedPool, simulate

SYNC = Service("application", 6, 4, threads=1, connections_per_thread=1)
THREADS = Service("application", 6, 4, threads=8, connections_per_thread=1)
FORMULA = Supply(9, (4, 18), "formula")
IN_USE = np.arange(1, 2001.0)
SHARED = Supply(2, (2, 3), "measured", np.full(2000, 100.0))
"""One core that all connections share: a request takes 10 ms alone, and 50 ms at 80 % of the core's rate."""
FALLING = Supply(20, None, "measured", 100 * IN_USE / (1 + 0.05 * (IN_USE - 1) + 0.002 * IN_USE * (IN_USE - 1)))
"""740/s at 22 connections, and below 700/s beyond 33."""


def traffic(rate: float, usage_ms: float, service: Service, variation: float = 1.0) -> Traffic:
    return Traffic(rate, UsageTimes(usage_ms, variation), service)


CASES = {
    # name: the traffic, then pool size, connections of all, connections in use on average
    "sync_workers": (traffic(400, 15, SYNC), 1, 24, 6.0),
    "threads": (traffic(400, 15, THREADS), 2, 48, 6.0),
    "tomcat": (traffic(1200, 25, Service("a", 12, 1, threads=200, connections_per_thread=1)), 6, 72, 30.0),
    "jobs": (traffic(50, 120, Service("a", 5, 2), 0.0), 3, 30, 6.0),
    "article": (traffic(20_000, 2, Service("a", 4, 1)), 17, 68, 40.0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_worked_case_comes_out(name: str) -> None:
    asked, pool_size, connections, in_use = CASES[name]
    answer = recommend_for(asked, FORMULA)
    assert (answer.pool_size, answer.connections) == (pool_size, connections)
    assert answer.load is not None
    assert answer.load.mean == pytest.approx(in_use, rel=0.01)


def test_spread_usage_times_come_out() -> None:
    usage = log_normal(6, 0.99, 40)
    assert usage is not None
    answer = recommend_for(Traffic(300, usage, Service("a", 6, 4)))
    assert answer.load is not None
    assert (answer.pool_size, answer.connections, answer.load.quantile(0.999)) == (2, 48, 7)


def codes(asked: Traffic, supply: Supply | None = FORMULA, limit: ServerLimit | None = None) -> list[str]:
    return [finding.code for finding in recommend_for(asked, supply, limit).findings]


@pytest.mark.costly
def test_what_decides_is_named() -> None:
    assert recommend_for(traffic(400, 15, THREADS)).decides == "need"
    assert recommend_for(traffic(400, 15, SYNC)).decides == "threads"
    assert codes(traffic(400, 15, SYNC))[0] == "traffic_threads"
    holding_several = Service("a", 6, 4, threads=3, connections_per_thread=4)
    assert (recommend_for(traffic(400, 15, holding_several)).pool_size, holding_several.floor) == (10, 10)
    assert codes(traffic(400, 15, holding_several))[0] == "traffic_floor"
    bounded = recommend_for(traffic(20_000, 2, Service("a", 4, 1)), FORMULA, ServerLimit(60))
    assert (bounded.decides, bounded.limit, bounded.pool_size, bounded.need) == ("limit", 10, 10, 17)
    assert "traffic_limit" in [finding.code for finding in bounded.findings]


@pytest.mark.costly
def test_beyond_what_the_database_can_use_no_size_helps() -> None:
    beyond = traffic(20_000, 2.1, Service("a", 4, 1))
    (advice,) = (each for each in recommend_for(beyond, FORMULA).findings if isinstance(each, BeyondSupply))
    assert (advice.in_use, advice.rate, advice.usage_ms) == pytest.approx((42, 2_570, 0.27))  # 0.6 * 9 / 0.0021 = 2,571
    cautions = {"traffic_beyond_supply", "traffic_near_supply"}
    for mended in (replace(beyond, rate=advice.rate), replace(beyond, usage=UsageTimes(advice.usage_ms))):
        assert not cautions & set(codes(mended))
    assert not cautions & set(codes(beyond, Supply(advice.enough, None, "formula")))
    assert "traffic_in_use" in codes(traffic(400, 15, THREADS))
    assert "traffic_supply_unknown" in codes(traffic(400, 15, THREADS), None)


LARGE = traffic(16_000, 10, Service("a", 1))
"""160 connections in use: the need, 165, keeps up with 3.1 % more."""
RISING = Supply(400, None, "measured", 40_000 * IN_USE / (300 + IN_USE))
"""16,000/s with 200 connections in use, 17,600/s with 236, and 40,000/s with any number."""


def little_headroom(
    asked: Traffic, supply: Supply | None = None, limit: ServerLimit | None = None
) -> list[LittleHeadroom]:
    return [each for each in recommend_for(asked, supply, limit).findings if isinstance(each, LittleHeadroom)]


@pytest.mark.costly
def test_pools_that_hardly_keep_up_with_more_say_so_and_the_size_for_more() -> None:
    (found,) = little_headroom(LARGE)
    answer = recommend_for(LARGE)
    assert (found.most_rate, found.more) == pytest.approx((answer.pool_size * 100, answer.pool_size / 160 - 1))
    for rate, is_served in ((found.most_rate - 10, True), (found.most_rate + 10, False)):
        process = replace(LARGE, rate=rate).of_process()
        assert isinf(pool_use(process, answer.pool_size).wait_p99_ms) != is_served
    grown = replace(LARGE, rate=1.2 * LARGE.rate)
    assert (found.enough, found.variables) == (recommend_for(grown).pool_size, {})
    (bounded,) = little_headroom(LARGE, None, ServerLimit(350))
    assert found.enough
    assert bounded.variables == {"max_connections": 2 * found.enough + 10}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("asked", "supply", "limit"),
    [
        (replace(LARGE, service=Service("a", 2)), None, None),  # an instance may be away
        (traffic(400, 15, THREADS), None, None),
        (LARGE, None, ServerLimit(100)),
        (LARGE, FORMULA, None),
        (LARGE, Supply(400, None, "measured", np.minimum(100 * IN_USE, 17_000)), None),
    ],
)
def test_headroom_is_no_matter_where_there_is_more_or_something_else_bounds_it(
    asked: Traffic, supply: Supply | None, limit: ServerLimit | None
) -> None:
    assert not little_headroom(asked, supply, limit)


def test_a_size_that_threads_can_t_use_is_not_named() -> None:
    threads = replace(LARGE, service=Service("a", 1, threads=170))
    (found,) = little_headroom(threads)
    assert found.enough is None
    assert "For a rate 20 % higher, add threads or processes." in sentence(found)


@pytest.mark.costly
def test_by_a_run_the_pool_keeps_up_with_what_the_database_completes_when_all_is_in_use() -> None:
    answer = recommend_for(replace(LARGE, max_wait_p99_ms=60.0), RISING)
    (found,) = (each for each in answer.findings if isinstance(each, LittleHeadroom))
    assert RISING.rates is not None
    assert found.most_rate == pytest.approx(RISING.rates[answer.pool_size - 1], rel=0.01)
    assert found.enough
    assert RISING.rates[found.enough - 1] > 1.2 * LARGE.rate


@pytest.mark.parametrize(
    ("asked", "most", "ways"),
    [
        (traffic(3_000, 20, Service("a", 1)), 90, ("lower the rate or the usage time",)),
        (traffic(3_000, 20, Service("a", 8)), 60, ("lower the rate or the usage time",)),
        (traffic(300, 20, Service("a", 6, 4)), 60, ("run fewer processes", "let a proxy share connections")),
        (traffic(300, 20, Service("a", 20)), 40, ("let a proxy share connections",)),
        (traffic(1_000, 20, Service("a", 8)), 42, ("let a proxy share connections",)),
        (traffic(1_000, 20, Service("a", 8)), 32, ("lower the rate or the usage time",)),
        (traffic(30, 20, Service("a", 3, 2, threads=9, connections_per_thread=2)), 80, ("run fewer threads",)),
    ],
)
def test_only_ways_that_work_lead_out_of_the_server_s_limit(asked: Traffic, most: int, ways: tuple[str, ...]) -> None:
    assert ways_within(asked, None, ServerLimit(most)) == ways


@pytest.mark.parametrize(
    ("limit", "allows"),
    [(ServerLimit(151), "allows 4 in each process, even with 25 % more instances in a rolling deploy."),
     (ServerLimit(151, surge=0), "allows 5 in each process.")],
)  # fmt: skip
def test_the_server_s_limit_is_said_with_the_instances_that_it_counts(limit: ServerLimit, allows: str) -> None:
    answer = recommend_for(traffic(400, 15, THREADS), FORMULA, limit)
    assert allows in " ".join(traffic_in_short(answer).split())


def test_usage_times_beyond_those_that_were_checked_are_named() -> None:
    for p99_ms, is_wide in ((120, False), (260, True)):
        usage = log_normal(20, 0.99, p99_ms)
        assert usage is not None
        for service, is_said in ((Service("a", 1), is_wide), (Service("a", 1, threads=4), False)):
            answer = recommend_for(Traffic(120, usage, service))
            found = [each.times for each in answer.findings if isinstance(each, WideSpread)]
            assert found == ([pytest.approx(13)] if is_said else [])


@pytest.mark.costly
@pytest.mark.parametrize("times", [12.9, 14.8])
@pytest.mark.parametrize("in_use", [1, 3, 10])
def test_beyond_those_waits_are_up_to_3_times_as_long_and_a_connection_more_suffices(in_use: int, times: float) -> None:
    """Simulated: two seeds of 10^6 log-normal usage times, whose p99 is so many times their mean."""
    usage = log_normal(50, 0.99, 50 * times)
    assert usage is not None
    answer = recommend_for(Traffic(in_use * 20, usage, Service("a", 1)))

    def p99(more: int) -> float:
        pool = SimulatedPool(answer.pool_size + more, in_use, usage.variation, is_log_normal=True)
        return fmean(simulate(pool, 1_000_000, seed).p99 for seed in (1, 2))

    assert 1.2 <= p99(0) / (answer.at_size.usual.wait_p99_ms / 50) <= 3
    assert p99(1) <= 1


@pytest.mark.costly
@pytest.mark.parametrize("rate", [400, 1_200, 2_900, 4_200, 20_000])
def test_the_cores_that_an_answer_names_are_the_fewest(rate: int) -> None:
    asked = traffic(rate, 10, Service("a", 4, 1))

    def findings_of(kind: type[Finding], cores: int | None) -> list[Any]:
        supply = Supply(starting_point(cores).connections, None, "formula") if cores else None
        return [each for each in recommend_for(asked, supply).findings if isinstance(each, kind)]

    (unknown,) = findings_of(SupplyUnknown, None)
    assert not findings_of(BeyondSupply, unknown.cores)
    if unknown.cores > 1:
        (beyond,) = findings_of(BeyondSupply, unknown.cores - 1)
        assert beyond.more_cores
        enough = unknown.cores - 1 + beyond.more_cores
        assert starting_point(enough).connections * NEAR >= rate / 100
        assert starting_point(enough - 1).connections * NEAR < rate / 100
    assert findings_of(NearSupply, unknown.cores)
    assert not findings_of(NearSupply, 2 * unknown.cores)


def test_the_share_of_the_time_beyond_the_supply_is_poissons() -> None:
    """6 in use on average: the sum of Poisson's probabilities up to 9 is 91.6 %."""
    load = recommend_for(traffic(400, 15, THREADS)).load
    assert load is not None
    assert load.beyond(9) == pytest.approx(0.0839, abs=1e-4)


def test_a_server_that_admits_no_pool_is_refused() -> None:
    with pytest.raises(BadInput, match=r"32 pools need 32 connections .*; raise its limit, or let a proxy share"):
        recommend_for(traffic(400, 15, THREADS), None, ServerLimit(30))
    with pytest.raises(BadInput, match=r"32 pools need 32 connections .* has 10 for them; raise its limit$"):
        recommend_for(traffic(1_000, 15, THREADS), None, ServerLimit(20))


@pytest.mark.parametrize(("limit", "exit_code"), [("30", 1), ("60", 0)])
def test_a_queue_without_end_by_the_server_s_limit_is_no_answer(
    poolsize_here: Command, limit: str, exit_code: int
) -> None:
    """12 connections in use: the limit allows 10, or 25."""
    words = ("recommend", "--rate", "600/s", "--usage-time", "20ms", "--max-connections", limit)
    short, why = poolsize_here(*words), poolsize_here(*words, "--why")
    for done in (short, why):
        assert done.returncode == exit_code
        assert ("poolsize config" in done.stdout) == (not exit_code)
        headline = "The most that fit, too few for the traffic: 10 connections." if exit_code else "Use 16 connections."
        assert headline in done.stdout
    assert json.loads(poolsize_here(*words, "--json").stdout)["decides"] == ("limit" if exit_code else "need")


@pytest.mark.costly
def test_a_database_that_slows_lengthens_usage_times_up_to_the_knee() -> None:
    asked = traffic(80, 10, Service("a", 2, 2))
    load = SharedDatabase((asked,), (25,), SHARED).load
    assert load is not None
    assert load.usage_ms == pytest.approx(50, rel=0.02)
    answer = recommend_for(asked, SHARED)
    assert knee_rate(answer.supply) == pytest.approx(100)
    assert answer.need is not None
    assert answer.need > recommend_for(asked).pool_size
    assert answer.need > answer.pool_size
    beyond = recommend_for(traffic(101, 10, Service("a", 2, 2)), SHARED)
    assert (beyond.need, beyond.findings[0].code, knee_rate(beyond.supply)) == (None, "traffic_beyond_knee", 100)


@pytest.mark.costly
def test_a_pool_that_only_moves_waiting_into_the_database_is_not_recommended() -> None:
    """One core that all connections share: a request's total time is 1 / (100 - 80) s, whatever the pool is."""
    asked = traffic(80, 10, Service("a", 1))
    answer = recommend_for(asked, SHARED)
    assert (answer.decides, answer.pool_size) == ("supply", 1)
    assert recommend_for(replace(asked, least_need=9), SHARED).pool_size == 9
    assert answer.need is not None
    assert answer.need > 10
    (elsewhere,) = (each for each in answer.findings if isinstance(each, WaitsElsewhere))
    assert (elsewhere.total_ms, elsewhere.need_total_ms) == pytest.approx((50, 50), rel=0.02)
    assert recommend_for(replace(asked, rate=40), SHARED).decides == "need"


@pytest.mark.costly
def test_a_pool_for_a_full_database_is_not_below_the_deadlock_floor() -> None:
    answer = recommend_for(traffic(90, 10, Service("a", 1, threads=3, connections_per_thread=4)), SHARED)
    assert answer.pool_size >= 10


@pytest.mark.costly
def test_a_wait_limit_below_the_slowed_usage_time_is_no_bad_input() -> None:
    """The usage time of 10 ms is 50 ms at this rate."""
    asked = replace(traffic(80, 10, Service("a", 1)), wait_limit_ms=20.0)
    assert recommend_for(asked, SHARED).traffic.most_wait_ms == 10


@pytest.mark.costly
def test_a_limit_that_no_pool_keeps_is_not_said_to_be_kept() -> None:
    for instances, rate in ((1, 735), (2, 735), (2, 400), (4, 735)):
        answer = recommend_for(traffic(rate, 10, Service("a", instances)), FALLING, ServerLimit(60))
        for each in answer.findings:
            assert not isinstance(each, KeepsWait) or each.wait_p99_ms <= each.limit_ms
            assert not isinstance(each, LimitBound) or each.need > answer.pool_size


@pytest.mark.costly
def test_a_database_that_slows_down_when_full_bounds_the_pools() -> None:
    one_pool, many = traffic(700, 10, Service("a", 1)), traffic(700, 10, Service("a", 25, 8))
    answer = recommend_for(one_pool, FALLING)
    assert answer.need is not None
    assert answer.need == answer.pool_size < 33
    assert not isinf(answer.at_size.usual.wait_p99_ms)
    for answered in (answer, recommend_for(many, FALLING), plan_fleet_for([many], FALLING)):
        (found,) = (each for each in answered.findings if isinstance(each, Collapses))
        assert (found.most, found.rate) == (33, 700)


@pytest.mark.costly
def test_a_database_that_goes_on_rising_is_answered_beyond_the_rate_of_small_pools() -> None:
    """X(n) = 500 n / (n + 1): with the 4 connections that unloaded usage times need, it completes 400/s."""
    rising = Supply(9, None, "measured", 500 * np.arange(1.0, 2001.0) / np.arange(2.0, 2002.0))
    answer = recommend_for(traffic(410, 3.8, Service("a", 1)), rising)
    assert answer.need is not None
    assert answer.load is not None
    assert answer.need > answer.pool_size >= 5
    assert next(size for size in answer.sizes if size.pool_size == answer.need).usual.wait_p99_ms <= 3.8


def test_too_few_threads_wait_without_end() -> None:
    asked = traffic(1000, 10, Service("a", 1, threads=8, connections_per_thread=1))
    assert codes(asked)[0] == "traffic_too_few_threads"
    assert [size.usual.wait_p99_ms for size in recommend_for(asked).sizes] == [inf] * 3


def test_the_wait_for_a_thread_is_that_of_a_queue_with_as_many_connections() -> None:
    enough = traffic(500, 10, Service("a", 1, threads=6, connections_per_thread=1))
    found = recommend_for(enough).findings[0]
    assert isinstance(found, ThreadsBound)
    assert found.thread_wait_p99_ms == pool_use(ProcessTraffic(0.5, UsageTimes(10)), 6).wait_p99_ms > 0


def test_a_burst_beyond_what_the_database_can_use_is_named() -> None:
    bursts = replace(traffic(400, 15, THREADS), burst=2.0)
    assert "traffic_burst_beyond_supply" in codes(bursts)
    assert "traffic_burst_beyond_supply" not in codes(replace(bursts, burst=1.4))


@pytest.mark.costly
def test_a_wait_limit_changes_the_waits_of_the_table_and_not_the_need(poolsize_here: Command) -> None:
    asked = traffic(400, 15, THREADS)
    limited = recommend_for(replace(asked, wait_limit_ms=40.0))
    assert limited.need == recommend_for(asked).need
    (one, two, *_) = limited.sizes
    assert one.usual.share_timed_out > two.usual.share_timed_out > 0
    assert one.usual.wait_p99_9_ms == 40
    with pytest.raises(BadInput, match="`wait_limit` 10ms: give more than"):
        replace(asked, wait_limit_ms=10.0)
    done = poolsize_here(*QUESTION, "--wait-limit", "40ms", "--why")
    assert "timing out" in done.stdout


def test_huge_fleets_and_bursts_are_refused_or_answered_in_little_memory() -> None:
    answer = recommend_for(traffic(400, 15, Service("a", 1_000_000, 1000)))
    assert answer.connections == answer.pool_size * 10**9
    with pytest.raises(BadInput, match="would be in use at once"):
        traffic(1e12, 15, Service("a", 1_000_000, 1000))
    with pytest.raises(BadInput, match="give 1 to 59"):
        Traffic(400, UsageTimes(15), THREADS, burst=60)
    with pytest.raises(BadInput, match="`current` 0"):
        recommend_for(traffic(400, 15, THREADS), current=0)


@pytest.mark.costly
def test_twice_the_largest_rate_that_may_be_typed_is_answered() -> None:
    answer = recommend_for(traffic(6000, 5000.0, Service("a", 1, 1)))
    assert {(size.twice.share_waiting, size.twice.wait_p99_ms) for size in answer.sizes} == {(1.0, inf)}
    with pytest.raises(BadInput, match="`rate` 12,000/s: 60,000 connections"):
        traffic(12_000, 5000.0, Service("a", 1, 1))


LOADS = st.floats(0.05, 40)


def need(load: float, usage_ms: float = 20.0, variation: float = 1.0, burst: float = 1.0) -> int:
    """Return the pool of a process whose p99 wait time is at most 20 ms. load: connections in use with 20 ms."""
    return smallest_pool(ProcessTraffic(load / 20.0, UsageTimes(usage_ms, variation), burst), 20.0)


@pytest.mark.costly
@settings(max_examples=10)
@given(LOADS, st.floats(1, 3), st.floats(1, 3), st.floats(0, 10), st.floats(0, 10))
def test_need_never_falls_with_more_traffic(
    load: float, more_rate: float, more_usage: float, variation: float, more_variation: float
) -> None:
    usual = need(load, variation=variation)
    assert need(load * more_rate, variation=variation) >= usual
    assert need(load, 20.0 * more_usage, variation) >= usual
    assert need(load, variation=variation + more_variation) >= usual


@pytest.mark.costly
@settings(max_examples=10)
@given(LOADS, st.floats(0, 20), st.floats(1, 5), st.integers(1, 8), st.integers(1, 4))
@example(8.0, 0.0, 1.0, 1, 2)
def test_a_size_carries_the_rate_for_which_it_is_answered(
    load: float, variation: float, burst: float, instances: int, processes: int
) -> None:
    asked = Traffic(50 * load, UsageTimes(20.0, variation), Service("a", instances, processes), burst)
    use = recommend_for(asked).at_size
    assert (use.one_away or use.usual).wait_p99_ms <= asked.most_wait_ms
    assert use.usual.utilisation < 1


QUESTION = ("recommend", "--rate", "400/s", "--usage-time", "15ms", "--instances", "6", "--processes", "4")


def test_the_command_answers_in_the_documented_keys(poolsize_here: Command) -> None:
    done = poolsize_here(*QUESTION, "--app-threads", "8", "--cores", "4", "--max-connections", "151", "--json")
    answer = json.loads(done.stdout)
    assert (answer["basis"], answer["pool_size"], answer["connections"], answer["need"]) == ("traffic", 2, 48, 2)
    assert (answer["connections_in_deploy"], answer["limit"], answer["decides"]) == (64, 4, "need")
    assert answer["supply"] == {"connections": 9, "range": [4, 18], "basis": "formula"}
    assert answer["traffic"]["in_use_mean"] == pytest.approx(6)
    row = next(size for size in answer["sizes"] if size["pool_size"] == 2)
    assert row["one_away"]["wait_ms"]["p99"] == pytest.approx(12.3, rel=0.05)
    assert set(row) == {"pool_size", "utilisation", "share_waiting", "share_timed_out", "wait_ms", "one_away", "twice"}


@pytest.mark.parametrize(
    "options",
    [
        ("--rate", "400/s", "--usage-time", "15ms", "--current", "1"),
        ("--rate", "400/s", "--usage-time", "15ms", "--max-connections", "16"),
        ("--rate", "10/s", "--usage-time", "100ms", "--max-wait-p99", "10s"),
    ],
    ids=" ".join,
)
def test_a_queue_without_end_is_null_in_json(poolsize_here: Command, options: tuple[str, ...]) -> None:
    answer = json.loads(poolsize_here("recommend", *options, "--json").stdout, parse_constant=pytest.fail)
    assert None in [value for finding in answer["findings"] for value in finding["values"].values()]


@pytest.mark.costly
def test_a_run_says_what_the_database_can_use(poolsize_here: Command) -> None:
    done = poolsize_here(*QUESTION, "--run", str(EXAMPLES["oltp_read_write-mariadb"]), "--json")
    assert json.loads(done.stdout)["supply"]["basis"] == "measured"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("run", "rate", "line"),
    [
        ("oltp_read_write-mariadb", "400/s", ", extrapolated: the highest measured throughput is 956/s."),
        (
            "insert-mariadb",
            "12000/s",
            ", by the run: its highest throughput, 15,199/s, counts as noise.",
        ),
        (
            "insert-mariadb",
            "13000/s",
            " (the highest measured throughput, 15,199/s, counts as noise",
        ),
    ],
)
def test_a_limit_of_the_rate_apart_from_what_was_measured_says_so(
    poolsize_here: Command, run: str, rate: str, line: str
) -> None:
    """The first run's load generator was saturated; the other's best step is above its fitted curve."""
    usage_time = "1ms" if run == "insert-mariadb" else "5ms"
    done = poolsize_here("recommend", "--run", str(EXAMPLES[run]), "--rate", rate, "--usage-time", usage_time)
    assert line in " ".join(done.stdout.split())


@pytest.mark.costly
def test_the_usage_times_of_a_fleet_are_those_of_the_run_where_none_are_given() -> None:
    """The transactions of the run hardly vary: a pool of each process has shorter waits than exponential ones have."""
    analysis = complete_run(str(EXAMPLES["scan-mariadb"]))
    usage = usage_of_run(analysis)
    assert usage.mean_ms == pytest.approx(23.6, rel=0.01)
    assert usage.variation < 0.05


@pytest.mark.costly
def test_the_command_takes_the_usage_time_of_its_run(poolsize_here: Command) -> None:
    question = ("recommend", "--run", str(EXAMPLES["scan-mariadb"]), "--rate", "60/s", "--instances", "3", "--json")
    of_run = json.loads(poolsize_here(*question).stdout)
    typed = json.loads(poolsize_here(*question, "--usage-time", "23.6ms").stdout)
    assert of_run["traffic"]["usage_ms"] == pytest.approx(23.6, rel=0.01)
    assert of_run["traffic"]["usage_variation"] < 0.05 < typed["traffic"]["usage_variation"]
    codes = {finding["code"] for finding in of_run["findings"]}
    assert "traffic_usage_of_run" in codes
    assert "traffic_spread_assumed" not in codes


@pytest.mark.costly
def test_a_recording_has_no_usage_time_for_a_fleet(poolsize_here: Command, tmp_path: Path) -> None:
    run = tmp_path / "replay.jsonl"
    assert poolsize_here("sweep", "--replay", "specsdm91", "--output", str(run)).returncode == 0
    done = poolsize_here("recommend", "--run", str(run), "--rate", "60/s", "--instances", "3")
    assert done.returncode == 2
    assert "--rate also needs --usage-time with this run: a replay does not know" in done.stderr


@pytest.mark.parametrize(
    ("current", "sentence"),
    [
        (10, "Your pool size of 10 is larger: in an overload, 120 connections in place of 72 reach the database."),
        (6, "Your pool size of 6 is the recommended size."),
        (5, "With your pool size of 5, the p99 wait time is 31.4 ms with one of 12 instances away."),
        (2, "With your pool size of 2, the queue grows without end."),
    ],
)
def test_the_answer_says_what_todays_pool_means(current: int, sentence: str) -> None:
    service = Service("application", 12, 1, threads=200)
    answer = recommend_for(Traffic(1200, UsageTimes(25), service), current=current)
    assert sentence in reason_sentences(answer.findings)


def test_a_pool_of_today_that_the_server_does_not_admit_is_no_larger_pool() -> None:
    answer = recommend_for(Traffic(100, UsageTimes(25), Service("application", 4)), None, ServerLimit(60), current=20)
    text = "Your pool size of 20 does not fit: the server's limit allows 10 in each process."
    assert text in reason_sentences(answer.findings)


@pytest.mark.costly
def test_the_busiest_second_decides_how_many_cores_a_burst_takes() -> None:
    service = Service("application", 12, 1, threads=200)
    for burst, cores, words in (
        (1.0, 15, "By the formula, it needs 15 cores or more if the database works on all 30 in use."),
        (5.0, 75, "By the formula, it needs 75 cores or more in the busiest second."),
    ):
        answer = recommend_for(Traffic(1200, UsageTimes(25), service, burst))
        (unknown,) = (finding for finding in answer.findings if isinstance(finding, SupplyUnknown))
        assert unknown.cores == cores
        assert sentence(unknown).startswith("What the database can use is not known: add --cores")
        assert words in sentence(unknown)
        assert "cores or more" not in sentence(replace(unknown, cores=1))


@pytest.mark.parametrize(("threads", "helps"), [(2, False), (7, True), (None, True)])
def test_threads_that_cannot_serve_the_traffic_end_without_a_pool_size(threads: int | None, helps: bool) -> None:
    """6 connections are in use on average."""
    traffic = Traffic(400, UsageTimes(15), Service("application", 1, 1, threads=threads))
    assert recommend_for(traffic).helps == plan_fleet_for([traffic]).helps == helps


def test_a_pool_has_no_more_connections_in_use_than_it_has() -> None:
    answer = recommend_for(Traffic(720, UsageTimes(20), Service("application", 1)))
    (unknown,) = (finding for finding in answer.findings if isinstance(finding, SupplyUnknown))
    assert answer.pool_size == unknown.in_use_p99_9 == 18
    assert sentence(unknown).endswith("14.4 connections on average, and at times all 18.")


@pytest.mark.costly
@pytest.mark.parametrize("pool_size", [1, 2, 4])
def test_printed_connections_in_use_keep_littles_law(pool_size: int) -> None:
    """The rate times the usage time, however many pools share the database of a run."""
    analysis = complete_run(str(EXAMPLES["scan-mariadb"]))
    usage = usage_of_run(analysis)
    supply = supply_of("scan", analysis, ClientTimes(usage.mean_ms))
    service = Service("application", 3, 1, threads=pool_size)
    answer = json.loads(json_text(traffic_values(recommend_for(Traffic(60, usage, service), supply))))
    traffic = answer["traffic"]
    assert traffic["in_use_mean"] == pytest.approx(traffic["rate"] * traffic["loaded_usage_ms"] / 1000)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--rate", "400"), "--rate also needs --usage-time"),
        (("--burst", "3x"), "--burst also needs --rate"),
        (("--rate", "0", "--usage-time", "1ms"), "--rate 0: give a rate per second"),
        (("--rate", "5/week", "--usage-time", "1ms"), "--rate 5/week: give a rate per second"),
        (("--rate", "5", "--usage-time", "1ms", "--usage-p99", "20ms"), "give 1 to 14.9 times the mean"),
        (("--rate", "5", "--usage-time", "1ms", "--burst", "100x"), "--burst 100"),
        (("--rate", "1e12", "--usage-time", "1ms"), "would be in use at once"),
    ],
)
def test_bad_traffic_is_one_line(poolsize_here: Command, words: tuple[str, ...], error: str) -> None:
    done = poolsize_here("recommend", *words)
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1


def test_who_has_no_threads_need_not_state_them_and_is_shown_no_other_library(poolsize_here: Command) -> None:
    text = " ".join(poolsize_here(*QUESTION, "--why").stdout.split())
    assert "If a pool of threads serves the requests of a process, add its size: --app-threads." in text
    assert "create_engine" not in text


@pytest.mark.costly
@pytest.mark.parametrize(
    ("rate", "usage_ms", "instances", "decides"),
    [(475, 40, 2, "supply"), (470, 40, 4, "supply"), (465, 100, 12, "supply"), (440, 40, 4, "need")],
)
def test_a_need_also_keeps_its_limit_while_no_instance_is_away(
    rate: float, usage_ms: float, instances: int, decides: str
) -> None:
    """More connections slow this database down: the p99 wait was 7 s with all instances, and 38 ms with one away."""
    path, times = str(EXAMPLES["oltp_read_write-mysql"]), ClientTimes(usage_ms, None, None)
    supply = supply_of(path, complete_run(path), times)
    answer = recommend_for(Traffic(rate, UsageTimes(usage_ms), Service("shop", instances)), supply)
    waits_ms = [use.wait_p99_ms for use in (answer.at_size.usual, answer.at_size.one_away) if use]
    assert answer.decides == decides
    assert (max(waits_ms) <= usage_ms) == (decides == "need")
    assert max(waits_ms) < 1000
