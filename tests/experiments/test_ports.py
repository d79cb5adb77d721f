"""The ports that connections without a pool use up on a network that is not a loopback, by Linux's counter."""

import os
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from poolsize import load_run
from poolsize.experiments.connection_limits import port_uses
from poolsize.server.connection import database_url
from tests.conftest import POOLSIZE
from tests.machines import IP, load_machines, server_for

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.experiment,
    pytest.mark.skipif(not IP, reason="needs the command ip"),
]
STEP_SECONDS = 70
"""Longer than a port waits in TIME_WAIT: the counter then neither rises nor falls."""


def test_after_a_minute_the_system_counts_as_many_ports_as_estimated(tmp_path: Path) -> None:
    run = tmp_path / "a.jsonl"
    with ExitStack() as stack:
        machines = stack.enter_context(load_machines(1))
        ((name, address),) = machines
        server = stack.enter_context(server_for(machines))
        sweep = stack.enter_context(
            subprocess.Popen(
                [IP, "netns", "exec", name, POOLSIZE, "sweep", "--workload", "select_one", "--pool", "none",
                 "--pool-sizes", "2", "--users", "4", "--think-time", "20ms", "--warm-up", "1s", "--repeats", "1",
                 "--step-time", f"{STEP_SECONDS}s", "--output", str(run)],
                env=os.environ | {"POOLSIZE_URL": f"mysql://loader:remote@{address}:{database_url(server.url).port}/?ssl-mode=off"},
            )
        )  # fmt: skip
        stack.callback(sweep.kill)
        while sweep.poll() is None and not (run.exists() and b'{"step"' in run.read_bytes()):
            time.sleep(0.5)
        sweep.send_signal(signal.SIGINT)  # a step that failed a check would be measured again
        sweep.wait(60)
    (use,) = port_uses(load_run(run))
    assert use.time_wait > 100
    assert use.steady == pytest.approx(use.time_wait, rel=0.1)
    assert use.seconds_left is None
