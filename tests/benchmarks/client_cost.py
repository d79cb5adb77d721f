"""What a transaction costs the client: a pooled, timed and recorded point select against a bare PyMySQL loop.

Both run under gevent in a process of their own, in turns, against the same private server; the figure is
processor time of that process per query. Prints one line with the ratio of the medians.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from poolsize.runs.store import load_run
from poolsize.target.connection import connect, database_url
from poolsize.target.private_server import private_server

ROOT = Path(__file__).parents[2]
BAR = 1.8
ROUNDS = 5
SECONDS = 4
CONNECTIONS = 4
BARE_LOOP = """
from gevent import monkey; monkey.patch_all()
import os, random, sys, time, gevent, pymysql
from poolsize.target.connection import connect, database_url
url, connections, seconds = database_url(os.environ["POOLSIZE_URL"]), int(sys.argv[1]), int(sys.argv[2])
done, until = 0, time.monotonic() + seconds + 1
def loop(cursor):
    global done
    while time.monotonic() < until:
        cursor.execute(f"SELECT c FROM sbtest1 WHERE id={random.randint(1, 10000)}")
        cursor.fetchall()
        done += 1
loops = [gevent.spawn(loop, connect(url, "bench").cursor()) for _ in range(connections)]
gevent.sleep(1)
cpu, before = time.process_time(), done
gevent.joinall(loops)
print((time.process_time() - cpu) / (done - before))
"""


def main() -> float:
    """Measure both in turns, print and return the ratio."""
    with private_server(None, {}, 50) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["POOLSIZE_URL"] = server.url
        _prepare(server.url)
        bare, pooled = [], []
        for round_ in range(ROUNDS):
            bare.append(_bare())
            pooled.append(_pooled(Path(folder) / f"{round_}.jsonl"))
    bare_us, pooled_us = statistics.median(bare) * 1e6, statistics.median(pooled) * 1e6
    print(
        f"client CPU per point select: bare PyMySQL {bare_us:.1f} us, pooled and recorded {pooled_us:.1f} us, "
        f"ratio {pooled_us / bare_us:.2f} (bar {BAR})"
    )
    return pooled_us / bare_us


def _prepare(url: str) -> None:
    with connect(database_url(url)).cursor() as cursor:
        cursor.execute("CREATE DATABASE bench")
        cursor.execute("CREATE TABLE bench.sbtest1 (id INT PRIMARY KEY, c CHAR(120) NOT NULL)")
        values = ",".join(f"({row},'{row:0119d}')" for row in range(1, 10_001))
        cursor.execute(f"INSERT INTO bench.sbtest1 VALUES {values}")


def _bare() -> float:
    command = [sys.executable, "-c", BARE_LOOP, str(CONNECTIONS), str(SECONDS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _pooled(run: Path) -> float:
    command = [
        sys.executable, "-m", "locust", "-f", str(ROOT / "locustfiles/oltp_point_select.py"), "--headless",
        "--only-summary", f"--pool-sizes={CONNECTIONS}", f"--users={4 * CONNECTIONS}", "--warm-up=1s",
        f"--step-time={SECONDS}s", f"--output={run}",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    (step,) = load_run(run).steps
    return sum(worker.cpu for worker in step.workers) * len(step.counted) / sum(step.counted)


if __name__ == "__main__":
    sys.exit(main() > BAR)
