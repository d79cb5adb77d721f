"""The checks: each accuses the step it should, and no other."""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.analysis.checks import check_step, littles_law
from poolsize.runs.check import Check
from poolsize.runs.run import Step, Stopped, StopReason, Worker
from tests.closed_loop_simulation import WARM_UP, Network, step_of, transactions
from tests.conftest import a_step

GOOD = a_step(4, [100] * 10)


def failed(step: Step) -> set[str]:
    return {str(result.check) for result in check_step(step, error_budget=0.01) if not result.passed}


def test_a_good_step_passes() -> None:
    assert failed(GOOD) == set()


@pytest.mark.parametrize(
    ("change", "accused"),
    [
        ({"users": 80}, "littles_law"),
        ({"gap_ms": 100.0}, "littles_law"),
        ({"server_connections": 5}, "connections"),
        ({"errors": {"deadlock": (0,) + (3,) * 10}}, "errors"),
        ({"workers": (Worker("local", 4, 64, 0.93, 0.0, 0.5),)}, "generator"),
        ({"workers": (Worker("local", 4, 64, 0.5, 0.45, 0.5),)}, "generator"),
        ({"workers": (Worker("local", 4, 64, 0.2, 0.0, 80.0),)}, "generator"),
        ({"workers": (Worker("local", 4, 64, 0.2, 0.0, 45.0),)}, "generator"),  # usage time: 40 ms
        ({"workers": (Worker("one of two", 2, 64, 0.2, 0.0, 0.5),)}, "workers"),
        ({"throughput": (50,) + (120,) * 5 + (80,) * 5}, "steady_state"),
        (
            {"server": {"machine_cpu": (2.0,) * 11, "machine_cores": (2.0,) * 11, "process_cpu": (1.5,) * 11}},
            "quiet",
        ),
        ({"rate": 120.0}, "arrivals"),
        ({"rate": 100.0, "stopped": Stopped(StopReason.BACKLOG, {"backlog": 501})}, "arrivals"),
        (
            {"pool_size": 64, "server_connections": 64, "workers": (Worker("local", 64, 64, 0.2, 0.0, 0.5),)},
            "users_limited",
        ),
        (
            {"users": 128, "gap_ms": 640.0, "pool_size": 60, "server_connections": 60,
             "workers": (Worker("local", 60, 128, 0.2, 0.0, 0.5),)},
            "users_limited",
        ),
    ],
)  # fmt: skip
def test_one_fault_is_accused_by_one_check(change: dict[str, object], accused: str) -> None:
    assert failed(replace(GOOD, **change)) == {accused}  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("throughput", "usage_ms", "lag_ms", "late"),
    [
        (100, 40, 35.0, False),
        (500, 8, 7.5, False),
        (500, 8, 10.0, True),  # as insert on MySQL with 64 connections
        (10_000, 0.4, 1.5, False),  # an idle loop's timers are as late
        (10_000, 0.4, 2.5, True),
        (10, 400, 45.0, False),
        (10, 400, 55.0, True),
    ],
)
def test_an_event_loop_is_late_by_the_usage_time(throughput: int, usage_ms: float, lag_ms: float, late: bool) -> None:
    step = a_step(4, [throughput] * 10)
    step = replace(step, workers=(Worker("local", 4, 64, 0.2, 0.0, lag_ms),))
    (result,) = [result for result in check_step(step, 0.01) if result.check is Check.GENERATOR]
    assert result.values["usage_ms"] == pytest.approx(usage_ms, rel=0.01)
    assert result.passed == (not late)


@pytest.mark.costly
@pytest.mark.parametrize(("users", "per_second"), [(32, 3), (272, 10)])
def test_a_slow_database_passes_although_users_are_served_once_or_never_in_a_step(users: int, per_second: int) -> None:
    """With 5 % for every step, 13 and 10 of these 20 steps failed littles_law."""
    network = Network(users, 1, 1.0, 1000 / per_second, 0.0)
    assert sum(littles_law(queued_step(network, 15, seed)).passed for seed in range(20)) >= 19
    starved = replace(queued_step(network, 15, 0), users=3 * users)
    assert not littles_law(starved).passed


def queued_step(network: Network, length: int, seed: int) -> Step:
    """Return a step of 2 connections without think time, after every user was served."""
    before = int(network.users * network.cpu_ms / 1000) + 4
    done = transactions(network, 2, [1.0] * (before + length), np.random.default_rng(seed))
    done[:, 0] -= before - WARM_UP
    return replace(step_of(network, 2, 0, done[done[:, 0] >= 0], length), gap_ms=0.0)


def test_errors_of_the_warm_up_do_not_count() -> None:
    assert failed(replace(GOOD, errors={"deadlock": (50,) + (0,) * 10})) == set()


def test_an_open_loop_that_keeps_up_passes() -> None:
    """A transaction occupies a connection for 30 ms, so the rate needs 3 of the 4 connections."""
    open_loop = replace(GOOD, rate=100.0, users=500, backlog=(0,) * 11, busy=(3.0,) * 11)
    assert failed(open_loop) == set()
    assert failed(replace(open_loop, backlog=(), busy=())) == {"arrivals"}
    assert failed(replace(open_loop, busy=(4.0,) * 11)) == {"arrivals"}
    assert failed(replace(open_loop, backlog=tuple(range(0, 220, 20)))) == {"arrivals"}


def test_a_machine_that_is_busy_with_nothing_else_is_quiet() -> None:
    counters = {"machine_cpu": (2.0,) * 11, "machine_cores": (2.0,) * 11, "process_cpu": (1.7,) * 11}
    assert failed(replace(GOOD, server=counters)) == set()
    idle = counters | {"machine_cpu": (1.0,) * 11, "process_cpu": (0.1,) * 11}
    assert failed(replace(GOOD, server=idle)) == set()


def test_interrupts_and_stolen_time_are_no_programs() -> None:
    """A load that reads 5,000 pages a second from a disk causes interrupts for a fifth of a core."""
    counters = {"machine_cpu": (2.0,) * 11, "machine_cores": (2.0,) * 11, "process_cpu": (1.4,) * 11}
    assert failed(replace(GOOD, server=counters)) == {"quiet"}
    for name in ("machine_interrupts", "machine_steal"):
        assert failed(replace(GOOD, server=counters | {name: (0.3,) * 11})) == set()
