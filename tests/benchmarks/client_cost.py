"""What a transaction costs the client: a pooled, timed and recorded point select against a bare PyMySQL loop.

Both run under gevent in a process of their own, against the same private server; the figure is processor time per query
of the thread that runs them. The load generator's speed probe has a thread of its own: 1 % of a core at any load. With
two cores or more, the server and the clients are pinned to cores of their own. Both processes run side by side, and
take turns of a third of a second: each is stopped while the other works. So the speed of the machine, which wanders
from second to second, is the same for both turns of a pair. Both processes are started several times, because the cost
of the same code differs by a few percent from process to process. Prints the median and the spread of the ratios.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from poolsize.server.connection import connect, database_url
from tests.servers import administered_server

ROOT = Path(__file__).parents[2]
BAR = 1.25
STARTS, PAIRS = 5, 20
"""How often both processes are started, and how many pairs of turns they take each time."""
TURN_SECONDS = 0.3
BEGIN_SECONDS = 60
"""The longest time until a client sends queries, and how many a second count as its load."""
LOADED = 1000
CONNECTIONS = 4
BARE_LOOP = """
from gevent import monkey; monkey.patch_all()
import os, random, sys, gevent, pymysql
from poolsize.server.connection import database_url
url, connections = database_url(os.environ["POOLSIZE_URL"]), int(sys.argv[1])
def loop(cursor):
    while True:
        cursor.execute(f"SELECT c FROM sbtest1 WHERE id={random.randint(1, 10000)}")
        cursor.fetchall()
account = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
cursors = [pymysql.connect(**account, database="bench", autocommit=True).cursor() for _ in range(connections)]
gevent.joinall([gevent.spawn(loop, cursor) for cursor in cursors])
"""


def main() -> float:
    """Measure both in pairs of turns, print the ratios, and return their median."""
    with administered_server(None, {}, 50) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["POOLSIZE_URL"] = server.url
        cursor = connect(database_url(server.url)).cursor()
        _prepare(cursor)
        pinned = _pin_apart(server.pid)
        costs = [
            pair
            for start in range(STARTS)
            for pair in _pairs(cursor, _bare(), _pooled(Path(folder) / f"{start}.jsonl"))
        ]
    low, ratio, high = statistics.quantiles((of_pool / of_bare for of_bare, of_pool in costs), n=4)
    of_bare, of_pool = (statistics.median(turns) for turns in zip(*costs, strict=True))
    print(
        f"client CPU per point select: bare PyMySQL {of_bare * 1e6:.1f} us, pooled and recorded "
        f"{of_pool * 1e6:.1f} us, ratio {ratio:.2f} (quartiles of {len(costs)} pairs {low:.2f} to {high:.2f}, "
        f"{'pinned apart' if pinned else 'not pinned'}; bar {BAR})"
    )
    return ratio


def _pin_apart(server: int) -> bool:
    """Give the server and this process with its children a core each; return whether that was possible."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        return False
    for thread in Path(f"/proc/{server}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {cores[-1]})
    os.sched_setaffinity(0, {cores[0]})
    return True


def _prepare(cursor: Any) -> None:
    cursor.execute("CREATE DATABASE bench")
    cursor.execute("CREATE TABLE bench.sbtest1 (id INT PRIMARY KEY, c CHAR(120) NOT NULL)")
    values = ",".join(f"({row},'{row:0119d}')" for row in range(1, 10_001))
    cursor.execute(f"INSERT INTO bench.sbtest1 VALUES {values}")


def _bare() -> list[str]:
    return [sys.executable, "-c", BARE_LOOP, str(CONNECTIONS)]


def _pooled(run: Path) -> list[str]:
    return [
        sys.executable, "-m", "locust", "-f", str(ROOT / "locustfiles/oltp_point_select.py"), "--headless",
        "--only-summary", f"--pool-sizes={CONNECTIONS}", f"--users={4 * CONNECTIONS}", "--warm-up=1s",
        "--step-time=10m", f"--output={run}",
    ]  # fmt: skip


@contextmanager
def _client(cursor: Any, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a client, wait until it loads the server, and stop it until its first turn."""
    with tempfile.TemporaryFile() as output:
        client = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            until = time.monotonic() + BEGIN_SECONDS
            while _queries(cursor, 1.0) < LOADED:
                if client.poll() is not None or time.monotonic() > until:
                    output.seek(0)
                    raise SystemExit(f"{command} did not load the server: {output.read().decode()}")
            client.send_signal(signal.SIGSTOP)
            yield client
        finally:
            with suppress(ProcessLookupError):
                os.killpg(client.pid, signal.SIGKILL)
            client.wait()


def _pairs(cursor: Any, *commands: list[str]) -> list[tuple[float, ...]]:
    """Start the clients, and return the processor time per query of each, in seconds, for each round of turns."""
    rounds = []
    with ExitStack() as running:
        clients = [running.enter_context(_client(cursor, command)) for command in commands]
        for number in range(PAIRS):
            order = clients if number % 2 else clients[::-1]
            turns = {client: _turn(cursor, client) for client in order}
            rounds.append(tuple(turns[client] for client in clients))
    return rounds


def _turn(cursor: Any, client: "subprocess.Popen[bytes]") -> float:
    before_seconds, before = _cpu_seconds(client.pid), _selects(cursor)
    client.send_signal(signal.SIGCONT)
    time.sleep(TURN_SECONDS)
    client.send_signal(signal.SIGSTOP)
    return (_cpu_seconds(client.pid) - before_seconds) / (_selects(cursor) - before)


def _cpu_seconds(pid: int) -> float:
    """Return the processor time of a process's main thread so far."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def _queries(cursor: Any, seconds: float) -> int:
    before = _selects(cursor)
    time.sleep(seconds)
    return _selects(cursor) - before


def _selects(cursor: Any) -> int:
    """Return the number of SELECT statements that the server has run so far."""
    cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_select'")
    return int(cursor.fetchone()[1])


if __name__ == "__main__":
    sys.exit(main() > BAR)
