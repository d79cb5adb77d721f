"""Logs that real servers write: both kinds give the transactions that a client ran."""

from collections.abc import Iterator
from contextlib import closing
from time import sleep, time

import pymysql
import pytest

from poolsize.capture.events import Event, Tally
from poolsize.capture.logs import GeneralLog, SlowLog, log_events
from poolsize.capture.transactions import LeftOut, Transaction, rebuilt
from poolsize.server.private_server import PrivateServer

pytestmark = pytest.mark.server

SLEEP_SECONDS = 2.5
"""Long beside the second to which some logs know the time."""


@pytest.fixture(scope="module")
def logged(server: PrivateServer) -> Iterator[tuple[PrivateServer, float]]:
    """A server that has logged what `_run` does, and when that began: seconds since the epoch."""
    socket = str(server.directory / "socket")
    with closing(pymysql.connect(unix_socket=socket, user="root")) as administrator:
        with administrator.cursor() as cursor:
            for setting in (
                f"slow_query_log_file = '{server.directory}/slow.log'",
                f"general_log_file = '{server.directory}/general.log'",
                "log_output = 'FILE'", "long_query_time = 0", "slow_query_log = ON", "general_log = ON",
            ):  # fmt: skip
                cursor.execute(f"SET GLOBAL {setting}")
            cursor.execute("CREATE DATABASE IF NOT EXISTS shop")
            cursor.execute("CREATE TABLE shop.t (id INT PRIMARY KEY, name VARCHAR(30), n INT)")
        begun = time()
        with closing(pymysql.connect(unix_socket=socket, user="root", database="shop")) as connection:
            _run(connection)
        sleep(0.2)  # the server writes the end of the session
        yield server, begun
        with administrator.cursor() as cursor:
            cursor.execute("SET GLOBAL slow_query_log = OFF")
            cursor.execute("SET GLOBAL general_log = OFF")
            cursor.execute("DROP DATABASE shop")


def _run(connection: "pymysql.Connection[pymysql.cursors.Cursor]") -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (%s, %s, %s), (%s, %s, %s)", (1, "it's;\n# a line", 5, 2, None, -6))
        cursor.execute("SELECT name FROM t WHERE id IN %s /* a comment */", ((1, 2),))
        connection.commit()
        cursor.execute("SELECT SLEEP(%s)", (SLEEP_SECONDS,))
        connection.rollback()
        connection.autocommit(True)
        cursor.execute("UPDATE t SET n = n %% 2 WHERE id = %s", (1,))
        with pytest.raises(pymysql.MySQLError):
            cursor.execute("INSERT INTO t VALUES (1, 'again', 0)")
        cursor.execute("PREPARE s FROM 'SELECT n FROM t WHERE id = ?'")
        cursor.execute("BEGIN")
        cursor.execute("DELETE FROM t")


TRANSACTIONS = [
    ["INSERT INTO t VALUES (%s, %s, %s)", "SELECT name FROM t WHERE id IN %s"],
    ["SELECT SLEEP(%s)"],
    ["UPDATE t SET n = n %% %s WHERE id = %s"],
    ["INSERT INTO t VALUES (%s, %s, %s)"],
    ["DELETE FROM t"],
]


def _check(made: list[Transaction], kind: str) -> None:
    assert [[each.fingerprint.text for each in one.statements] for one in made] == TRANSACTIONS, kind
    assert [one.ends for one in made] == ["commit", "rollback", "commit", "commit", "rollback"]
    assert [one.is_explicit for one in made] == [True, True, False, False, True]
    insert = made[0].statements[0].fingerprint
    assert (insert.values, insert.more_rows) == ((1, "it's;\n# a line", 5), ((2, None, -6),))
    assert len({one.thread for one in made}) == 1


def _transactions(events: Iterator[Event]) -> list[Transaction]:
    """The transactions of the session that slept."""
    made = list(rebuilt(events, LeftOut()))
    thread = next(one.thread for one in made if "SLEEP" in one.statements[0].fingerprint.text)
    return [one for one in made if one.thread == thread]


def test_a_slow_log(logged: tuple[PrivateServer, float]) -> None:
    server, begun = logged
    tally = Tally()
    made = _transactions(log_events([server.directory / "slow.log"], SlowLog, tally))
    _check(made, "slow log")
    assert tally.unreadable == 0
    assert len(tally.versions) == 1
    asleep = made[1].statements[0]
    assert asleep.seconds == pytest.approx(SLEEP_SECONDS, abs=0.3)
    assert asleep.started == pytest.approx(begun, abs=1.1)
    assert asleep.rows_sent == 1
    assert made[2].after_previous == pytest.approx(0.0, abs=1.1)


def test_a_general_log(logged: tuple[PrivateServer, float]) -> None:
    server, begun = logged
    made = _transactions(log_events([server.directory / "general.log"], GeneralLog, Tally()))
    _check(made, "general log")
    assert made[1].started == pytest.approx(begun, abs=1.1)
