"""A fleet by traffic: each service as if it were alone, all of them within the limit, and the command's answers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import product
from math import inf
from operator import mul, truediv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from poolsize.answer.fleet import ServerLimit, Service, shared_floor
from poolsize.answer.fleet_from_traffic import FleetNeeds, TrafficPlan, plan_fleet_for, shared_pool
from poolsize.answer.fleet_plan import Proxy
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.traffic import Supply, Traffic
from poolsize.answer.traffic_findings import LittleHeadroom, TooFewThreads
from poolsize.errors import BadInput
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.traffic import traffic_fleet_in_short
from poolsize.sweep.readers import rate_per_second
from poolsize.traffic.usage_phases import UsageTimes, log_normal
from tests.conftest import EXAMPLES, Command
from tests.unit.test_from_traffic import FALLING

SHOP = Traffic(400, UsageTimes(15), Service("shop", 12, 4, max_instances=30))
JOBS = Traffic(50, UsageTimes(120), Service("jobs", 2))


@st.composite
def traffic(draw: st.DrawFn, name: str = "shop") -> Traffic:
    """A service with at most a few connections in use in each process."""
    threads = draw(st.sampled_from([{}, {"threads": 3, "connections_per_thread": 2}]))
    service = Service(name, draw(st.integers(1, 4)), draw(st.integers(1, 3)), **threads)
    usage = UsageTimes(draw(st.floats(1, 200)), draw(st.sampled_from([0.0, 1.0, 4.0])))
    in_use = service.pools * draw(st.floats(0.01, 3))
    return Traffic(in_use / usage.mean_ms * 1000, usage, service, draw(st.sampled_from([1.0, 2.0])))


FLEETS = st.tuples(traffic("a"), traffic("b"), traffic("c"))


@pytest.mark.costly
@settings(max_examples=15)
@given(traffic(), st.none() | st.integers(1, 100))
def test_a_fleet_of_one_service_is_the_answer_for_its_traffic(asked: Traffic, usable: int | None) -> None:
    limit = ServerLimit(max_user_connections=usable)
    plan = plan_fleet_for([asked], limit=limit)
    if not plan.pools:
        with pytest.raises(BadInput, match="raise its limit"):
            recommend_for(asked, None, limit)
        return
    answer, (pool,) = recommend_for(asked, None, limit), plan.pools
    assert (pool.pool_size, pool.need, pool.decides) == (answer.pool_size, answer.need, answer.decides)
    assert (plan.connections, plan.connections_in_deploy) == (answer.connections, answer.connections_in_deploy)
    assert pool.use.usual == answer.at_size.usual
    assert pool.use.one_away == answer.at_size.one_away
    assert (plan.load is None) == (answer.load is None)
    if plan.load is not None and answer.load is not None:
        assert plan.load.mean == pytest.approx(answer.load.mean)
        assert plan.load.quantile(0.999) == answer.load.quantile(0.999)


@pytest.mark.costly
@settings(max_examples=8)
@given(FLEETS, st.none() | st.integers(20, 150), st.permutations(range(3)))
def test_the_answer_of_a_service_does_not_depend_on_the_order_of_the_services(
    fleet: tuple[Traffic, ...], usable: int | None, order: list[int]
) -> None:
    limit = ServerLimit(max_user_connections=usable)
    plan, turned = (
        plan_fleet_for(traffics, Supply(9), limit) for traffics in (fleet, [fleet[place] for place in order])
    )
    if plan.pools:
        assert [plan.pools[place].pool_size for place in order] == [pool.pool_size for pool in turned.pools]
        assert [plan.pools[place].use.usual for place in order] == [pool.use.usual for pool in turned.pools]
    assert plan.traffic.in_use == turned.traffic.in_use
    assert (plan.load is None) == (turned.load is None)
    assert {finding.code for finding in plan.findings} == {finding.code for finding in turned.findings}


@pytest.mark.costly
@settings(max_examples=8)
@given(FLEETS, st.floats(1, 3), st.floats(1, 3))
def test_a_need_never_falls_with_more_traffic(fleet: tuple[Traffic, ...], more: float, longer: float) -> None:
    """Another service's traffic changes nothing; the limit of the wait time stays."""
    first = replace(fleet[0], max_wait_p99_ms=fleet[0].usage.mean_ms)
    slower = replace(first.usage, mean_ms=first.usage.mean_ms * longer)
    usual, faster, held = (
        [pool.need for pool in plan_fleet_for([changed, *fleet[1:]]).pools]
        for changed in (first, replace(first, rate=first.rate * more), replace(first, usage=slower))
    )
    assert faster[0] >= usual[0] <= held[0]
    assert usual[1:] == faster[1:] == held[1:]


@pytest.mark.long
@settings(max_examples=8)
@given(FLEETS, st.floats(0.1, 0.99))
def test_a_limit_below_the_needs_is_shared_by_need(fleet: tuple[Traffic, ...], part: float) -> None:
    """Against brute force: within the limit, no split gives the service with the smallest share of its need more."""
    full = plan_fleet_for(fleet)
    usable = max(1, int(part * full.connections_in_deploy))
    plan = plan_fleet_for(fleet, limit=ServerLimit(max_user_connections=usable))
    wanted = [pool.pool_size for pool in full.pools]
    pools = [asked.service.pools_in_deploy(0.25) for asked in fleet]
    smallest_shares = [
        min(map(truediv, split, wanted))
        for split in product(*(range(asked.service.floor, most + 1) for asked, most in zip(fleet, wanted, strict=True)))
        if sum(map(mul, split, pools)) <= usable
    ]
    assert bool(plan.pools) == bool(smallest_shares)
    if plan.pools:
        sizes = [pool.pool_size for pool in plan.pools]
        assert min(map(truediv, sizes, wanted)) == max(smallest_shares)
        assert plan.connections_in_deploy <= usable
        assert all(
            size == most or plan.connections_in_deploy + more > usable
            for size, most, more in zip(sizes, wanted, pools, strict=True)
        )
        assert "fleet_below_need" in [finding.code for finding in plan.findings]


def found(plan: TrafficPlan, code: str) -> dict[str, Any]:
    """The figures of the only finding with this code."""
    (finding,) = [finding for finding in plan.findings if finding.code == code]
    return dict(finding.items())


def test_connections_in_use_of_all_services_are_poissons_of_the_sum() -> None:
    """6 and 6 in use, of usage times that differ by a factor of 8 and vary differently."""
    usage = log_normal(15, 0.99, 80)
    assert usage is not None
    plan = plan_fleet_for([replace(SHOP, usage=usage), JOBS], Supply(17))
    in_use = found(plan, "traffic_in_use")
    assert [plan.traffic.in_use, in_use["in_use"]] == pytest.approx([12, 12])
    assert in_use["in_use_p99_9"] == poisson.ppf(0.999, 12)
    assert in_use["share_beyond"] == pytest.approx(poisson.sf(17, 12), rel=1e-6)


def test_beyond_what_the_database_can_use_no_size_helps() -> None:
    beyond = found(plan_fleet_for([SHOP, JOBS], Supply(8)), "traffic_beyond_supply")
    assert (beyond["in_use"], beyond["supply"]) == (pytest.approx(12), 8)
    cut = [finding.code for finding in plan_fleet_for([SHOP, JOBS], Supply(8), ServerLimit(190)).findings]
    assert {"fleet_below_need", "traffic_beyond_supply"} <= set(cut)
    assert "fleet_raise_limit" not in cut
    assert "traffic_supply_unknown" in [finding.code for finding in plan_fleet_for([SHOP, JOBS]).findings]


@pytest.mark.costly
def test_the_alternatives_of_needs_beyond_the_limit_fit() -> None:
    limit = ServerLimit(190)
    plan = plan_fleet_for([SHOP, JOBS], limit=limit)
    below = found(plan, "fleet_below_need")
    assert (below["needed"], below["usable"], below["pool_sizes"], below["needs"]) == (
        331,
        180,
        {"shop": 1},
        {"shop": 2},
    )
    raised = ServerLimit(found(plan, "fleet_raise_limit")["variables"]["max_connections"])
    assert [pool.decides for pool in plan_fleet_for([SHOP, JOBS], limit=raised).pools] == ["need", "need"]
    lower = replace(raised, max_connections=(raised.max_connections or 0) - 1)
    assert "limit" in [pool.decides for pool in plan_fleet_for([SHOP, JOBS], limit=lower).pools]
    fewer = found(plan, "fleet_fewer_processes")["processes"]
    fits = []
    for number in (fewer, fewer + 1):
        merged = [replace(each, service=each.service.with_processes(number)) for each in (SHOP, JOBS)]
        fits.append(plan_fleet_for(merged, limit=limit))
    assert ["limit" in [pool.decides for pool in each.pools] for each in fits] == [False, True]
    assert found(plan, "fleet_proxy")["clients"] == 331


def p99_wait_of_shared_pool(pool_size: int, traffics: Sequence[Traffic], requests: int = 300_000) -> float:
    """The p99 wait time in one pool, first in, first out, by a simulation of exponential usage times."""
    random = np.random.default_rng(1)
    rates = np.array([each.rate for each in traffics])
    arrivals = np.cumsum(random.exponential(1000 / rates.sum(), requests))
    of_service = random.choice(len(rates), requests, p=rates / rates.sum())
    usages = random.exponential(np.array([each.usage.mean_ms for each in traffics])[of_service])
    free, waits = [0.0] * pool_size, []
    for arrival, usage in zip(arrivals, usages, strict=True):
        start = max(arrival, heappop(free))
        waits.append(start - arrival)
        heappush(free, start + usage)
    return float(np.quantile(waits[requests // 10 :], 0.99))


@pytest.mark.costly
def test_a_proxy_has_the_smallest_pool_that_keeps_the_lowest_limit_for_the_sum_of_the_services() -> None:
    fleet = [replace(SHOP, max_wait_p99_ms=20.0), JOBS]
    size = found(plan_fleet_for(fleet, limit=ServerLimit(190)), "fleet_proxy")["connections"]
    assert p99_wait_of_shared_pool(size, fleet) < 20 < p99_wait_of_shared_pool(size - 1, fleet)


@pytest.mark.costly
def test_a_proxy_is_named_only_with_a_size_that_the_limit_and_the_database_allow() -> None:
    def proxies(fleet: list[Traffic], supply: Supply | None, usable: int = 180) -> list[int]:
        findings = plan_fleet_for(fleet, supply, ServerLimit(max_user_connections=usable)).findings
        return [finding.connections for finding in findings if isinstance(finding, Proxy)]

    assert proxies([SHOP], None, 100) == [9]
    assert proxies([SHOP], Supply(9), 100) == [9]
    assert proxies([SHOP], Supply(8), 100) == []
    assert proxies([SHOP], None, 8) == []
    alone = replace(SHOP, service=SHOP.service.as_one_process(0.25))
    assert recommend_for(alone, None, ServerLimit(surge=0.0)).pool_size == 9  # as `config --for proxysql` answers


def test_the_threads_of_all_processes_of_a_deploy_share_a_proxy_without_deadlocks() -> None:
    """2 threads that hold 2 connections each, in 38 instances of 4 processes: at least 305 connections."""
    holding = replace(SHOP, service=replace(SHOP.service, threads=2, connections_per_thread=2))
    of_one = holding.service.as_one_process(0.25)
    assert shared_floor([holding.service], ServerLimit()) == of_one.floor == 38 * 4 * 2 + 1
    assert shared_floor([holding.service, JOBS.service], ServerLimit()) == 305
    assert shared_pool([holding, JOBS], None, ServerLimit()) == 305
    assert "fleet_proxy" not in [finding.code for finding in plan_fleet_for([holding], None, ServerLimit(310)).findings]


SLOWING = Supply(40, None, "measured", np.arange(1, 2001) * 1000 / (22 + 0.5 * np.arange(1, 2001)))
"""A database that completes up to 1,957 requests per second, and whose usage times grow by 0.5 ms a connection."""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("rate", "service"),
    [
        (500, Service("x", 6, 4)),
        (1500, Service("x", 6, 4)),
        (1500, Service("x", 1, 1, threads=90, connections_per_thread=1)),
        (300, Service("x", 3, 2, threads=4, connections_per_thread=3)),
        (1900, Service("x", 2, 1)),
    ],
)
def test_usage_times_of_a_fleet_of_one_service_grow_as_in_the_answer_for_its_traffic(
    rate: float, service: Service
) -> None:
    asked = Traffic(rate, UsageTimes(22), service)
    plan, answer = plan_fleet_for([asked], SLOWING), recommend_for(asked, SLOWING)
    (pool,) = plan.pools
    assert pool.need == answer.need
    if answer.decides == "supply":  # a fleet has the needs, and its caution says that they hardly help
        assert "traffic_near_knee" in [finding.code for finding in plan.findings]
        return
    assert (pool.pool_size, pool.decides) == (answer.pool_size, answer.decides)
    loads = [None if load is None else load.usage_ms for load in (plan.load, answer.load)]
    assert loads[0] == pytest.approx(loads[1])
    for ours, its in ((pool.use.usual, answer.at_size.usual), (pool.use.twice, answer.at_size.twice)):
        assert ours.wait_p99_ms == pytest.approx(its.wait_p99_ms)
    of_one = {"traffic_need", "traffic_threads_unknown", "traffic_holds"}
    of_traffic = [finding.code for finding in answer.findings if finding.code not in of_one]
    assert [finding.code for finding in plan.findings if finding.code != "fleet_needs"] == of_traffic


@pytest.mark.costly
def test_services_with_the_same_usage_time_slow_as_one_with_the_sum_of_the_rates() -> None:
    whole = plan_fleet_for([Traffic(1500, UsageTimes(22), Service("x", 6, 4))], SLOWING)
    halves = plan_fleet_for([Traffic(750, UsageTimes(22), Service(name, 3, 4)) for name in "ab"], SLOWING)
    assert whole.load is not None
    assert halves.load is not None
    assert halves.load.usage_ms == pytest.approx(whole.load.usage_ms, rel=0.01)  # pools of 10 and of 11 connections
    assert [pool.use.load.usage_ms for pool in halves.pools if pool.use.load] == pytest.approx(
        [halves.load.usage_ms] * 2, rel=1e-3
    )


def test_a_service_alone_in_a_fleet_has_the_pool_of_its_traffic_on_a_full_database() -> None:
    """With 40 connections of the database, and 135 in use on average, larger pools only move the waits into it."""
    traffic = Traffic(1500, UsageTimes(22), Service("x", 6, 4))
    alone, (pool,) = recommend_for(traffic, SLOWING), plan_fleet_for([traffic], SLOWING).pools
    assert alone.need is not None
    assert (pool.pool_size, pool.need, pool.decides) == (alone.pool_size, alone.need, alone.decides)
    assert (pool.decides, pool.pool_size < pool.need) == ("supply", True)


@pytest.mark.costly
def test_threads_with_which_the_database_can_t_keep_up_are_too_few() -> None:
    """At 1,500/s it needs 133 connections in use, though 33 would do if usage times did not grow."""
    asked = Traffic(1500, UsageTimes(22), Service("x", 1, threads=90, connections_per_thread=1))
    for answer in (plan_fleet_for([asked], SLOWING), recommend_for(asked, SLOWING)):
        (few,) = [finding for finding in answer.findings if isinstance(finding, TooFewThreads)]
        assert few.in_use == pytest.approx(133)


def test_rates_beyond_what_the_database_completes_have_no_pools() -> None:
    plan = plan_fleet_for([Traffic(1200, UsageTimes(22), Service(name, 3)) for name in "ab"], SLOWING)
    assert (plan.pools, [finding.code for finding in plan.findings]) == ((), ["traffic_beyond_knee"])


def test_a_limit_below_the_smallest_pools_is_refused_with_what_fits() -> None:
    plan = plan_fleet_for([SHOP, JOBS], limit=ServerLimit(100))
    assert plan.pools == ()
    assert found(plan, "fleet_exceeds_limit")["excess"] == 155 - 90
    assert found(plan, "fleet_raise_limit")["variables"] == {"max_connections": 341}


def test_bounds_name_their_service() -> None:
    holding = replace(JOBS, service=Service("jobs", 2, threads=9, connections_per_thread=3))
    too_few = Traffic(4000, UsageTimes(15), Service("shop", 12, 4, threads=1, connections_per_thread=1))
    plan = plan_fleet_for([too_few, holding])
    assert [pool.decides for pool in plan.pools] == ["threads", "floor"]
    assert found(plan, "traffic_too_few_threads")["service"] == "shop"
    assert found(plan, "traffic_floor") == {"floor": 19, "need": 9, "service": "jobs"}


def test_threads_that_could_use_more_than_the_limit_allows_are_not_said_to_never_wait() -> None:
    few = replace(SHOP, rate=4000, service=replace(SHOP.service, threads=2))
    for usable, is_said in ((None, True), (200, False)):
        limit = ServerLimit(max_user_connections=usable)
        for answer in (plan_fleet_for([few], None, limit), recommend_for(few, None, limit)):
            assert ("traffic_threads" in [finding.code for finding in answer.findings]) == is_said


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        ([SHOP, JOBS], "stays within its limit (shop 15 ms, jobs 120 ms), with an instance away."),
        (
            [SHOP, replace(JOBS, service=Service("jobs", 1))],
            "its limit (shop 15 ms, jobs 120 ms), with an instance away where a service has several.",
        ),
        (
            [
                replace(SHOP, service=replace(SHOP.service, threads=1)),
                replace(JOBS, service=Service("jobs", 1), max_wait_p99_ms=8.0),
            ],
            "stays within its limit (jobs 8 ms).",
        ),
    ],
)
def test_the_limits_that_decide_are_named(fleet: list[Traffic], words: str) -> None:
    (needs,) = [finding for finding in plan_fleet_for(fleet).findings if finding.code == "fleet_needs"]
    assert sentence(needs).endswith(words)


@pytest.mark.costly
def test_queues_that_grow_without_end_are_named() -> None:
    busy = Traffic(4000, UsageTimes(15), Service("shop", 4, 2))
    plan = plan_fleet_for([busy, JOBS], limit=ServerLimit(62))
    assert found(plan, "fleet_below_need")["endless"] == ("shop", "jobs")
    assert [pool.use.usual.wait_p99_ms == inf for pool in plan.pools] == [True, False]
    assert not plan.helps
    assert plan_fleet_for([replace(busy, rate=1300), JOBS], limit=ServerLimit(62)).helps, "while no instance is away"
    text = traffic_fleet_in_short(plan)
    assert "Pool sizes for each process, the most that fit, too few for the traffic:" in text
    assert "--for STACK" not in text


@pytest.mark.costly
def test_a_service_whose_pool_hardly_keeps_up_with_more_is_named() -> None:
    batch = Traffic(16_000, UsageTimes(10), Service("batch", 1))
    plan = plan_fleet_for([SHOP, batch], limit=ServerLimit(650))
    (little,) = [finding for finding in plan.findings if isinstance(finding, LittleHeadroom)]
    (alone,) = [finding for finding in plan_fleet_for([batch]).findings if isinstance(finding, LittleHeadroom)]
    shop = plan.pools[0].connections_in_deploy
    assert alone.enough
    assert little == replace(alone, variables={"max_connections": shop + 2 * alone.enough + 10})
    assert sentence(little).startswith("The pool of batch keeps up with at most 16,")
    bounded = plan_fleet_for([SHOP, batch], limit=ServerLimit(600))
    assert little.code not in [finding.code for finding in bounded.findings]


def test_absurd_fleets_are_refused() -> None:
    huge = [Traffic(9e8, UsageTimes(1), Service(name, 1000)) for name in ("a", "b")]
    with pytest.raises(BadInput, match="are the rates right"):
        plan_fleet_for(huge)
    with pytest.raises(BadInput, match="two services have this name"):
        plan_fleet_for([SHOP, SHOP])


WORDS = ("fleet", "--service", "shop:12-30:4:24000/min:15ms", "--service", "jobs:2:1:50/s:120ms")
SERVICE_FILE = """
[[service]]
name = "shop"
instances = 12
max_instances = 30
processes = 4
rate = 400
usage_ms = 15

[[service]]
name = "jobs"
instances = 2
rate = 50
usage_ms = 120
"""


@pytest.mark.costly
def test_a_limit_that_no_pool_size_keeps_is_named() -> None:
    """The database completes 740/s at most, and 1,200/s arrive in a burst."""
    services = [Traffic(300, UsageTimes(10), Service(name, 2), burst) for name, burst in (("a", 3.0), ("b", 1.0))]
    (needs,) = (each for each in plan_fleet_for(services, FALLING).findings if isinstance(each, FleetNeeds))
    assert (needs.missed, needs.limits_ms) == (("a", "b"), {})
    assert "too full for larger pools" in sentence(needs)
    calm = [replace(each, burst=1.0, rate=100) for each in services]
    (needs,) = (each for each in plan_fleet_for(calm, FALLING).findings if isinstance(each, FleetNeeds))
    assert (needs.missed, [*needs.limits_ms]) == ((), ["a", "b"])


def test_the_formula_says_what_the_database_can_use(poolsize_here: Command) -> None:
    given, by_formula = (poolsize_here(*WORDS, *supply, "--json").stdout for supply in (("--size=17",), ("--cores=8",)))
    assert json.loads(given)["supply"] == {"connections": 17, "range": None, "basis": "given"}
    assert json.loads(by_formula)["supply"] == {"connections": 17, "range": [8, 34], "basis": "formula"}
    assert json.loads(given)["pools"] == json.loads(by_formula)["pools"]
    divided = [poolsize_here("fleet", "--instances=3", option).stdout for option in ("--size=17", "--cores=8")]
    basis = ", by the formula: a starting point"
    assert divided[1].count(basis) == 1
    assert divided[0] == divided[1].replace(basis, "").replace("--cores 8 ", "")


@pytest.mark.parametrize("text", ["20000/s", "20,000/s", "1,200,000/min", "20000"])
def test_a_rate_is_read(text: str) -> None:
    assert rate_per_second(text) == 20_000


@pytest.mark.parametrize("text", ["", "/s", "20,00/s", "20k/s", "20000/day", "-1/s", "nan/s", "0"])
def test_a_text_that_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 400/s"):
        rate_per_second(text)


@pytest.mark.costly
def test_the_command_answers_in_the_documented_keys(poolsize_here: Command, tmp_path: Path) -> None:
    done = poolsize_here(*WORDS, "--size", "17", "--max-connections", "500", "--json")
    answer = json.loads(done.stdout)
    assert (answer["basis"], answer["supply"]["connections"]) == ("traffic", 17)
    assert (answer["connections"], answer["connections_in_deploy"]) == (114, 331)
    assert answer["traffic"].items() >= {"in_use_mean": pytest.approx(12), "in_use_p99_9": 24}.items()
    shop, jobs = answer["pools"]
    assert (shop["service"]["name"], shop["pool_size"], shop["need"], shop["decides"]) == ("shop", 2, 2, "need")
    alone = poolsize_here("recommend", "--rate", "50/s", "--usage-time", "120ms", "--instances", "2", "--json")
    of_jobs = json.loads(alone.stdout)
    (row,) = [size for size in of_jobs["sizes"] if size["pool_size"] == of_jobs["pool_size"]]
    assert row.items() <= jobs.items()
    assert (jobs["traffic"], jobs["connections"]) == (of_jobs["traffic"], of_jobs["connections"])
    (tmp_path / "services.toml").write_text(SERVICE_FILE)
    by_file = poolsize_here(
        "fleet", "--services", "services.toml", "--size", "17", "--max-connections", "500", "--json"
    )
    assert by_file.stdout == done.stdout


@pytest.mark.costly
def test_the_table_has_each_service_and_the_sum(poolsize_here: Command) -> None:
    done = poolsize_here(*WORDS, "--run", str(EXAMPLES["oltp_read_write-mariadb"]), "--max-connections", "190", "--why")
    rows = {line.split()[0]: line.split() for line in reversed(done.stdout.splitlines()) if line.strip()}
    assert rows["service"][1:4] == ["need", "pool", "size"]
    assert rows["shop"][1:5] == ["2", "1", "48", "152"]
    assert rows["together"][1:3] == ["66", "179"]
    assert done.stdout.startswith("The server's limit allows fewer connections than the services need.")
    assert "the database keeps up with at most" in " ".join(done.stdout.split()).lower()
    refused = poolsize_here(*WORDS, "--max-connections", "100")
    assert (refused.returncode, "65 too few" in " ".join(refused.stdout.split())) == (1, True)


def test_a_database_that_is_too_small_for_the_traffic_has_no_pool_size(poolsize_here: Command) -> None:
    for form in ((), ("--why",)):
        done = poolsize_here("fleet", "--service", "shop:2:1:4000/s:15ms", "--cores", "8", *form)
        assert done.returncode == 1
        assert "\nIf the database were fast enough: 64 connections" in done.stdout
        assert "Use " not in done.stdout
        assert "poolsize config" not in done.stdout


@pytest.mark.costly
def test_a_file_gives_spread_bursts_and_threads(poolsize_here: Command, tmp_path: Path) -> None:
    more = "usage_p99_ms = 600\nburst = 3\nthreads = 40\n"
    (tmp_path / "services.toml").write_text(SERVICE_FILE + more)
    answer = json.loads(poolsize_here("fleet", "--services", "services.toml", "--json").stdout)
    shop, jobs = answer["pools"]
    assert shop["need"] == 2
    assert jobs["need"] > 9
    assert jobs["traffic"]["usage_p99_ms"] == pytest.approx(600)
    assert (jobs["traffic"]["burst"], jobs["traffic"]["threads"]) == (3, 40)
    assert jobs["service"]["connections_per_thread"] == 1


@pytest.mark.parametrize(
    ("services", "line"),
    [
        (("shop:1:1:3", "jobs:1:1:3/s:4ms"), "--service shop has no rate, and jobs has one"),
        (("shop:1:1:3/s",), "NAME:INSTANCES:PROCESSES:RATE:USAGE_TIME, e.g. shop:12:4:400/s:15ms"),
        (("shop:1:1:3:4ms",), "--service shop:1:1:3:4ms: a rate needs a unit: write 3/s"),
        (("shop:1:1:3/week:4ms",), "--service shop:1:1:3/week:4ms: give a rate per second"),
        (("shop:1:1:3/s:4",), "--service shop:1:1:3/s:4: a time needs a unit"),
        (("shop:1:1:1e9/s:4s",), "--service shop:1:1:1e9/s:4s: rate 1,000,000,000/s: 4,000,000,000 connections"),
        (("shop:0:1:3/s:4ms",), "--service shop:0:1:3/s:4ms: instances 0: the instances of shop are 1 to 1,000,000"),
        (("shop:5-2:1:3",), "--service shop:5-2:1:3: max_instances 2: shop usually has 5; give at least those"),
        (("shop:1:1:3/s:4ms", "shop:1:1:3/s:4ms"), "shop: two services have this name"),
    ],
)
def test_bad_services_are_one_line(poolsize_here: Command, services: tuple[str, ...], line: str) -> None:
    done = poolsize_here("fleet", *(word for service in services for word in ("--service", service)))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert line in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("rate = 50", "", "service 2: rate is missing: usage_ms needs it"),
        ("usage_ms = 120", "", "service 2: usage_ms is missing: rate needs it"),
        ("rate = 50\nusage_ms = 120", "", "--services services.toml: jobs has no rate, and shop has one"),
        ("rate = 50", "rate = 50\nweight = 2", "service 2: it has weight and rate; leave one out"),
        ("rate = 50", "rates = 50", "service 2: rates is unknown; did you mean rate?"),
        ("rate = 50", "usage_time = 50", "service 2: usage_time is unknown; did you mean usage_ms?"),
        ("rate = 50", 'rate = "5/s"', "service 2: rate '5/s': Input should be a valid number, without quotes and unit"),
        ("rate = 50", "rate = 0", "service 2: rate 0: give a number above 0"),
        ("rate = 50", "rate = inf", "service 2: rate inf"),
        ("usage_ms = 120", "usage_ms = nan", "service 2: usage_ms nan"),
        ("usage_ms = 120", "usage_ms = 120\nusage_p99_ms = 0", "service 2: usage_p99_ms 0ms with a mean of 120ms"),
        (
            "usage_ms = 120",
            "usage_ms = 120\nusage_p99_ms = 9000",
            "service 2: usage_p99_ms 9000ms with a mean of 120ms",
        ),
        ("rate = 50", "rate = 50\nthreads = 0", "service 2: threads 0: an application has 1 to"),
        (
            "rate = 50",
            "rate = 50\nconnections_per_thread = 2",
            "service 2: threads and connections_per_thread go together",
        ),
    ],
)
def test_a_wrong_file_of_rates_is_refused(
    poolsize_here: Command, tmp_path: Path, old: str, new: str, line: str
) -> None:
    (tmp_path / "services.toml").write_text(SERVICE_FILE.replace(old, new))
    done = poolsize_here("fleet", "--services", "services.toml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert line in done.stderr
