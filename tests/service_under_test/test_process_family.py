"""The processes of a service under test, some of which start once it is ready, and end before the others."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolsize.service_under_test.counters import ProcessFamily
from poolsize.service_under_test.guard import Guarded

BUSY_SECONDS = 0.3
SERVICE = f"""\
import os, pathlib, sys, time

def await_file(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.01)

pathlib.Path("ready").touch()
await_file("asked")
if not os.fork():
    if sys.argv[1] == "orphan" and os.fork():
        os._exit(0)
    while time.process_time() < {BUSY_SECONDS}:
        pass
    pathlib.Path("busy").touch()
    await_file("ended")
    os._exit(0)
os.wait()
pathlib.Path("reaped").touch()
time.sleep(3600)
"""
"""A service that starts a worker when it is asked, as PHP-FPM and gunicorn do; an orphan's parent has ended."""


UNEQUAL = """\
import os, pathlib, sys, time

for number, seconds in enumerate(sys.argv[1:]):
    if not os.fork():
        while time.process_time() < float(seconds):
            pass
        pathlib.Path(f"busy{number}").touch()
        time.sleep(3600)
time.sleep(3600)
"""
"""A service of processes that use so many seconds of CPU time, and its supervisor."""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path, tmp_path / "application.log")
    try:
        yield guarded
    finally:
        guarded.close()


def await_file(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


@pytest.mark.costly
@pytest.mark.parametrize("worker", ["child", "orphan"])
def test_a_worker_that_starts_later_belongs_to_the_service(guarded: Guarded, worker: str, tmp_path: Path) -> None:
    if worker == "orphan" and sys.platform != "linux":
        pytest.skip("only Linux has a process that adopts orphans")
    guarded.start(([sys.executable, "-c", SERVICE, worker], {}))
    await_file(tmp_path / "ready")
    family = ProcessFamily(guarded.pid)
    before = family.counters()
    (tmp_path / "asked").touch()
    await_file(tmp_path / "busy")
    while_it_runs = family.counters()
    (tmp_path / "ended").touch()
    await_file(tmp_path / "reaped")
    seconds = [
        counters["application_cpu"] - before["application_cpu"] for counters in (while_it_runs, family.counters())
    ]
    assert seconds == pytest.approx([BUSY_SECONDS] * 2, abs=0.1)
    assert while_it_runs["application_cores"] == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("seconds", "serving"), [(("0.8", "0.8"), 2), (("0.8", "0.3"), 2), (("0.9", "0.1"), 1), (("0.8", "0.0"), 1)]
)
def test_a_process_without_work_serves_nobody(
    guarded: Guarded, seconds: tuple[str, str], serving: int, tmp_path: Path
) -> None:
    """A quarter of an equal share is enough; the supervisor is no process that serves."""
    family = ProcessFamily(guarded.pid, pools=2)
    guarded.start(([sys.executable, "-c", UNEQUAL, *seconds], {}))
    await_file(tmp_path / "busy0")
    await_file(tmp_path / "busy1")
    assert family.counters()["application_processes"] == serving


@pytest.mark.costly
def test_fewer_processes_than_pools_show_nothing(guarded: Guarded, tmp_path: Path) -> None:
    """A command that starts containers is one process, and the service's own are not visible."""
    family = ProcessFamily(guarded.pid, pools=3)
    guarded.start(([sys.executable, "-c", UNEQUAL, "0.3"], {}))
    await_file(tmp_path / "busy0")
    counters = family.counters()
    assert counters["application_cpu"] > 0
    assert "application_processes" not in counters
