"""Predicted total times against a simulation, whose users think and whose instances have a pool each."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.predict.prediction import WhatIf, predict
from tests.closed_loop_simulation import Network, simulated_run, transactions

SIZES, SECONDS = (1, 2, 4, 8, 16, 32), 40
"""Of the run, a closed loop, that the predictions are made from."""
THINK_MS = 500.0
TRANSACTIONS = 100_000
BOUND = 0.15
"""Of the errors of p95 and p99."""


@dataclass(frozen=True)
class Case:
    """variation: of the service times. load: arrival rate over the throughput of a full pool, of all instances."""

    variation: float
    load: float
    pool_size: int
    instances: int

    @property
    def capacity(self) -> float:
        """Transactions per ms."""
        network = network_of(1.0)
        station = Station(network.cpu_ms, network.cores, network.slowdown)
        return float(throughputs([station], network.client_ms, self.pool_size)[-1])

    @property
    def users(self) -> int:
        """Users whose think time makes the load."""
        return round(self.load * self.capacity * THINK_MS / self.instances) * self.instances


def network_of(variation: float) -> Network:
    return Network(users=64, cores=4, client_ms=2.0, cpu_ms=4.0, slowdown=0.01, variation=variation)


@cache
def closed_loop(variation: float) -> Analysis:
    return analyze(simulated_run(network_of(variation), SIZES, SECONDS, np.random.default_rng(3), 0.0, 0.0))


def simulated_ms(case: Case) -> tuple[float, float]:
    seconds = round(TRANSACTIONS / (1000 * case.load * case.capacity))
    network = replace(network_of(case.variation), users=case.users, think_ms=THINK_MS, instances=case.instances)
    done = transactions(network, case.pool_size, [1.0] * seconds, np.random.default_rng(11))
    p95, p99 = np.quantile(1000 * done[done[:, 0] > seconds / 50, 1:].sum(axis=1), [0.95, 0.99]).tolist()
    return p95, p99


POOLS = ((4, 1), (8, 1), (8, 2), (16, 4), (24, 6))
GRID = [
    Case(variation, load, *pool) for variation in (0.25, 1.0, 4.0) for load in (0.3, 0.5, 0.7, 0.9) for pool in POOLS
]
QUICK = Case(1.0, 0.3, 8, 1)
IN_CI = [case for case in GRID if (case.load, case.instances) == (0.9, 4)]


@pytest.mark.costly
@pytest.mark.parametrize(
    "case",
    [
        QUICK,
        *(pytest.param(case, marks=pytest.mark.long if case in IN_CI else pytest.mark.experiment) for case in GRID),
    ],
)
def test_users_who_think_and_instances_have_the_total_times_of_a_simulation(case: Case) -> None:
    """Up to 4.5 times too long, or 35 % too short, when all instances filled and emptied their pools in step."""
    what_if = WhatIf(think_time_ms=THINK_MS, users=case.users, instances=case.instances)
    total = predict(closed_loop(case.variation), what_if, [case.pool_size]).sizes[0].total
    assert (total.p95, total.p99) == pytest.approx(simulated_ms(case), rel=BOUND)
