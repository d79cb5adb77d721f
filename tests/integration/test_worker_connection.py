"""The load generator's connection does on real servers what PyMySQL's own does."""

import subprocess
import sys

import pytest

from poolsize.server.private_server import PrivateServer
from tests.conftest import on_both

pytestmark = pytest.mark.server

UNDER_GEVENT = """
from gevent import monkey; monkey.patch_all()
import sys
import gevent, pymysql
from gevent.timeout import Timeout
from pymysql.constants.CLIENT import MULTI_STATEMENTS
from poolsize.load.pool import SHARED, open_pools
from poolsize.load.worker_connection import WorkerConnection
from poolsize.server.connection import connect, database_url, error_kind
Timeout(60).start()
url = database_url(sys.argv[1])
arguments = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
def answer(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()
"""
PARTS = {
    "a pool of each kind opens it, at once or for a use": """
for kind, at_once, after_uses in ("fair", 2, 2), ("sqlalchemy", 2, 2), ("lazy", 0, 1), ("none", 2, 5):
    pools = open_pools(url, "mysql", 2, {}, 5, kind)
    assert len(pools.connection_ids) == at_once, kind
    for _ in range(3):
        connection = pools.engines[SHARED].raw_connection()
        assert type(connection.dbapi_connection) is WorkerConnection
        assert answer(connection, "SELECT 1") == ((1,),)
        connection.close()
    assert len(set(pools.connection_ids)) == after_uses, kind
    pools.close()
""",
    "a use that has ended leaves the connection alone": """
for kind in "fair", "sqlalchemy":
    pools = open_pools(url, "mysql", 1, {}, 5, kind)
    for _ in range(2):
        connection = pools.checkouts[SHARED]()
        assert answer(connection, "SELECT CONNECTION_ID()") == ((pools.connection_ids[0],),), kind
        connection.close()
        connection.invalidate()
    pools.close()
""",
    "statements and rows longer than any buffer": """
text = "x" * 12_000_000
assert answer(WorkerConnection(**arguments), f"SELECT '{text}'") == ((text,),)
""",
    "several results of one query": """
connection = WorkerConnection(**arguments, client_flag=MULTI_STATEMENTS)
cursor = connection.cursor()
cursor.execute("SELECT 1; SELECT 2; SELECT 3")
results = [cursor.fetchall()]
while cursor.nextset():
    results.append(cursor.fetchall())
assert results == [((1,),), ((2,),), ((3,),)]
""",
    "columns that were described before": """
worker, plain = WorkerConnection(**arguments), pymysql.connect(**arguments)
def result(connection, sql, kind):
    with connection.cursor(kind) as cursor:
        try:
            cursor.execute(sql)
        except pymysql.MySQLError as error:
            return error.args
        return cursor.description, list(cursor.fetchall()), cursor.rowcount
temporary = "CREATE TEMPORARY TABLE test.t (a INT, b VARCHAR(9))"
values = "NULL, 1.5, 1e3, DATE '2020-02-02', x'ff', 'caf\u00e9'"
several = " UNION ALL ".join(f"SELECT {number} AS a" for number in range(300))
shapes = [f"SELECT {place} AS column_{place}, 'x' AS x" for place in range(20)]
statements = ["SELECT 1", "SELECT 1 AS a", "SELECT 2 AS a", "SELECT 'a' AS a", f"SELECT {values}", several, "DO 1",
              "SELECT 1 AS a FROM DUAL WHERE 0", "SELECT * FROM test.t", "SELECT nothing",
              "SELECT 1 AS `\u00e9`", "SELECT 1 AS `\u00c3\u00a9`", *shapes]
for connection in (worker, plain):
    connection.cursor().execute("CREATE DATABASE IF NOT EXISTS test")
    connection.cursor().execute(temporary)
for change in (None, "ALTER TABLE test.t MODIFY a VARCHAR(3)", "latin1", "INSERT INTO test.t VALUES ('a', 'b')"):
    for connection in (worker, plain):
        if change == "latin1":
            connection.set_character_set(change)
        elif change:
            connection.cursor().execute(change)
    for sql in [*statements, *reversed(statements)]:
        for kind in (pymysql.cursors.Cursor, pymysql.cursors.DictCursor, pymysql.cursors.SSCursor):
            assert result(worker, sql, kind) == result(plain, sql, kind), sql
""",
    "another socket": """
connection = WorkerConnection(**arguments)
assert answer(connection, "SELECT 1") == ((1,),)
connection.close()
blocker = connect(url)  # takes the number of the socket that was closed
connection.connect()
assert answer(connection, "SELECT 2") == ((2,),)
connection.ping(reconnect=True)
assert answer(connection, "SELECT 3") == ((3,),)
""",
    "a connection that the server ends": """
for sql in ("SELECT 1", "SELECT SLEEP(20)"):
    connection = WorkerConnection(**arguments)
    killing = gevent.spawn_later(0.3, answer, connect(url), f"KILL {connection.thread_id()}")
    if sql == "SELECT 1":
        killing.join()
    try:
        answer(connection, sql)
        raise SystemExit("no error")
    except pymysql.MySQLError as error:
        assert error_kind(error) in {"server_gone", "mysql_1927", "mysql_1317_query_interrupted", "mysql_3169"}, error
""",
    "a read timeout": """
connection = WorkerConnection(**arguments, read_timeout=1)
try:
    answer(connection, "SELECT SLEEP(20)")
    raise SystemExit("no error")
except pymysql.OperationalError as error:
    assert "timed out" in str(error)
""",
    "a close without room for a goodbye": """
import socket, time
here, there = socket.socketpair()
connection = WorkerConnection(**arguments)
connection._sock, own_socket = here, connection._sock
here.setblocking(False)
try:
    while here.send(bytes(65536)):
        pass
except BlockingIOError:
    here.setblocking(True)
started = time.monotonic()
connection.close()
assert time.monotonic() - started < 10
assert connection._sock is None
own_socket.close()
""",
    "a killed user": """
connection = WorkerConnection(**arguments)
user = gevent.spawn(answer, connection, "SELECT SLEEP(0.5)")
gevent.sleep(0.1)
user.kill()
connection.close()
assert answer(WorkerConnection(**arguments), "SELECT 1") == ((1,),)
""",
    "a killed user of a pool, whose response is no other user's": """
pools = open_pools(url, "mysql", 1, {}, 5, "fair")
def use(sql):
    lease = pools.checkouts[SHARED]()
    try:
        result = answer(lease, sql)
    except pymysql.MySQLError:
        lease.invalidate()
        return None
    lease.close()
    return result
holder = connect(url)
answer(holder, "SELECT GET_LOCK('late', 0)")
user = gevent.spawn(use, "SELECT GET_LOCK('late', 60), 'late'")
gevent.sleep(0.1)
user.kill()
del user
answer(holder, "SELECT RELEASE_LOCK('late')")
assert [use("SELECT 1"), use("SELECT 1")] == [None, ((1,),)]
pools.close()
""",
}


@on_both
def test_it_keeps_pymysqls_promises(server: PrivateServer) -> None:
    """The part that fails is the last that standard error names."""
    parts = "".join(f"print({part!r}, file=sys.stderr)\n{program}" for part, program in PARTS.items())
    done = subprocess.run(
        [sys.executable, "-c", UNDER_GEVENT + parts, server.url], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
