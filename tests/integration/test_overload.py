"""Arrival rates above what a pool can serve, on real servers: the answer is a pool that serves the rate."""

from dataclasses import replace
from pathlib import Path

import pytest

from poolsize import load_run, recommend
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Step
from poolsize.server.private_server import PrivateServer
from tests.conftest import Command, measured_again, on_mariadb

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.experiment]
SLEEPING = """
from poolsize.locust import PoolUser

class Sleeping(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT SLEEP(0.05)")
"""
"""Holds a connection for 50 ms or more, whatever the machine does: 8 connections serve 160/s at most."""


@on_mariadb  # every server sleeps as long
@measured_again
def test_a_pool_that_can_not_serve_the_rate_is_not_the_answer(
    server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    """A busy machine may fail `quiet` and `generator`, which are not the subject; 10 connections have 23 % to spare."""
    (tmp_path / "sleeping.py").write_text(SLEEPING)
    poolsize(
        "sweep", "--workload", "sleeping.py", "--rate", "162", "--pool-sizes", "4,8,10", "--output", "a.jsonl",
        url=server.url, timeout=400,
    )  # fmt: skip
    run = load_run(tmp_path / "a.jsonl")
    steps = tuple(_without(step, Check.QUIET, Check.GENERATOR) for step in run.steps)
    results = {step.pool_size: _result(step, Check.ARRIVALS) for step in steps}
    assert {size: result.passed for size, result in results.items()} == {4: False, 8: False, 10: True}
    utilisation = results[8].values["utilisation"]
    assert isinstance(utilisation, float)
    assert utilisation > 162 / 160
    answer = recommend(replace(run, steps=steps))
    assert (answer.pool_size, answer.verdict) == (10, "measured")


def _without(step: Step, *checks: Check) -> Step:
    return replace(step, checks=tuple(result for result in step.checks if result.check not in checks))


def _result(step: Step, check: Check) -> CheckResult:
    return next(result for result in step.checks if result.check is check)
