"""Shows what a pool size for an application is worth: a real application with HikariCP, at many pool sizes.

    python -m tests.java [MYSQLD]    on the private server of poolsize, or of another server program

For each workload, `poolsize sweep` measures the server, the application measures its own usage time with a single
connection and a single user, and its CPU time under load, and `recommend` gives the application's pool size, with and
without the CPU time. Then the application runs at the sizes 1, 2, 4 ... 64 and at the answers, six times in random
order. The script prints each answer's throughput as a share of the best, and the answer as a multiple of the smallest
size with 95 % of the best. Server and load have a core each. It needs Java and Maven.
"""

import fcntl
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median

from sqlalchemy import make_url

from poolsize import ClientTimes, load_run, recommend
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import may_run_on
from tests.servers import administered_server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORKLOADS = ("oltp_read_write", "insert")
SIZES = (1, 2, 4, 8, 16, 32, 64)
USERS, SCHEMA = 128, "shop"
WARM_UP_SECONDS, STEP_SECONDS, ROUNDS = 2, 8, 6
BUSY = 16
"""Connections with which the application's CPU time is measured: it is less under load than alone."""
LARGE_REDO_LOG = {"innodb_log_file_size": "1G"}
"""MariaDB 10.11.19 on a single core hung at 30,000 inserts/s when its redo log of 96 MB was full (the default)."""
WARM = 3
"""Steps of a JVM before the step whose times count: a JVM that has just started still compiles, and is slower."""


def main() -> None:
    """Measure both workloads, and print a line for each."""
    build()
    mysqld = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    cores = sorted(os.sched_getaffinity(0))
    options = {} if mysqld else LARGE_REDO_LOG
    with administered_server(mysqld, options, 200) as server, tempfile.TemporaryDirectory() as folder:
        may_run_on(server.pid, {cores[0]})
        os.sched_setaffinity(0, {cores[-1]})
        for workload in WORKLOADS:
            _compare(server, workload, Path(folder) / f"{workload}.jsonl")


def build() -> None:
    """Compile the Java classes, with the class path of their libraries in target/classpath.

    Processes compile in turn: Maven removes the classes before it compiles them.
    """
    goals = ["compile", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath"]
    (HERE / "target").mkdir(exist_ok=True)
    with (HERE / "target/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["mvn", "--quiet", "--batch-mode", *goals], cwd=HERE, check=True)


def class_path() -> str:
    """Return the class path of the compiled classes and their libraries."""
    return f"{HERE / 'target/classes'}:{(HERE / 'target/classpath').read_text().strip()}"


def _compare(server: PrivateServer, workload: str, path: Path) -> None:
    _sweep(server, workload, path)
    *_, (_, _, usage_ms, _) = _run(server.url, workload, 1, WARM_UP_SECONDS, STEP_SECONDS, [1] * (WARM + 1))
    *_, (_, _, _, cpu_ms) = _run(server.url, workload, USERS, WARM_UP_SECONDS, STEP_SECONDS, [BUSY] * (WARM + 1))
    run = load_run(path)
    assert run.setting.server
    client_times = ClientTimes(usage_ms, min(cpu_ms, usage_ms), 1)
    answer, generator = recommend(run, client_times=client_times), recommend(run)
    as_delay = recommend(run, client_times=ClientTimes(usage_ms))
    assert answer.pool_size
    assert as_delay.pool_size
    rates = _rates(server.url, workload, sorted({*SIZES, answer.pool_size, as_delay.pool_size}))
    best = max(rates.values())
    enough = next(size for size, rate in rates.items() if rate >= 0.95 * best)
    print(
        f"{run.setting.server.title}, {workload}: usage time {usage_ms:.2f} ms, CPU time {cpu_ms:.2f} ms, "
        + "; ".join(
            f"{name} {each.pool_size} {each.range}, {rates[each.pool_size] / best:.1%} of the best, "
            f"{each.pool_size / enough:.2g} times {enough}"
            for name, each in (("answer", answer), ("without the CPU time", as_delay))
            if each.pool_size
        )
        + "; "
        f"load generator's answer {generator.pool_size}; "
        + ", ".join(f"{size}: {rate:.0f}/s" for size, rate in rates.items()),
        flush=True,
    )


def _rates(url: str, workload: str, sizes: list[int]) -> dict[int, float]:
    """Return the application's transactions per second at each size.

    Each is the median over the rounds of rate / mean rate of the round, so that a slow round favours no size.
    """
    order = [size for _ in range(ROUNDS) for size in random.sample(sizes, len(sizes))]
    steps = [(size, rate) for size, rate, *_ in _run(url, workload, USERS, WARM_UP_SECONDS, STEP_SECONDS, order)]
    shares: dict[int, list[float]] = {size: [] for size in sizes}
    for first in range(0, len(steps), len(sizes)):
        in_round = steps[first : first + len(sizes)]
        mean = fmean(rate for _, rate in in_round)
        for size, rate in in_round:
            shares[size].append(rate / mean)
    mean = fmean(rate for _, rate in steps)
    return {size: mean * median(values) for size, values in shares.items()}


def _sweep(server: PrivateServer, workload: str, path: Path) -> None:
    """Measure the workload in a schema that keeps its tables, for the application."""
    with connect(database_url(server.url)).cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        cursor.execute(f"CREATE DATABASE {SCHEMA}")
    own = path.with_name(f"{workload}_own.py")  # a shipped workload makes its tables in poolsize's own schema
    own.write_text((ROOT / f"locustfiles/{workload}.py").read_text())
    words = ["--workload", str(own), "--schema", SCHEMA, "--cores", "1", "--output", str(path)]
    environment = os.environ | {"POOLSIZE_URL": server.url}
    subprocess.run([Path(sys.executable).with_name("poolsize"), "sweep", *words], cwd=ROOT, env=environment, check=True)


def _run(
    url: str, workload: str, users: int, warm_up: float, seconds: float, sizes: list[int]
) -> list[tuple[int, float, float, float]]:
    """Run the application; return pool size, transactions per second, usage time and CPU time in ms, for each step."""
    parts = make_url(url)
    jdbc = f"jdbc:mysql://{parts.host}:{parts.port}/{SCHEMA}?useSSL=false&allowPublicKeyRetrieval=true"
    account = {"JDBC_URL": jdbc, "JDBC_USER": str(parts.username), "JDBC_PASSWORD": str(parts.password)}
    numbers = [str(users), str(warm_up), str(seconds), ",".join(map(str, sizes))]
    done = subprocess.run(
        ["java", "-cp", class_path(), "Application", workload, *numbers],
        env=os.environ | account, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(int(size), float(rate), float(usage_ms), float(cpu_ms)) for size, rate, usage_ms, cpu_ms in rows]


if __name__ == "__main__":
    main()
