"""Repeats the experiment of "MySQL connection pool tuning in practice (Druid + wrk)" with poolsize.

    python -m tests.applications.article [MYSQLD]    on the private server of poolsize, or of another server program

A Spring Boot service with Druid inserts tasks for 50 users, with max-active 1, 8, 50, 100, 500 and 2000. The script
prints poolsize's table beside the published ones, and the answer.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean

from poolsize import analyze, load_run
from poolsize.recordings.published import published_curves
from tests.applications.task_service import task_service
from tests.servers import administered_server

SIZES = (1, 8, 50, 100, 500, 2000)
USERS = 50
LOCUSTFILE = """\
from locust import FastHttpUser, task

class Creating(FastHttpUser):
    @task
    def create(self):
        self.client.post("/tasks")
"""


def main() -> None:
    """Sweep the service, and print the tables."""
    mysqld = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with administered_server(mysqld, {}, max(SIZES) + 50) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with task_service(server, "druid") as service:
            locustfile = folder / "creating.py"
            locustfile.write_text(LOCUSTFILE)
            file = service.file(folder, f'locustfile = "{locustfile}"')
            _poolsize(
                "sweep", "--application", str(file), f"--pool-sizes={','.join(map(str, SIZES))}", f"--users={USERS}",
                "--step-time=10s", "--output", str(folder / "a.jsonl"),
            )  # fmt: skip
        _poolsize("recommend", "--run", str(folder / "a.jsonl"))
        analysis = analyze(load_run(folder / "a.jsonl"))
    published = [curve.recording for name, curve in published_curves().items() if name.startswith("druid_insert")]
    for summary in analysis.sizes:
        others = [recording.by_size.get(summary.pool_size) for recording in published]
        rates = [summary.throughput.mean, *(fmean(seconds.throughput) if seconds else None for seconds in others)]
        print(f"| {summary.pool_size} |", " | ".join("" if rate is None else f"{rate:,.0f}/s" for rate in rates), "|")


def _poolsize(*words: str) -> None:
    subprocess.run([Path(sys.executable).with_name("poolsize"), *words], check=True)


if __name__ == "__main__":
    main()
