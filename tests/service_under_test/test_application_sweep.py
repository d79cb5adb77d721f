"""Sweeps of the pool inside an application: started for each size, resized, failing, killed."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from poolsize.analysis.application_pool import busy_connections
from poolsize.runs.check import Check
from poolsize.runs.run import Run
from poolsize.runs.store import load_run
from poolsize.server.private_server import PrivateServer, free_port
from tests.applications.task_service import PASSWORD, TaskService, task_service
from tests.conftest import (
    FLAVORS,
    POOLSIZE,
    ROOT,
    Command,
    assert_soon,
    assert_swept,
    curve_of,
    has_line,
    in_ci,
    measured,
    measured_again,
    on_mariadb,
    own_port,
)
from tests.pages import blocks

pytestmark = pytest.mark.server
CONFIG = ["config", "--for", "hikaricp", "--run", "a.jsonl"]
QUICKLY = ("--pool-sizes=1,4", "--users=12", "--warm-up=0", "--step-time=1s", "--output=a.jsonl")
TRULY = (*QUICKLY, "--warm-up=1s", "--step-time=2s")
GONE_SECONDS = 20
DYING = """\
import os, socket, sys, time

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        if b"/metrics" in connection.recv(1000):
            connection.close()
            break
        connection.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n")
        connection.close()
time.sleep(0.5)
os._exit(3)
"""
"""An application that closes its sockets half a second before it ends, when the metrics are read."""
FAILING = """\
from locust import FastHttpUser, constant, task

class Shop(FastHttpUser):
    wait_time = constant(0.01)

    @task
    def create(self):
        self.client.post("/tasks")
        {}["missing"]
"""


@pytest.fixture
def service(server: PrivateServer) -> Iterator[TaskService]:
    with task_service(server) as made:
        yield made


@contextmanager
def running(command: str, service: TaskService, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The service, started with a pool of 3 connections, and not by a sweep."""
    process = subprocess.Popen(command.split(), cwd=ROOT, env=os.environ | service.environment("3") | environment)
    try:
        assert_soon(lambda: answers(service))
        yield process
    finally:
        process.terminate()
        process.wait()


def answers(service: TaskService) -> bool:
    try:
        with urllib.request.urlopen(service.url + service.kind.ready, timeout=2):  # noqa: S310 (the service of the test)
            return True
    except (urllib.error.URLError, OSError):
        return False


def assert_measured(run: Run, sizes: set[int]) -> None:
    """Every size was measured with as many connections, and no request was lost."""
    assert {step.pool_size for step in curve_of(run)} == sizes
    for step in curve_of(run):
        assert step.server_connections == step.pool_size
        assert step.error_count == 0
        assert step.change_seconds >= 0
        assert set(step.kinds) == {"POST /tasks", "GET /tasks"}
        assert sum(kind.transactions for kind in step.kinds.values()) == sum(step.counted)
        assert step.latencies is not None
        assert step.latencies.wait is step.latencies.usage is None


def test_the_pool_inside_an_application_is_swept(
    service: TaskService, tmp_path: Path, poolsize: Command, poolsize_here: Command
) -> None:
    done = poolsize("sweep", "--application", str(service.file(tmp_path)), *QUICKLY)
    assert_swept(done)
    run = load_run(tmp_path / "a.jsonl")
    assert_measured(run, {1, 4})
    assert run.setting.application is not None
    assert run.setting.application.started
    assert not answers(service)
    assert "tasks_locustfile" in done.stderr + poolsize_here("analyze", "a.jsonl").stdout
    for file in ("a.jsonl", "a.jsonl.application.log"):
        assert PASSWORD not in (tmp_path / file).read_text()
    for command in (["report", "a.jsonl", "--output", "a.md"], ["compare", "a.jsonl", "a.jsonl"], CONFIG):
        assert "Traceback" not in poolsize_here(*command).stderr


@pytest.mark.experiment
@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "kind"),
    [*((flavor, kind) for flavor in FLAVORS for kind in ("spring", "go")), ("mariadb", "druid"), ("mariadb", "node")],
    indirect=["server"],
)
def test_the_pools_of_other_applications_are_swept(
    server: PrivateServer, kind: str, tmp_path: Path, poolsize: Command
) -> None:
    """HikariCP, Druid, Go's database/sql and mysql2: the metrics are read, and the server counts the connections."""
    with task_service(server, kind) as service:
        done = poolsize("sweep", "--application", str(service.file(tmp_path)), *QUICKLY, timeout=300)
        assert_swept(done)
        run = load_run(tmp_path / "a.jsonl")
        assert_measured(run, {1, 4})
        assert not answers(service)
    for step in curve_of(run):
        if service.kind.metrics:
            assert step.counter("pool_max") == step.pool_size
            busy = busy_connections(step)  # a moment in each second may find no connection in use
            assert busy is not None
            assert busy <= 1.2 * step.pool_size
        assert (step.counter("application_cpu") or 0) > 0
        assert (step.counter("application_memory_bytes") or 0) > 2**20


@on_mariadb
def test_requests_that_all_fail_end_the_sweep_in_its_first_step(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    (tmp_path / "wrong.py").write_text(FAILING.replace('"/tasks"', '"/task"').replace('{}["missing"]', "pass"))
    file = service.file(tmp_path, f'locustfile = "{tmp_path / "wrong.py"}"')
    done = poolsize("sweep", "--application", str(file), *QUICKLY)
    assert done.returncode == 1
    assert "poolsize: error: no transaction succeeded (status_404 " in done.stderr.splitlines()[-1]
    assert len(load_run(tmp_path / "a.jsonl").steps) == 1
    assert not answers(service)


def test_each_part_of_the_file_is_tried(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    """SQLAlchemy opens connections as it needs them: the health page needed one of the two."""
    done = poolsize("application", "check", str(service.file(tmp_path)))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "locustfile  TaskUser"
    assert lines[1].startswith("application started with pool size 2 and ready after ")
    assert lines[2] == "metrics     1 pool, at most 2 connections"
    assert lines[3].startswith("database    M")
    assert lines[3].endswith(", 1 connection of shop")
    assert lines[4] == "application ended"
    assert not answers(service)


@pytest.mark.experiment
@on_mariadb
def test_plain_locust_and_two_workers_do_the_same(service: TaskService, tmp_path: Path) -> None:
    file = service.file(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "poolsize.service_under_test",
         "-f", str(ROOT / "tests/applications/tasks_locustfile.py"), "--headless", "--only-summary",
         f"--application={file}", "--processes=2", *own_port(), *QUICKLY],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_measured(run, {1, 4})
    assert {len(step.workers) for step in run.steps} == {2}
    assert "poolsize recommend --run a.jsonl" in done.stderr
    assert not answers(service)


NOT_STARTED = [
    (("ready_seconds = 1", 'ready = "http://127.0.0.1:1/"'), 1, "the application was not ready within 1 s"),
    (('start = "false {pool_size}"',), 1, "the application ended by itself, with exit code 1"),
    (('metrics = "http://127.0.0.1:1/"',), 1, "metrics http://127.0.0.1:1/: [Errno 111] Connection refused"),
    (("metrics = {health}",), 1, "the page has no metrics of a pool that poolsize knows"),
    (('start = "no-such-program {pool_size}"',), 1, "start can't be run: no-such-program"),
]


@on_mariadb
@pytest.mark.parametrize(("changed", "code", "message"), in_ci(NOT_STARTED, NOT_STARTED[0]))
def test_an_application_that_does_not_start_says_why(
    service: TaskService, tmp_path: Path, poolsize: Command, changed: tuple[str, ...], code: int, message: str
) -> None:
    lines = [line.replace("{health}", f'"{service.url}/health"') for line in changed]
    done = poolsize("sweep", "--application", str(service.file(tmp_path, *lines)), *QUICKLY)
    assert done.returncode == code
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("poolsize: error:")]
    assert message in line
    assert not answers(service)


@on_mariadb
def test_an_application_that_dies_while_its_metrics_are_read_is_named(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    start = f'start = "{sys.executable} {tmp_path / "dying.py"} {service.url.rpartition(":")[2]} {{pool_size}}"'
    done = poolsize("sweep", "--application", str(service.file(tmp_path, start)), *QUICKLY)
    assert done.returncode == 1
    assert "the application ended by itself, with exit code 3" in done.stderr


@pytest.mark.experiment
@pytest.mark.slow
@on_mariadb
@measured_again
def test_worker_threads_below_the_pool_size_are_named(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    file = service.file(tmp_path, THREADS="8")
    done = poolsize("sweep", "--application", str(file), *TRULY, "--pool-sizes=2,32", "--users=64")
    assert_swept(done)
    text = " ".join(poolsize("recommend", "--run", "a.jsonl", "--why").stdout.split())
    assert "the service's worker threads, or its CPU, keep it from using more" in text


@pytest.mark.slow
@on_mariadb
@measured_again
def test_a_service_without_free_cpu_needs_no_larger_pool(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    """A request needs 20 ms of CPU time, and Python's threads share one core."""
    done = poolsize("sweep", "--application", str(service.file(tmp_path, BUSY_MS="20")), *TRULY, "--pool-sizes=1,2,4")
    assert_swept(done)
    text = " ".join(done.stdout.split())
    assert "Limit application CPU" in text
    assert "so no pool size makes it faster" in text


def two_processes(service: TaskService, folder: Path, **late: str) -> Path:
    """The file of a service of two processes, of which one starts later."""
    return service.file(folder, "processes = 2", WORKERS="2", FIRST=str(folder / "first"), **late)


@pytest.mark.experiment
@pytest.mark.slow
@on_mariadb
@measured_again
def test_one_process_that_serves_everybody_is_measured_again(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    """Users keep their connections to the first process that is ready; it passed, with half of the connections."""
    file = two_processes(service, tmp_path, LATE_SECONDS="7")
    done = poolsize("sweep", "--application", str(file), *TRULY, "--pool-sizes=2")
    first, *others = load_run(tmp_path / "a.jsonl").steps
    used = [result for result in first.checks if result.check is Check.POOLS_USED]
    assert [(result.passed, result.values) for result in used] == [(False, {"used": 1, "pools": 2})]
    assert not any(result.check is Check.POOLS_USED for result in others[-1].failed_checks)
    assert "pools_used (a part of the pools was not used)" in done.stderr


@on_mariadb
def test_every_process_has_started_when_the_load_begins(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    done = poolsize("application", "check", str(two_processes(service, tmp_path, BUSY_SECONDS="3")))
    assert "and ready after" in done.stdout, done.stderr
    assert (tmp_path / "second").exists()


@on_mariadb
def test_a_failed_restore_is_reported(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    """The steps are kept, and the user must know that the application may have another size now."""
    with running(service.start, service):
        file = resized(service, tmp_path, "true {pool_size}", "false")
        done = poolsize("sweep", "--application", str(file), *QUICKLY, "--pool-sizes=4")
        assert done.returncode == 1
        assert "restore failed, so the application may have another pool size now" in done.stderr
        assert {(step.pool_size, step.server_connections) for step in load_run(tmp_path / "a.jsonl").steps} == {
            (4, None)
        }


@on_mariadb
def test_a_task_that_fails_is_a_failed_request(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    """Locust lets its users go on after an exception of a task; so does the sweep, within the error budget."""
    locustfile = tmp_path / "failing.py"
    locustfile.write_text(FAILING)
    done = poolsize(
        "sweep",
        "--application",
        str(service.file(tmp_path, f'locustfile = "{locustfile}"')),
        *QUICKLY,
        "--pool-sizes=4",
    )
    assert "No pool size can be recommended" in done.stdout, done.stderr
    assert {kind for step in load_run(tmp_path / "a.jsonl").steps for kind in step.errors} == {"KeyError"}


@on_mariadb
def test_a_user_that_cant_start_ends_the_sweep(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    locustfile = tmp_path / "starting.py"
    locustfile.write_text(FAILING.replace("    @task", "    def on_start(self):\n        {}['token']\n\n    @task"))
    done = poolsize("sweep", "--application", str(service.file(tmp_path, f'locustfile = "{locustfile}"')), *QUICKLY)
    assert done.returncode == 1
    assert "a user failed as it started" in done.stderr
    assert "starting.py:7: KeyError" in done.stderr


@pytest.mark.experiment
@on_mariadb
def test_a_locust_file_with_an_error_names_its_line(service: TaskService, tmp_path: Path, poolsize: Command) -> None:
    (tmp_path / "broken.py").write_text("from locust import HttpUser\nclass Shop(HttpUser:\n")
    file = service.file(tmp_path, f'locustfile = "{tmp_path / "broken.py"}"')
    done = poolsize("sweep", "--application", str(file), *QUICKLY)
    assert done.returncode == 2
    assert "broken.py" in done.stderr
    assert "line 2" in done.stderr or ":2" in done.stderr
    assert "Traceback" not in done.stderr


@on_mariadb
def test_an_application_that_dies_keeps_the_steps_before(service: TaskService, tmp_path: Path) -> None:
    run = tmp_path / "a.jsonl"
    sweep = sweeping(service.file(tmp_path), tmp_path, "--pool-sizes=1,2,4", "--repeats=3")
    assert_soon(lambda: has_line(run))
    before = of_service(service)
    assert_soon(lambda: bool(of_service(service)) and not {*of_service(service)} & {*before} and answers(service))
    for process in of_service(service):
        process.kill()
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 1
    assert "the application ended by itself, with exit code -9" in errors
    assert "poolsize sweep --resume a.jsonl" in errors
    assert load_run(run, torn_end=True).steps
    assert not of_service(service)


@on_mariadb
@pytest.mark.parametrize("number", in_ci([signal.SIGKILL, signal.SIGINT, signal.SIGTERM], signal.SIGKILL))
def test_a_killed_sweep_leaves_no_application(service: TaskService, tmp_path: Path, number: signal.Signals) -> None:
    sweep = sweeping(service.file(tmp_path), tmp_path)
    assert_soon(lambda: bool(of_service(service)))
    sweep.send_signal(number)
    sweep.communicate(timeout=60)
    assert_soon(lambda: not of_service(service), GONE_SECONDS)


@on_mariadb
@pytest.mark.parametrize("number", in_ci([None, signal.SIGKILL, signal.SIGINT], signal.SIGINT))
def test_a_running_application_gets_its_old_size_back(
    service: TaskService, tmp_path: Path, number: signal.Signals | None
) -> None:
    """The application is not started by the sweep: it goes on, and `restore` puts the old size back."""
    size = tmp_path / "size"
    size.write_text("old")
    with running(service.start, service) as process:
        resize, restore = (f"sh -c 'echo {value} > {size}'" for value in ("{pool_size}", "old"))
        sweep = sweeping(resized(service, tmp_path, resize, restore), tmp_path)
        if number is not None:
            assert_soon(lambda: size.read_text().strip() in {"1", "4"})
            sweep.send_signal(number)
        sweep.communicate(timeout=90)
        assert_soon(lambda: size.read_text().strip() == "old", GONE_SECONDS)
        assert process.poll() is None
        assert answers(service)
        if number is None:
            run = load_run(tmp_path / "a.jsonl")
            assert {step.pool_size for step in run.steps} == {1, 4}
            assert all(result.check is not Check.CONNECTIONS for step in run.steps for result in step.checks)


JMX = "-Dcom.sun.management.jmxremote"


@pytest.mark.experiment
@pytest.mark.slow
@on_mariadb
def test_a_running_jvm_is_resized_by_the_program_of_the_documentation(
    server: PrivateServer, tmp_path: Path, poolsize: Command
) -> None:
    """HikariCP grows and shrinks to exactly the size, and has its old size at the end."""
    (program,) = [block.text for block in blocks("docs/how-to/application-pool.md") if block.language == "java"]
    (tmp_path / "SetPoolSize.java").write_text(program)
    port = free_port()
    with task_service(server, "spring") as service:
        flags = f"{JMX}.port={port} {JMX}.host=127.0.0.1 {JMX}.authenticate=false {JMX}.ssl=false"
        command = service.start.replace("java ", f"java {flags} -Djava.rmi.server.hostname=127.0.0.1 ")
        with running(command, service, SPRING_DATASOURCE_HIKARI_REGISTER_MBEANS="true"):
            resize, restore = (f"java {tmp_path}/SetPoolSize.java {port} {size}" for size in ("{pool_size}", "3"))
            file = resized(service, tmp_path, resize, restore, left_out=("start", "environment"))
            done = poolsize("sweep", "--application", str(file), *QUICKLY, "--pool-sizes=1,6", timeout=300)
            assert_swept(done)
            run = load_run(tmp_path / "a.jsonl")
            assert {step.pool_size: step.server_connections for step in curve_of(run)} == {1: 1, 6: 6}
            assert all(step.counter("pool_max") in {None, step.pool_size} for step in run.steps)  # None: read late
            with urllib.request.urlopen(f"{service.url}/actuator/prometheus") as metrics:  # noqa: S310 (of the test)
                assert 'hikaricp_connections_max{pool="HikariPool-1"} 3.0' in metrics.read().decode()


@pytest.mark.experiment
@on_mariadb
def test_a_sweep_resumes_with_the_files_that_it_began_with(
    service: TaskService, tmp_path: Path, poolsize: Command
) -> None:
    run, locustfile = tmp_path / "a.jsonl", tmp_path / "own.py"
    tasks = (ROOT / "tests/applications/tasks_locustfile.py").read_text()
    locustfile.write_text(tasks)
    file = service.file(tmp_path, f'locustfile = "{locustfile}"')
    sweep = sweeping(file, tmp_path, "--repeats=2")
    assert_soon(lambda: has_line(run))
    sweep.send_signal(signal.SIGINT)
    sweep.communicate(timeout=60)
    described = file.read_text()
    for changed, text in ((file, described), (locustfile, tasks)):
        changed.write_text(f"{text}# changed\n")
        refused = poolsize("sweep", "--resume", "a.jsonl", "--application", str(file))
        assert refused.returncode == 2
        assert f"{changed.name} has changed since the run began" in refused.stderr
        changed.write_text(text)
    kept = measured(load_run(run).steps)
    assert_swept(poolsize("sweep", "--resume", "a.jsonl", "--application", str(file)))
    assert measured(load_run(run).steps[: len(kept)]) == kept
    assert_measured(load_run(run), {1, 4})


def resized(
    service: TaskService,
    folder: Path,
    resize: str,
    restore: str,
    left_out: tuple[str, ...] = ("start", "database", "environment", "metrics"),
) -> Path:
    """The file of a service that runs already, without these keys."""
    file = service.file(folder, f'resize = "{resize}"', f'restore = "{restore}"')
    lines = [line for line in file.read_text().splitlines() if not line.startswith(left_out)]
    file.write_text("\n".join(lines) + "\n")
    return file


def sweeping(file: Path, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A sweep of the application in the background."""
    return subprocess.Popen(
        [POOLSIZE, "sweep", "--application", str(file), *QUICKLY, *options],
        cwd=folder, text=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def of_service(service: TaskService) -> list[psutil.Process]:
    """The running processes of the service that poolsize started."""
    words = service.start.split()
    return [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == words]
