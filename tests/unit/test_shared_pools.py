"""The waits of pools that share a database, against exact solutions and a simulation of every request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, eye
from scipy.sparse.linalg import spsolve

from poolsize.analysis.vector import Vector
from poolsize.answer.application import ClientTimes
from poolsize.answer.fleet import Service
from poolsize.answer.fleet_from_traffic import plan_fleet_for
from poolsize.answer.from_traffic import recommend_for
from poolsize.answer.traffic import Supply, Traffic
from poolsize.command_line.run_file import complete_run, supply_of
from poolsize.traffic.database_load import shared_load
from poolsize.traffic.pool_use import PoolUse, ProcessTraffic, in_use_probabilities, pool_use
from poolsize.traffic.shared_pools import Pools, shared_use
from poolsize.traffic.usage_phases import UsageTimes
from tests.conftest import EXAMPLES, in_ci
from tests.pool_simulation import SharingPools, simulate_sharing

IN_USE = np.arange(1, 2001.0)
SMOOTH = 100 * IN_USE / (IN_USE + 1)
SATURATED = 80 * np.minimum(IN_USE, 3.0)
"""A database of three cores that do all the work: beyond 3 connections in use, it completes no more."""
FALLING = 100 * IN_USE / (1 + 0.05 * (IN_USE - 1) + 0.002 * IN_USE * (IN_USE - 1))
"""A database that completes most with 22 connections in use, and less with more."""


def model(rates: Vector, kinds: Sequence[SharingPools], burst: float = 1.0) -> PoolUse:
    """Return the use of the first kind of pools. rate: requests per millisecond."""
    pools = [Pools(each.number, each.pool_size, 1000 * each.rate * each.usage) for each in kinds]
    load = shared_load(rates, pools, [burst] * len(pools))
    assert load is not None
    assert load.slowing is not None
    own = kinds[0]
    slowing = replace(load.slowing, usages_ms=load.slowing.usages_ms * own.usage)
    usage = UsageTimes(load.usage_ms * own.usage)
    return pool_use(ProcessTraffic(own.rate, usage, burst, slowing=slowing), own.pool_size)


@pytest.mark.parametrize("connections", [1, 4, 60])
@pytest.mark.parametrize("rates", [SMOOTH, FALLING])
def test_a_single_pool_is_a_birth_death_process(rates: Vector, connections: int) -> None:
    rate = 0.8 * rates[connections - 1]
    use = shared_use(rates, [Pools(1, connections, rate)])
    assert use is not None
    assert use.of_pool == pytest.approx(in_use_probabilities(rates[:connections], rate), rel=1e-4, abs=1e-8)
    assert use.waiting == pytest.approx(use.of_pool[-1] * 0.8 / 0.2, rel=1e-4, abs=1e-8)
    most = min(len(use.in_use), connections + 1)
    assert use.in_use[:most] == pytest.approx(use.of_pool[:most], abs=1e-8)


@pytest.mark.parametrize("number", [2, 50, 300])
def test_pools_of_a_database_that_never_slows_are_independent(number: int) -> None:
    others = Pools(3, 1, 20.0)
    use = shared_use(20 * np.arange(1, 20_001.0), [Pools(number, 3, 40.0), others])
    assert use is not None
    assert use.of_pool == pytest.approx(in_use_probabilities(20 * np.arange(1, 4.0), 40.0), rel=1e-3)
    assert use.usages_ms(40.0) == pytest.approx([50] * 3, rel=1e-3)


MOST = 60


@cache
def exact_waiting(falling: bool, rates_of_pools: tuple[float, float]) -> tuple[float, float]:
    """Return the mean number of waiting requests of two pools, of 1 and of 2 connections, by all states up to MOST."""
    rates, number = FALLING if falling else SATURATED, MOST + 1
    rows, columns, values = [], [], []
    for one, other in product(range(number), repeat=2):
        in_use = (min(one, 1), min(other, 2))
        speed = rates[max(1, sum(in_use)) - 1] / max(1, sum(in_use))
        moves = [(1, 0, rates_of_pools[0]), (0, 1, rates_of_pools[1])]
        moves += [(-1, 0, in_use[0] * speed), (0, -1, in_use[1] * speed)]
        for up, right, rate in moves:
            if rate and one + up <= MOST and other + right <= MOST:
                rows += [one * number + other] * 2
                columns += [(one + up) * number + other + right, one * number + other]
                values += [rate, -rate]
    generator = csr_matrix((values, (rows, columns)), (number**2, number**2)).T.tolil()
    generator[0] = 1.0
    solved = spsolve(generator.tocsr(), eye(number**2, 1, format="csr").toarray().ravel())
    states = solved.reshape(number, number)
    return (
        float(states.sum(axis=1) @ np.maximum(0, np.arange(number) - 1)),
        float(states.sum(axis=0) @ np.maximum(0, np.arange(number) - 2)),
    )


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.75])
def test_two_pools_of_different_size_wait_as_in_the_exact_solution(share: float, falling: bool) -> None:
    full = (FALLING if falling else SATURATED)[2]
    loads = (share * full / 3, share * 1.1 * full * 2 / 3)
    pools = [Pools(1, 1, loads[0]), Pools(1, 2, loads[1])]
    for order, waiting in zip((pools, pools[::-1]), exact_waiting(falling, loads), strict=True):
        use = shared_use(FALLING if falling else SATURATED, order)
        assert use is not None
        assert use.waiting == pytest.approx(waiting, rel=0.1)


def test_pools_that_do_not_keep_up_are_always_in_use() -> None:
    small, large = Pools(2, 1, 90.0), Pools(2, 5, 20.0)
    assert shared_use(SMOOTH, [small, large]) is None
    use = shared_use(SMOOTH, [large, small])
    assert use is not None
    assert use.in_use[:2] == pytest.approx([0, 0])


def test_the_waits_of_a_nearly_full_pool_grow_without_end() -> None:
    waits = []
    for spare in (1e-2, 1e-3, 1e-4):
        use = shared_use(SMOOTH, [Pools(8, 3, SMOOTH[23] * (1 - spare) / 8)])
        assert use is not None
        waits.append(use.waiting)
    assert waits[1] / waits[0] == pytest.approx(10, rel=0.15)
    assert waits[2] / waits[1] == pytest.approx(10, rel=0.02)


def differences(
    rates: Vector, kinds: Sequence[SharingPools], requests: int, burst: float = 1.0, second: float = 1.0
) -> list[str]:
    """Beyond 15 % or 0.1 usage times, and twice the standard error of the simulation."""
    use, usage_ms = model(rates, kinds, burst), 1000 / rates[0]  # that of an empty database
    runs = [simulate_sharing(kinds, rates / 1000, requests, seed, burst, second)[0] for seed in range(4)]
    found = []
    for name, value in (("wait", use.wait_ms), ("p99", use.wait_p99_ms)):
        simulated = np.array([getattr(run, name) for run in runs])
        error = 2 * simulated.std(ddof=1) / np.sqrt(len(runs))
        if value != pytest.approx(simulated.mean(), abs=max(0.1 * usage_ms, 0.15 * simulated.mean()) + error):
            found.append(f"{name} {value:.4g}, simulated {simulated.mean():.4g} +- {error:.2g}: {kinds}")
    return found


def equal_pools(rates: Vector, number: int, pool_size: int, share: float) -> list[SharingPools]:
    """Return pools whose requests come at a share of the rate that the database completes with all of them full."""
    return [SharingPools(number, pool_size, share * rates[number * pool_size - 1] / 1000 / number)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "pool_size", "share"), in_ci([(1, 3, 0.5), (4, 2, 0.5), (8, 3, 0.8), (48, 1, 0.7)], (8, 3, 0.8))
)
def test_waits_are_those_of_a_simulation(number: int, pool_size: int, share: float) -> None:
    assert not differences(SMOOTH, equal_pools(SMOOTH, number, pool_size, share), 40_000)


@pytest.mark.long
def test_the_waits_of_services_with_other_usage_times_are_those_of_a_simulation() -> None:
    """Half of the requests of a mean usage time of 0.5, half of 1.5."""
    short, long = SharingPools(2, 1, 0.0105, 0.5), SharingPools(3, 2, 0.007, 1.5)
    assert not differences(SMOOTH, [short, long], 60_000)
    assert not differences(SMOOTH, [long, short], 60_000)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rates", "burst"), [(2 * SMOOTH, 4.0), pytest.param(SMOOTH / 4, 2.0, marks=pytest.mark.experiment)]
)
def test_bursts_within_and_beyond_the_knee_have_the_waits_of_a_simulation(rates: Vector, burst: float) -> None:
    """Where a burst brings only few requests for each connection beyond the knee, waits are far shorter."""
    assert not differences(rates, equal_pools(rates, 6, 2, 0.4), 100_000, burst=burst, second=1000.0)


@pytest.mark.long
@pytest.mark.parametrize(("number", "pool_size"), in_ci([(1, 3), (1, 400), (6, 2)], (6, 2)))
def test_total_times_in_bursts_beyond_the_knee_are_those_of_a_simulation(number: int, pool_size: int) -> None:
    """What a burst brings beyond the knee waits in the pools or in the database."""
    rates, burst = SATURATED / 10, 4.0
    pools = [SharingPools(number, pool_size, rates[-1] / 2000 / number)]
    load = shared_load(rates, [Pools(number, pool_size, 1000 * pools[0].rate)], [burst])
    assert load is not None
    runs = [simulate_sharing(pools, rates / 1000, 100_000, seed, burst, 1000.0)[0] for seed in range(4)]
    totals_ms = np.array([run.wait + run.usage for run in runs])
    assert load.total_ms == pytest.approx(totals_ms.mean(), rel=0.1, abs=totals_ms.std(ddof=1))
    assert load.usage_ms == pytest.approx(np.mean([run.usage for run in runs]), rel=0.1)


def test_no_pool_makes_the_total_time_of_bursts_shorter_than_the_database() -> None:
    """Once all of its cores are at work, a larger pool only moves waiting into it."""
    loads = [shared_load(SATURATED, [Pools(1, size, 150.0)], [3.0]) for size in (3, 30, 300, 2000)]
    totals_ms = [load.total_ms for load in loads if load]
    assert totals_ms == pytest.approx([totals_ms[0]] * 4, rel=0.01)


@pytest.mark.costly
@pytest.mark.parametrize(("rate", "burst"), [(58, 3.0), (74, 3.0), (20, 5.0)])
def test_a_burst_beyond_the_knee_asks_for_no_more_than_the_database_can_use(rate: float, burst: float) -> None:
    run = str(EXAMPLES["scan-mariadb"])
    analysis = complete_run(run)
    supply = supply_of(run, analysis, ClientTimes(23.6))
    answer = recommend_for(Traffic(rate, UsageTimes(23.6), Service("application", 1), burst), supply)
    assert (answer.pool_size, answer.decides) == (supply.connections, "supply")


@pytest.mark.costly
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([SMOOTH, SATURATED, FALLING]),
    st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 1000), st.floats(0.001, 1)), min_size=1, max_size=3),
    st.floats(0.01, 1.1) | st.floats(0.99, 1),
    st.sampled_from([1.0, 1.5, 20.0]),
)
def test_any_pools_have_probabilities_and_usage_times_or_do_not_keep_up(
    rates: Vector, kinds: list[tuple[int, int, float]], share: float, burst: float
) -> None:
    full = share * rates[min(len(rates), sum(number * connections for number, connections, _ in kinds)) - 1]
    weights = sum(weight for *_, weight in kinds)
    pools = [Pools(number, connections, full * weight / weights / number) for number, connections, weight in kinds]
    load = shared_load(rates, pools, [burst] * len(pools))
    if load is None:
        assert share > 0.99 or len(kinds) > 1
        return
    assert load.slowing is not None
    assert load.in_use.sum() == pytest.approx(1)
    assert load.slowing.usages_ms.shape == (1 if burst == 1 else 2, pools[0].connections)
    assert (load.slowing.usages_ms > 0).all()
    assert 0 <= load.slowing.likelier < inf


@pytest.mark.long
def test_bursts_of_another_service_lengthen_the_waits_of_one_without() -> None:
    steady, bursts = (Traffic(30, UsageTimes(20), Service(name, 2), burst) for name, burst in (("a", 1.0), ("b", 3.0)))
    supply = Supply(4, None, "measured", SMOOTH)
    with_bursts, without = (
        plan_fleet_for([steady, other], supply).pools[0] for other in (bursts, replace(bursts, burst=1.0))
    )
    assert with_bursts.need >= without.need
    assert with_bursts.pool_size > without.pool_size or (
        with_bursts.use.usual.wait_p99_9_ms > without.use.usual.wait_p99_9_ms
    )


@pytest.mark.parametrize("pool_size", [1, 4])
def test_an_instance_that_is_away_leaves_its_traffic_and_its_share_of_the_database_to_the_others(
    pool_size: int,
) -> None:
    asked = Traffic(60, UsageTimes(20), Service("a", 4))
    answer = recommend_for(asked, Supply(4, None, "measured", SMOOTH), current=pool_size)
    (row,) = [size for size in answer.sizes if size.pool_size == pool_size]
    assert row.one_away is not None
    assert row.one_away.wait_ms == pytest.approx(model(SMOOTH, [SharingPools(3, pool_size, 0.02)]).wait_ms)


RUNS = {"oltp_read_write-mariadb": 5.0, "oltp_read_write-mysql": 5.0, "insert-mysql": 5.0, "scan-mysql": 20.0}
"""Stored runs, and the usage time in ms for which each one is read."""


@pytest.mark.experiment
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("name", RUNS)
def test_pools_on_the_database_of_a_stored_run_have_the_waits_of_simulations(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 19 of 20 cases; those that differ are printed."""
    path = str(EXAMPLES[name])
    rates = supply_of(path, complete_run(path), ClientTimes(RUNS[name], None, None)).rates
    assert rates is not None
    cases = list(product((1, 2, 4, 8, 48), (1, 2, 3, 5, 8, 16), (0.5, 0.7, 0.8, 0.9)))
    found = [differences(rates, equal_pools(rates, *case), 100_000) for case in cases]
    with capsys.disabled():
        print(f"{name}: {sum(map(bool, found))} of {len(cases)} differ:", *filter(None, found), sep="\n")
    assert sum(map(bool, found)) <= len(cases) / 20
