"""Why a curve bends, by counters whose bottleneck is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from poolsize.analysis.bottleneck import Bottleneck, Evidence, bottleneck
from poolsize.facts.server import Server
from poolsize.present.text.sentences.checks import bottleneck_sentence
from poolsize.runs.run import Calibration, Step
from tests.conftest import a_setting, a_step

SERVER = Server("db:3306", "MariaDB", "10.11.6-MariaDB", 151, 0, "one-thread-per-connection", True, 2**27)
FAST = Calibration(7.0, 70.0)
FAR = Calibration(7.0, 5000.0)
IDLE = {"process_cpu": 0.5, "process_cores": 4.0, "Questions": 1000.0}


def shown(steps: Sequence[Step], server: Server = SERVER, calibration: Calibration = FAST) -> Bottleneck:
    return bottleneck(Evidence(steps, replace(a_setting((8,)), server=server), calibration))


def a_counted_step(counters: Mapping[str, float], cpu: float = 0.2) -> Step:
    step = a_step(8, [100] * 10, cpu=cpu)
    return replace(step, server={name: (None,) + (value,) * 10 for name, value in counters.items()})


@pytest.mark.parametrize(
    ("counters", "named", "evidence"),
    [
        ({"process_cpu": 3.9, "process_cores": 4.0}, "server CPU", "3.9 of 4 cores"),
        (
            {"process_cpu": 1.4, "process_cores": 2.0, "machine_cpu": 1.95, "machine_cores": 2.0},
            "shared CPU",
            "1.40 by the server, 0.20 by the load generator",
        ),
        ({**IDLE, "Innodb_row_lock_time": 6000.0, "Innodb_row_lock_waits": 90.0}, "row locks", "75 % of their time"),
        (
            {**IDLE, "Innodb_buffer_pool_reads": 500.0, "Innodb_buffer_pool_read_requests": 5000.0},
            "disk reads",
            "--cache-hit-rate 0.900",
        ),
        (
            {**IDLE, "Innodb_os_log_fsyncs": 50.0, "Innodb_os_log_written": 2e6},
            "redo log",
            "50 fsyncs per second, 2 transactions per fsync",
        ),
        ({**IDLE, "Innodb_os_log_fsyncs": 1.0, "Innodb_os_log_written": 512.0}, "unknown", "no recorded resource"),
        ({"Innodb_os_log_fsyncs": 50.0, "Innodb_os_log_written": 2e6}, "unknown", "no recorded resource"),
        (IDLE, "unknown", "no recorded resource"),
        ({}, "unknown", "no recorded resource"),
    ],
)
def test_what_is_full_or_waited_for_is_named(counters: Mapping[str, float], named: str, evidence: str) -> None:
    bottleneck = shown([a_counted_step(counters)])
    assert bottleneck.name == named
    assert evidence in bottleneck_sentence(bottleneck.name, bottleneck.values)


def test_a_busy_load_process_is_accused_before_the_server() -> None:
    full = {"process_cpu": 4.0, "process_cores": 4.0}
    assert shown([a_counted_step(full, cpu=0.99)]).name == "generator"


def test_distance_is_told_from_the_statements_and_the_round_trip() -> None:
    bottleneck = shown([a_counted_step({**IDLE, "Questions": 1200.0})], calibration=FAR)
    assert bottleneck.name == "round trip"
    assert "12 statements" in bottleneck_sentence(bottleneck.name, bottleneck.values)


def test_an_active_thread_pool_is_told_by_how_few_run() -> None:
    pooled = replace(SERVER, thread_handling="pool-of-threads")
    assert shown([a_counted_step({**IDLE, "Threads_running": 2.0})], pooled).name == "thread pool"
    assert shown([a_counted_step({**IDLE, "Threads_running": 7.0})], pooled).name == "unknown"
    everyone = [
        replace(a_counted_step({**IDLE, "Threads_running": float(size)}), pool_size=size) for size in (2, 8, 64)
    ]
    assert shown(everyone, pooled).name == "unknown"
