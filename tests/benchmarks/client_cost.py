"""What a transaction costs the client: a pooled, timed and recorded point select against a bare PyMySQL loop.

Both run under gevent in a process of their own, against the same private server; the figure is processor time of that
process per query. With two cores or more, the server and the clients are pinned to cores of their own. The two run in
pairs, bare first or pooled first in turn, so that a drift of the machine's speed cancels out. Prints the median and the
spread of the pairs' ratios.
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
BAR = 1.4
PAIRS = 9
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
    """Measure both in pairs, print the ratios, and return their median."""
    with private_server(None, {}, 50) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["POOLSIZE_URL"] = server.url
        _prepare(server.url)
        pinned = _pin_apart(server.pid)
        bare, pooled = [], []
        for pair in range(PAIRS):
            if pair % 2:
                pooled.append(_pooled(Path(folder) / f"{pair}.jsonl"))
            bare.append(_bare())
            if pair % 2 == 0:
                pooled.append(_pooled(Path(folder) / f"{pair}.jsonl"))
    ratios = sorted(of_pool / of_bare for of_pool, of_bare in zip(pooled, bare, strict=True))
    low, ratio, high = statistics.quantiles(ratios, n=4)
    print(
        f"client CPU per point select: bare PyMySQL {statistics.median(bare) * 1e6:.1f} us, pooled and recorded "
        f"{statistics.median(pooled) * 1e6:.1f} us, ratio {ratio:.2f} (quartiles of {PAIRS} pairs {low:.2f} to "
        f"{high:.2f}, {'pinned apart' if pinned else 'not pinned'}; bar {BAR})"
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
    step = load_run(run).steps[0]  # a retry, after other programs were busy, tells no more
    return sum(worker.cpu for worker in step.workers) * len(step.counted) / sum(step.counted)


if __name__ == "__main__":
    sys.exit(main() > BAR)
