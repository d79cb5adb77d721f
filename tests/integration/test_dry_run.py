"""`poolsize sweep --dry-run`: the statements that a sweep runs, and none that changes the server."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import MARIADB_IN_CI, Command, assert_swept, in_ci, locust, mysqld
from tests.servers import administered_server

pytestmark = pytest.mark.server
SWEEP = ("--pool-sizes", "1,2", "--users", "4", "--step-time", "2s", "--warm-up", "0")
READS = ("SHOW ", "SELECT ", "SET NAMES ", "SET SESSION ", "USE ")
OWN = """\
from poolsize.locust import PoolUser

class Own(PoolUser):
    @classmethod
    def prepare(cls, cursor):
        cursor.execute("CREATE TABLE IF NOT EXISTS bought (item INT)")

    @classmethod
    def before_step(cls, cursor):
        cursor.execute("DELETE FROM bought")

    def transaction(self, cursor):
        cursor.execute("INSERT INTO bought VALUES (%s)", (7,))
        cursor.execute("SELECT COUNT(*) FROM bought WHERE item = %s", (7,))
        cursor.fetchall()
"""


@pytest.fixture(scope="module", params=MARIADB_IN_CI)
def logging_server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server that records every statement, with an account for the sweep."""
    with administered_server(mysqld(request.param), {"general_log": "ON", "log_output": "TABLE"}, 60) as server:
        with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER loader@'127.0.0.1' IDENTIFIED BY 'not-a-secret'")
            cursor.execute("GRANT ALL ON poolsize.* TO loader@'127.0.0.1'")
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("GRANT ALL ON shop.* TO loader@'127.0.0.1'")
        yield server


@pytest.fixture
def log(logging_server: PrivateServer) -> Iterator[Any]:
    """A cursor of another account."""
    with closing(connect(database_url(logging_server.url))) as connection, connection.cursor() as cursor:
        yield cursor


def url_of(server: PrivateServer) -> str:
    return database_url(server.url).set(username="loader", password="not-a-secret").render_as_string(False)


def form(statement: str) -> str:
    """A statement without its values, its spaces and the question that it opens with."""
    text = " ".join(" ".join(line for line in statement.splitlines() if not line.startswith("--")).split())
    return text if text.startswith("SHOW") else re.sub(r" VALUES .*", " VALUES", re.sub(r"'[^']*'|\b\d+\b", "?", text))


def statements_since(cursor: Any, since: str) -> set[str]:
    """The forms of all statements that the sweep's account ran."""
    cursor.execute(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        "WHERE command_type = 'Query' AND user_host LIKE 'loader%%' AND event_time >= %s",
        (since,),
    )
    return {form(argument) for (argument,) in cursor.fetchall()}


def now(cursor: Any) -> str:
    cursor.execute("SELECT NOW(6)")
    return str(cursor.fetchone()[0])


@pytest.mark.parametrize("workload", in_ci(["insert", "oltp_read_write", "own.py"], "own.py"))
def test_a_dry_run_lists_what_a_sweep_runs(
    logging_server: PrivateServer, log: Any, poolsize: Command, tmp_path: Path, workload: str
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    words = ["sweep", "--workload", workload, *SWEEP, *(["--schema", "shop"] if workload == "own.py" else [])]
    before = now(log)
    rehearsed = poolsize(*words, "--dry-run", "--json", url=url_of(logging_server))
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert not [path for path in tmp_path.iterdir() if path.name != "own.py"]
    for statement in statements_since(log, before):
        assert statement.startswith(READS), statement
    before = now(log)
    assert_swept(poolsize(*words, "--output", "a.jsonl", url=url_of(logging_server)))
    listed = json.loads(rehearsed.stdout)
    forms = {form(text.removesuffix(" ...")) for group in listed["groups"] for text, _ in group["statements"]}
    swept = statements_since(log, before)
    assert forms <= swept
    unlisted = {text for text in swept - forms if "made_by_poolsize" not in text}
    assert all(text.startswith((*READS, "DO ", "DROP ", "ROLLBACK")) for text in unlisted), unlisted
    assert (listed["pool_connections"], listed["users"], listed["load_seconds"]) == (2, 4, 4)


READ = [("insert", r"  TRUNCATE TABLE task"), ("oltp_read_write", r"  INSERT INTO sbtest1 .{300,} \.\.\.")]


@pytest.mark.parametrize(("workload", "line"), in_ci(READ, READ[1]))
def test_a_dry_run_reads_well(
    logging_server: PrivateServer, poolsize: Command, tmp_path: Path, workload: str, line: str
) -> None:
    done = poolsize("sweep", "--workload", workload, "--dry-run", url=url_of(logging_server))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No server was changed or measured.")
    assert "Connections: " in done.stdout
    assert re.search(f"^{line}( |$)", done.stdout, re.MULTILINE)
    assert not list(tmp_path.iterdir())


@pytest.mark.experiment
def test_a_dry_run_refuses_a_schema_that_does_not_exist(
    logging_server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    done = poolsize("sweep", "--workload", "own.py", "--schema", "shopp", "--dry-run", url=url_of(logging_server))
    assert done.returncode == 2
    assert "--schema shopp: the account can't use it, or there is no such schema" in done.stderr


SHOP = """\
from locust import task
from poolsize.locust import PoolUser

class Shop(PoolUser):
    @task
    def account(self, cursor):
        cursor.execute("SELECT id FROM customer")
        (customer,) = cursor.fetchone()
        cursor.execute("DELETE FROM basket WHERE customer = %s", (customer,))

    @task(3)
    def buy(self, cursor):
        cursor.execute("INSERT INTO bought VALUES (7)")
"""
SHOP_LISTED = """\
In each transaction of the kind account:
  SELECT id FROM customer
  -- further statements depend on rows (own.py:8)

In each transaction of the kind buy:
  INSERT INTO bought VALUES (7)

"""


def test_each_kind_of_transaction_is_followed_until_it_needs_rows(
    logging_server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(SHOP)
    done = poolsize("sweep", "--workload", "own.py", "--schema", "shop", "--dry-run", url=url_of(logging_server))
    assert done.returncode == 0, done.stderr
    assert SHOP_LISTED in done.stdout


def test_a_mistake_in_the_workload_is_refused(logging_server: PrivateServer, poolsize: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.replace("cursor.fetchall()", "curser.fetchall()"))
    refused = poolsize("sweep", "--workload", "own.py", "--schema", "shop", "--dry-run", url=url_of(logging_server))
    assert refused.returncode == 2
    assert "own.py:15: NameError" in refused.stderr


def test_only_poolsize_sweep_has_a_dry_run(logging_server: PrivateServer, tmp_path: Path) -> None:
    done = locust("insert.py", url_of(logging_server), tmp_path / "a.jsonl", "--dry-run")
    assert done.returncode == 2
    assert "--dry-run is for the command poolsize sweep" in done.stderr
