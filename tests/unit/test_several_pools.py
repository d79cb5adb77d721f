"""An application with several pools: a pool size is that of each, and the database has them all."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.analysis.checks import check_step
from poolsize.analysis.speed import with_speed_checks
from poolsize.answer.finding import SweepBeyond
from poolsize.answer.from_run import recommend
from poolsize.answer.verdict import StillRising
from poolsize.errors import BadInput
from poolsize.predict.prediction import WhatIf, predict
from poolsize.present.plots.server import plot_threads
from poolsize.present.report import report_markdown
from poolsize.runs.check import Check
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.run import Run, Step
from tests.conftest import Command, a_run, at_speed, written

CURVE = {1: 100, 2: 200, 4: 400, 8: 800, 16: 808, 32: 810}
"""Requests per second with 4 pools of each size; 32 connections are enough."""


def of_pools(run: Run, instances: int, processes: int, counters: Mapping[str, float] | None = None) -> Run:
    """The run as that of an application's pools, with these counters in every second."""
    application = MeasuredApplication("shop.toml", "0" * 64, "http://shop", True, (), instances, processes)
    steps = tuple(_of_application(step, application.pools, counters or {}) for step in run.steps)
    return Run(replace(run.setting, application=application, private=False), steps)


def _of_application(step: Step, pools: int, counters: Mapping[str, float]) -> Step:
    assert step.latencies is not None
    step = replace(
        step,
        latencies=replace(step.latencies, wait=None, usage=None),
        server=dict(step.server) | {name: (value,) * len(step.throughput) for name, value in counters.items()},
        server_connections=pools * step.pool_size,
    )
    return replace(step, checks=check_step(step, 0.01, pools))


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """The file of a run of 4 pools."""
    run = of_pools(a_run(CURVE, users=1024), instances=2, processes=2)
    return str(written(tmp_path / "four.jsonl", run))


@pytest.mark.costly
@pytest.mark.parametrize(("instances", "each"), [(4, 8), (8, 4)])
def test_a_fleet_gets_the_connections_of_all_pools(
    poolsize_here: Command, stored: str, instances: int, each: int
) -> None:
    for command in ("fleet", "recommend"):
        answer = json.loads(poolsize_here(command, "--run", stored, "--instances", str(instances), "--json").stdout)
        plan = answer["fleet"] if command == "recommend" else answer
        assert (plan["size"], plan["pools"][0]["pool_size"]) == (32, each)


@pytest.mark.costly
def test_without_a_fleet_the_measured_one_is_meant(poolsize_here: Command, stored: str) -> None:
    assert json.loads(poolsize_here("recommend", "--run", stored, "--json").stdout)["connections"] == 32
    (pool,) = json.loads(poolsize_here("fleet", "--run", stored, "--json").stdout)["pools"]
    assert (pool["pool_size"], pool["connections"]) == (8, 32)
    configured = poolsize_here("config", "--for", "hikaricp", "--run", stored, "--json").stdout
    assert json.loads(configured)["pool_size"] == 8


@pytest.mark.costly
def test_instances_of_an_application_that_limits_itself_keep_its_pool_size(
    poolsize_here: Command, tmp_path: Path
) -> None:
    """Its CPU is the bottleneck, and six instances have six times the CPU: 2 connections were divided, 1 for each."""
    busy = {"application_cpu": 1.99, "application_cores": 2.0, "process_cpu": 0.3, "machine_cpu": 2.4}
    run = of_pools(a_run({1: 100, 2: 200, 4: 202, 8: 201}, users=64), 1, 1, busy | {"machine_cores": 8.0})
    assert recommend(run).pool_size == 2
    path = written(tmp_path / "busy.jsonl", run)
    divided = ("--run", str(path), "--instances", "6", "--json")
    plan = json.loads(poolsize_here("fleet", *divided).stdout)
    assert (plan["pools"][0]["pool_size"], plan["pools"][0]["connections"]) == (2, 12)
    assert plan["findings"][0]["code"] == "fleet_pool_size_kept"
    assert json.loads(poolsize_here("recommend", *divided).stdout)["fleet"]["pools"][0]["pool_size"] == 2
    assert json.loads(poolsize_here("config", "--for", "hikaricp", *divided).stdout)["pool_size"] == 2
    (pool,) = json.loads(poolsize_here("fleet", "--run", str(path), "--json").stdout)["pools"]
    assert pool["connections"] == 2


@pytest.mark.costly
@pytest.mark.parametrize(("instances", "size"), [(64, 16), (128, 32), (129, None)])
def test_the_loss_of_a_fleet_is_that_of_the_pools_with_as_many_connections(
    poolsize_here: Command, stored: str, instances: int, size: int | None
) -> None:
    answer = json.loads(poolsize_here("fleet", "--run", stored, "--instances", str(instances), "--json").stdout)
    (above,) = [each["values"] for each in answer["findings"] if each["code"] == "fleet_above_size"]
    assert (above["connections"], above["measured_up_to"]) == (instances, 128)
    losses = {price["pool_size"]: price["throughput_loss"] for price in json.loads(
        poolsize_here("recommend", "--run", stored, "--json").stdout
    )["regret"]}  # fmt: skip
    assert above["throughput_loss"] == (None if size is None else pytest.approx(losses[size] - losses[8]))


@pytest.mark.costly
def test_row_locks_and_threads_are_shares_of_all_connections() -> None:
    """4 pools of 8: 3.2 of 32 connections wait for a row lock, and 3.2 of them are a tenth."""
    locks = {"Innodb_row_lock_time": 3200.0, "Innodb_row_lock_waits": 9.0}
    curve = {1: 100, 2: 200, 4: 400, 8: 800}
    alone, together = (analyze(of_pools(a_run(curve, users=1024), 1, pools, locks)).bottleneck for pools in (1, 4))
    assert alone is not None
    assert alone.name is BottleneckName.ROW_LOCKS
    assert alone.values["share"] == pytest.approx(0.4)
    assert together is not None
    assert together.name is BottleneckName.UNKNOWN

    run = of_pools(a_run(curve, users=1024), 1, 4, {"Threads_running": 8.0})
    assert run.setting.server is not None
    threads = replace(run.setting.server, thread_handling="pool-of-threads")
    few = analyze(replace(run, setting=replace(run.setting, server=threads))).bottleneck
    assert few is not None
    assert few.name is BottleneckName.THREAD_POOL
    assert few.values == {"connections": 32, "running_threads": 8.0}


def test_the_cpus_part_is_that_of_all_connections() -> None:
    """The server's 1.6 cores and the worker's 0.2 are a small part of the time of 4 pools of 8 connections."""
    run = of_pools(a_run(dict.fromkeys((8, 9, 10), 100), users=1024), 2, 2)
    run = with_speed_checks(replace(run, steps=tuple(at_speed(step, 100, busy=1.6) for step in run.steps)))
    (speed,) = [result for result in run.steps[0].checks if result.check is Check.SPEED]
    assert speed.values["cpu_share"] == pytest.approx(1.8 / 32)


@pytest.mark.costly
def test_the_users_that_an_answer_asks_for_fill_all_pools() -> None:
    """At the edge of the measured sizes, 4 pools of 8 times the largest size need two users for each connection."""
    answer = recommend(of_pools(a_run({1: 100, 2: 195, 4: 380, 8: 700}, users=128), 2, 2))
    (way_out,) = [finding.way_out for finding in answer.findings if isinstance(finding, StillRising)]
    assert isinstance(way_out, SweepBeyond)
    assert way_out.users == 2 * 4 * 64


def test_users_of_an_application_are_no_consumers_of_a_job_queue() -> None:
    """Each of the 64 users is a request, which uses a connection for a part of its time."""
    answer = recommend(of_pools(a_run({2: 700, 4: 800, 8: 801, 64: 800}, users=64), 2, 2))
    assert not [finding for finding in answer.findings if finding.code == "job_queue"]


def test_running_threads_are_drawn_against_all_connections() -> None:
    run = of_pools(a_run(CURVE, users=1024), 2, 2, {"Threads_running": 8.0})
    line = plot_threads(plt.figure().gca(), analyze(run)).lines[0]
    assert np.asarray(line.get_ydata()).tolist() == [4 * size for size in CURVE]
    plt.close("all")


@pytest.mark.costly
def test_the_report_begins_with_the_number_of_pools() -> None:
    analysis = analyze(of_pools(a_run(CURVE, users=1024), 2, 2))
    assert report_markdown(analysis, recommend(analysis)).startswith("# 8 connections in each of 4 pools")


def test_no_users_are_predicted_for_several_pools() -> None:
    with pytest.raises(BadInput, match="4 pools"):
        predict(analyze(of_pools(a_run(CURVE, users=1024), 2, 2)), WhatIf())


def with_rate(poolsize_here: Command, stored: str, *more: str) -> subprocess.CompletedProcess[str]:
    """The answer for a traffic, beside what the database can use by a run."""
    return poolsize_here("recommend", "--run", stored, "--rate", "300/s", "--instances", "3", *more)


@pytest.mark.parametrize("usage", [(), ("--usage-time", "2ms")])
def test_an_application_that_the_database_does_not_limit_does_not_show_what_it_can_use(
    poolsize_here: Command, stored: str, usage: tuple[str, ...]
) -> None:
    """One error asked for the usage time, and the other to leave it out."""
    done = with_rate(poolsize_here, stored, *usage)
    assert done.returncode == 2
    assert "--run: the database does not limit throughput in this run of an application" in done.stderr
    assert "  poolsize recommend --rate RATE " in poolsize_here("recommend", "--run", stored).stdout


@pytest.mark.costly
def test_an_application_on_a_busy_database_shows_what_the_database_can_use(
    poolsize_here: Command, tmp_path: Path
) -> None:
    busy = of_pools(a_run(CURVE, users=1024), 2, 2, {"process_cpu": 3.9, "process_cores": 4.0})
    stored = str(written(tmp_path / "busy.jsonl", busy))
    answer = json.loads(with_rate(poolsize_here, stored, "--usage-time", "2ms", "--json").stdout)
    assert answer["supply"]["connections"] == 32
    assert "by the run, for the measured application" in poolsize_here("fleet", "--run", stored).stdout
    assert "add --usage-time" in with_rate(poolsize_here, stored).stderr
    assert f"  poolsize recommend --run {stored} --rate RATE " in poolsize_here("recommend", "--run", stored).stdout
