"""`poolsize recommend --url`: what real servers say of themselves, to accounts with more and with fewer privileges."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from random import random
from typing import Any

import pytest
from sqlalchemy import make_url

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import GIVEN_SERVER, ROOT, Command, on_both, on_mariadb
from tests.servers import administered_server

pytestmark = pytest.mark.server

here = pytest.mark.skipif(
    GIVEN_SERVER is not None, reason="the given server may be in a container, with its own host name"
)
GRANTS = {"connects": None, "process": "GRANT PROCESS ON *.* TO"}
"""Account -> the beginning of its grant."""


def account_url(server: PrivateServer, account: str) -> str:
    """The URL of an account that has its grant and no other."""
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP USER IF EXISTS {account}")
        cursor.execute(f"CREATE USER {account} IDENTIFIED BY 'secret'")
        if grant := GRANTS[account]:
            cursor.execute(f"{grant} {account}")
    return make_url(server.url).set(username=account, password="secret").render_as_string(hide_password=False)


def inspected(poolsize: Command, url: str, *words: str) -> dict[str, Any]:
    done = poolsize("recommend", "--url", url, "--json", *words)
    assert done.returncode == 0, done.stderr
    assert "secret" not in done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def others(facts: dict[str, Any], account: str) -> list[dict[str, Any]]:
    return [holder for holder in facts["holders"] if holder["account"] == account]


@contextmanager
def held(url: str, number: int) -> Iterator[None]:
    """Connections that do nothing, besides one that sleeps in a statement."""
    connections = [connect(database_url(url)) for _ in range(number + 1)]
    sleeper = threading.Thread(target=lambda: connections[0].cursor().execute("SELECT SLEEP(4)"))
    sleeper.start()
    try:
        yield
    finally:
        sleeper.join()
        for connection in connections:
            connection.close()


@on_both
def test_it_says_what_the_server_says(server: PrivateServer, poolsize_here: Command) -> None:
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@version, @@max_connections, @@global.wait_timeout, @@hostname")
        ((version, limit, wait, host),) = cursor.fetchall()
    facts = inspected(poolsize_here, server.url, "--cores", "4")["facts"]
    assert (facts["server"]["version"], facts["server"]["max_connections"]) == (version, limit)
    assert facts["wait_timeout_seconds"] == wait  # poolsize's own connection has another
    assert facts["is_here"] == (host == socket.gethostname())
    assert 1 <= facts["open_connections"] <= facts["max_used_connections"] <= limit + 1
    assert 0 < facts["round_trip_ms"] < 1000
    assert facts["platform"] is None


@on_both
@pytest.mark.parametrize("account", ["connects", "process", "root"])
def test_an_account_gets_what_it_may_see(server: PrivateServer, poolsize_here: Command, account: str) -> None:
    url = server.url if account == "root" else account_url(server, account)
    holder = database_url(server.url).username
    with held(server.url, 3):
        facts = inspected(poolsize_here, url, "--cores", "4")["facts"]
    seen = others(facts, str(holder))
    if account == "connects":
        assert (seen, "process" in facts["missing"]) == ([], True)
        return
    assert "process" not in facts["missing"]
    assert sum(each["connections"] for each in seen) >= 4
    assert sum(each["active"] for each in seen) >= 1
    assert all(each["host"] for each in seen)


def test_each_missing_privilege_is_one_line(server: PrivateServer, poolsize_here: Command) -> None:
    with held(server.url, 1):
        text = poolsize_here("recommend", "--url", account_url(server, "connects"), "--cores", "4").stdout
    assert text.count("Without the privilege PROCESS") == 1
    assert text.startswith("Start with 9 connections")


@here
def test_a_server_here_gives_this_machines_cores(server: PrivateServer, poolsize_here: Command) -> None:
    answer = inspected(poolsize_here, server.url)
    assert answer["facts"]["is_here"]
    assert answer["pool_size"] == answer["formula"]["connections"] > 0


def test_a_remote_server_gives_the_size_per_core(server: PrivateServer, poolsize_here: Command) -> None:
    """A server is remote if its name is another, whatever the address: it may be at the end of a tunnel."""
    remote = socket.gethostname
    try:
        socket.gethostname = lambda: "elsewhere"
        answer = inspected(poolsize_here, server.url)
        text = poolsize_here("recommend", "--url", server.url).stdout
    finally:
        socket.gethostname = remote
    assert (answer["pool_size"], answer["connections_per_core"]) == (None, 2)
    assert text.startswith("Start with 2 connections for each physical core")
    assert "give --cores" in text


@pytest.mark.slow
@on_mariadb
def test_a_thread_pool_and_its_settings_are_facts(server: PrivateServer, poolsize_here: Command) -> None:  # noqa: ARG001 (the mark's)
    with administered_server(None, {"thread_handling": "pool-of-threads", "thread_pool_size": "3"}, 50) as pooled:
        facts = inspected(poolsize_here, pooled.url, "--cores", "4")["facts"]
    assert facts["server"]["thread_handling"] == "pool-of-threads"
    assert facts["thread_pool"]["thread_pool_size"] == "3"


PAGES = 8_000
"""Of 16 KB each. The small buffer pool has 384: MariaDB has no smaller one."""


@contextmanager
def spread_reads(url: str) -> Iterator[None]:
    """A load of single rows from all over a table, at least for as long as the body runs."""
    with closing(connect(database_url(url))) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE spread")
        cursor.execute("CREATE TABLE spread.wide (id INT PRIMARY KEY AUTO_INCREMENT, text VARCHAR(8000))")
        cursor.execute("INSERT INTO spread.wide (text) VALUES (REPEAT('x', 7500))")
        rows = 1
        while rows < 2 * PAGES:
            cursor.execute("INSERT INTO spread.wide (text) SELECT text FROM spread.wide")
            rows *= 2
        cursor.execute("SELECT COUNT(text) FROM spread.wide")  # reads all that fits into the buffer pool
        running = [True]

        def read() -> None:
            while running:
                cursor.execute(f"SELECT id FROM spread.wide WHERE id = {1 + int(random() * rows)} AND text > ''")
                cursor.fetchall()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
        finally:
            running.clear()
            reader.join()


@pytest.mark.slow
@on_mariadb
@pytest.mark.parametrize(("buffer_pool", "disks"), [("512M", 0.0), ("6M", 8.0)])
def test_the_effective_disks_are_those_that_statements_wait_for(
    server: PrivateServer,  # noqa: ARG001 (the mark's)
    poolsize_here: Command,
    buffer_pool: str,
    disks: float,
) -> None:
    with administered_server(None, {"innodb_buffer_pool_size": buffer_pool}, 50) as sized, spread_reads(sized.url):
        answer = inspected(poolsize_here, sized.url, "--cores", "4", "--disks", "8")
    assert answer["formula"]["effective_disks"] == pytest.approx(disks, abs=0.8)


def test_a_fleet_keeps_the_limit_of_its_account(server: PrivateServer, poolsize_here: Command) -> None:
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("DROP USER IF EXISTS limited")
        cursor.execute("CREATE USER limited IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 12")
    url = make_url(server.url).set(username="limited", password="secret").render_as_string(hide_password=False)
    fleet = ["--instances", "4", "--surge", "0%", "--json"]
    by_formula = inspected(poolsize_here, url, "--cores", "16", *fleet)["fleet"]
    assert by_formula["limit"]["max_user_connections"] == 12
    assert by_formula["connections_in_deploy"] == 12
    run = str(ROOT / "data/examples/insert-mariadb.jsonl")
    measured = json.loads(poolsize_here("recommend", "--run", run, *fleet, url=url).stdout)["fleet"]
    assert measured["limit"] == by_formula["limit"]
    for stack in ("hikaricp", "my.cnf"):
        written = poolsize_here("config", "--for", stack, "--size", "33", *fleet, url=url)
        assert written.returncode == 0, written.stderr
    assert json.loads(written.stdout)["connections"] == 32  # a larger limit is the server's to give


@here
def test_a_traffic_has_the_limit_of_the_server_that_is_asked(server: PrivateServer, poolsize_here: Command) -> None:
    """By --url, and by POOLSIZE_URL beside a run; without cores the server on this machine has this machine's."""
    traffic = ("--rate", "100/s", "--usage-time", "15ms", "--instances", "6", "--processes", "4")  # 1 core is enough
    answer = inspected(poolsize_here, server.url, *traffic)
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@max_connections")
        ((limit,),) = cursor.fetchall()
    pools = 4 * 8  # six instances, and two more in a deploy
    assert answer["limit"] == (limit - 10) // pools
    assert answer["supply"]["basis"] == "formula"
    run = str(ROOT / "data/examples/oltp_read_write-mariadb.jsonl")
    by_run = json.loads(poolsize_here("recommend", *traffic, "--run", run, "--json", url=server.url).stdout)
    assert (by_run["limit"], by_run["supply"]["basis"]) == (answer["limit"], "measured")
