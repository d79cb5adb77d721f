"""poolsize's own schema: one sweep at a time, also when the lock's session is lost, and only its own tables dropped."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import quoted
from poolsize.server import schema
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer, private_server
from poolsize.server.schema import LOCK, OWNER, SweepSchema
from tests.conftest import POOLSIZE, Command, assert_soon, assert_swept, on_both, on_mariadb

pytestmark = pytest.mark.server
KILLED = """
import os, signal, sys
from poolsize.server.connection import database_url
from poolsize.server.schema import SweepSchema
def prepare(cursor):
    cursor.execute("CREATE TABLE made (id INT)")
    os.kill(os.getpid(), signal.SIGKILL)
with SweepSchema(database_url(sys.argv[1])) as schema:
    schema.make_tables(prepare)
"""
"""A sweep that is killed while its workload makes its tables."""


@pytest.fixture
def cursor(server: PrivateServer) -> Iterator[Any]:
    """An administrator's cursor; the schema poolsize is gone afterwards."""
    with connect(database_url(server.url)) as connection, connection.cursor() as opened:
        yield opened
        opened.execute("DROP DATABASE IF EXISTS poolsize")


def tables(cursor: Any) -> set[str]:
    cursor.execute("SHOW TABLES FROM poolsize")
    return {name for (name,) in cursor.fetchall()} - {"made_by_poolsize"}


def is_gone(cursor: Any) -> bool:
    """Return whether the server has no schema poolsize."""
    return not cursor.execute("SHOW DATABASES LIKE 'poolsize'")


def kill_holder(cursor: Any) -> int | None:
    """Kill the session that holds the lock, and return its id; None where there is none."""
    cursor.execute("SELECT IS_USED_LOCK(%s)", (LOCK,))
    ((holder,),) = cursor.fetchall()
    if holder is not None:
        cursor.execute(f"KILL {holder}")
    return holder  # type: ignore[no-any-return]  # PyMySQL has no types


def make_table(cursor: Any) -> None:
    cursor.execute("CREATE TABLE mine (id INT)")


@on_both
def test_a_sweep_that_loses_its_session_keeps_its_tables(server: PrivateServer, cursor: Any) -> None:
    url = database_url(server.url)
    with SweepSchema(url) as own:
        own.make_tables(make_table)
        with pytest.raises(BadInput, match="another sweep is running"):
            SweepSchema(url).__enter__()
        holder = kill_holder(cursor)
        assert holder is not None
        with pytest.raises(BadInput, match="another sweep is running"):
            SweepSchema(url).__enter__()
        assert tables(cursor) == {"mine"}
        own.work(lambda work: work.execute("INSERT INTO mine VALUES (1)"))
        cursor.execute("SELECT IS_USED_LOCK(%s)", (LOCK,))
        assert cursor.fetchone() not in {(None,), (holder,)}
    assert is_gone(cursor)


def test_an_empty_schema_made_for_an_account_is_used_and_left_empty(server: PrivateServer, cursor: Any) -> None:
    cursor.execute("CREATE DATABASE poolsize")
    cursor.execute("DROP USER IF EXISTS guest")
    cursor.execute("CREATE USER guest IDENTIFIED BY 'of the house'")
    cursor.execute("GRANT ALL ON poolsize.* TO guest")
    with SweepSchema(database_url(server.url).set(username="guest", password="of the house")) as own:
        own.make_tables(make_table)
        assert tables(cursor) == {"mine"}
    cursor.execute("SHOW TABLES FROM poolsize")
    assert cursor.fetchall() == ()


@on_mariadb
def test_a_session_that_is_lost_while_it_makes_the_schema_leaves_none(
    server: PrivateServer, cursor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server makes the schema, and ends the session before it answers."""
    lost = f"BEGIN NOT ATOMIC {schema.CREATE_SCHEMA}; KILL CONNECTION_ID(); END"
    monkeypatch.setattr(schema, "CREATE_SCHEMA", lost)
    with SweepSchema(database_url(server.url)):
        cursor.execute("SHOW TABLES FROM poolsize")
        assert cursor.fetchall() == (("made_by_poolsize",),)
    assert is_gone(cursor)


@on_mariadb
def test_a_session_that_is_lost_while_it_drops_the_schema_costs_nothing(
    server: PrivateServer, cursor: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server drops the schema, and ends the session before it answers."""
    lost = f"BEGIN NOT ATOMIC {schema.DROP_SCHEMA}; KILL CONNECTION_ID(); END"
    monkeypatch.setattr(schema, "DROP_SCHEMA", lost)
    with SweepSchema(database_url(server.url)):
        pass
    assert is_gone(cursor)
    assert not caplog.records


def test_a_schema_that_could_not_be_dropped_is_dropped_by_the_next_sweep(
    server: PrivateServer, cursor: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "DROP_SCHEMA", "KILL CONNECTION_ID()")
        with SweepSchema(database_url(server.url)):
            pass
    assert "the next sweep will" in caplog.text
    with SweepSchema(database_url(server.url)):
        pass
    assert is_gone(cursor)


def test_a_sweep_clears_nothing_of_the_sweep_after_it(server: PrivateServer, cursor: Any) -> None:
    """As after a machine has slept: the next sweep took the schema."""
    late = SweepSchema(database_url(server.url)).__enter__()
    cursor.execute("UPDATE poolsize.made_by_poolsize SET name = %s WHERE name LIKE %s", (f"{OWNER}next", f"{OWNER}%"))
    cursor.execute("CREATE TABLE poolsize.of_the_next (id INT)")
    cursor.execute("INSERT INTO poolsize.made_by_poolsize VALUES ('of_the_next')")
    with pytest.raises(WorkFailed, match="another sweep has the schema"):
        late.work(make_table)
    late.__exit__(None, None, None)
    assert tables(cursor) == {"of_the_next"}


def test_only_tables_that_a_killed_sweep_made_are_dropped(server: PrivateServer, cursor: Any) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, server.url], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert tables(cursor) == {"made"}
    cursor.execute("CREATE TABLE poolsize.precious (id INT)")
    with pytest.raises(BadInput, match=r"did not make \(precious\)"):
        SweepSchema(database_url(server.url)).__enter__()
    assert tables(cursor) == {"precious"}


def test_a_schema_that_poolsize_did_not_mark_is_not_touched(server: PrivateServer, cursor: Any) -> None:
    cursor.execute("CREATE DATABASE poolsize")
    cursor.execute("CREATE TABLE poolsize.precious (id INT)")
    with pytest.raises(BadInput, match=r"did not make \(precious\)"):
        SweepSchema(database_url(server.url)).__enter__()
    assert tables(cursor) == {"precious"}


def test_views_and_tables_that_refer_to_each_other_are_cleared(server: PrivateServer, cursor: Any) -> None:
    cursor.execute("CREATE DATABASE poolsize")
    cursor.execute("CREATE TABLE poolsize.made_by_poolsize (name VARCHAR(64) PRIMARY KEY)")
    cursor.execute("INSERT INTO poolsize.made_by_poolsize VALUES ('*schema*'), ('parent'), ('child'), ('window')")
    cursor.execute("CREATE TABLE poolsize.parent (id INT PRIMARY KEY)")
    cursor.execute("CREATE TABLE poolsize.child (id INT, FOREIGN KEY (id) REFERENCES poolsize.parent (id))")
    cursor.execute("CREATE VIEW poolsize.window AS SELECT * FROM poolsize.child")
    with SweepSchema(database_url(server.url)):
        assert tables(cursor) == set()
    assert is_gone(cursor)


def test_a_table_whose_name_holds_sql_drops_no_other(server: PrivateServer, cursor: Any) -> None:
    """Whoever may write in the schema can list such a name, and make a table that has it."""
    name = "x`, shop.`orders"
    cursor.execute("CREATE DATABASE shop")
    try:
        cursor.execute("CREATE TABLE shop.orders (id INT)")
        cursor.execute("CREATE DATABASE poolsize")
        cursor.execute(f"CREATE TABLE poolsize.{quoted(name)} (id INT)")
        cursor.execute("CREATE TABLE poolsize.made_by_poolsize (name VARCHAR(64) PRIMARY KEY)")
        cursor.executemany(
            "INSERT INTO poolsize.made_by_poolsize VALUES (%s)",
            [(name,), ("*schema*",), ("../shop/orders",), ("shop`.`orders",)],
        )
        with SweepSchema(database_url(server.url)) as own:
            own.make_tables(lambda work: work.execute(f"CREATE TABLE {quoted(name)} (id INT)"))
            assert tables(cursor) == {name}
        assert is_gone(cursor)
        cursor.execute("SHOW TABLES FROM shop")
        assert cursor.fetchall() == (("orders",),)
    finally:
        cursor.execute("DROP DATABASE shop")


@pytest.mark.parametrize("mark", [None, "VARCHAR(64) COLLATE utf8mb4_general_ci"])
def test_tables_whose_names_differ_in_case_are_all_dropped(
    server: PrivateServer, cursor: Any, mark: str | None
) -> None:
    """Also where an older mark, which does not tell them apart, was left by a killed sweep."""
    names = ("Orders", "orders", "ORDERS")
    if mark:
        cursor.execute("CREATE DATABASE poolsize")
        cursor.execute(f"CREATE TABLE poolsize.made_by_poolsize (name {mark} PRIMARY KEY)")
        cursor.execute("INSERT INTO poolsize.made_by_poolsize VALUES ('*schema*'), ('Stock')")
        cursor.execute("CREATE TABLE poolsize.Stock (id INT)")
    with SweepSchema(database_url(server.url)) as own:
        for name in names:
            own.make_tables(lambda work, name=name: work.execute(f"CREATE TABLE {name} (id INT)"))  # type: ignore[misc]
        assert tables(cursor) == {*names}
    assert is_gone(cursor)


def test_a_server_that_ignores_the_case_of_names_is_left_as_it_was() -> None:
    """A MariaDB: MySQL takes this variable only as it makes its data. 2 needs a file system that ignores case."""
    with (
        private_server(None, {"lower_case_table_names": "1"}, 50) as started,
        connect(database_url(started.url)) as connection,
        connection.cursor() as cursor,
    ):
        with SweepSchema(database_url(started.url)) as own:
            own.make_tables(lambda work: work.execute("CREATE TABLE Orders (id INT)"))
            assert tables(cursor) == {"orders"}
        assert is_gone(cursor)


@pytest.mark.experiment
def test_a_second_sweep_is_refused_while_the_first_lives(
    server: PrivateServer, cursor: Any, tmp_path: Path, poolsize: Command
) -> None:
    """The whole program: the session that holds the lock is killed in the middle of a step."""
    words = ["sweep", "--workload", "insert", "--pool-sizes", "2,4", "--users=8", "--step-time", "8s", "--warm-up=1s"]
    first = subprocess.Popen(
        [POOLSIZE, *words, "--output", "first.jsonl"],
        cwd=tmp_path, env={"POOLSIZE_URL": server.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert_soon((tmp_path / "first.jsonl").exists)
    assert kill_holder(cursor) is not None
    second = poolsize(*words, "--output", "second.jsonl", url=server.url)
    assert second.returncode == 2
    assert "another sweep is running" in second.stderr
    out, err = first.communicate(timeout=120)
    assert_swept(subprocess.CompletedProcess(words, first.returncode, out, err))
    assert is_gone(cursor)
