"""The memory of a long sweep: 500 steps of a second, and what the sweep's processes grew by.

    python -m tests.long_sweep [STEPS]    (500)

The growth is that of the largest memory over that after 20 steps; until then the processes load what they need. A line
is printed every 100 steps. The transactions sleep, for a saturated load generator's steps would be measured again.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
WORKLOAD = """
from locust import task
from poolsize.locust import PoolUser
class Sleeping(PoolUser):
    @task
    def wait(self, cursor):
        cursor.execute("SELECT SLEEP(0.01)")
"""
SETTLED_STEPS = 20
MOST_GROWTH_MB = 30.0


def main(steps: int) -> int:
    """Sweep, print the growth, and return 1 where it is too much."""
    with tempfile.TemporaryDirectory() as folder:
        run, workload = Path(folder) / "a.jsonl", Path(folder) / "sleeping.py"
        workload.write_text(WORKLOAD)
        with subprocess.Popen(
            [POOLSIZE, "sweep", "--workload", str(workload), "--pool-sizes", "1,2", "--users", "8", "--warm-up", "0",
             "--step-time", "1s", "--repeats", str(steps // 2), "--output", str(run)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as sweep:  # fmt: skip
            first = largest = 0.0
            printed = 0
            while sweep.poll() is None:
                stored = run.read_bytes().count(b'{"step"') if run.exists() else 0
                if (memory := _memory_mb(sweep.pid)) and stored >= SETTLED_STEPS:
                    first, largest = first or memory, max(largest, memory)
                if stored >= printed + 100:
                    printed = stored
                    print(f"{stored} steps: {memory:.1f} MB", flush=True)
                time.sleep(2)
        stored = run.read_bytes().count(b'{"step"')
    growth = largest - first
    print(f"{stored} steps: {first:.1f} MB after {SETTLED_STEPS} steps, {largest:.1f} MB at most, {growth:+.1f} MB")
    return int(growth > MOST_GROWTH_MB or stored < steps)


def _memory_mb(pid: int) -> float:
    """Return the resident memory of poolsize and Locust, in MB; not of the server."""
    memory = 0.0
    with suppress(psutil.Error):
        for process in (psutil.Process(pid), *psutil.Process(pid).children()):
            memory += process.memory_info().rss / 1e6
    return memory


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
