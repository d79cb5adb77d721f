"""Sweeps in a schema with the user's own data: restored, never dropped, and refused where it is not meant."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from poolsize import load_run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.server.schema import ExistingSchema
from tests.conftest import POOLSIZE, Command, assert_counted_steps, assert_swept, in_ci

pytestmark = pytest.mark.server
ROWS = 100
SHOP = f"""
import random
from poolsize.locust import PoolUser

class Shop(PoolUser):
    covers = "90 % of the statements"

    @classmethod
    def prepare(cls, cursor):
        cursor.execute("CREATE TABLE IF NOT EXISTS made_by_prepare (id INT PRIMARY KEY)")

    @classmethod
    def before_step(cls, cursor):
        cursor.execute("DELETE FROM orders WHERE id > {ROWS}")
        cursor.execute("UPDATE orders SET paid = 0")

    def transaction(self, cursor):
        cursor.execute("BEGIN")
        cursor.execute(f"UPDATE orders SET paid = paid + 1 WHERE id = {{random.randint(1, {ROWS})}}")
        cursor.execute("INSERT INTO orders (paid) VALUES (7)")
        cursor.execute("DO SLEEP(0.005)")
        cursor.execute("COMMIT")
"""
SWEEP = ("sweep", "--workload", "shop.py", "--warm-up", "0", "--step-time", "2s", "--pool-sizes")
NOTE = "what the transactions change in the schema shop stays changed: define before_step to restore it"
GRANT = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON shop.* TO clerk@'127.0.0.1'"


@pytest.fixture
def cursor(server: PrivateServer, tmp_path: Path) -> Iterator[Any]:
    """An administrator's cursor in the schema shop; the workload shop.py, and an account for shop alone."""
    (tmp_path / "shop.py").write_text(SHOP)
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as opened:
        opened.execute("DROP DATABASE IF EXISTS shop")
        opened.execute("CREATE DATABASE shop")
        opened.execute("USE shop")
        opened.execute("CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, paid INT NOT NULL)")
        opened.executemany("INSERT INTO orders (id, paid) VALUES (%s, 0)", [(row,) for row in range(1, ROWS + 1)])
        opened.execute("DROP USER IF EXISTS clerk@'127.0.0.1'")
        opened.execute("CREATE USER clerk@'127.0.0.1' IDENTIFIED BY 'till'")
        opened.execute(GRANT)
        yield opened
        opened.execute("DROP DATABASE shop")


def url_of(server: PrivateServer, schema: str = "", username: str = "clerk", password: str = "till") -> str:  # noqa: S107 (an account of the test)
    url = database_url(server.url).set(username=username, password=password, database=schema)
    return url.render_as_string(hide_password=False)


def checksum(cursor: Any) -> tuple[Any, ...]:
    cursor.execute("CHECKSUM TABLE orders")
    return tuple(cursor.fetchall())


def tables(cursor: Any) -> set[str]:
    cursor.execute("SHOW TABLES FROM shop")
    return {name for (name,) in cursor.fetchall()}


def started(server: PrivateServer, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A sweep that is in the middle of its first step, having changed rows."""
    sweep = subprocess.Popen(
        [POOLSIZE, *SWEEP, "2", "--step-time=60s", "--schema=shop", *options],
        cwd=folder, env=os.environ | {"POOLSIZE_URL": url_of(server)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with closing(connect(database_url(server.url), "shop")) as connection, connection.cursor() as cursor:
        deadline = time.monotonic() + 90
        changed = 0
        while changed < 50 and time.monotonic() < deadline and sweep.poll() is None:
            time.sleep(0.1)
            cursor.execute(f"SELECT COUNT(*) FROM orders WHERE id > {ROWS}")
            ((changed,),) = cursor.fetchall()
    if changed < 50:
        sweep.terminate()
        pytest.fail(f"no load after {90 - (deadline - time.monotonic()):.0f} s: {sweep.communicate(timeout=60)}")
    return sweep


@pytest.mark.parametrize("in_url", in_ci([False, True], False))
def test_the_schema_is_left_as_it_was_and_other_clients_are_not_counted(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any, in_url: bool
) -> None:
    before = checksum(cursor)
    url, schema = (url_of(server, "shop"), []) if in_url else (url_of(server), ["--schema", "shop"])
    with closing(connect(database_url(url_of(server)), "shop")):  # another client of the same account
        done = poolsize(*SWEEP, "1,4", *schema, "--output", "a.jsonl", url=url)
    assert_swept(done)
    assert NOTE not in done.stderr
    run = load_run(tmp_path / "a.jsonl")
    assert (run.setting.schema, run.setting.covers) == ("shop", "90 % of the statements")
    assert_counted_steps(run)
    assert checksum(cursor) == before
    assert tables(cursor) == {"orders", "made_by_prepare"}
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    assert cursor.fetchall() == ()


def test_an_open_transaction_of_the_load_is_rolled_back_before_the_tables_are_restored(
    server: PrivateServer, cursor: Any
) -> None:
    before, url, failures = checksum(cursor), database_url(url_of(server)), list[str]()
    load = connect(url, "shop")
    load.cursor().execute("BEGIN")
    load.cursor().execute("UPDATE orders SET paid = 1")

    def restore(restoring: Any) -> None:
        restoring.execute("UPDATE orders SET paid = 0")

    with ExistingSchema(url, "shop", restore, {load.thread_id()}, failures.append) as schema:
        schema.work(lambda _: None)
    assert failures == []
    with pytest.raises(pymysql.MySQLError):
        load.commit()
    assert checksum(cursor) == before


def test_tables_that_can_not_be_restored_are_reported(server: PrivateServer, cursor: Any) -> None:
    assert tables(cursor)
    failures: list[str] = []

    def restore(_: Any) -> None:
        raise ValueError("no backup")

    with ExistingSchema(database_url(url_of(server)), "shop", restore, set(), failures.append) as schema:
        schema.work(lambda _: None)
    assert failures == ["the tables of the schema shop could not be restored at the end: no backup"]


@pytest.mark.parametrize("processes", in_ci([1, 2], 2))
def test_an_interrupted_sweep_restores_the_schema(
    server: PrivateServer, tmp_path: Path, cursor: Any, processes: int
) -> None:
    before = checksum(cursor)
    sweep = started(server, tmp_path, *([] if processes == 1 else [f"--processes={processes}"]))
    assert checksum(cursor) != before
    sweep.send_signal(signal.SIGTERM)
    _, errors = sweep.communicate(timeout=60)
    assert "interrupted" in errors
    time.sleep(0.5)  # a transaction that was still at work would commit now
    assert checksum(cursor) == before
    assert tables(cursor) == {"orders", "made_by_prepare"}


def test_a_failed_restoration_does_not_hide_what_ended_the_sweep(
    server: PrivateServer, tmp_path: Path, cursor: Any
) -> None:
    sweep = started(server, tmp_path)
    cursor.execute("RENAME TABLE orders TO hidden")
    _, errors = sweep.communicate(timeout=120)
    assert sweep.returncode == 1, errors
    last = errors.splitlines()[-1]
    first, _, second = last.partition("; the tables of the schema shop could not be restored at the end: ")
    assert "orders' doesn't exist" in first, errors
    assert "orders' doesn't exist" in second, errors


def test_a_second_ctrl_c_does_not_wait_for_the_clean_up(server: PrivateServer, tmp_path: Path, cursor: Any) -> None:
    """The clean-up restores the tables, which takes a minute here. The first Ctrl-C waits for it."""
    slow = (
        "        cls.calls.append(1)\n        if len(cls.calls) > 2:\n            cursor.execute('SELECT SLEEP(60)')\n"
    )
    restoring = '        cursor.execute("UPDATE orders SET paid = 0")\n'
    workload = SHOP.replace(restoring, restoring + slow).replace("(PoolUser):\n", "(PoolUser):\n    calls = []\n")
    (tmp_path / "shop.py").write_text(workload)
    sweep = subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", "shop.py", "--headless", "--only-summary", "--schema=shop", "--users=4",
         "--pool-sizes=2", "--warm-up=0s", "--step-time=60s", "--output=a.jsonl"],
        cwd=tmp_path, env=os.environ | {"POOLSIZE_URL": url_of(server)}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: rows(cursor) > ROWS + 50, sweep)
    sweep.send_signal(signal.SIGINT)
    wait_until(lambda: is_sleeping(cursor), sweep)
    sweep.send_signal(signal.SIGINT)
    _, errors = sweep.communicate(timeout=20)
    assert sweep.returncode == 130
    assert "interrupted in the clean-up, which may be incomplete" in errors.splitlines()[-1]


def rows(cursor: Any) -> int:
    cursor.execute("SELECT COUNT(*) FROM orders")
    return int(cursor.fetchone()[0])


def is_sleeping(cursor: Any) -> bool:
    cursor.execute("SHOW PROCESSLIST")
    return any("SLEEP(60)" in str(row) for row in cursor.fetchall())


def wait_until(condition: Callable[[], bool], sweep: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        assert sweep.poll() is None, sweep.communicate()
        time.sleep(0.1)


def test_a_mistake_in_before_step_is_bad_input(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    before = checksum(cursor)
    mistaken = SHOP.replace('cursor.execute("DELETE', 'wrong("DELETE')
    (tmp_path / "shop.py").write_text(mistaken)
    line = mistaken[: mistaken.index("wrong(")].count("\n") + 1
    done = poolsize(*SWEEP, "1", "--schema=shop", url=url_of(server))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"poolsize: error: workload Shop: shop.py:{line}: NameError")
    assert "could not be restored at the end" in done.stderr
    assert checksum(cursor) == before


def test_a_killed_sweep_drops_nothing_and_the_next_one_restores(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    before = checksum(cursor)
    sweep = started(server, tmp_path)
    (locust,) = [child for child in psutil.Process(sweep.pid).children() if "locust" in " ".join(child.cmdline())]
    locust.kill()
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 1, errors
    assert tables(cursor) == {"orders", "made_by_prepare"}
    done = poolsize(*SWEEP, "1", "--schema=shop", "--step-time=1s", "--output=b.jsonl", url=url_of(server))
    assert_swept(done)
    assert checksum(cursor) == before


def test_a_schema_that_is_missing_is_refused_in_one_line(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    before = checksum(cursor)
    done = poolsize(*SWEEP, "1", "--schema=nowhere", "--output=a.jsonl", url=url_of(server))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--schema nowhere: the account can't use it, or there is no such schema" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "a.jsonl").exists()
    assert checksum(cursor) == before


@pytest.mark.experiment
def test_an_administrator_reads_that_a_schema_is_missing(server: PrivateServer, poolsize: Command, cursor: Any) -> None:
    assert tables(cursor)
    done = poolsize(*SWEEP, "1", "--schema=nowhere", url=server.url)
    assert done.returncode == 2
    assert "--schema nowhere: there is no such schema on this server" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_workload_that_restores_nothing_gets_a_note(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    (tmp_path / "shop.py").write_text(SHOP.replace("before_step", "after_step"))
    done = poolsize(*SWEEP, "1", "--schema=shop", "--step-time=1s", url=url_of(server))
    assert_swept(done)
    assert NOTE in done.stderr
    cursor.execute(f"SELECT COUNT(*) FROM orders WHERE id > {ROWS}")
    assert cursor.fetchall() > ((0,),)


def test_two_sweeps_in_one_schema_are_refused(server: PrivateServer, poolsize: Command, cursor: Any) -> None:
    cursor.execute("SELECT GET_LOCK('poolsize shop', 0)")
    done = poolsize(*SWEEP, "1", "--schema=shop", url=url_of(server))
    assert done.returncode == 2
    assert "another sweep is running in the schema shop" in done.stderr
    cursor.execute("SELECT RELEASE_LOCK('poolsize shop')")


@pytest.mark.experiment
def test_a_resumed_run_stays_in_its_schema(
    server: PrivateServer, poolsize: Command, tmp_path: Path, cursor: Any
) -> None:
    before = checksum(cursor)
    done = poolsize(*SWEEP, "1,2", "--schema=shop", "--output=a.jsonl", url=url_of(server))
    assert_swept(done)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:3]) + "\n")  # the header, the calibration and a step
    again = ("sweep", "--resume=a.jsonl", "--workload=shop.py")
    elsewhere = poolsize(*again, url=url_of(server, "other"))
    assert (elsewhere.returncode, "the run began in the schema shop" in elsewhere.stderr) == (2, True)
    unnamed = poolsize(*again, url=url_of(server))
    assert (unnamed.returncode, "add --schema shop" in unnamed.stderr) == (2, True)
    resumed = poolsize(*again, "--schema=shop", url=url_of(server))
    assert_swept(resumed)
    assert len(load_run(path).steps) >= 2
    assert checksum(cursor) == before
