"""Whether a sweep knows when it measured itself, on a server on one core and a load on the other."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import fmean

import psutil
import pytest

from poolsize import analyze, load_run, recommend
from poolsize.analysis.models.closed_network import throughputs
from poolsize.analysis.stats.percentiles import merged, percentiles
from poolsize.answer.finding import MoreWorkers
from poolsize.present.text.sentences.findings import warning_sentences
from poolsize.runs.run import Run, Step, StopReason
from poolsize.server.private_server import PrivateServer
from tests.conftest import curve_of, in_ci, locust, may_run_on, measured_again
from tests.servers import administered_server

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="pins to the second core"),
]
SERVER_WORK = """
        cursor.execute("SELECT BENCHMARK(4000, SHA2('x', 512))")
"""
"""About a millisecond of the server's processor, and next to nothing of the client's."""


@pytest.fixture(scope="module")
def pinned() -> Iterator[PrivateServer]:
    """A MariaDB on the first core; what the tests start runs on the last."""
    everywhere = os.sched_getaffinity(0)
    with administered_server(None, {}, 100) as server:
        may_run_on(server.pid, {min(everywhere)})
        os.sched_setaffinity(0, {max(everywhere)})
        try:
            yield server
        finally:
            os.sched_setaffinity(0, everywhere)


def workload(folder: Path, transaction: str, head: str = "") -> Path:
    """A locustfile with this transaction."""
    path = folder / "mine.py"
    path.write_text(
        f"import time\nfrom poolsize.locust import PoolUser\n{head}\n"
        f"class Mine(PoolUser):\n    def transaction(self, cursor):\n{transaction}\n"
    )
    return path


def measured(server: PrivateServer, locustfile: str | Path, folder: Path, *options: str) -> Run:
    path = folder / f"{time.monotonic_ns()}.jsonl"
    done = locust(locustfile, server.url, path, *options)
    assert done.returncode == 0, done.stderr
    return load_run(path)


def failed(step: Step) -> set[str]:
    return {check.check for check in step.failed_checks}


def has_its_cores(run: Run) -> bool:
    """Whether a second of CPU time took hardly longer than a second: the hypervisor gave no core to other machines."""
    shares = [(step.counter("machine_steal") or 0.0) / (step.counter("machine_cpu") or 1.0) for step in run.steps]
    return max(shares) < 0.03


class Accounts:
    """What the operating system has charged to the server and to the load, ten times a second."""

    def __init__(self, server: int) -> None:
        self.charged: list[tuple[float, float, float]] = []
        self._server, self._over = psutil.Process(server), threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> "Accounts":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def cores(self, step: Step) -> tuple[float, float]:
        """Processor time a second of the server and of the load in the counted time."""
        began = datetime.fromisoformat(step.started).timestamp() + step.warm_up_seconds + 1
        ended = began - 1 + len(step.counted)
        within = [charge for charge in self.charged if began <= charge[0] <= ended]
        (first, server, load), (last, server_last, load_last) = within[0], within[-1]
        return (server_last - server) / (last - first), (load_last - load) / (last - first)

    def _read(self) -> None:
        while not self._over.wait(0.1):
            load = 0.0
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if "locust" in " ".join(process.cmdline()):
                        load += sum(process.cpu_times()[:2])
            self.charged.append((time.time(), sum(self._server.cpu_times()[:2]), load))


@measured_again
def test_both_demands_are_the_operating_systems_and_predict_every_size(pinned: PrivateServer, tmp_path: Path) -> None:
    with Accounts(pinned.pid) as accounts:
        run = measured(pinned, "oltp_read_write.py", tmp_path, "--pool-sizes=1,4,16", "--step-time=5s", "--warm-up=1s")
    sizes = analyze(run).sizes
    alone = sizes[0].demands
    assert alone is not None
    delay_ms = max(0.0, sizes[0].usage.mean - alone.client_ms - alone.server_ms)
    measured_sizes = []
    for size in sizes:
        steps = [step for step in curve_of(run) if step.pool_size == size.pool_size]
        assert size.demands is not None
        rate = fmean(step.mean_throughput for step in steps)  # as the accounts: not corrected for the machine's speed
        server_cores, load_cores = map(fmean, zip(*map(accounts.cores, steps), strict=True))
        assert size.demands.server_ms * rate / 1000 == pytest.approx(server_cores, rel=0.1)
        assert size.demands.client_ms * rate / 1000 == pytest.approx(load_cores, rel=0.1)
        measured_sizes.append((size, rate, load_cores, steps))
    if not has_its_cores(run):
        pytest.skip("the hypervisor gave this machine's cores to others: a second of CPU time took longer")
    for size, rate, load_cores, steps in measured_sizes:
        assert size.demands is not None
        predicted = throughputs(size.demands.stations.known, delay_ms, size.pool_size)[-1]
        assert 1000 * predicted == pytest.approx(rate, rel=0.1)
        if load_cores > 0.93:
            assert all("generator" in failed(step) for step in steps)
        if load_cores < 0.85:
            assert not any("generator" in failed(step) for step in steps)


@pytest.mark.parametrize("busy_ms", in_ci([0, 2, 6, 100], 0, 6))
@measured_again
def test_a_slowed_generator_is_caught_and_an_honest_one_is_not(
    pinned: PrivateServer, tmp_path: Path, busy_ms: int
) -> None:
    busy_loop = (
        f"        until = time.perf_counter() + {busy_ms} / 1000\n        while time.perf_counter() < until: pass"
    )
    run = measured(
        pinned, workload(tmp_path, SERVER_WORK + busy_loop), tmp_path,
        "--pool-sizes=4", "--users=16", "--step-time=3s", "--warm-up=1s",
    )  # fmt: skip
    (step,) = curve_of(run)
    assert ("generator" in failed(step)) == (busy_ms > 0)
    answer = recommend(analyze(run))
    assert (answer.verdict == "generator-limited") == (busy_ms > 0)
    if busy_ms:
        assert any(isinstance(getattr(finding, "way_out", None), MoreWorkers) for finding in answer.findings)


@measured_again
def test_starved_users_are_caught_by_littles_law(pinned: PrivateServer, tmp_path: Path) -> None:
    """SQLAlchemy's own queue, and a loop that yields nowhere: the greenlet that returns a connection takes it again."""
    unfair = (
        "from sqlalchemy.util.queue import Queue\nfrom poolsize.load.fair_queue import FairQueuePool\n"
        "FairQueuePool._queue_class = Queue"
    )
    path = workload(tmp_path, SERVER_WORK, head=unfair)
    run = measured(pinned, path, tmp_path, "--pool-sizes=1", "--users=64", "--step-time=2s", "--warm-up=1s")
    assert len(run.steps) == 3  # void each time, and given up
    assert all("littles_law" in failed(step) for step in run.steps)
    answer = recommend(analyze(run))
    assert answer.pool_size is None
    assert "littles_law" in " ".join(warning_sentences(answer.findings))


@pytest.mark.experiment
@pytest.mark.parametrize("rate", [None, 100])
@measured_again
def test_sqlalchemys_own_pool_starves_no_user_that_yields(
    pinned: PrivateServer, tmp_path: Path, rate: int | None
) -> None:
    path = workload(tmp_path, SERVER_WORK)
    common = ("--pool=sqlalchemy", "--pool-sizes=1,4", "--users=64", "--step-time=4s", "--warm-up=1s")
    run = measured(pinned, path, tmp_path, *common, *([f"--rate={rate}"] if rate else []))
    assert run.plan.pool == "sqlalchemy"
    for step in curve_of(run):
        assert not failed(step) & {"littles_law", "connections", "errors", "arrivals"}, step.checks
        assert step.server_connections == step.pool_size


@pytest.mark.experiment
@measured_again
def test_a_stall_shows_in_an_open_loop(pinned: PrivateServer, tmp_path: Path) -> None:
    """A server that stops for 200 ms every 5 s, at 70 % of its capacity.

    What arrives t after the stall's beginning waits for its end, 200 ms - t, and then for what has queued before it. So
    the arrivals of 100 ms, 1 % of the step's 10 s, wait 100 ms or more after one of its two stalls alone. The closed
    loop's eight users are stopped with the server: a stall catches one transaction of each. These 16 are less than 1 %.
    """
    path = workload(tmp_path, SERVER_WORK)
    common = ("--pool-sizes=4", "--warm-up=1s")
    (step,) = curve_of(measured(pinned, path, tmp_path, *common, "--users=40", "--step-time=4s"))
    capacity = sum(step.counted) / len(step.counted)
    p99_ms = {}
    for loop, options in (("open", ["--users=40", f"--rate={0.7 * capacity}"]), ("closed", ["--users=8"])):
        over = threading.Event()
        stalling = threading.Thread(target=stall, args=(pinned.pid, over))
        stalling.start()
        run = measured(pinned, path, tmp_path, *common, "--step-time=10s", *options)
        over.set()
        stalling.join()
        latencies = curve_of(run)[0].latencies
        assert latencies is not None
        p99_ms[loop] = percentiles(merged([latencies.total])).p99
    assert p99_ms["open"] > 100 > p99_ms["closed"], p99_ms


def stall(pid: int, over: threading.Event) -> None:
    while not over.wait(4.8):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(pid, signal.SIGCONT)


@measured_again
def test_more_arrivals_than_a_pool_serves_end_the_step(pinned: PrivateServer, tmp_path: Path) -> None:
    run = measured(
        pinned, workload(tmp_path, SERVER_WORK), tmp_path,
        "--pool-sizes=1", "--users=8", "--rate=8000", "--step-time=30s", "--warm-up=1s",
    )  # fmt: skip
    (step,) = curve_of(run)
    assert "arrivals" in failed(step)
    assert step.stopped is not None
    assert step.stopped.reason is StopReason.BACKLOG
    assert 1 < len(step.throughput) < 25


@pytest.mark.experiment
@measured_again
def test_the_answer_is_verified_at_the_load_people_run_at(pinned: PrivateServer, tmp_path: Path) -> None:
    run = measured(
        pinned, workload(tmp_path, SERVER_WORK), tmp_path,
        "--pool-sizes=1,4", "--step-time=3s", "--warm-up=1s", "--verify=80",
    )  # fmt: skip
    analysis = analyze(run)
    assert analysis.plateau is not None
    assert [(each.pool_size, round(each.load, 2)) for each in analysis.verified] == [(analysis.plateau.pool_size, 0.8)]
    for verification in analysis.verified:
        assert verification.throughput == pytest.approx(verification.rate, rel=0.1)
    assert [size.pool_size for size in analysis.sizes] == [1, 4]


@measured_again
def test_users_that_waited_too_long_are_counted_apart_and_end_the_step(pinned: PrivateServer, tmp_path: Path) -> None:
    run = measured(
        pinned, workload(tmp_path, '        cursor.execute("DO SLEEP(0.1)")'), tmp_path,
        "--pool-sizes=1", "--users=50", "--pool-timeout=500ms", "--step-time=30s", "--warm-up=1s",
    )  # fmt: skip
    for step in run.steps:
        assert set(step.errors) == {"pool_timeout"}
        assert "errors" in failed(step)
        assert step.stopped is not None
        assert sum(step.counted) > 0
        assert len(step.counted) < 10


@measured_again
def test_row_locks_are_named_as_the_cause(pinned: PrivateServer, tmp_path: Path) -> None:
    prepare = (
        "    @classmethod\n    def prepare(cls, cursor):\n"
        '        cursor.execute("CREATE TABLE one (id INT PRIMARY KEY, n INT)")\n'
        '        cursor.execute("INSERT INTO one VALUES (1, 0)")\n'
    )
    transaction = (
        '        cursor.execute("BEGIN")\n        cursor.execute("UPDATE one SET n = n + 1 WHERE id = 1")\n'
        '        cursor.execute("DO SLEEP(0.005)")\n        cursor.execute("COMMIT")\n'
    )
    path = workload(tmp_path, transaction + prepare)
    run = measured(pinned, path, tmp_path, "--pool-sizes=1,4", "--step-time=3s", "--warm-up=1s")
    analysis = analyze(run)
    assert analysis.bottleneck is not None
    assert analysis.bottleneck.name == "row locks"
