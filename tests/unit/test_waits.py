"""Wait times against simulated queues: departures that vary, servers that pause, and users that give up."""

import heapq
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.stats.percentiles import empty_histogram, encoded
from poolsize.analysis.vector import Vector
from poolsize.experiments.predictions import timed_out_share
from poolsize.runs.store import load_run
from poolsize.traffic.finite_source import finite_source
from poolsize.traffic.wait_times import Departures, MeasuredDepartures, measured_departures, wait_times
from tests.conftest import EXAMPLES

SCAN = load_run(EXAMPLES["scan-mariadb"])
QUANTILES = (0.5, 0.95, 0.99)


def simulated_waits(number: int, variability: float, pauses_per_ms: float, pause_ms: float) -> Vector:
    """The times of so many departures, at 10 per ms without the pauses."""
    random = np.random.default_rng(number)
    between = random.gamma(1 / variability, 0.1 * variability, 2_000_000)
    between += pause_ms * random.poisson(pauses_per_ms * between)
    moments = np.cumsum(between)
    return moments[number:] - moments[:-number]


@pytest.mark.long
@pytest.mark.parametrize(
    ("variability", "pauses_per_ms", "pause_ms"),
    [(1.0, 0.0, 0.0), (6.0, 0.0, 0.0), (2.0, 0.002, 40.0), (4.0, 0.01, 15.0)],
)
def test_measured_waits_tell_those_of_other_users(variability: float, pauses_per_ms: float, pause_ms: float) -> None:
    """The wait times of 24 users ahead foretell those of 240, although the server pauses now and then."""
    waits = empty_histogram()
    short = simulated_waits(24, variability, pauses_per_ms, pause_ms)
    for time_us in (1000 * short[::7]).astype(int).tolist():
        waits.record_value(max(1, time_us))
    own_rate = 10 / (1 + pauses_per_ms * pause_ms)
    steps = tuple(
        replace(
            step,
            throughput=(1000 * own_rate,) * len(step.throughput),
            latencies=replace(step.latencies, wait=encoded(waits)),
        )
        for step in SCAN.steps
        if step.latencies
    )
    departures = measured_departures(analyze(replace(SCAN, steps=steps)).by_size)
    assert departures
    for users_ahead in (24, 240):
        truth = simulated_waits(users_ahead, variability, pauses_per_ms, pause_ms)
        times = wait_times(np.array([users_ahead - 1]), np.ones(1), own_rate, departures.at(8))
        assert np.quantile(times, QUANTILES) == pytest.approx(np.quantile(truth, QUANTILES), rel=0.15)


def test_departures_between_measured_sizes_are_in_between() -> None:
    departures = measured_departures(analyze(SCAN).by_size)
    assert departures
    at_two, between, at_four = (departures.at(size).variability for size in (2, 3, 4))
    assert min(at_two, at_four) < between < max(at_two, at_four)
    assert departures.at(1000) == departures.at(16)


@dataclass(frozen=True)
class Simulated:
    """Transactions and timeouts per ms, and the wait times of the requests that got a connection."""

    throughput: float
    timeouts: float
    waits_ms: Vector


def simulate(pool: int, users: int, think_ms: float, timeout_ms: float) -> Simulated:
    """Users in front of a pool that serves them in order of arrival, 10 ms each; all times exponential."""
    random, end_ms = np.random.default_rng(pool + users), 80_000.0
    events: list[tuple[float, str, int, int]] = [
        (random.exponential(think_ms) if think_ms else 0.0, "asks", user, 0) for user in range(users)
    ]
    heapq.heapify(events)
    queue: deque[tuple[int, int, float]] = deque()
    waiting: dict[int, int] = {}
    free, requests, waits, done, timeouts = pool, 0, [], 0, 0
    while events[0][0] < end_ms:
        now, event, user, request = heapq.heappop(events)
        counted = now > end_ms / 4
        if event == "asks":
            requests += 1
            waiting[user] = requests
            queue.append((user, requests, now))
            heapq.heappush(events, (now + timeout_ms, "gives up", user, requests))
        elif event == "gives up" and waiting.get(user) != request:
            continue
        elif event == "gives up":
            del waiting[user]
            timeouts += counted
        else:
            free += 1
            done += counted
        if event != "asks":
            pause_ms = random.exponential(think_ms) if think_ms else 1e-9
            heapq.heappush(events, (now + pause_ms, "asks", user, 0))
        while free and queue:
            next_user, next_request, since = queue.popleft()
            if waiting.get(next_user) == next_request:
                del waiting[next_user]
                free -= 1
                waits += [now - since] if counted else []
                heapq.heappush(events, (now + random.exponential(10.0), "ends", next_user, 0))
    counted_ms = 0.75 * end_ms
    return Simulated(done / counted_ms, timeouts / counted_ms, np.array(waits))


@pytest.mark.long
@pytest.mark.parametrize(
    ("pool", "users", "think_ms", "timeout_ms"),
    [
        (4, 1000, 0.0, 300.0),
        (4, 600, 1000.0, 100.0),
        (4, 420, 1000.0, 100.0),
        (2, 110, 0.0, 500.0),
        (4, 40, 0.0, 500.0),
    ],
)
def test_users_beyond_the_timeout_give_up(pool: int, users: int, think_ms: float, timeout_ms: float) -> None:
    truth = simulate(pool, users, think_ms, timeout_ms)
    model = finite_source(np.arange(1, pool + 1) / 10.0, users, think_ms, None, timeout_ms)
    assert model.throughput == pytest.approx(truth.throughput, rel=0.05)
    assert model.timeouts == pytest.approx(truth.timeouts, rel=0.1, abs=0.05 * truth.throughput)
    assert model.wait_quantile_ms(0.5) == pytest.approx(np.quantile(truth.waits_ms, 0.5), rel=0.15)
    assert model.waits_ms.max() <= timeout_ms


@pytest.mark.costly
@pytest.mark.parametrize("think_ms", [0.0, 20.0])
@pytest.mark.parametrize(
    ("pool", "users", "timeout_ms"), [(1, 8, 10.0), (1, 8, 30.0), (2, 8, 10.0), (2, 8, 30.0), (3, 8, 10.0)]
)
def test_few_users_give_up_as_simulated_elsewhere(pool: int, users: int, think_ms: float, timeout_ms: float) -> None:
    truth = simulate(pool, users, think_ms, timeout_ms)
    usages_ms = -10.0 * np.log1p(-(np.arange(1000) + 0.5) / 1000)
    share = timed_out_share(usages_ms, pool_size=pool, users=users, think_time_ms=think_ms, timeout_ms=timeout_ms)
    true_share = truth.timeouts / (truth.timeouts + truth.throughput)
    assert share == pytest.approx(true_share, rel=0.1, abs=0.005)


def test_a_timeout_that_nobody_meets_changes_nothing() -> None:
    rates = np.arange(1, 9) / 10.0
    without, with_one = (
        finite_source(rates, 50, 20.0, MeasuredDepartures({1: Departures(2.0)}), timeout_ms)
        for timeout_ms in (np.inf, 1e5)
    )
    assert with_one.timeouts == 0
    assert with_one.throughput == without.throughput
    assert with_one.waits_ms == pytest.approx(without.waits_ms)
