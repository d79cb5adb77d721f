"""What `poolsize observe` says of real applications, beside what they record of themselves."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.stats import poisson

from poolsize.observe.observation import PoolSpan, ServerSpan
from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.observe.store import load_observation
from poolsize.observe.text import verdict
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer, free_port
from tests.applications.task_service import KINDS, PASSWORD, TaskService
from tests.conftest import ROOT, measured_again, mysqld
from tests.integration.test_real_pools import Program, RunningProgram, database_sql, hikaricp, queue_pool
from tests.observe.production import STARTED as START_OF_YEAR
from tests.observe.production import observed
from tests.observe.sources import real_prometheus, wait_for
from tests.observe.test_server import COUNTING
from tests.pool_simulation import SimulatedPool, simulate, usage_times, waits_in_order
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.slow]
Floats = NDArray[np.float64]
USAGE_SECONDS, POOL_SIZE = 0.25, 30
EXPONENTIAL = "-LN(1 - RAND())"
VIEW = f"CREATE VIEW shop.tasks AS SELECT 1 AS id, CAST(SLEEP({{}} * {USAGE_SECONDS}) AS CHAR) AS task_id"
"""In place of the table: who reads the newest tasks waits for a time with this SQL."""
BEGIN_SECONDS, SPARE_SECONDS = 2, 60
"""The longest time until as many connections are in use as will be; to start commands."""
STARTED = START_OF_YEAR.isoformat()
STEP, SMOOTHED_SECONDS = 0.01, 20
"""Seconds between two looks at a truth; seconds over which the number in use has a mean of its own."""
COUNTING_SOURCES = ("server", "instrument")
"""Sources that count the mean in use, even where usages have no sum."""


@dataclass(frozen=True)
class Truth:
    """When each request of an application asked for a connection, and gave it back, as the application recorded it."""

    begun: Floats
    ended: Floats

    @property
    def outside(self) -> float:
        """The share of the usage times in which no connection waited for the database."""
        return max(0.0, 1 - USAGE_SECONDS / float((self.ended - self.begun).mean()))

    @classmethod
    def read(cls, path: Path) -> "Truth":
        """Return what an application recorded in a file."""
        begun, ended = np.loadtxt(path, unpack=True)
        return cls(np.sort(begun), np.sort(ended))

    def in_use(self, at: Floats, seconds: Floats, begin: float = 0.0, end: float = np.inf) -> Floats:
        """Return the connections in use, every STEP seconds of periods, between `begin` and `end`."""
        times = np.concatenate([np.arange(first, first + each, STEP) for first, each in zip(at, seconds, strict=True)])
        times = times[(times >= begin) & (times <= end)]
        in_use = np.searchsorted(self.begun, times) - np.searchsorted(self.ended, times)
        return np.asarray(np.minimum(in_use, POOL_SIZE), float)  # the others wait


@dataclass(frozen=True)
class Running:
    """Applications that run, each with its own account on the same server. folder: of their records."""

    services: Mapping[str, TaskService]
    server: PrivateServer
    folder: Path
    ending: ExitStack

    def page(self, kind: str) -> str:
        """Return the URL of an application's metrics page."""
        return self.services[kind].url + self.services[kind].kind.metrics

    def observe(self, name: str, *source: str) -> "subprocess.Popen[str]":
        """Begin `poolsize observe`."""
        words = [sys.executable, "-m", "poolsize", "observe", *source, "--output", str(self.folder / f"{name}.jsonl")]
        environment = {key: value for key, value in os.environ.items() if key != "POOLSIZE_URL"}
        environment |= {"POOLSIZE_URL": self.server.url} if name == "server" else {}
        return self._begun(subprocess.Popen(words, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE))

    def load(self, rate: float, day: float, seconds: float) -> "subprocess.Popen[str]":
        """Begin to send requests to all applications."""
        urls = [service.url for service in self.services.values()]
        words = [sys.executable, "-m", "tests.observe.workload", *map(str, (rate, day, seconds)), *urls]
        return self._begun(subprocess.Popen(words, cwd=ROOT, text=True, stderr=subprocess.PIPE))

    def _begun(self, process: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
        """Let a process end with the applications."""
        self.ending.callback(process.kill)
        return process

    def answers(self, name: str) -> dict[str, PoolAnswer]:
        """Return name of a pool -> its answer, of an observation."""
        return {answer.name: answer for answer in pool_answers(load_observation(self.folder / f"{name}.jsonl"))}


@contextmanager
def running(kinds: Sequence[str], folder: Path, flavor: str = "mariadb", usage: str = EXPONENTIAL) -> Iterator[Running]:
    """Start applications and their server, and end them. usage: SQL of a usage time, with a mean of 1."""
    options = COUNTING if flavor == "mariadb" else {}
    with administered_server(mysqld(flavor), options, 200 + len(kinds) * POOL_SIZE) as server, ExitStack() as stack:
        url, services = database_url(server.url), {}
        with closing(connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA shop")
            cursor.execute(VIEW.format(usage))
            for kind in kinds:
                cursor.execute(f"CREATE USER {kind}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
                cursor.execute(f"GRANT SELECT ON shop.* TO {kind}@'127.0.0.1'")
                own = url.set(username=kind, password=PASSWORD, database="shop")
                services[kind] = TaskService(f"http://127.0.0.1:{free_port()}", own, KINDS[kind]())
                stack.enter_context(_started(services[kind], kind, folder))
        yield Running(services, server, folder, stack)


@contextmanager
def _started(service: TaskService, kind: str, folder: Path) -> Iterator[None]:
    environment = os.environ | service.environment(str(POOL_SIZE)) | {"USES": str(folder / f"{kind}.uses")}
    if kind == "fastapi":
        environment |= {"OBSERVATION": str(folder / "instrument.jsonl")}
    with subprocess.Popen(service.start.split(), cwd=ROOT, env=environment) as process:
        try:
            wait_for(service.url + service.kind.ready)
            yield
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _owner(answer: PoolAnswer, apps: Running) -> str:
    """Return the application that an answer is of: by its account, or its port; FastAPI has a file of its own."""
    instance = answer.busiest.pool.instance
    of_port = (kind for kind, each in apps.services.items() if each.url.removeprefix("http://") in instance)
    return answer.name if answer.name in apps.services else next(of_port, "fastapi")


@dataclass(frozen=True)
class Compared:
    """What a source says of an application's pool, beside the truth of the same periods.

    mean: connections in use on average, as the source says, in the periods that the load filled. in_use, in_all: as the
    application recorded them, in these and in all periods. outside: share of the usage times that the application spent
    outside of the database, where no server sees them.
    """

    source: str
    kind: str
    answer: PoolAnswer
    mean: float
    in_use: Floats
    in_all: Floats
    outside: float

    @property
    def error(self) -> float:
        """Of the mean number of connections in use."""
        return self.mean / float(self.in_use.mean()) - 1

    @property
    def chance(self) -> float:
        """The standard error of the mean of samples; 0 where usage times were counted."""
        load = self.answer.busiest
        if load.is_counted or self.source in COUNTING_SOURCES:
            return 0.0
        return 1 / sqrt(float(np.nansum(load.in_use * load.series("samples"))))

    @property
    def p99_9(self) -> list[float]:
        """The connections that are not exceeded for 99.9 % of the time: as recorded, and without luck.

        A few minutes have their luck. Without it, the number is Poisson, at its means over SMOOTHED_SECONDS.
        """
        steps = min(round(SMOOTHED_SECONDS / STEP), len(self.in_all))
        means = self.in_all[: len(self.in_all) // steps * steps].reshape(-1, steps).mean(1)
        numbers = np.arange(POOL_SIZE + 1)
        expected = poisson.cdf(numbers[:, None], means).mean(1).searchsorted(0.999)
        return [float(np.quantile(self.in_all, 0.999)), float(expected)]

    def __str__(self) -> str:
        load, (recorded, expected) = self.answer.busiest, self.p99_9
        return (
            f"| {self.source} | {self.kind} | {self.in_use.mean():.2f} | {self.mean:.2f} | {self.error:+.1%} |"
            f" {self.chance:.1%} | {recorded:.0f} | {expected:.0f} | {load.in_use_p99_9} | {self.outside:.1%} |"
        )


def observe_all(apps: Running, rate: float, day: float, seconds: float, url: str = "") -> None:
    """Send requests, and observe the applications by each source. url: of Prometheus; "" for without."""
    load = apps.load(rate, day, seconds + SPARE_SECONDS)
    time.sleep(BEGIN_SECONDS)
    pages = [f"--metrics={apps.page(kind)}" for kind in apps.services if kind != "node"]
    observing = [apps.observe("page", *pages, f"--for={seconds}s"), apps.observe("server", f"--for={seconds}s")]
    assert [each.wait() for each in observing] == [0, 0]
    assert load.poll() is None, load.stderr and load.stderr.read()
    if url:
        assert apps.observe("prometheus", f"--prometheus={url}", "--range=10m").wait() == 0
    load.kill()


def compare(apps: Running, *sources: str) -> list[Compared]:
    """Return what each source says, beside what the applications recorded, and print the table."""
    all_compared = []
    for source in sources:
        for answer in apps.answers(source).values():
            load, kind = answer.busiest, _owner(answer, apps)
            truth = Truth.read(apps.folder / f"{kind}.uses")
            begin, end = truth.begun[0] + BEGIN_SECONDS, truth.begun[-1]
            whole = (load.at >= begin) & (load.at + load.seconds <= end) | (source == "instrument")
            at, seconds = load.at[whole], load.seconds[whole]
            mean = float(np.average(load.in_use[whole], weights=seconds))
            in_all = truth.in_use(load.at, load.seconds, begin, end)
            all_compared.append(Compared(source, kind, answer, mean, truth.in_use(at, seconds), in_all, truth.outside))
    print("", *all_compared, sep="\n")
    return all_compared


@measured_again
def test_a_real_pool_is_observed_as_it_is(tmp_path: Path) -> None:
    """A few seconds of FastAPI, by its page and from inside: the mean within 5 %. The server has tests of its own."""
    with running(["fastapi"], tmp_path) as apps:
        observe_all(apps, 20, 0.0, 12)
    for each in compare(apps, "page", "instrument"):
        assert each.error == pytest.approx(0, abs=0.05)


@pytest.mark.experiment
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("flavor", ["mariadb", "mysql"])
@measured_again
def test_each_source_sees_the_pools_as_the_applications_do(flavor: str, tmp_path: Path) -> None:
    """A day in five minutes: the mean within 5 %, or as near as samples can be, and the p99.9 within one connection.

    Of gauges that are read each second, the mean of 7 in use has a standard error of 2.4 % after four minutes.
    """
    kinds = [*KINDS] if flavor == "mariadb" else ["fastapi", "go", "node"]
    with ExitStack() as stack:
        apps = stack.enter_context(running(kinds, tmp_path, flavor))
        pages = {kind: apps.page(kind) for kind in apps.services.keys() - {"druid", "node"}}  # Druid's page is JSON
        url = stack.enter_context(real_prometheus(tmp_path, pages))
        observe_all(apps, 24, 0.5, 240, url)
    for each in compare(apps, "page", "server", "instrument", "prometheus"):
        margin = max(0.05, 3 * each.chance)
        assert -margin - (each.outside if each.source == "server" else 0.0) <= each.error <= margin
        low, high = sorted(each.p99_9)
        margin = max(1, high - low)  # a machine that stalls makes bursts, of which a few minutes say little
        assert low - margin <= min(each.answer.busiest.in_use_p99_9, POOL_SIZE) <= high + margin


LIBRARIES: Mapping[str, Callable[[str], Program]] = {
    "fastapi": queue_pool,
    "spring": partial(hikaricp, heap="-Xmx256m"),
    "go": database_sql,
}
CONNECTIONS, OBSERVED_SECONDS, TRIED_SECONDS, NEAR = 10, 600, 60, 0.1
"""Connections of which the loads use 30, 50 and 70 %; how long a load is observed, as `--for` is by default, and a size
tried; the error of a p99 wait that is measured for so long, in usage times.

Go's mean in use is that of samples each second: after four minutes, its standard error at 30 % is 3.7 %, and a
mean that is 6 % too high needs a connection more.
"""


OFTEN, DEVIATION = (1 + sqrt(3 / 5)) / 2, sqrt(log(5))
"""The share of the shorter kind of usage times, and the standard deviation of logarithms: both for a variation of 4."""
WORKLOADS = {
    "constant": ("1", SimulatedPool(1, 0, 0)),
    "four steps": (f"({4 * EXPONENTIAL}) / 4", SimulatedPool(1, 0, 1 / 4)),
    "exponential": (EXPONENTIAL, SimulatedPool(1, 0)),
    "two kinds": (
        f"{EXPONENTIAL} * IF(RAND() < {OFTEN}, {1 / (2 * OFTEN)}, {1 / (2 - 2 * OFTEN)})",
        SimulatedPool(1, 0, 4),
    ),
    "log-normal": (
        f"EXP({DEVIATION} * SQRT(-2 * LN(1 - RAND())) * COS(2 * PI() * RAND()) - {DEVIATION**2 / 2})",
        SimulatedPool(1, 0, 4, is_log_normal=True),
    ),
}
"""Usage times with a mean of 1, in SQL and simulated."""


@pytest.mark.experiment
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("name", WORKLOADS)
def test_sizes_are_those_that_trying_shows(name: str, share: float, tmp_path: Path) -> None:
    """The same, or apart by a connection: with a connection more the limit is kept, and with two less it is not."""
    (usage, simulated), rate = WORKLOADS[name], share * CONNECTIONS / USAGE_SECONDS
    with running([*LIBRARIES], tmp_path, usage=usage) as apps:
        load = apps.load(rate, 0.0, OBSERVED_SECONDS + SPARE_SECONDS)
        time.sleep(BEGIN_SECONDS)
        pages = [f"--metrics={apps.page(kind)}" for kind in LIBRARIES]
        assert apps.observe("page", *pages, f"--for={OBSERVED_SECONDS}s").wait() == 0
        load.kill()
        needs = {_owner(answer, apps): answer.need for answer in apps.answers("page").values()}
        tried = [(kind, size) for kind, need in needs.items() for size in (need + 1, need - 2)]
        waited = partial(_p99_wait, apps, rate, simulated)
        with ThreadPoolExecutor(len(tried)) as threads:
            waits = [*threads.map(waited, *zip(*tried, strict=True))]
    for (kind, size), wait in zip(tried, waits, strict=True):
        print(f"| {name} | {share:.0%} | {kind} | {needs[kind]} | {size} | {wait:.2f} |", flush=True)
    for (kind, size), wait in zip(tried, waits, strict=True):
        assert wait <= 1 + NEAR if size > needs[kind] else wait > 1 - NEAR


def _p99_wait(apps: Running, rate: float, usage: SimulatedPool, kind: str, size: int) -> float:
    """Return the p99 wait in mean usage times of requests at this rate for a real pool of this size.

    A minute has its luck: the same requests would wait longer or less than a million do, which corrects the figure.
    """
    random, number = np.random.default_rng(40), round(rate * TRIED_SECONDS)
    if size <= rate * USAGE_SECONDS:
        return float("inf")
    due_ms = random.exponential(1e3 / rate, number).cumsum()
    sleeps_ms = 1e3 * USAGE_SECONDS * usage_times(usage, number, random)
    with RunningProgram(LIBRARIES[kind](apps.server.url)) as program:
        requests = program.requests(size, due_ms, sleeps_ms).warm
    mean_ms = float(requests.usages.mean())
    in_order = waits_in_order(due_ms, sleeps_ms * mean_ms / sleeps_ms[-len(requests.usages) :].mean(), size)
    luck = np.quantile(requests.waits, 0.99) - np.quantile(in_order[-len(requests.waits) :], 0.99)
    pool = replace(usage, pool_size=size, load=rate * mean_ms / 1e3)
    return float(luck / mean_ms + simulate(pool, 10**6, 1).p99)


@pytest.mark.experiment
def test_public_samples_of_a_saturated_server_are_told_as_saturated() -> None:
    """TPC-C with 65 threads on 4 cores: github.com/dongyoungy/dbsherlock-reproducibility, tpcc_16w.mat.

    POOLSIZE_TEST_DBSHERLOCK names the file.
    """
    if not (path := os.environ.get("POOLSIZE_TEST_DBSHERLOCK")):
        pytest.skip("name dbsherlock_dataset_tpcc_16w.mat in POOLSIZE_TEST_DBSHERLOCK")
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    samples = zip(content["test_datasets"][:, 0], content["abnormal_regions"][:, 0], strict=True)
    for sample, anomalous in samples:
        running = sample.data[:, sample.field_names.tolist().index("dbmsThreadsRunning")]
        is_anomalous = np.isin(np.arange(1, len(running) + 1), anomalous)
        for seconds in (running[is_anomalous & (running >= 0)], running[~is_anomalous & (running >= 0)]):
            threads = tuple(seconds.astype(float).tolist())
            ones = (1.0,) * len(threads)
            pool = PoolSpan("tpcc", "", "", STARTED, 1.0, in_use_mean=threads, in_use_max=threads, samples=ones)
            (answer,) = pool_answers(observed([pool], [ServerSpan(STARTED, 1.0, running_mean=threads, cores=4)]))
            assert verdict(answer).startswith("saturated")
            assert "at least" in verdict(answer)
