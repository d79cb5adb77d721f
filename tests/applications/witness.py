"""Shows what a recommended size is worth by another load generator: wrk, which shares nothing with poolsize.

    python -m tests.applications.witness [KIND ...]    the services of `task_service.KINDS`; spring and go by default

`poolsize sweep --application` recommends a size for each service. Then wrk sends the same requests with as many users,
at the sizes 1, 2, 4 ... 64 and at the recommended size, three times each in random order; the service is started anew
each time. The script prints both tables, the recommended size's throughput as a share of wrk's best median, and the
size as a multiple of the smallest with 95 % of it. Server and service share a core, and the load has the other. Each
request has work of its own beside the database, as that of an application has: with less of it the disk decides, whose
flushes may take three times as long in one minute as in the next.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from poolsize import analyze, load_run, recommend
from poolsize.analysis.analysis import Analysis
from tests.applications.task_service import TaskService, task_service
from tests.conftest import ROOT, may_run_on
from tests.servers import administered_server

WORK = {"go": {"HASHES": "250"}, "spring": {}}
"""Variables that give a service work beside the database; Spring has enough of its own."""
QUICKLY_COMPILED = "java -XX:TieredStopAtLevel=1 "
"""On a core that 50 busy threads share, the JVM's second compiler would need minutes after each start."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
ROUNDS, WARM_UP_SECONDS, SECONDS, READY_SECONDS = 3, 10, 10, 60
CORES = sorted(os.sched_getaffinity(0))
MIX = """\
local turn = 0
request = function()
  turn = (turn + 1) % 4
  return wrk.format(turn == 0 and "GET" or "POST", "/tasks")
end
"""
"""Three tasks are created for each time that the newest are listed, as by tasks_locustfile."""


def main() -> None:
    """Measure each service with both load generators, and print their tables."""
    os.sched_setaffinity(0, {CORES[-1]})
    for kind in sys.argv[1:] or ["spring", "go"]:
        with administered_server(None, {}, 200) as server, tempfile.TemporaryDirectory() as folder:
            may_run_on(server.pid, {CORES[0]})
            with task_service(server, kind) as service:
                _compare(kind, service, Path(folder))


def _compare(kind: str, service: TaskService, folder: Path) -> None:
    file = service.file(folder, f'start = "{_start(service)}"', **WORK[kind])
    words = ["sweep", "--application", str(file), "--output", str(folder / "a.jsonl")]
    subprocess.run([Path(sys.executable).with_name("poolsize"), *words], check=True)
    run = load_run(folder / "a.jsonl")
    size = recommend(run).pool_size
    assert size, "no size can be recommended from this run"
    rates = _rates(service, WORK[kind], run.setting.plan.users, sorted({*SIZES, size}), folder)
    best = max(rates.values())
    enough = next(each for each, rate in rates.items() if rate >= 0.95 * best)
    print(
        f"{kind}, {run.setting.plan.users} users: {size} connections recommended; by wrk {rates[size] / best:.1%} of "
        f"the best, and {size / enough:.2g} times {enough}, the smallest with 95 %",
        *_rows(analyze(run), rates), sep="\n", flush=True,
    )  # fmt: skip


def _rows(analysis: Analysis, rates: dict[int, float]) -> Iterator[str]:
    measured = {summary.pool_size: summary.throughput.mean for summary in analysis.sizes}
    for size in sorted({*measured, *rates}):
        rate = rates.get(size)
        yield f"| {size} | {_shown(measured.get(size))} | {_shown(rate)} |"


def _shown(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f}/s"


def _start(service: TaskService) -> str:
    return f"taskset -c {CORES[0]} {service.start}".replace("java ", QUICKLY_COMPILED)


def _rates(
    service: TaskService, work: Mapping[str, str], users: int, sizes: list[int], folder: Path
) -> dict[int, float]:
    """Return the median of wrk's requests per second at each size."""
    script = folder / "mix.lua"
    script.write_text(MIX)
    rates: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(ROUNDS):
        for size in random.sample(sizes, len(sizes)):
            with _running(service, work, size):
                _wrk(service, users, WARM_UP_SECONDS, script)
                rates[size].append(_wrk(service, users, SECONDS, script))
            print(f"wrk, {size}: {rates[size][-1]:,.0f}/s", flush=True)
    return {size: median(of_size) for size, of_size in rates.items()}


@contextmanager
def _running(service: TaskService, work: Mapping[str, str], size: int) -> Iterator[None]:
    environment = os.environ | work | service.environment(str(size))
    with subprocess.Popen(_start(service).split(), cwd=ROOT, env=environment) as process:
        try:
            deadline = time.monotonic() + READY_SECONDS
            while not _ready(service):
                assert time.monotonic() < deadline, "the service is not ready"
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


def _ready(service: TaskService) -> bool:
    try:
        with urllib.request.urlopen(service.url + service.kind.ready, timeout=2):  # noqa: S310 (the service's own page)
            return True
    except (urllib.error.URLError, OSError):
        return False


def _wrk(service: TaskService, users: int, seconds: int, script: Path) -> float:
    words = [
        "wrk", "--threads=1", f"--connections={users}", f"--duration={seconds}s", "--timeout=30s", f"--script={script}"
    ]  # fmt: skip
    done = subprocess.run([*words, service.url], check=True, capture_output=True, text=True)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert rate, done.stdout
    assert "Non-2xx" not in done.stdout, done.stdout
    assert "Socket errors" not in done.stdout, done.stdout
    return float(rate[1])


if __name__ == "__main__":
    main()
