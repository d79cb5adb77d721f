"""A server behind a network that delays and loses packets, or that is cut for a while."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.server.connection import database_url
from poolsize.sweep.next_step import remaining
from tests.bad_network import bad_path
from tests.conftest import POOLSIZE, assert_soon, curve_of, has_line
from tests.machines import IP, load_machines, server_for

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not IP, reason="needs the command ip"),
]
HERE, THERE = "10.214.0.1", "10.214.0.2"


@contextmanager
def sweeping(machine: str, url: str, run: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A sweep on another machine."""
    command = [
        POOLSIZE, "sweep", "--workload", "insert", "--warm-up", "1s", "--step-time", "4s", "--output", str(run),
        *options,
    ]  # fmt: skip
    with subprocess.Popen(
        [IP, "netns", "exec", machine, *command], env=os.environ | {"POOLSIZE_URL": url}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        try:
            yield sweep
        finally:
            sweep.kill()


def test_delay_and_loss_cost_no_transaction(tmp_path: Path) -> None:
    """10 ms each way, and 3 % of the packets lost each way."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("needs /dev/net/tun")
    run = tmp_path / "a.jsonl"
    with ExitStack() as stack:
        machines = stack.enter_context(load_machines(1))
        ((name, _),) = machines
        stack.enter_context(bad_path(name, HERE, THERE, delay_ms=10, loss=0.03))
        server = stack.enter_context(server_for([*machines, (name, HERE)]))
        url = f"mysql://loader:remote@{HERE}:{database_url(server.url).port}/?ssl-mode=off"
        with sweeping(name, url, run, "--pool-sizes", "2,8", "--users", "16", "--step-time", "2s") as sweep:
            _, errors = sweep.communicate(timeout=150)
        assert sweep.returncode in {0, 1}, errors
    swept = load_run(run)
    assert remaining(swept) is None, errors
    for step in curve_of(swept):
        assert step.server_connections == step.pool_size
        assert step.error_count == 0
        assert 0 < step.mean_throughput < step.pool_size / 0.02  # a transaction takes a round trip of 20 ms, or more


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("seconds", [6, 30])
def test_a_network_that_is_cut_costs_the_step_under_way(tmp_path: Path, seconds: int) -> None:
    """TCP goes on after 6 s; after 20 s, poolsize gives the connections up, and waits for the server."""
    run = tmp_path / "a.jsonl"
    with ExitStack() as stack:
        machines = stack.enter_context(load_machines(1))
        ((name, address),) = machines
        server = stack.enter_context(server_for(machines))
        url = f"mysql://loader:remote@{address}:{database_url(server.url).port}/?ssl-mode=off"
        sweep = stack.enter_context(sweeping(name, url, run, "--pool-sizes", "2,4", "--repeats", "2", "--users", "16"))
        assert_soon(lambda: has_line(run))
        before = load_run(run, torn_end=True).steps
        time.sleep(1.5)
        subprocess.run([IP, "link", "set", name, "down"], check=True)
        time.sleep(seconds)
        subprocess.run([IP, "link", "set", name, "up"], check=True)
        _, errors = sweep.communicate(timeout=150)
    assert sweep.returncode in {0, 1}, errors
    assert ("The step is measured again" in errors) == (seconds > 20), errors
    swept = load_run(run)
    assert remaining(swept) is None, errors
    assert [step.order for step in swept.steps[: len(before)]] == [step.order for step in before]
    for step in curve_of(swept):
        if step.valid:
            assert step.error_count == 0
            assert min(step.counted) > 0
