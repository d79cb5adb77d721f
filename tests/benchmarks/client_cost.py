"""What a transaction costs the client: a pooled, timed and recorded point select against a bare PyMySQL loop.

Beside both: a plain locustfile with PyMySQL and an event for each request, and sysbench where it is installed. All run
against the same private server; the figure is processor time per query of the threads that run them. The load
generator's speed probe has a thread of its own: 1 % of a core at any load. With two cores or more, the server and the
clients are pinned to cores of their own. The clients run side by side, and take turns of a third of a second: each is
stopped while the others work. So the speed of the machine, which wanders from second to second, is the same for the
turns of a round. The clients are started several times, because the cost of the same code differs by a few percent from
process to process. Prints the medians, and the spread of the ratios.
"""

import os
import shutil
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

from sqlalchemy import URL

from poolsize.server.connection import connect, database_url
from tests.servers import administered_server

ROOT = Path(__file__).parents[2]
BAR = 1.25
BARE, POOLED = "bare PyMySQL", "poolsize"
STARTS, ROUNDS = 5, 12
"""How often the clients are started, and how many rounds of turns they take each time."""
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


PLAIN_LOCUSTFILE = """
import os, random, time, pymysql
from locust import User, constant, task
from poolsize.server.connection import database_url
url = database_url(os.environ["POOLSIZE_URL"])
class PlainUser(User):
    wait_time = constant(0)
    def on_start(self):
        account = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
        self.cursor = pymysql.connect(**account, database="bench", autocommit=True).cursor()
    @task
    def point_select(self):
        begun = time.perf_counter()
        self.cursor.execute(f"SELECT c FROM sbtest1 WHERE id={random.randint(1, 10000)}")
        self.cursor.fetchall()
        self.environment.events.request.fire(
            request_type="SQL", name="point_select", response_time=1000 * (time.perf_counter() - begun),
            response_length=0, exception=None,
        )
"""


def main() -> float:
    """Measure the clients in rounds of turns, print their costs and ratios, and return the median ratio of the pool."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # the clients end with this process
    with administered_server(None, {}, 50) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["POOLSIZE_URL"] = server.url
        cursor = connect(database_url(server.url)).cursor()
        _prepare(cursor)
        pinned = _pin_apart(server.pid)
        rounds = [
            costs
            for start in range(STARTS)
            for costs in _rounds(cursor, _clients(database_url(server.url), Path(folder), start))
        ]
    ratios = {}
    print(f"client CPU per point select, {len(rounds)} rounds, {'pinned apart' if pinned else 'not pinned'}:")
    for client in rounds[0]:
        low, ratios[client], high = statistics.quantiles((costs[client] / costs[BARE] for costs in rounds), n=4)
        cost_us = 1e6 * statistics.median(costs[client] for costs in rounds)
        print(
            f"  {client}: {cost_us:.1f} us, {ratios[client]:.2f} times bare PyMySQL (quartiles {low:.2f} to "
            f"{high:.2f}); one core generates {1e6 / cost_us:,.0f}/s"
        )
    print(f"bar of poolsize: {BAR}")
    return ratios[POOLED]


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


def _clients(url: URL, folder: Path, start: int) -> dict[str, list[str]]:
    """Return name of a client -> the command that starts it."""
    plain = folder / "plain.py"
    plain.write_text(PLAIN_LOCUSTFILE)
    locust = [sys.executable, "-m", "locust", "--headless", "--only-summary"]
    clients = {
        BARE: [sys.executable, "-c", BARE_LOOP, str(CONNECTIONS)],
        POOLED: [
            *locust, "-f", str(ROOT / "locustfiles/oltp_point_select.py"), f"--pool-sizes={CONNECTIONS}",
            f"--users={4 * CONNECTIONS}", "--warm-up=1s", "--step-time=10m", f"--output={folder / f'{start}.jsonl'}",
        ],
        "plain Locust": [*locust, "-f", str(plain), f"--users={CONNECTIONS}", f"--spawn-rate={CONNECTIONS}"],
    }  # fmt: skip
    if sysbench := shutil.which("sysbench"):
        clients["sysbench"] = [
            sysbench, "oltp_point_select", f"--mysql-host={url.host}", f"--mysql-port={url.port}",
            f"--mysql-user={url.username}", f"--mysql-password={url.password}", "--mysql-db=bench",
            "--table-size=10000", f"--threads={CONNECTIONS}", "--time=0", "--db-ps-mode=disable", "run",
        ]  # fmt: skip
    return clients


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


def _rounds(cursor: Any, commands: dict[str, list[str]]) -> list[dict[str, float]]:
    """Start the clients, and return the processor time per query of each, in seconds, for each round of turns."""
    rounds = []
    with ExitStack() as running:
        clients = {name: running.enter_context(_client(cursor, command)) for name, command in commands.items()}
        for number in range(ROUNDS):
            order = list(clients) if number % 2 else list(clients)[::-1]
            turns = {name: _turn(cursor, clients[name]) for name in order}
            rounds.append({name: turns[name] for name in clients})
    return rounds


def _turn(cursor: Any, client: "subprocess.Popen[bytes]") -> float:
    before_seconds, before = _cpu_seconds(client.pid), _selects(cursor)
    client.send_signal(signal.SIGCONT)
    time.sleep(TURN_SECONDS)
    client.send_signal(signal.SIGSTOP)
    return (_cpu_seconds(client.pid) - before_seconds) / (_selects(cursor) - before)


def _cpu_seconds(pid: int) -> float:
    """Return the processor time so far of a process's main thread, or of its others where these run the queries."""
    threads = {int(path.name): path / "schedstat" for path in Path(f"/proc/{pid}/task").iterdir()}
    nanoseconds = {thread: int(path.read_text().split()[0]) for thread, path in threads.items()}
    return max(nanoseconds.pop(pid), sum(nanoseconds.values())) / 1e9


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
