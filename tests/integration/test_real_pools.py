"""Requests that arrive at random, for connections of real pools, beside the waits that `poolsize.traffic` says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import takewhile
from math import log, pi, sqrt
from typing import Self

import numpy as np
import psutil
import pytest
from scipy.optimize import brentq
from scipy.stats import median_abs_deviation
from sqlalchemy import make_url

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.traffic.database_load import slowing_of
from poolsize.traffic.pool_use import ProcessTraffic, in_use_probabilities, pool_use
from poolsize.traffic.shared_pools import Pools
from poolsize.traffic.usage_phases import UsageTimes, log_normal
from tests.applications.task_service import APPLICATIONS, built
from tests.conftest import HARDLY_ANY, ROOT, may_run_on, measured_again, on_mariadb, stolen_share, undisturbed
from tests.java.__main__ import build, class_path
from tests.pool_simulation import WARM_UP, SimulatedPool, Times, simulate, waits_in_order
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.experiment]
Program = tuple[Sequence[str], Mapping[str, str]]
"""A command that runs plans (tests/queue_pool_requests.py), and its variables."""
MINUTE, PARTS = 60, 10
"""Seconds of requests that sleep, and the parts in which they are measured."""
POOL_SIZE, USAGE_MS, USAGE_P99_MS = 4, 10.0, 60.0
UTILISATIONS = (0.3, 0.6, 0.8)
OF_FULL_POOL = 1000
"""Requests that measure a pool whose connections are always in use."""
LEAST_WAIT_MS = 0.5
"""Whoever waits less did not wait for a connection: a pool's own code takes time, too."""
ROUNDS, MOST_ROUNDS, WARM_UP_ROUNDS, ROUND_SECONDS = 10, 60, 5, 6
"""Rounds that count, all, and those before them; the length of each. A JVM that has just started still compiles."""
SAME_SPEED = 0.05
"""By how much two rates of a full pool may differ, as a share."""
LIGHT = 0.3
"""The utilisation at which connections complete less than in a full pool."""
CALIBRATION_LOAD, CALIBRATION_SECONDS = 0.5, 20
"""That traffic: its rate as a share of what a full pool completes, and its length."""
MOST_LOAD = 0.99
"""The largest rate that is tried, as a share of what a full pool completes: near 1, a queue grows without end."""
STEADY = {
    "innodb_flush_log_at_trx_commit": "2",
    "innodb_flush_method": "nosync",
    "innodb_log_file_size": "2G",
    "innodb_doublewrite": "0",
    "innodb_purge_batch_size": "10",
}
"""Options with which a server does not flush to its disk, and does its own work in small portions."""
HEAP = "-Xms5g -Xmn4g -XX:+AlwaysPreTouch"
"""So large that a JVM seldom collects garbage."""
TABLE = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE sbtest1 (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(120), pad CHAR(60), KEY (k))",
    "INSERT INTO sbtest1 SELECT seq, 1 + RAND() * 9999, REPEAT('c', 119), REPEAT('p', 59) FROM seq_1_to_10000",
)
"""The table of the transactions in Java and Go; those in Python make their own."""
MEDIANS_ERROR = sqrt(pi / 2)
"""The standard error of a median by that of a mean, of values that are normally distributed."""
BATCHES = 10
"""Of successive requests, whose figures show the standard error of the measurement."""


def queue_pool(url: str) -> Program:
    """SQLAlchemy's QueuePool."""
    variables = {"DATABASE": url, "LOCUST_SKIP_MONKEY_PATCH": "1"}  # Locust replaces threads, which requests have
    return (sys.executable, "-m", "tests.queue_pool_requests"), variables


def hikaricp(url: str, heap: str = HEAP) -> Program:
    """HikariCP, with MySQL Connector/J. heap: options of the JVM."""
    parts = make_url(url)
    jdbc = f"jdbc:mysql://{parts.host}:{parts.port}/shop?createDatabaseIfNotExist=true&useSSL=false&allowPublicKeyRetrieval=true"
    account = {"JDBC_URL": jdbc, "JDBC_USER": str(parts.username), "JDBC_PASSWORD": str(parts.password)}
    return ("java", *heap.split(), "-cp", java_classes(), "Requests"), account


def database_sql(url: str) -> Program:
    """Go's database/sql, with go-sql-driver/mysql."""
    parts, folder = make_url(url), built(APPLICATIONS / "go", ("go",), ("go", "build", "-o", "requests/", "./requests"))
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
    def warm(self) -> "Requests":
        """The requests without those of the warm-up."""
        first = len(self.asked) // WARM_UP
        return Requests(self.asked[first:], self.waits[first:], self.usages[first:])

    def share_waiting(self, pool_size: int) -> float:
        """Return the share of the requests that find all connections in use."""
        completed = np.searchsorted(self.completed_at, self.asked)
        return float((np.arange(len(self.asked)) - completed >= pool_size).mean())

    def rates(self, pool_size: int) -> Times:
        """Return the requests per second that complete while 1, 2, ... connections are in use."""
        times = np.concatenate([self.asked, self.completed_at])
        changes = np.repeat([1, -1], len(self.asked))
        in_order = np.argsort(times, kind="stable")
        times, changes = times[in_order], changes[in_order]
        in_use = np.minimum(changes.cumsum() - changes, pool_size)
        lengths = np.bincount(in_use, np.diff(times, prepend=times[0]))
        return np.asarray(1000 * np.bincount(in_use[changes < 0]) / lengths)[1:]

    @property
    def completed_at(self) -> Times:
        """When the requests completed, in ms and in this order."""
        return np.sort(self.asked + self.waits + self.usages)

    @property
    def traffic(self) -> ProcessTraffic:
        """The traffic with these requests' rate, and with the mean and the variation of their usage times."""
        mean = float(self.usages.mean())
        rate = (len(self.asked) - 1) / float(self.asked[-1] - self.asked[0])
        return ProcessTraffic(rate, UsageTimes(mean, float(self.usages.var()) / mean**2))


class RunningProgram:
    """A program that runs one plan after another."""

    def __init__(self, program: Program) -> None:
        command, variables = program
        self._process = subprocess.Popen(
            command, env=os.environ | variables, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # the end of its input ends it
            pass

    def requests(
        self, pool_size: int, due_ms: Times, sleeps_ms: Times | None = None, at_once: int | None = None
    ) -> Requests:
        """Run a plan, and return its requests; at most so many of them at once."""
        assert self._process.stdin
        assert self._process.stdout
        of_requests = np.column_stack([due_ms, np.zeros(len(due_ms)) if sleeps_ms is None else sleeps_ms]) / 1000
        lines = "".join(f"{due:f} {sleep:f}\n" for due, sleep in of_requests.tolist())
        self._process.stdin.write(f"{pool_size} {at_once or len(due_ms)}\n{lines}\n")
        self._process.stdin.flush()
        done = [*takewhile(str.strip, self._process.stdout)]
        assert len(done) == len(due_ms)
        asked, got, given = 1000 * np.loadtxt(done, unpack=True)
        in_order = np.argsort(asked)
        return Requests(asked[in_order], (got - asked)[in_order], (given - got)[in_order])

    def rate(self, pool_size: int) -> float:
        """Return the requests per second that a pool completes which is always full.

        As many wait as have a connection, so the program has no long queue to look after.
        """
        requests = self.requests(pool_size, np.zeros(OF_FULL_POOL), at_once=2 * pool_size)
        completed = requests.completed_at[OF_FULL_POOL // WARM_UP :]
        return 1000 * (len(completed) - 1) / float(completed[-1] - completed[0])


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
@pytest.mark.timeout(1800)
@measured_again
def test_requests_wait_for_a_pool_as_the_model_says(server: PrivateServer, pool: str, utilisation: float) -> None:
    """Within 10 % or 1 ms, and the standard error. Usage times are sleeps of log-normal length.

    A minute of requests has its luck: in order, the same requests would wait longer or less than a million do. The
    measured figures are corrected by this difference, which makes their standard errors several times smaller.
    """
    random, spread = np.random.default_rng(36), log_normal(USAGE_MS, 0.99, USAGE_P99_MS)
    assert spread
    with RunningProgram(POOLS[pool](server.url)) as program:
        measure = partial(sleeping, program, random, spread, utilisation)
        measure()  # a program that has just started is slower
        parts = undisturbed(measure, PARTS)
    requests, of_plan = joined([part for part, _ in parts]), np.concatenate([waits for _, waits in parts])
    usage, load = requests.traffic.usage, requests.traffic.load
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


def sleeping(
    program: RunningProgram, random: np.random.Generator, spread: UsageTimes, utilisation: float
) -> tuple[Requests, Times]:
    """Return the requests of a part of a minute, which sleep on the server, and the waits that they have in order."""
    deviation, seconds = sqrt(log(1 + spread.variation)), MINUTE / PARTS
    due_ms = arrivals(random, 1000 * utilisation * POOL_SIZE / USAGE_MS, seconds)
    sleeps_ms = USAGE_MS * random.lognormal(-(deviation**2) / 2, deviation, len(due_ms))
    requests = program.requests(POOL_SIZE, due_ms, sleeps_ms).warm
    overhead_ms = requests.usages.mean() - sleeps_ms[-len(requests.usages) :].mean()
    return requests, waits_in_order(due_ms, sleeps_ms + overhead_ms, POOL_SIZE)[-len(requests.waits) :]


def joined(parts: Sequence[Requests]) -> Requests:
    """Return the requests of parts that follow each other without a pause."""
    asked, begins = [], 0.0
    for part in parts:
        asked.append(part.asked - part.asked[0] + begins)
        begins = float(asked[-1][-1] + np.diff(part.asked).mean())
    waits, usages = (np.concatenate([getattr(part, name) for part in parts]) for name in ("waits", "usages"))
    return Requests(np.concatenate(asked), waits, usages)


@on_mariadb
@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.timeout(1800)
@measured_again
def test_requests_wait_longer_where_usage_times_grow_with_the_connections_in_use(
    server: PrivateServer, utilisation: float
) -> None:
    """oltp_read_write in three connections, which keep two cores busy.

    Requests wait while all connections are in use. So they wait longer than the mean usage time of all requests says,
    and not longer than exponential usage times with the mean of a pool that is always full.
    """
    pool_size, (command, variables) = 3, queue_pool(server.url)
    with RunningProgram(((*command, "oltp_read_write"), variables)) as running:
        (of_full_pool,) = undisturbed(lambda: running.requests(pool_size, np.zeros(OF_FULL_POOL)).warm, 1)
        full, random = of_full_pool.traffic.usage, np.random.default_rng(36)
        rate, seconds = 1000 * utilisation * pool_size / full.mean_ms, MINUTE / PARTS
        parts = undisturbed(lambda: running.requests(pool_size, arrivals(random, rate, seconds)).warm, PARTS)
    requests = joined(parts)
    measured, errors = figures(requests.waits), standard_errors(requests.waits, np.zeros(len(requests.waits)))
    least = modelled(requests.traffic, pool_size)
    most = modelled(replace(requests.traffic, usage=UsageTimes(full.mean_ms)), pool_size)
    print(f"at {utilisation:.0%}: measured {measured}, standard errors {errors}, model {least} to {most}")
    assert (measured >= least - margins(least) - errors).all()
    assert (measured <= most + margins(most) + errors).all()


@pytest.fixture(scope="module")
def busy_server() -> Iterator[PrivateServer]:
    """A MariaDB with a core of its own, and the table of the transactions."""
    cores = sorted(os.sched_getaffinity(0))
    with awake(cores), administered_server(None, STEADY, 100) as server, ExitStack() as afterwards:
        may_run_on(server.pid, {cores[0]})
        afterwards.callback(os.sched_setaffinity, 0, cores)
        os.sched_setaffinity(0, {cores[-1]})
        with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
            for statement in TABLE:
                cursor.execute(statement)
        yield server


@contextmanager
def awake(cores: Sequence[int]) -> Iterator[None]:
    """Keep cores from sleeping, by programs of the lowest priority that end with this process.

    A core that sleeps between requests slows light traffic down.
    """
    with ExitStack() as afterwards:
        programs = []
        for core in cores:
            command = f"setpriv --pdeathsig KILL chrt --idle 0 taskset --cpu-list {core} sh -c".split()
            programs.append(subprocess.Popen((*command, "while :; do :; done")))
            afterwards.callback(programs[-1].wait)
            afterwards.callback(programs[-1].terminate)
        yield
        assert all(program.poll() is None for program in programs)


@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.timeout(1800)
@measured_again
def test_requests_wait_for_a_busy_database_as_the_model_says(
    busy_server: PrivateServer, pool: str, utilisation: float
) -> None:
    """oltp_read_write in four connections, which keep the server's core busy: within 10 % or 1 ms, and standard errors.

    The speed of a machine changes within a minute. So rounds of a few seconds are measured, and a round counts if a
    pool that is always full completes as many requests before it as after it, and the hypervisor took hardly any time
    meanwhile. Measured and modelled figures are medians over the rounds, because some rounds contain a pause.

    The model has the rates that other traffic shows, and above 30 % in use also those of pools that are always full, as
    a run has. With 30 % in use, two and three connections of HikariCP and database/sql complete less than such pools,
    so up to a quarter more requests wait than by the rates of full pools.
    """
    command, variables = POOLS[pool](busy_server.url)
    with RunningProgram(((*command, "oltp_read_write"), variables)) as running:
        rounds = measured_rounds(running, utilisation)
    assert len(rounds) == ROUNDS
    measured, of_full_pools, of_traffic = np.median(rounds, axis=0)
    spread = median_abs_deviation([waits for waits, *_ in rounds], scale="normal")
    errors = MEDIANS_ERROR * spread / sqrt(len(rounds))
    print(
        f"{pool} at {utilisation:.0%}: measured {measured}, standard errors {errors}, model {of_full_pools}, ", end=""
    )
    print(f"with rates of traffic {of_traffic}")
    for model in (of_traffic, of_full_pools) if utilisation > LIGHT else (of_traffic,):
        is_near = np.abs(measured - model) <= margins(model) + errors
        assert is_near[:2].all()
        if pool == IN_RANDOM_ORDER and utilisation > LIGHT:
            assert measured[2] > model[2]
        else:
            assert is_near[2]


def measured_rounds(running: RunningProgram, utilisation: float) -> list[tuple[Times, Times, Times]]:
    """Return the figures of the rounds that count: measured, by the rates of full pools, and by those of traffic."""
    random, rounds = np.random.default_rng(36), list[tuple[Times, Times, Times]]()
    for _ in range(WARM_UP_ROUNDS):
        capacity = full_rates(running)[-1]
    at_half = arrivals(random, CALIBRATION_LOAD * capacity, CALIBRATION_SECONDS)
    ((traffic, before, rates),) = undisturbed(lambda: between_full_rates(running, at_half), 1)
    assert abs(rates[-1] / before[-1] - 1) < SAME_SPEED
    relative = np.append(traffic.rates(POOL_SIZE)[:-1] / ((before[-1] + rates[-1]) / 2), 1)
    for _ in range(MOST_ROUNDS):
        due_ms, cpu_times = arrivals(random, rate_of(utilisation, rates), ROUND_SECONDS), psutil.cpu_times()
        requests = running.requests(POOL_SIZE, due_ms).warm
        before, rates = rates, full_rates(running)
        if abs(rates[-1] / before[-1] - 1) < SAME_SPEED and stolen_share(cpu_times) <= HARDLY_ANY:
            waits = [requests.share_waiting(POOL_SIZE), requests.waits.mean(), np.quantile(requests.waits, 0.99)]
            of_full_pools, of_traffic = (of_busy(requests.traffic, each) for each in (rates, rates[-1] * relative))
            rounds.append((np.array(waits), of_full_pools, of_traffic))
        if len(rounds) == ROUNDS:
            break
    return rounds


def between_full_rates(running: RunningProgram, due_ms: Times) -> tuple[Requests, Times, Times]:
    """Return the requests of a plan, and the rates of full pools before and after it."""
    before = full_rates(running)
    return running.requests(POOL_SIZE, due_ms).warm, before, full_rates(running)


def rate_of(utilisation: float, rates: Times) -> float:
    """Return the requests per second with which so large a share of the connections is in use on average."""
    in_use, most = np.arange(len(rates) + 1) / len(rates), MOST_LOAD * rates[-1]
    return float(brentq(lambda rate: in_use @ in_use_probabilities(rates, rate) - utilisation, 1e-3, most))


def full_rates(running: RunningProgram) -> Times:
    """Return the requests per second that full pools of 1, 2, ... connections complete."""
    return np.array([running.rate(connections) for connections in range(1, POOL_SIZE + 1)])


def arrivals(random: np.random.Generator, rate: float, seconds: float) -> Times:
    """Return times in ms at which requests arrive at random, at a rate per second."""
    return random.exponential(1000 / rate, round(rate * seconds)).cumsum()


def of_busy(traffic: ProcessTraffic, rates: Times) -> Times:
    """Return the figures by the model, with the rates at which 1, 2, ... connections in use complete requests."""
    slowing = slowing_of(rates, [Pools(1, len(rates), 1000 * traffic.rate)], [1.0])
    return modelled(replace(traffic, slowing=slowing), len(rates))
