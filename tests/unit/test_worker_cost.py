"""The cost of a worker: a stall of its event loop counts as long as it lasts."""

import time

import gevent
import pytest

from poolsize.load.recorder import LAG_INTERVAL_SECONDS, Boundary, WorkerCost, cost_between, late_ms
from poolsize.server import speed_probe
from poolsize.server.speed_probe import SpeedProbe, usable_cores


def test_a_stall_counts_as_the_timers_that_should_have_fired_in_it() -> None:
    """One of 980 ms in 8 s, that is 12 % of the time, and a loop that is never late in between."""
    timers = round((8 - 0.98) / LAG_INTERVAL_SECONDS)
    assert late_ms([0.1] * timers + [980.0]) > 900
    assert late_ms([0.1] * timers + [30.0]) < 1
    assert late_ms([0.1] * timers) == pytest.approx(0.1, rel=0.01)
    assert late_ms([]) == 0


def test_a_worker_that_the_hypervisor_halves_needs_a_whole_core() -> None:
    """Four seconds in which the hypervisor has the worker's core half of the time, and the worker the rest of it."""
    begun = Boundary(clock=10, cpu=1, waited=0.5, busy=100, stolen=7)
    cost = cost_between(begun, Boundary(clock=14, cpu=3, waited=0.5, busy=104, stolen=9), 1.0)
    assert (cost.cpu, cost.cpu_wait) == (0.5, 0.5)


def test_a_worker_that_wants_its_core_half_of_the_time_loses_half_as_much() -> None:
    """The core is wanted in 3 of 4 s, the worker's part is 2 s less the hypervisor's third; it waits 0.4 s besides."""
    begun = Boundary(clock=10, cpu=1, waited=0.5, busy=100, stolen=7)
    ended = Boundary(clock=14, cpu=1 + 4 / 3, waited=0.9, busy=103, stolen=8)
    cost = cost_between(begun, ended, 1.0)
    assert cost.cpu == pytest.approx(1 / 3)
    assert cost.cpu_wait == pytest.approx((2 / 3 + 0.4) / 4)


def test_a_worker_has_no_cost_in_no_time_and_loses_nothing_where_nothing_is_counted() -> None:
    boundary = Boundary(clock=10, cpu=1, waited=0, busy=0, stolen=0)
    assert cost_between(boundary, boundary, 1.0).cpu == 0
    assert cost_between(boundary, Boundary(11, 1.5, 0, 0, 0), 1.0).cpu_wait == 0


@pytest.mark.long
def test_a_worker_sees_that_its_loop_stalled() -> None:
    """A quarter of a second in two, in which no greenlet runs: twelve timers of a hundred."""
    cost = WorkerCost()
    cost.begin()
    gevent.sleep(0.9)
    time.sleep(0.25)
    gevent.sleep(0.9)
    cost.end_second()
    cost.end()
    assert cost.over(0, 1).loop_lag_ms > 150


@pytest.mark.long
def test_the_speed_probe_is_no_cost_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a single process, master and worker are the same; the probe's thread works all the time here."""
    monkeypatch.setattr(speed_probe, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(speed_probe, "SHARE", 1.0)
    probe, cost = SpeedProbe(), WorkerCost()
    probe.start(usable_cores(None))
    cost.begin()
    gevent.sleep(1)
    cost.end_second()
    cost.end()
    probe.stop()
    assert cost.over(0, 1).cpu < 0.1
