"""Arrival rates above what a pool can serve, on real servers: the answer is a pool that serves the rate."""

import json
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.runs.check import Check
from poolsize.target.private_server import PrivateServer
from tests.conftest import Command, measured_again

pytestmark = [pytest.mark.server, pytest.mark.slow]
SLEEPING = """
from poolsize.locust import PoolUser

class Sleeping(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT SLEEP(0.05)")
"""
"""Holds a connection for 50 ms or more, whatever the machine does: 8 connections serve 160/s at most."""


@measured_again
def test_a_pool_that_can_not_serve_the_rate_is_not_the_answer(
    server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    (tmp_path / "sleeping.py").write_text(SLEEPING)
    done = poolsize(
        "sweep", "--workload", "sleeping.py", "--rate", "162", "--pool-sizes", "4,8,10", "--output", "a.jsonl",
        "--json", url=server.url, timeout=300,
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["pool_size"] == 10
    results = {step.pool_size: next(c for c in step.checks if c.check is Check.ARRIVALS) for step in load_run(
        tmp_path / "a.jsonl").steps}  # fmt: skip
    assert {size: result.passed for size, result in results.items()} == {4: False, 8: False, 10: True}
    utilisation = results[8].values["utilisation"]
    assert isinstance(utilisation, float)
    assert utilisation > 162 / 160
