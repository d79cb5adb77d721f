"""Requests that arrive at random, for connections of real pools, beside the waits that `poolsize.traffic` says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log, sqrt

import numpy as np
import pytest
from sqlalchemy import make_url

from poolsize.server.private_server import PrivateServer
from poolsize.traffic.pool_use import ProcessTraffic, pool_use
from poolsize.traffic.usage_phases import UsageTimes, log_normal
from tests.applications.task_service import built
from tests.conftest import ROOT, measured_again, on_mariadb
from tests.java.__main__ import build, class_path
from tests.pool_simulation import WARM_UP, SimulatedPool, Times, simulate, waits_in_order

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.experiment]
Program = tuple[Sequence[str], Mapping[str, str]]
"""A command that runs a plan (tests/queue_pool_requests.py), without the pool size, and its variables."""
SECONDS = 60
POOL_SIZE, USAGE_MS, USAGE_P99_MS = 4, 10.0, 60.0
UTILISATIONS = (0.3, 0.6, 0.8)
AT_ONCE = 1000
"""Transactions that wait for a pool, so that it is always full."""
LEAST_WAIT_MS = 0.5
"""Whoever waits less did not wait for a connection: a pool's own code takes time, too."""
BATCHES = 10
"""Of successive requests, whose figures show the standard error of the measurement."""


def queue_pool(url: str) -> Program:
    """SQLAlchemy's QueuePool."""
    return (sys.executable, "-m", "tests.queue_pool_requests"), {"DATABASE": url}


def hikaricp(url: str) -> Program:
    """HikariCP, with MySQL Connector/J."""
    parts = make_url(url)
    jdbc = f"jdbc:mysql://{parts.host}:{parts.port}/?useSSL=false&allowPublicKeyRetrieval=true"
    account = {"JDBC_URL": jdbc, "JDBC_USER": str(parts.username), "JDBC_PASSWORD": str(parts.password)}
    return ("java", "-cp", java_classes(), "Requests"), account


def database_sql(url: str) -> Program:
    """Go's database/sql, with go-sql-driver/mysql."""
    parts, folder = make_url(url), built("go", ("go",), ("go", "build", "-o", "requests/", "./requests"))
    return (str(folder / "requests" / "requests"),), {
        "DSN": f"{parts.username}:{parts.password}@tcp({parts.host}:{parts.port})/"
    }


POOLS: Mapping[str, Callable[[str], Program]] = {
    "QueuePool": queue_pool,
    "HikariCP": hikaricp,
    "database/sql": database_sql,
}
IN_RANDOM_ORDER = "database/sql"
"""A connection that comes back goes to any of the requests that wait (`connRequestSet.TakeRandom` in Go's source)."""


@cache
def java_classes() -> str:
    """Compile the Java classes once, and return their class path."""
    if not (shutil.which("mvn") and shutil.which("java")):
        pytest.skip("no Java or no Maven on this machine")
    build()
    return class_path()


@dataclass(frozen=True)
class Requests:
    """Requests in the order of their arrival: when each asked for a connection, and its wait and usage time, in ms."""

    asked: Times
    waits: Times
    usages: Times

    @property
    def traffic(self) -> ProcessTraffic:
        """The traffic with these requests' rate, and with the mean and the variation of their usage times."""
        mean = float(self.usages.mean())
        rate = (len(self.asked) - 1) / float(self.asked[-1] - self.asked[0])
        return ProcessTraffic(rate, UsageTimes(mean, float(self.usages.var()) / mean**2))


def requests_of(program: Program, pool_size: int, due_ms: Times, sleeps_ms: Times) -> Requests:
    """Run a plan, and return its requests without those of the warm-up."""
    command, variables = program
    lines = zip((due_ms / 1000).tolist(), (sleeps_ms / 1000).tolist(), strict=True)
    done = subprocess.run(
        [*command, str(pool_size)], input="\n".join(f"{due:f} {sleep:f}" for due, sleep in lines), text=True,
        env=os.environ | variables, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=10 * SECONDS,
    )  # fmt: skip
    asked, got, given = 1000 * np.loadtxt(done.stdout.splitlines(), unpack=True)
    assert len(asked) == len(due_ms)
    in_order = np.argsort(asked)[len(asked) // WARM_UP :]
    return Requests(asked[in_order], (got - asked)[in_order], (given - got)[in_order])


def figures(waits: Times) -> Times:
    """Return the share of the requests that wait, the mean wait and the p99 wait in ms."""
    return np.array([(waits > LEAST_WAIT_MS).mean(), waits.mean(), np.quantile(waits, 0.99)])


def standard_errors(waits: Times, others: Times) -> Times:
    """Return the standard errors of figures(waits) - figures(others), by batch means."""
    batches = zip(np.array_split(waits, BATCHES), np.array_split(others, BATCHES), strict=True)
    differences = np.array([figures(batch) - figures(other) for batch, other in batches])
    return np.asarray(differences.std(axis=0, ddof=1) / sqrt(BATCHES))


def modelled(traffic: ProcessTraffic, pool_size: int) -> Times:
    """Return the figures by the model."""
    use = pool_use(traffic, pool_size)
    return np.array([use.share_waiting, use.wait_ms, use.wait_p99_ms])


def margins(model: Times) -> Times:
    """Return the deviations from the model that are allowed: 10 %, and 1 ms for the mean and the p99 wait."""
    return np.asarray(np.maximum(0.1 * model, [0.0, 1.0, 1.0]))


@on_mariadb
@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.parametrize("pool", POOLS)
@measured_again
def test_requests_wait_for_a_pool_as_the_model_says(server: PrivateServer, pool: str, utilisation: float) -> None:
    """Within 10 % or 1 ms, and the standard error. Usage times are sleeps of log-normal length.

    A minute of requests has its luck: in order, the same requests would wait longer or less than a million do. The
    measured figures are corrected by this difference, which makes their standard errors several times smaller.
    """
    random, spread = np.random.default_rng(36), log_normal(USAGE_MS, 0.99, USAGE_P99_MS)
    assert spread
    deviation, number = sqrt(log(1 + spread.variation)), round(1000 * SECONDS * utilisation * POOL_SIZE / USAGE_MS)
    due_ms = random.exponential(USAGE_MS / POOL_SIZE / utilisation, number).cumsum()
    sleeps_ms = USAGE_MS * random.lognormal(-(deviation**2) / 2, deviation, number)
    requests = requests_of(POOLS[pool](server.url), POOL_SIZE, due_ms, sleeps_ms)
    usage, load = requests.traffic.usage, requests.traffic.load
    usages_ms = sleeps_ms + usage.mean_ms - sleeps_ms.mean()
    of_plan = waits_in_order(due_ms, usages_ms, POOL_SIZE)[-len(requests.waits) :]
    many = simulate(SimulatedPool(POOL_SIZE, load, usage.variation, is_log_normal=True), 10**6, 1)
    in_long_run = np.array([many.share_waiting, many.wait * usage.mean_ms, many.p99 * usage.mean_ms])
    measured, errors = (
        figures(requests.waits) - figures(of_plan) + in_long_run,
        standard_errors(requests.waits, of_plan),
    )
    model = modelled(requests.traffic, POOL_SIZE)
    print(f"{pool} at {utilisation:.0%}: measured {measured}, standard errors {errors}, model {model}")
    is_near = np.abs(measured - model) <= margins(model) + errors
    assert is_near[:2].all()
    if pool == IN_RANDOM_ORDER and utilisation > 0.5:  # below, two requests hardly ever wait at once
        assert measured[2] > (model + margins(model))[2]
    else:
        assert is_near[2]


@on_mariadb
@pytest.mark.parametrize("utilisation", UTILISATIONS)
@measured_again
def test_requests_wait_longer_where_usage_times_grow_with_the_connections_in_use(
    server: PrivateServer, utilisation: float
) -> None:
    """oltp_read_write in three connections, which keep two cores busy.

    Requests wait while all connections are in use. So they wait longer than the mean usage time of all requests says,
    and not longer than exponential usage times with the mean of a pool that is always full.
    """
    pool_size, (command, variables) = 3, queue_pool(server.url)
    program = (*command, "oltp_read_write"), {**variables, "LOCUST_SKIP_MONKEY_PATCH": "1"}
    full = requests_of(program, pool_size, np.zeros(AT_ONCE), np.zeros(AT_ONCE)).traffic.usage
    number = round(1000 * SECONDS * utilisation * pool_size / full.mean_ms)
    due_ms = np.random.default_rng(36).exponential(full.mean_ms / pool_size / utilisation, number).cumsum()
    requests = requests_of(program, pool_size, due_ms, np.zeros(number))
    measured, errors = figures(requests.waits), standard_errors(requests.waits, np.zeros(len(requests.waits)))
    least = modelled(requests.traffic, pool_size)
    most = modelled(replace(requests.traffic, usage=UsageTimes(full.mean_ms)), pool_size)
    print(f"at {utilisation:.0%}: measured {measured}, standard errors {errors}, model {least} to {most}")
    assert (measured >= least - margins(least) - errors).all()
    assert (measured <= most + margins(most) + errors).all()
