"""What a Locust user expects of a locustfile: honoured, or refused in a line that says what to use instead."""

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from poolsize import load_run
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.runs.run import Run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import (
    Command,
    assert_swept,
    assert_true_steps,
    curve_of,
    in_ci,
    locust,
    measured_again,
    on_mariadb,
    own_port,
)

pytestmark = pytest.mark.server
HEAD = "import time\nfrom locust import between, constant, events, tag, task, SequentialTaskSet, TaskSet\n"
HEAD += "from poolsize.locust import PoolUser\n"
SHOP = """
import json, random
from collections import Counter

seen, ran, started, stopped = Counter(), Counter(), Counter(), Counter()

class Shop(PoolUser):
    wait_time = between(0.05, 0.15)

    @classmethod
    def prepare(cls, cursor):
        cursor.execute("CREATE TABLE item (id INT PRIMARY KEY, pieces INT NOT NULL)")
        cursor.executemany("INSERT INTO item VALUES (%s, 1000)", [(item,) for item in range(100)])

    def on_start(self):
        started["Shop"] += 1

    def on_stop(self):
        stopped["Shop"] += 1

    @task(3)
    def browse(self, cursor):
        cursor.execute("SELECT pieces FROM item WHERE id = %s", (random.randrange(100),))
        ran["browse"] += 1

    @task
    def buy(self, cursor):
        cursor.execute("SELECT SLEEP(0.004)")
        ran["buy"] += 1

@events.request.add_listener
def on_request(request_type, name, response_time, response_length, exception, context, **_):
    assert (request_type, response_length, exception, context) == ("pool", 0, None, {})
    assert response_time > 0
    seen[name] += 1

@events.quitting.add_listener
def on_quitting(environment, **_):
    with open("counts.json", "w") as file:
        json.dump([seen, ran, started, stopped], file)
"""


def locustfile(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(HEAD + text)
    return path


def quickly(*options: str) -> tuple[str, ...]:
    return "--pool-sizes=2", "--users=4", "--step-time=1s", "--warm-up=0s", *options


@pytest.mark.slow
@on_mariadb
@measured_again
def test_a_locustfile_with_tasks_wait_time_on_start_and_a_listener(
    server: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = locust(
        locustfile(tmp_path, SHOP), server.url, tmp_path / "a.jsonl", "--pool-sizes=2,4", "--users=40",
        "--step-time=5s", "--warm-up=1s",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert_true_steps(run)
    assert run.setting.own_wait_time
    for step in curve_of(run):
        assert step.latencies is not None
        assert step.users == 40
        possible = 40 / ((mean_ms([step.latencies.total]) + 100) / 1000)
        assert abs(step.mean_throughput / possible - 1) < 0.05
        assert list(step.kinds) == ["browse", "buy"]
        transactions = sum(kind.transactions for kind in step.kinds.values())
        assert transactions == sum(step.counted)
        assert abs(step.kinds["browse"].transactions / transactions - 0.75) < 0.03
        assert mean_ms([step.kinds["buy"].latencies.usage]) > 4
        assert mean_ms([step.kinds["browse"].latencies.usage]) < 4
    seen, ran, started, stopped = json.loads((tmp_path / "counts.json").read_text())
    assert seen == {kind: number - 1 for kind, number in ran.items()}, "one user tries each task before the first step"
    assert sum(seen.values()) >= sum(sum(step.throughput) for step in run.steps)
    assert started == stopped == {"Shop": 41}


TWO = """
class Reader(PoolUser):
    weight = 3
    def transaction(self, cursor):
        cursor.execute("SELECT SLEEP(0.02)")

class Writer(PoolUser):
    @classmethod
    def prepare(cls, cursor):
        cursor.execute("CREATE TABLE own (id INT)")
    @tag("light")
    @task
    def peek(self, cursor):
        cursor.execute("SELECT SLEEP(0.02)")
    @tag("heavy")
    @task
    def count(self, cursor):
        cursor.execute("SELECT SLEEP(0.02) FROM (SELECT COUNT(*) FROM own) AS counted")
"""


def kinds(run: Run) -> dict[str, int]:
    return {name: kind.transactions for step in run.steps for name, kind in step.kinds.items()}


@on_mariadb
def test_two_classes_share_the_users_by_weight(server: PrivateServer, tmp_path: Path, poolsize: Command) -> None:
    locustfile(tmp_path, TWO)
    done = poolsize(
        "sweep", "--workload", "mine.py", "--pool-sizes", "8", "--users", "8", "--step-time", "2s", "--warm-up", "0s",
        "--processes", "2", "--output", "a.jsonl", url=server.url,
    )  # fmt: skip
    assert_swept(done)
    transactions = kinds(load_run(tmp_path / "a.jsonl"))
    assert list(transactions) == ["Reader", "Writer.peek", "Writer.count"]
    assert 0.65 < transactions["Reader"] / sum(transactions.values()) < 0.85


@on_mariadb
def test_locust_names_classes_and_tags(server: PrivateServer, tmp_path: Path) -> None:
    path = locustfile(tmp_path, TWO)
    run = tmp_path / "a.jsonl"
    report, table = tmp_path / "a.html", tmp_path / "a"
    done = locust(
        path, server.url, run, *quickly("--exclude-tags", "heavy", f"--html={report}", f"--csv={table}"),
        "Reader", "Writer",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    transactions = kinds(load_run(run))
    assert list(transactions) == ["Reader", "Writer.peek"]
    rows = {row["Name"]: row for row in csv.DictReader((tmp_path / "a_stats.csv").open())}
    for name, number in transactions.items():
        assert rows[name]["Type"] == "pool"
        assert int(rows[name]["Request Count"]) >= number > 0
        assert name in report.read_text()
    alone = locust(path, server.url, tmp_path / "b.jsonl", *quickly("--tags", "light", "--", "Writer"))
    assert alone.returncode == 0, alone.stderr
    assert kinds(load_run(tmp_path / "b.jsonl")) == {}, "a single kind needs no table of kinds"


@on_mariadb
def test_a_host_is_the_databases_url(server: PrivateServer, tmp_path: Path) -> None:
    path = locustfile(tmp_path, "class Mine(PoolUser):\n    def transaction(self, cursor):\n        time.sleep(0.01)\n")
    report = tmp_path / "a.html"
    options = quickly("--host", server.url, f"--html={report}")
    done = locust(path, "", tmp_path / "a.jsonl", *options)
    assert done.returncode == 0, done.stderr
    assert not load_run(tmp_path / "a.jsonl").setting.private
    assert server.url not in report.read_text()


ONE = "class Mine(PoolUser):\n    {}def transaction(self, cursor):\n        cursor.execute('DO 1')\n"
SHAPE = "from locust import LoadTestShape\nclass Ramp(LoadTestShape):\n    def tick(self):\n        return None\n"
TASK = "    @task\n    def browse(self, cursor):\n        cursor.execute('DO 1')\n"


REFUSALS = [
    (ONE.format("wait_time = between(1, 2)\n    "), ["--think-time=5ms"],
     "--think-time 5ms and the wait_time of Mine are both pauses: drop one"),
    (ONE.format("wait_time = between(1, 2)\n    "), ["--rate=5"], "--rate 5 makes an open loop"),
    (ONE.format("") + TASK, [], "Mine has a transaction and tasks"),
    ("class Mine(PoolUser):\n    pass\n", [], "Mine has nothing to run: write transaction(self, cursor), or"),
    ("class Mine(PoolUser):\n    @task\n    class Set(TaskSet):\n        pass\n", [], "Mine has the TaskSet Set"),
    ("class Mine(PoolUser):\n    @task\n    def browse(self):\n        pass\n", [], "Mine.browse takes no cursor"),
    ("class Mine(PoolUser):\n    min_wait = 5\n" + TASK, [], "min_wait, which a sweep does not use: use wait_time"),
    ("class Mine(PoolUser):\n    pool_share = 2\n" + TASK, [], "Mine.pool_share is 2: write a part"),
    ("class Mine(PoolUser):\n    pool_share = 0.5\n" + TASK, [], "the values of pool_share (Mine) add up to 0.5"),
    ("class Mine(PoolUser):\n    pool_share = 0.5\n" + TASK + ONE.replace("Mine", "Other").format(""),
     ["--pool-sizes=1"],
     "1 can't be divided among the pools of this workload and its workers: give --pool-sizes of 2 and more"),
    ("class Mine(PoolUser):\n    host = 'http://a'\n" + TASK, [], "a sweep does not use: use --url"),
    ("class Mine(PoolUser):\n    fixed_count = 9\n" + TASK, [], "--users 4: the fixed_count"),
    ("class Mine(PoolUser):\n" + TASK, ["--tags", "none"], "the --tags and --exclude-tags leave none"),
    (ONE.format(""), ["-r", "5"], "--spawn-rate 5: leave it out"),
    (ONE.format(""), ["-t", "5"], "--run-time 5s: leave it out"),
    (ONE.format(""), ["--host", "https://example.com"], "--host is not a MySQL database"),
    (ONE.format(""), ["--host", "mysql://u:secret@other/"], "--host and --url (or POOLSIZE_URL) name two"),
    (ONE.format(""), ["--host", "mysql://u@127.0.0.1:1/", "--url="], "--host: no server answers at u@127.0.0.1:1"),
    (ONE.format("") + SHAPE, [], "Ramp is a LoadTestShape"),
    (ONE.format("").replace("'DO 1'", "wrong"), [], "mine.py:6: NameError: name 'wrong' is not defined"),
    (ONE.format("") + "    def on_start(self):\n        wrong()\n", [], "mine.py:8: NameError"),
    (ONE.format("") + "    def on_start(self, cursor):\n        pass\n", [], "on_start gets no cursor"),
    (ONE.format("") + "    def on_stop(self):\n        wrong()\n", [], "mine.py:8: NameError"),
    (ONE.format("") + "    @classmethod\n    def prepare(cls, cursor):\n        cursor.execute('x')\n", [],
     "mine.py:9: ProgrammingError"),
]  # fmt: skip
REFUSED_IN_CI = {
    "--rate 5 makes an open loop",
    "Mine has a transaction and tasks",
    "mine.py:9: ProgrammingError",
}
"""A refusal by an option, by the class, and by what fails."""


@pytest.mark.parametrize(
    ("text", "options", "refusal"), in_ci(REFUSALS, *(case for case in REFUSALS if case[2] in REFUSED_IN_CI))
)
@on_mariadb
def test_what_a_sweep_cant_honour_is_refused(
    server: PrivateServer, tmp_path: Path, text: str, options: list[str], refusal: str
) -> None:
    done = locust(locustfile(tmp_path, text), server.url, tmp_path / "a.jsonl", *quickly(*options))
    errors = [line for line in done.stderr.splitlines() if line.startswith("poolsize: error: ")]
    assert (done.returncode, len(errors)) == (2, 1), done.stderr
    assert refusal in errors[0]
    assert "secret" not in errors[0]
    assert not (tmp_path / "a.jsonl").exists()


LATER = """
calls = 0

class Mine(PoolUser):
    def transaction(self, cursor):
        cursor.execute('DO 1')
    def {}(self):
        global calls
        calls += 1
        if calls > {}:
            wrong()
"""
LISTENER = ONE.format("") + "@events.request.add_listener\ndef listen(**_):\n    wrong()\n"


FAILURES = [
    (LATER.format("on_start", 1), "a user of Mine failed: mine.py:14: NameError"),
    (LATER.format("on_stop", 1), "a user of Mine failed: mine.py:14: NameError"),
    (LISTENER, "a listener on events.request failed: mine.py:9: NameError"),
    (ONE.format("").replace("cursor.execute('DO 1')", "time.time() % 1 > 0.5 and self.environment.wrong"),
     "mine.py:6: AttributeError"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "processes"),
    in_ci(
        [(*failure, processes) for failure in FAILURES for processes in ("1", "2")],
        (*FAILURES[0], "2"),
    ),
)
@on_mariadb
def test_an_error_after_the_first_step_began_names_its_line(
    server: PrivateServer, tmp_path: Path, poolsize: Command, text: str, error: str, processes: str
) -> None:
    locustfile(tmp_path, text)
    arguments = ("--workload", "mine.py", "--processes", processes, "--output", "a.jsonl", *quickly())
    done = poolsize("sweep", *arguments, url=server.url)
    assert done.returncode in {1, 2}
    assert error in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@on_mariadb
def test_a_workload_that_cant_be_tried_leaves_no_worker(server: PrivateServer, tmp_path: Path) -> None:
    path = locustfile(tmp_path, ONE.format("").replace("'DO 1'", "'WRONG'"))
    command = [sys.executable, "-m", "locust", "-f", str(path), "--headless", *quickly("--processes=2", *own_port())]
    environment = os.environ | {"POOLSIZE_URL": server.url}
    done = subprocess.run(  # without a pipe, which would wait for the workers
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 2
    deadline = time.monotonic() + 20  # Locust's workers give up after 60 s by themselves
    while workers := [process.pid for process in psutil.process_iter() if str(path) in _words(process)]:
        assert time.monotonic() < deadline, workers
        time.sleep(0.1)


@on_mariadb
@pytest.mark.parametrize("processes", in_ci([1, 2], 2))
def test_ctrl_c_ends_a_sweep_of_locust_with_the_command_that_resumes_it(
    server: PrivateServer, tmp_path: Path, processes: int
) -> None:
    path, run = locustfile(tmp_path, ONE.format("")), tmp_path / "a.jsonl"
    options = () if processes == 1 else (f"--processes={processes}", *own_port())
    environment = os.environ | {"POOLSIZE_URL": server.url}
    sweep = subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", str(path), "--headless", "--only-summary", "--pool-sizes=1,2,3",
         "--users=6", "--step-time=2s", "--warm-up=0s", f"--output={run}", "--html=a.html", *options, "Mine"],
        cwd=tmp_path, env=environment, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    errors = interrupted(sweep, lambda: run.exists() and '"step"' in run.read_text())
    (line,) = [line for line in errors.splitlines() if line.startswith("poolsize: error:")]
    message, _, command = line.rpartition(": ")
    assert message == "poolsize: error: interrupted; the measured steps are kept"
    assert (tmp_path / "a.html").exists()
    words = [sys.executable, "-m", *shlex.split(command)]
    assert words[-1] == "Mine"
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {step.pool_size for step in load_run(run).steps} == {1, 2, 3}


@on_mariadb
def test_ctrl_c_before_the_first_step_leaves_nothing_behind(server: PrivateServer, tmp_path: Path) -> None:
    prepare = "    @classmethod\n    def prepare(cls, cursor):\n        cursor.execute('SELECT SLEEP(20)')\n"
    path = locustfile(tmp_path, ONE.format("") + prepare)
    sweep = subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", str(path), "--headless", *quickly()],
        cwd=tmp_path, env=os.environ | {"POOLSIZE_URL": server.url}, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:

        def is_preparing() -> bool:
            cursor.execute("SHOW PROCESSLIST")
            return any("SLEEP(20)" in str(row) for row in cursor.fetchall())

        errors = interrupted(sweep, is_preparing)
        cursor.execute("SHOW DATABASES LIKE 'poolsize'")
        assert cursor.fetchall() == ()
    assert errors.count("poolsize: error: interrupted before the first step") == 1


def interrupted(sweep: "subprocess.Popen[str]", when: Callable[[], bool]) -> str:
    """The standard error of a sweep that is interrupted as by a terminal, which signals master and workers."""
    deadline = time.monotonic() + 60
    try:
        while not when() and time.monotonic() < deadline and sweep.poll() is None:
            time.sleep(0.1)
        os.killpg(sweep.pid, signal.SIGINT)
        _, errors = sweep.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(sweep.pid, signal.SIGKILL)
    assert sweep.returncode == 130, errors
    assert "Traceback" not in errors
    return str(errors)


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@pytest.mark.parametrize(
    ("text", "error"),
    [("wrong()\n", "mine.py:4: NameError"), ("class Mine(\n", "mine.py:4: SyntaxError: '(' was never closed")],
)
def test_a_locustfile_that_cant_be_loaded_names_its_line(
    tmp_path: Path, poolsize: Command, text: str, error: str
) -> None:
    locustfile(tmp_path, text)
    done: subprocess.CompletedProcess[str] = poolsize("sweep", "--workload", "mine.py", "--pool-sizes", "1")
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1
