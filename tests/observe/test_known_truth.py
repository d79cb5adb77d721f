"""Sizes from simulated production against those that trying the sizes shows.

The constants of poolsize.observe.process_load were chosen on CHOSEN_ON with the seeds 2 and 4. HELD_OUT was not.
"""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.observe.replay import replayed
from poolsize.observe.text import verdict
from tests.observe.production import Shown, observed, server_of, span_of, true_need
from tests.observe.workload import Served, Workload, serve
from tests.pool_simulation import waits_in_order

SECONDS, TRIED_SECONDS = 7_200.0, 5_000.0
CONNECTIONS = 20
"""Connections of which the workloads use 30, 50 and 70 % at their peaks."""
POOL_SIZES = {"bursty": 50}
"""Pools that serve the bursts, too."""
CHOSEN_ON = {
    "poisson": Workload(1, 0.1),
    "log-normal": Workload(1, 0.1, "log-normal", 3.0),
    "constant": Workload(1, 0.1, "constant"),
    "bursty": Workload(1, 0.1, busy=2.5, busy_share=0.15, busy_s=6),
    "day": Workload(1, 0.1, day=0.6),
}
HELD_OUT = {
    "poisson": Workload(1, 0.15),
    "log-normal": Workload(1, 0.08, "log-normal", 6.0),
    "constant": Workload(1, 0.2, "constant"),
    "bursty": Workload(1, 0.12, busy=3.0, busy_share=0.08, busy_s=3),
    "day": Workload(1, 0.12, "log-normal", 2.0, day=0.4),
}
LOADS = (0.3, 0.5, 0.7)
SHARE_APART, P99_APART, P99_9_APART = 0.02, 0.3, 1.0
"""Replayed waits of pools from the need on are at most so far from the truth: the share that waits, and the p99 and
p99.9 in usage times.
"""


def answer_of(served: Served, shown: Shown, period: float = 60.0) -> PoolAnswer:
    (answer,) = pool_answers(observed([span_of(served, shown, period=period)]))
    return answer


def at_load(name: str, workload: Workload, load: float, seed: int) -> tuple[Served, int]:
    """Return a workload served by a large pool, and the pool that it needs at its peak, by trying."""
    rate = CONNECTIONS * load / workload.usage_s
    needed = true_need(replace(workload, rate=rate, day=0.0), TRIED_SECONDS, seed + 100)
    served = serve(replace(workload, rate=rate / (1 + workload.day)), POOL_SIZES.get(name, CONNECTIONS), SECONDS, seed)
    return served, needed


@pytest.mark.experiment
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", HELD_OUT)
def test_sizes_are_those_that_trying_shows(name: str, load: float) -> None:
    served, needed = at_load(name, HELD_OUT[name], load, 11)
    fine = served.in_use(np.arange(60, SECONDS, 0.02))
    for shown in ("counters", "buckets"):
        answer = answer_of(served, shown)
        assert answer.busiest.mean == pytest.approx(fine.mean(), rel=0.05)
        assert abs(answer.need - needed) <= 1
        assert abs(answer.busiest.in_use_p99_9 - np.quantile(fine, 0.999)) <= 1


@pytest.mark.experiment
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", HELD_OUT)
def test_replayed_waits_are_those_of_the_same_requests_at_other_pools(name: str, load: float) -> None:
    served, needed = at_load(name, HELD_OUT[name], load, 12)
    answer, sizes, usage_ms = answer_of(served, "buckets"), range(needed, needed + 3), 1000 * HELD_OUT[name].usage_s
    for replay in replayed(answer.loads, answer.traffic(), sizes):
        waits = waits_in_order(served.arrivals, served.usages, replay.pool_size)
        assert abs(replay.share_waiting - (waits > 0).mean()) <= SHARE_APART
        assert abs(replay.wait_ms.p99 - 1000 * np.quantile(waits, 0.99)) <= P99_APART * usage_ms
        assert abs(replay.wait_ms.p99_9 - 1000 * np.quantile(waits, 0.999)) <= P99_9_APART * usage_ms


@pytest.mark.experiment
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("case", ["pool of 2", "pool of 4", "timeouts", "saturated"])
def test_where_demand_is_cut_off_no_size_is_told_as_known(case: str, seed: int) -> None:
    workload = HELD_OUT[[*HELD_OUT][seed]]
    workload = replace(workload, rate=4.5 / workload.usage_s)
    needed = true_need(workload, TRIED_SECONDS, seed)
    pool_size, timeout_s = {"pool of 2": 2, "pool of 4": 4, "timeouts": 5, "saturated": 30}[case], float("inf")
    if case == "timeouts":
        timeout_s = 3 * workload.usage_s
    served = serve(workload, pool_size, SECONDS / 2, seed, timeout_s)
    server = [server_of(65.0, 8, 60)] if case == "saturated" else []
    (answer,) = pool_answers(observed([span_of(served, "buckets")], server))
    assert answer.need >= needed or "at least" in verdict(answer)
    assert bool(answer.censored)
