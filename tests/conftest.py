"""What the tests share: the command line as a user runs it, real servers, and runs whose answer is known."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does; before numpy is there

import fcntl
import json
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil
import pytest
from hypothesis import settings
from jsonschema_rs import Draft202012Validator

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.attempts import curve_steps
from poolsize.analysis.checks import check_step
from poolsize.analysis.stats.percentiles import encoded
from poolsize.commands import main
from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.files import shipped
from poolsize.load.recorder import histogram
from poolsize.runs.check import Check
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Latencies, Run, Setting, Step, Worker
from poolsize.runs.store import RunWriter, load_run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer, free_port
from poolsize.sweep.next_step import remaining
from tests.servers import administered_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("poolsize", deadline=None)  # a busy machine takes its time
settings.load_profile("poolsize")


ROOT = Path(__file__).parents[1]
POOLSIZE = str(Path(sys.executable).with_name("poolsize"))
"""The program as a user runs it."""
Command = Callable[..., "subprocess.CompletedProcess[str]"]
FLAVORS = ("mariadb", "mysql")


def in_ci(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return the cases of a test: CI runs those that are chosen, and scripts/experiments all."""
    cases = list(cases)
    assert all(case in cases for case in chosen)
    return [case if case in chosen else pytest.param(*_values(case), marks=pytest.mark.experiment) for case in cases]


def _values(case: Any) -> tuple[Any, ...]:
    """Return the values of a case's parameters. A case of several is a tuple."""
    return case if isinstance(case, tuple) else (case,)


GIVEN_SERVER = os.environ.get("POOLSIZE_TEST_URL")
"""An administrator's URL of a server that stands in for those that the fixture `server` starts, or None."""
MARIADB_IN_CI = in_ci(FLAVORS, *(FLAVORS if GIVEN_SERVER else ("mariadb",)))


def mysqld(flavor: str) -> Path | None:
    """The server program to test with; None for the MariaDB that poolsize finds by itself."""
    if flavor == "mariadb":
        return None
    if not (path := os.environ.get("POOLSIZE_TEST_MYSQLD")):
        pytest.skip("no MySQL on this machine: name its mysqld in POOLSIZE_TEST_MYSQLD")
    return Path(path)


@pytest.fixture(scope="session", params=MARIADB_IN_CI)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A MariaDB, and in experiments a MySQL as well, for all tests that only use it."""
    if GIVEN_SERVER:
        with closing(connect(database_url(GIVEN_SERVER))) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            ((version,),) = cursor.fetchall()
        if ("MariaDB" in version) != (request.param == "mariadb"):
            pytest.skip(f"POOLSIZE_TEST_URL is of a server {version}")
        yield PrivateServer(GIVEN_SERVER, pid=0, directory=Path(), oom_kills=0)
        return
    with administered_server(mysqld(request.param), {}, 100) as started:
        yield started


on_mariadb = pytest.mark.parametrize("server", ["mariadb"], indirect=True)
"""Marks a test of the load generator, whose result does not depend on the server."""
on_both = pytest.mark.parametrize("server", FLAVORS, indirect=True)
"""Marks a test of what differs between MariaDB and MySQL: CI runs it on both."""


def require_schema(arguments: Sequence[str], output: str) -> None:
    """Raise ValidationError for JSON that its command's schema does not allow, and for a key that it does not have."""
    if "--json" not in arguments or not output:
        return
    _validator(arguments[0]).validate(json.loads(output))


@cache
def _validator(command: str) -> Draft202012Validator:
    schema = json.loads((ROOT / f"docs/reference/schemas/{command}.json").read_text())
    return Draft202012Validator(_closed(schema))


def _closed(schema: Any) -> Any:
    """Return a schema that allows no key which it does not declare."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    return closed | ({"additionalProperties": False} if "properties" in closed else {})


@pytest.fixture
def poolsize(tmp_path: Path) -> Command:
    """The command line, run in an empty folder."""

    def run(*arguments: str, url: str | None = None, timeout: float = 120) -> "subprocess.CompletedProcess[str]":
        environment = {name: value for name, value in os.environ.items() if name != "POOLSIZE_URL"}
        done = subprocess.run(
            [POOLSIZE, *arguments],
            cwd=tmp_path,
            env=environment | ({"POOLSIZE_URL": url} if url else {}),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        require_schema(arguments, done.stdout)
        return done

    return run


@pytest.fixture
def poolsize_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The same in this process, for each call of which a test reads the output alone: a new one takes half a second."""

    def run(*arguments: str, url: str | None = None) -> "subprocess.CompletedProcess[str]":
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("POOLSIZE_URL", raising=False)
        if url is not None:
            monkeypatch.setenv("POOLSIZE_URL", url)
        monkeypatch.setattr(sys, "argv", ["poolsize", *arguments])
        code, on_ctrl_c = 0, signal.getsignal(signal.SIGINT)
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            signal.signal(signal.SIGINT, on_ctrl_c)
        output = capsys.readouterr()
        require_schema(arguments, output.out)
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A browser that shows pages; see tests/browser.py."""
    from playwright.sync_api import sync_playwright  # few tests need it

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser on this machine: apt-get install chromium")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=options)
        yield started
        started.close()


ENDINGS = {"SIGTERM": signal.SIGTERM, "Ctrl-C twice": signal.SIGINT}
"""How a person ends a command at once -> the signal."""


def end_at_once(command: "subprocess.Popen[str]", ending: str) -> tuple[str, str]:
    """End a command by one of ENDINGS, and return its output and its errors.

    Raises subprocess.TimeoutExpired where it takes more than 10 s after SIGTERM, or 15 s after the second Ctrl-C: by
    then, a sweep has waited 4 s for a frozen process.
    """
    command.send_signal(ENDINGS[ending])
    if ending == "SIGTERM":
        return command.communicate(timeout=10)
    time.sleep(0.5)
    command.send_signal(ENDINGS[ending])
    return command.communicate(timeout=15)


def assert_soon(condition: Callable[[], object], seconds: float = 90) -> None:
    """Wait until a condition holds, at most so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def has_line(run: Path, beginning: bytes = b'{"step"') -> bool:
    """Return whether a run's file has a line, after the first, that begins so, by default a step."""
    return run.exists() and b"\n" + beginning in run.read_bytes()


EXAMPLES = {path.stem: path for path in sorted(shipped("data/examples").glob("*.jsonl")) if path.stem != "observation"}
"""Name of an example run -> its file."""


@cache
def example(name: str) -> Analysis:
    """An example run's analysis; made once, for its estimates take half a second."""
    return analyze(load_run(EXAMPLES[name]))


def measured(steps: Sequence[Step]) -> list[Step]:
    """The steps without their checks: the check of the machine's speed is made again with each further step."""
    return [replace(step, checks=()) for step in steps]


def page_line(page: str, beginning: str, option: str) -> list[str]:
    """The words of the command on a page that begins like this and has this option."""
    lines = (ROOT / page).read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(beginning) and option in line.split()]
    return shlex.split(line)


Measured = TypeVar("Measured")
MEASUREMENTS = 5
HARDLY_ANY, PATIENCE_SECONDS = 0.005, 600
"""The most stolen share of the time of an undisturbed measurement, and how long to try for measurements.

Requests that arrive in stolen time wait for the machine, too: half as many as the 1 % that wait longer than the p99.
"""
AGAIN = "measured again"
"""The property of a test's report with the number of measurements that failed."""
_failed_measurements = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Note how often a test measured again; the report brings it from a worker of pytest-xdist."""
    global _failed_measurements  # noqa: PLW0603 (the test's function does not know its item)
    _failed_measurements = 0
    try:
        return (yield)
    finally:
        if _failed_measurements:
            item.user_properties.append((AGAIN, _failed_measurements))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that measured again, and how often: a test that often does is too strict, or shows a fault."""
    again = {
        report.nodeid: properties[AGAIN]
        for reports in terminalreporter.stats.values()
        for report in reports
        if AGAIN in (properties := dict(getattr(report, "user_properties", ())))
    }
    if again:
        terminalreporter.section("measured again")
    for test, times in again.items():
        terminalreporter.write_line(f"{times} x {test}")


@pytest.fixture
def master_port() -> Iterator[int]:
    """The port on which every master waits for workers elsewhere; one test at a time has it, of all that run."""
    with (Path(tempfile.gettempdir()) / "poolsize-tests-master-port").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield 5557


def measured_again(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test measure up to MEASUREMENTS times, in an empty folder each time.

    A neighbour on the same processor slows a virtual machine for seconds, and no counter shows it; the hypervisor may
    give its cores to others for minutes. A measurement that they spoil says nothing of the code; code that is wrong
    fails every time.
    """

    @wraps(test)
    def repeated(**fixtures: Any) -> None:
        global _failed_measurements  # noqa: PLW0603
        folder: Path | None = fixtures.get("tmp_path")
        for measurement in range(1, MEASUREMENTS + 1):
            try:
                test(**fixtures)
                break
            except (AssertionError, subprocess.TimeoutExpired):
                _failed_measurements += 1
                if measurement == MEASUREMENTS:
                    raise
            _wait_for_cores()
            if folder is not None:
                shutil.rmtree(folder)
                folder.mkdir()

    return repeated


def _wait_for_cores() -> None:
    """Wait until the hypervisor gives this machine nearly all that it asks for, a minute at most."""
    until, share, cores = time.monotonic() + 60, 1.0, os.cpu_count() or 1
    while share > 0.03 / cores and time.monotonic() < until:
        before, busy_until = psutil.cpu_times(), time.monotonic() + 1
        while time.monotonic() < busy_until:  # an idle machine asks for nothing
            pass
        share = stolen_share(before)


def stolen_share(before: Any) -> float:
    """Return the share of this machine's time that the hypervisor took since these `psutil.cpu_times()`."""
    now = psutil.cpu_times()
    stolen = getattr(now, "steal", 0.0) - getattr(before, "steal", 0.0)
    return float(stolen / (sum(now) - sum(before)))


def undisturbed(measure: Callable[[], Measured], number: int) -> list[Measured]:
    """Return so many measurements during which the hypervisor took hardly any time from this machine.

    Others don't count: a pause of the machine is a wait of all that arrive in it, which no model has.
    """
    measurements: list[Measured] = []
    until = time.monotonic() + PATIENCE_SECONDS
    while len(measurements) < number:
        assert time.monotonic() < until, f"{len(measurements)} of {number} undisturbed in {PATIENCE_SECONDS} s"
        before, measurement = psutil.cpu_times(), measure()
        if stolen_share(before) <= HARDLY_ANY:
            measurements.append(measurement)
        else:
            _wait_for_cores()
    return measurements


def may_run_on(pid: int, cores: set[int]) -> None:
    """Let every thread of a process, and those they start, run on these cores only."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def own_port() -> tuple[str, str]:
    """Options for a master of Locust's own command, which otherwise binds the same port each time."""
    port = free_port()
    return f"--master-bind-port={port}", f"--master-port={port}"


def locust(locustfile: str | Path, url: str, run: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A sweep as any Locust user would start it, of one of poolsize's workloads or of a path."""
    return subprocess.run(
        [sys.executable, "-m", "locust", "-f", str(ROOT / "locustfiles" / locustfile), "--headless", "--only-summary",
         f"--output={run}", *options],
        env=os.environ | {"POOLSIZE_URL": url}, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def curve_of(run: Run) -> tuple[Step, ...]:
    """The steps of a run that make its curve."""
    return tuple(curve_steps(run.plan, run.steps))


def assert_swept(done: "subprocess.CompletedProcess[str]") -> None:
    """The sweep stored its last step; it ends with 1 just where its answer has no pool size, as on a busy machine."""
    without_size = "No pool size can be recommended" in done.stdout or '"pool_size": null' in done.stdout
    assert done.returncode == (1 if without_size else 0), done.stderr
    assert "Stored in " in done.stdout or '"run": ' in done.stdout, done.stderr


def assert_counted_steps(run: Run) -> None:
    """The sweep measured its plan, with as many connections as each step had, and lost no transaction."""
    assert remaining(run) is None
    for step in curve_of(run):
        assert step.server_connections == step.pool_size
        assert sum(step.counted) > 0
        passed = {result.check: result.passed for result in step.checks}
        assert passed[Check.CONNECTIONS]
        assert passed[Check.ERRORS]
        assert len(step.throughput) >= run.plan.warm_up_seconds + run.plan.step_seconds


def assert_true_steps(run: Run) -> None:
    """Every step obeys Little's law within 5 % as well. On a busy machine, users wait for a core, which it ignores."""
    assert_counted_steps(run)
    for step in curve_of(run):
        (little,) = [result for result in step.checks if result.check is Check.LITTLES_LAW]
        assert little.passed, little


def a_setting(sizes: Sequence[int], users: int = 64, repeats: int = 1) -> Setting:
    """Where a made-up run was measured."""
    return Setting(
        created="2026-01-02T03:04:05+00:00",
        plan=SweepPlan(tuple(sizes), users, "scan", warm_up_seconds=1, step_seconds=10, repeats=repeats),
        own_workload=None,
        workload_sha256="0" * 64,
        cores=4,
        disks=1,
        cores_from="given",
        client=Machine(4, 8, 8.0, 2**34, "Linux x86_64"),
        server=Server("db:3306", "MariaDB", "10.11.6-MariaDB", 151, 0, "one-thread-per-connection", True, 2**27),
        private=True,
        server_options={},
        versions={"poolsize": "0.1.0"},
    )


def a_step(pool_size: int, throughput: Sequence[int], users: int = 64, order: int = 0, cpu: float = 0.2) -> Step:
    """A step in which Little's law holds: users wait and work for as long as their throughput makes them."""
    counted = list(throughput)
    total_us = round(1e6 * users / (sum(counted) / len(counted)))
    usage_us = max(1, round(total_us * min(1.0, pool_size / users)))
    latencies = {
        name: encoded(histogram([{max(1, value): sum(counted)}]))
        for name, value in (("wait", total_us - usage_us), ("usage", usage_us), ("total", total_us))
    }
    step = Step(
        pool_size=pool_size,
        repeat=0,
        order=order,
        started="2026-01-02T03:04:05+00:00",
        users=users,
        rate=None,
        warm_up_seconds=1,
        throughput=(counted[0] // 2, *counted),
        errors={},
        p95_ms=(total_us / 1000,) * (1 + len(counted)),
        backlog=(),
        busy=(),
        gap_ms=0.0,
        latencies=Latencies(**latencies),
        sections={},
        kinds={},
        server={},
        server_connections=pool_size,
        workers=(Worker("local", pool_size, users, cpu, 0.0, 0.5),),
        stopped=None,
        checks=(),
    )
    return replace(step, checks=check_step(step, 0.01))


def at_speed(step: Step, *speeds: float, busy: float | None = None) -> Step:
    """A step at these speeds, second by second, of a server that keeps so many of two cores busy, else all it can."""
    seconds, cores = len(step.throughput), min(2.0, step.pool_size) if busy is None else busy
    counters = {"machine_cores": 2.0, "machine_cpu": cores, "process_cores": 2.0, "process_cpu": cores}
    series = {name: (value,) * seconds for name, value in counters.items()}
    return replace(step, server=dict(step.server) | series | {"machine_speed": (speeds * seconds)[:seconds]})


def a_run(curve: dict[int, int], users: int = 64, noise: int = 1, cpu: float = 0.2) -> Run:
    """A complete run with this mean throughput at each size, alternating by +-noise."""
    steps = tuple(
        a_step(size, [rate + (noise if second % 2 else -noise) for second in range(10)], users, order, cpu)
        for order, (size, rate) in enumerate(curve.items())
    )
    return Run(a_setting(tuple(curve), users), steps)


def written(path: Path, run: Run) -> Path:
    """Write a run, and return the path of its file."""
    with RunWriter(path, run.setting) as writer:
        for step in run.steps:
            writer.append(step)
    return path
