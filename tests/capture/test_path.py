"""The whole path on a real server: its slow log, the captured workload, the check on a copy, and a sweep."""

import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from poolsize.capture.locustfile import locustfile
from poolsize.runs.store import load_run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.capture.captured import SHOP, SHOP_TABLES
from tests.conftest import Command, assert_swept
from tests.servers import administered_server

pytestmark = pytest.mark.server
SWEEP = ("--pool-sizes", "1,2", "--users", "4", "--step-time", "2s", "--warm-up", "0")
SECRET = "sesame-4711"  # noqa: S105  # a literal that must not be in the file


@pytest.fixture(scope="module")
def logging_server() -> Iterator[PrivateServer]:
    """A MariaDB that logs every statement, with the shop's tables in the schema copy."""
    options = {"slow_query_log": "ON", "long_query_time": "0", "slow_query_log_file": "slow.log"}
    with administered_server(None, options, 60) as server:
        yield server


@pytest.fixture
def cursor(logging_server: PrivateServer) -> Iterator[Any]:
    """A cursor in a new schema copy."""
    with closing(connect(database_url(logging_server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION slow_query_log = OFF")
        cursor.execute("DROP DATABASE IF EXISTS copy")
        cursor.execute("CREATE DATABASE copy")
        cursor.execute("USE copy")
        for text in SHOP_TABLES.split(";"):
            cursor.execute(text)
        cursor.execute("SET SESSION slow_query_log = ON")
        yield cursor


def rows(cursor: Any) -> dict[str, int]:
    numbers = {}
    for table in ("customer", "orders", "audit"):
        cursor.execute(f"SELECT COUNT(*) FROM {table}")
        (numbers[table],) = cursor.fetchone()
    return numbers


def run_shop(cursor: Any, transactions: int) -> None:
    """Run transactions of three kinds, with secrets in literals and comments."""
    for number in range(transactions):
        customer = random.randint(1, 500)
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT name FROM customer WHERE id = {customer} /* {SECRET} */")
        cursor.execute(f"SELECT total FROM orders WHERE customer_id = {customer} AND status <> '{SECRET}'")
        cursor.execute("COMMIT")
        if number % 4 == 0:
            cursor.execute(f"INSERT INTO orders (customer_id, status) VALUES ({customer}, '{SECRET}')")


def test_from_the_slow_log_to_a_run(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    run_shop(cursor, 200)
    (log,) = logging_server.directory.rglob("slow.log")
    captured = poolsize("capture", "--slow-log", str(log), "--writes", "--json")
    assert captured.returncode == 0, captured.stderr
    answer = json.loads(captured.stdout)
    assert answer["coverage"]["statements"] > 0.9
    text = (tmp_path / "workload.py").read_text() + (tmp_path / "workload.json").read_text()
    assert SECRET not in text
    assert "INSERT INTO orders (customer_id, status) VALUES (%s, %s)" in text
    checked = poolsize("capture", "--check", "workload.py", "--schema", "copy", url=logging_server.url)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    swept = poolsize(
        "sweep", "--workload", "workload.py", "--schema", "copy", *SWEEP, "--output", "a.jsonl", "--yes",
        url=logging_server.url,
    )  # fmt: skip
    assert_swept(swept)
    assert all(step.errors == {} for step in load_run(tmp_path / "a.jsonl").steps)


def test_the_check_leaves_the_copy_as_it_is_and_a_sweep_deletes_what_it_inserts(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(locustfile(SHOP, "shop.py", writes=True, keeps_values=False).text)
    before = rows(cursor)
    checked = poolsize("capture", "--check", "shop.py", "--schema", "copy", url=logging_server.url)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.startswith("All 8 statements of shop.py run in the schema copy.")
    assert rows(cursor) == before
    swept = poolsize(
        "sweep", "--workload", "shop.py", "--schema", "copy", *SWEEP, "--output", "a.jsonl", "--yes",
        url=logging_server.url,
    )  # fmt: skip
    assert_swept(swept)
    assert rows(cursor) == before


def test_a_statement_that_fails_is_named_with_its_line_and_its_reason(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    cursor.execute("ALTER TABLE orders DROP COLUMN total")
    cursor.execute("ALTER TABLE audit ENGINE = MyISAM")
    path = tmp_path / "shop.py"
    path.write_text(locustfile(SHOP, "shop.py", writes=True, keeps_values=False).text)
    checked = poolsize("capture", "--check", "shop.py", "--schema", "copy", url=logging_server.url)
    assert checked.returncode == 3, checked.stderr
    assert checked.stdout.startswith("3 of 8 statements of shop.py fail in the schema copy.")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "SELECT id, total FROM orders" in text)
    assert f"shop.py:{line - 1}, browse: SELECT id, total FROM orders WHERE customer_id" in checked.stdout
    assert "Unknown column 'total'" in checked.stdout
    assert "the engine of audit has no transactions" in " ".join(checked.stdout.split())
    assert rows(cursor)["audit"] == 0


SETS_NAMES = """\
from poolsize.capture.draws import Existing, text
from poolsize.locust import PoolUser

names = Existing("customer", "name", lambda: text(4, 9, "letters"), unless_unique=True)

class SetsNames(PoolUser):
    def transaction(self, cursor):
        cursor.execute("UPDATE customer SET name = %s WHERE id = 1", (names.draw(cursor),))
"""

READS = """
class Reads(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT 1")
"""


@pytest.mark.parametrize("is_unique", [False, True])
def test_an_update_sets_a_value_that_the_column_has_unless_it_is_unique(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path, is_unique: bool
) -> None:
    """The check runs the lookup, and counts the statement alone."""
    if is_unique:
        cursor.execute("ALTER TABLE customer ADD UNIQUE (id, name)")
    (tmp_path / "names.py").write_text(SETS_NAMES)
    checked = poolsize("capture", "--check", "names.py", "--schema", "copy", url=logging_server.url)
    assert (checked.returncode, checked.stdout) == (0, "The only statement of names.py runs in the schema copy.\n")


def test_a_failed_lookup_is_a_failure_of_the_statement_that_has_its_values(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    """A wrong name in a lookup, and a statement that runs: a file that a user edited."""
    cursor.execute("ALTER TABLE customer DROP COLUMN IF EXISTS alias")
    (tmp_path / "names.py").write_text(SETS_NAMES.replace('"customer", "name"', '"customer", "alias"'))
    checked = poolsize("capture", "--check", "names.py", "--schema", "copy", url=logging_server.url)
    assert checked.returncode == 3
    assert checked.stdout.startswith("The only statement of names.py fails in the schema copy.\n  - names.py:8, tr")
    assert "UPDATE customer SET name = %s WHERE id = 1: Unknown column" in " ".join(checked.stdout.split())
    unused = "        Existing('customer', 'nick', str).draw(cursor)\n"
    (tmp_path / "names.py").write_text(SETS_NAMES.replace('"customer", "name"', '"customer", "alias"') + unused + READS)
    checked = poolsize("capture", "--check", "names.py", "--schema", "copy", url=logging_server.url)
    assert checked.stdout.startswith("2 of 3 statements of names.py fail in the schema copy.")
    (tmp_path / "shop.py").write_text(locustfile(SHOP, "shop.py", writes=True, keeps_values=False).text)
    cursor.execute("CREATE DATABASE IF NOT EXISTS others")
    cursor.execute("CREATE TABLE IF NOT EXISTS others.unrelated (id INT)")
    failed = poolsize("capture", "--check", "shop.py", "--schema", "others", url=logging_server.url)
    assert failed.stdout.startswith("8 of 8 statements of shop.py fail in the schema others.")


OWN = """\
from poolsize.locust import PoolUser

class Own(PoolUser):
    def transaction(self, cursor):
        cursor.execute("SELECT name FROM prod.customer")
        cursor.execute("TRUNCATE TABLE orders")
        cursor.executemany("UPDATE orders SET status = %s WHERE id = %s", [("a", 1), ("b", 2)])
        cursor.execute("COMMIT")
"""


def test_a_statement_that_can_not_be_rolled_back_does_not_run(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    cursor.execute("CREATE DATABASE IF NOT EXISTS prod")
    (tmp_path / "own.py").write_text(OWN)
    before = rows(cursor)
    checked = poolsize("capture", "--check", "own.py", "--schema", "copy", "--json", url=logging_server.url)
    assert checked.returncode == 3, checked.stderr
    answer = json.loads(checked.stdout)
    other, truncate, update = answer["statements"]
    assert answer["failed"] == 1
    assert (other["line"], other["failure"][:26]) == (5, "it names the schema prod, ")
    assert (truncate["line"], truncate["left"]) == (6, "a transaction may not undo it")
    assert (update["line"], update["rows"], update["failure"]) == (7, 1, "")
    assert rows(cursor) == before
    cursor.execute("SELECT COUNT(*) FROM orders WHERE status IN ('a', 'b')")
    assert cursor.fetchone() == (0,)


@pytest.mark.usefixtures("cursor")
def test_a_mistake_in_the_file_and_a_missing_schema_are_one_line(
    logging_server: PrivateServer, poolsize: Command, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN.replace('cursor.execute("COMMIT")', "curser.execute(1)"))
    refused = poolsize("capture", "--check", "own.py", "--schema", "copy", url=logging_server.url)
    assert refused.returncode == 2
    assert "own.py:8: NameError" in refused.stderr
    missing = poolsize("capture", "--check", "own.py", "--schema", "copi", url=logging_server.url)
    assert missing.returncode == 2
    assert "--schema copi: the" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1


def test_a_copy_that_was_not_restored_is_one_line(
    logging_server: PrivateServer, cursor: Any, poolsize: Command, tmp_path: Path
) -> None:
    cursor.execute("CREATE DATABASE IF NOT EXISTS bare")
    (tmp_path / "own.py").write_text(locustfile(SHOP, "own.py", writes=True, keeps_values=False).text)
    refused = poolsize("capture", "--check", "own.py", "--schema", "bare", url=logging_server.url)
    assert refused.returncode == 2
    assert refused.stderr.endswith("--schema bare: it has no tables: restore the copy of the data into it\n")
    assert len(refused.stderr.splitlines()) == 1
