"""The total time at an arrival rate, against formulas and simulations of an open loop."""

import json
from collections import deque
from dataclasses import replace
from heapq import heappop, heappush
from math import exp

import numpy as np
import pytest

from poolsize import recommend
from poolsize.answer.application import ClientTimes
from poolsize.answer.price import LOAD, AtRate, ModelledTimes, NoTotalTimes, RateTooHigh, TotalTimes
from poolsize.answer.recommendation import Recommendation
from poolsize.errors import BadInput
from poolsize.traffic.total_times import BEYOND, SharedPool, usage_distribution
from poolsize.traffic.wait_times import Departures, MeasuredDepartures
from tests.closed_loop_simulation import Floats, Network, simulated_run, transactions
from tests.conftest import EXAMPLES, Command, a_run, example, in_ci

RARE = (0.95, 0.999)
USERS_OF_OPEN_LOOP = 20_000
"""With so many users, who pause long, arrivals are random."""
EXPONENTIAL = {1: usage_distribution(None)}


def test_one_connection_has_the_total_times_of_a_queue_with_one_server() -> None:
    """M/M/1: the total time is exponential with the mean 1 / (service rate - arrival rate)."""
    times_ms = SharedPool(np.array([100.0]), EXPONENTIAL).total_ms(1, 70.0, RARE)
    assert times_ms == pytest.approx([-1000 / 30 * np.log(0.05), -1000 / 30 * np.log(0.001)], rel=0.005)


def test_a_database_that_never_slows_has_the_total_times_of_erlangs_queue() -> None:
    """M/M/4 at 70 %: wait and usage time are independent, and the share that waits is Erlang's C."""
    waiting, at_work, spare = 0.42866, 100.0, 120.0  # 4 servers of 100/s, 280/s arrive
    times_ms = SharedPool(at_work * np.arange(1.0, 9), EXPONENTIAL).total_ms(4, 280.0, RARE)
    assert times_ms is not None
    for time_ms, share in zip(times_ms, RARE, strict=True):
        usage, wait = exp(-at_work * time_ms / 1000), exp(-spare * time_ms / 1000)
        both = (spare * usage - at_work * wait) / (spare - at_work)
        assert (1 - waiting) * usage + waiting * both == pytest.approx(1 - share, rel=0.01)


def test_a_pool_below_the_rate_has_no_total_times_and_a_larger_one_keeps_up() -> None:
    pool = SharedPool(np.array([100.0, 180.0, 200.0]), EXPONENTIAL)
    assert pool.total_ms(2, 180.0, RARE) is None
    assert pool.total_ms(3, 180.0, RARE) is not None


@pytest.mark.costly
@pytest.mark.parametrize(("cores", "pool_size"), [(2, 2), (2, 4), (2, 16), (8, 10)])
def test_work_that_never_varies_on_shared_cores(cores: int, pool_size: int) -> None:
    """Connections in use share the cores evenly; a transaction is always 1 ms of work, so departures are regular."""
    rates = 1000 * np.minimum(np.arange(1.0, pool_size + 1), cores)
    rate = LOAD * rates[-1]
    constant = MeasuredDepartures({1: Departures(1e-6)})
    model_ms = SharedPool(rates, {1: np.ones(len(BEYOND))}, constant).total_ms(pool_size, rate, RARE)
    totals_ms = shared_cores(cores, pool_size, rate / 1000, 200_000, np.random.default_rng(1))
    assert model_ms == pytest.approx(np.quantile(totals_ms, RARE), rel=0.1)


def shared_cores(cores: int, pool_size: int, rate: float, requests: int, random: np.random.Generator) -> Floats:
    """Return the total times, by their end, of requests with 1 ms of work, where connections in use share cores.

    rate: requests per ms.
    """
    waiting: deque[float] = deque()
    in_use: list[tuple[float, float]] = []  # the work of each connection at the transaction's end, and its arrival
    now = done = 0.0
    totals_ms = []
    for arrival in np.cumsum(random.exponential(1 / rate, requests)).tolist():
        while in_use and now + (in_use[0][0] - done) / (speed := min(1.0, cores / len(in_use))) <= arrival:
            now += (in_use[0][0] - done) / speed
            done, arrived = heappop(in_use)
            totals_ms.append(now - arrived)
            if waiting:
                heappush(in_use, (done + 1, waiting.popleft()))
        done += (arrival - now) * min(1.0, cores / len(in_use)) if in_use else 0.0
        now = arrival
        if len(in_use) < pool_size:
            heappush(in_use, (done + 1, arrival))
        else:
            waiting.append(arrival)
    return np.array(totals_ms)


NETWORKS = [
    Network(users=64, cores=2, client_ms=2.0, cpu_ms=4.0, slowdown=0.0),
    Network(users=64, cores=2, client_ms=1.0, cpu_ms=4.0, slowdown=0.03),
    Network(users=64, cores=1, client_ms=4.0, cpu_ms=2.0, slowdown=0.0),
    Network(users=64, cores=4, client_ms=10.0, cpu_ms=4.0, slowdown=0.01),
]


@pytest.mark.long
@pytest.mark.parametrize("network", in_ci(NETWORKS, NETWORKS[1]))
def test_the_price_table_has_the_total_times_of_a_simulated_open_loop(network: Network) -> None:
    """The run is a closed loop. At the answer's rate, the two smallest pools that keep up have the simulated times."""
    random = np.random.default_rng(4)
    answer = recommend(simulated_run(network, (1, 2, 4, 8, 16), 40, random, 0.0, 0.0))
    assert answer.throughput is not None
    keeping_up = [(price.pool_size, at) for price in answer.prices if (at := price.at_rate) and at.total_ms]
    for pool_size, at_rate in keeping_up[:2]:
        assert at_rate.rate == pytest.approx(LOAD * answer.throughput)
        p95, p99_9 = open_loop_quantiles(network, pool_size, at_rate.rate, random)
        assert at_rate.total_ms
        assert at_rate.total_ms.p95 == pytest.approx(p95, rel=0.1), pool_size
        assert at_rate.total_ms.p99_9 == pytest.approx(p99_9, rel=0.15), pool_size


def open_loop_quantiles(
    network: Network, pool_size: int, rate: float, random: np.random.Generator
) -> tuple[float, float]:
    think_ms, seconds = 1000 * USERS_OF_OPEN_LOOP / rate, round(200_000 / rate)
    open_loop = replace(network, users=USERS_OF_OPEN_LOOP, think_ms=think_ms)
    done = transactions(open_loop, pool_size, [1.0] * seconds, random)
    p95, p99_9 = np.quantile(1000 * (done[:, 1] + done[:, 2]), RARE).tolist()
    return p95, p99_9


RISING = a_run({1: 100, 2: 200, 4: 390, 8: 400, 16: 400}, users=256)


def rows(answer: Recommendation) -> dict[int, AtRate | None]:
    return {price.pool_size: price.at_rate for price in answer.prices}


def total_ms(answer: Recommendation, pool_size: int) -> TotalTimes | None:
    at_rate = rows(answer)[pool_size]
    assert at_rate
    return at_rate.total_ms


@pytest.mark.costly
def test_a_pool_that_can_not_keep_up_with_the_rate_has_no_total_times() -> None:
    answer = recommend(RISING)
    point = next(finding for finding in answer.findings if isinstance(finding, ModelledTimes))
    assert answer.pool_size == point.pool_size == 4
    assert rows(answer)[2] == AtRate(point.rate, None)
    assert point.rate == pytest.approx(273)
    assert total_ms(answer, 4)


def test_without_a_fitted_network_there_are_no_total_times() -> None:
    answer = recommend(a_run({4: 390, 8: 400, 16: 400}, users=256))
    assert NoTotalTimes() in answer.findings
    assert [*rows(answer).values()] == [None, None, None]


def too_high(answer: Recommendation) -> list[RateTooHigh]:
    return [finding for finding in answer.findings if isinstance(finding, RateTooHigh)]


@pytest.mark.costly
def test_a_rate_of_ones_own_is_that_of_the_table_and_changes_nothing_else() -> None:
    usual, answer = recommend(RISING), recommend(RISING, rate=273)
    for size, at_rate in rows(answer).items():
        assert at_rate == AtRate(273, total_ms(usual, size)), size
    assert replace(answer, prices=(), findings=()) == replace(usual, prices=(), findings=())
    slow, fast = (total_ms(recommend(RISING, rate=rate), 8) for rate in (350, 10))
    assert slow
    assert fast
    assert slow.p95 > fast.p95


@pytest.mark.costly
def test_a_rate_above_every_pool_has_no_end_and_a_warning() -> None:
    answer = recommend(RISING, rate=500)
    assert set(rows(answer).values()) == {AtRate(500, None)}
    (finding,) = too_high(answer)
    assert finding.keeps_up is None
    assert finding.highest == pytest.approx(400, rel=0.02)


@pytest.mark.long
def test_a_rate_above_the_answer_names_the_smallest_pool_that_keeps_up() -> None:
    (finding,) = too_high(recommend(RISING, rate=396))
    assert finding.pool_size == 4
    assert finding.keeps_up
    assert 4 < finding.keeps_up <= 8
    kept, below = (
        total_ms(recommend(RISING, rate=396, current=size), size) for size in (finding.keeps_up, finding.keeps_up - 1)
    )
    assert kept
    assert below is None
    assert too_high(recommend(RISING, rate=380)) == []


@pytest.mark.costly
def test_an_application_has_its_own_highest_throughput() -> None:
    """Its usage times are longer than the load generator's, so it needs more connections for the same rate."""
    run, times = example("oltp_read_write-mariadb"), ClientTimes(30.0)
    answer = recommend(run, client_times=times, rate=500)
    assert rows(answer)[8] == AtRate(500, None)
    assert too_high(answer) == []
    assert len(too_high(recommend(run, client_times=times, rate=1e5))) == 1


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_that_no_traffic_has_is_refused(rate: float) -> None:
    with pytest.raises(BadInput, match=r"^`rate` "):
        recommend(RISING, rate=rate)


def test_a_run_at_a_fixed_rate_knows_no_other_rate() -> None:
    fixed = replace(RISING, setting=replace(RISING.setting, plan=replace(RISING.plan, rate=300.0)))
    with pytest.raises(BadInput, match="`rate` 500/s: this run has the latency at 300/s alone"):
        recommend(fixed, rate=500)


RUN = ("recommend", "--run", str(EXAMPLES["oltp_read_write-mariadb"]))


@pytest.mark.costly
def test_the_command_shows_the_total_times_at_a_rate(poolsize_here: Command) -> None:
    text = poolsize_here(*RUN, "--rate", "30000/min", "--why").stdout
    assert "small error" not in text
    title = "and total times at 500/s (no end: the queue grows without end):"
    assert title in " ".join(text.split())
    answer = json.loads(poolsize_here(*RUN, "--rate", "500/s", "--json").stdout)
    assert answer["basis"] == "measured"
    assert {price["at_rate"]["rate"] for price in answer["regret"]} == {500}
    totals = {price["pool_size"]: price["at_rate"]["total_ms"] for price in answer["regret"]}
    assert totals[1] is None
    assert set(totals[8]) == {"p95", "p99_9"}


@pytest.mark.costly
def test_near_the_throughput_the_table_says_how_uncertain_it_is(poolsize_here: Command) -> None:
    text = " ".join(poolsize_here(*RUN, "--rate", "850/s", "--why").stdout.split())
    assert "changes the times much: `poolsize sweep --rate 850` measures them." in text


@pytest.mark.costly
def test_the_command_answers_beyond_every_pool(poolsize_here: Command) -> None:
    done = poolsize_here(*RUN, "--rate", "2000/s", "--why")
    assert done.returncode == 0
    assert done.stdout.count("no end   no end") + done.stdout.count("no end  no end") == 7
    assert "No pool size keeps up with 2,000/s: the highest throughput is 934/s." in done.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--usage-p99", "40ms"), "--usage-p99 40ms with a mean of 1.992ms: give 1 to 14.9 times the mean"),
        (("--max-p95", "20ms"), "with --rate, give --max-wait-p99 in their place"),
        (("--app-cores", "2"), "--app-cpu-time and --app-cores also need --usage-time"),
    ],
)
def test_options_of_an_application_at_a_rate_that_the_run_does_not_fit(
    poolsize_here: Command, words: tuple[str, ...], error: str
) -> None:
    done = poolsize_here(*RUN, "--rate", "500/s", *words)
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1
