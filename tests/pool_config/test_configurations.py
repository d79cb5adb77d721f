"""`poolsize config`: real libraries load the configurations, against real servers."""

import asyncio
import configparser
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from poolsize.answer.fleet import ServerLimit, Service
from poolsize.answer.fleet_plan import plan_fleet
from poolsize.pool_config.settings import PoolSettings, ServerFacts, UsageInPool, pool_settings
from poolsize.pool_config.stacks import STACKS, configuration
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import FLAVORS, assert_soon, mysqld
from tests.java.__main__ import build, class_path

pytestmark = [pytest.mark.server, pytest.mark.long]

SIZE = 5
WAIT_LIMIT_MS = 2000
SCHEMA, USER, PASSWORD = "pools", "pools", "secret"
LATE_MS = 1000
"""A busy machine delays a timeout by less."""

JAVA = ("c3p0", "dbcp2", "druid", "hikaricp", "spring-boot", "tomcat-jdbc")
NAMES = {"c3p0": "c3p0.", "spring-boot": "spring.datasource.hikari."}
"""Stack -> the prefix of its settings' names."""
TIMEOUTS = {
    "c3p0": "java.sql.SQLException",
    "dbcp2": "java.sql.SQLException",
    "druid": "com.alibaba.druid.pool.GetConnectionTimeoutException",
    "hikaricp": "java.sql.SQLTransientConnectionException",
    "spring-boot": "java.sql.SQLTransientConnectionException",
    "tomcat-jdbc": "org.apache.tomcat.jdbc.pool.PoolExhaustedException",
}
"""Stack -> the error that the library raises when a borrower has waited for too long."""


def settings() -> PoolSettings:
    """The settings of a pool of SIZE connections with a wait limit of WAIT_LIMIT_MS."""
    plan = plan_fleet(SIZE, [Service("application", 1)], ServerLimit(100))
    usage, facts = UsageInPool(30.0, 10.0), ServerFacts(wait_timeout_seconds=600)
    callers = 3 * WAIT_LIMIT_MS / 1000 + 0.03
    intended = pool_settings(plan, usage, facts, fleet_known=False, caller_timeout_seconds=callers)
    assert 1000 * intended.wait_limit_seconds == WAIT_LIMIT_MS
    return intended


def configured(stack: str) -> tuple[dict[str, Any], str]:
    """The settings of a stack, name -> value, and its configuration."""
    pool = settings()
    shared = pool.plan.connections if STACKS[stack].is_proxy else None
    made = configuration(STACKS[stack], replace(pool, shared_connections=shared))
    return {setting.name: setting.value for setting in made.settings}, made.text


def written(stack: str, folder: Path) -> dict[str, Any]:
    """The settings of a stack, name -> value; its configuration is written to the folder."""
    values, text = configured(stack)
    (folder / STACKS[stack].file).write_text(text)
    return values


@pytest.fixture
def account(server: PrivateServer) -> Iterator[str]:
    """The URL of an account of the pools, with a schema of its own; at the end it has no connection left."""
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        cursor.execute(f"CREATE DATABASE {SCHEMA}")
        cursor.execute(f"DROP USER IF EXISTS {USER}")
        cursor.execute(f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'")
        cursor.execute(f"GRANT ALL ON {SCHEMA}.* TO {USER}")
    yield make_url(server.url).set(username=USER, password=PASSWORD, database=SCHEMA).render_as_string(False)
    assert_soon(lambda: connections(server) == 0, 30)


@pytest.mark.experiment
def test_each_java_library_does_what_its_configuration_says(
    server: PrivateServer, account: str, tmp_path: Path
) -> None:
    if not (shutil.which("mvn") and shutil.which("java")):
        pytest.skip("no Java or no Maven on this machine")
    build()
    intended = {stack: written(stack, tmp_path) for stack in JAVA}
    reported = java_pools(server, account, tmp_path)
    for stack in JAVA:
        effective = reported[stack]
        for name, value in intended[stack].items():
            wanted = str(value).lower() if isinstance(value, bool) else str(value)
            assert effective[bean_name(stack, name)] == wanted, (stack, name)
        assert effective["exception"] == TIMEOUTS[stack], stack
        assert WAIT_LIMIT_MS - 20 <= int(effective["waited_ms"]) <= WAIT_LIMIT_MS + LATE_MS, stack
        assert effective["most_connections"] == str(SIZE), stack


def bean_name(stack: str, name: str) -> str:
    """A setting's name as the library's object has it."""
    first, *rest = name.removeprefix(NAMES.get(stack, "")).split("-")
    return first + "".join(map(str.capitalize, rest))


def java_pools(server: PrivateServer, account: str, folder: Path) -> Mapping[str, Mapping[str, str]]:
    """Pool -> name -> what the library reports of the configurations in a folder."""
    pools, watch = make_url(account), make_url(server.url)
    environment = {
        "JDBC_URL": f"jdbc:mysql://{pools.host}:{pools.port}/{SCHEMA}?useSSL=false&allowPublicKeyRetrieval=true",
        "JDBC_USER": str(pools.username),
        "JDBC_PASSWORD": str(pools.password),
        "WATCH_USER": str(watch.username),
        "WATCH_PASSWORD": str(watch.password or ""),
    }
    done = subprocess.run(
        ["java", "-cp", f"{folder}:{class_path()}", "Pools", str(folder), str(SIZE)],
        env=os.environ | environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reported: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        if line.count("\t") == 2:
            stack, name, value = line.split("\t")
            reported.setdefault(stack, {})[name] = value
    return reported


def connections(server: PrivateServer) -> int:
    """The connections of the pools' account that the server counts."""
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE user = %s", (USER,))
        return int(cursor.fetchall()[0][0])


def namespace(stack: str, **names: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a stack, and what its Python code defines with these names given."""
    values, text = configured(stack)
    exec(text, names)
    return values, names


def parts(account: str, user: str = "user", **more: Any) -> dict[str, Any]:
    """The arguments of a driver's connect()."""
    url = make_url(account)
    return {"host": url.host, "port": url.port, user: url.username, "password": url.password, **more}


def assert_times_out(server: PrivateServer, borrow: Callable[[], Any], error: type[Exception], after_ms: float) -> None:
    """With all connections borrowed, the next borrower gets the error after the time; none is opened."""
    assert connections(server) == SIZE
    begin = time.monotonic()
    with pytest.raises(error):
        borrow()
    assert after_ms - 20 <= 1000 * (time.monotonic() - begin) <= after_ms + LATE_MS
    assert connections(server) == SIZE


@pytest.mark.parametrize("stack", ["sqlalchemy", "flask-sqlalchemy"])
def test_sqlalchemy(server: PrivateServer, account: str, stack: str) -> None:
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    with ExitStack() as ends:
        if stack == "sqlalchemy":
            intended, names = namespace(stack, url=account)
            engine = names["engine"]
        else:
            from flask import Flask
            from flask_sqlalchemy import SQLAlchemy

            intended, names = namespace(stack)
            app = Flask("shop")
            app.config.update(SQLALCHEMY_DATABASE_URI=account, **{key: names[key] for key in names if key.isupper()})
            ends.enter_context(app.app_context())
            engine = SQLAlchemy(app).engine
        ends.callback(engine.dispose)
        assert (engine.pool.size(), engine.pool._max_overflow) == (intended["pool_size"], intended["max_overflow"])
        assert (engine.pool._timeout, engine.pool._recycle) == (intended["pool_timeout"], intended["pool_recycle"])
        assert engine.pool._pre_ping == intended["pool_pre_ping"]
        for _ in range(SIZE):
            ends.callback(engine.connect().close)
        assert_times_out(server, engine.connect, PoolTimeout, WAIT_LIMIT_MS)


def test_sqlalchemy_with_asyncio(server: PrivateServer, account: str) -> None:
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    intended, names = namespace("sqlalchemy-async", url=account.replace("+pymysql", "+asyncmy"))
    engine = names["engine"]
    assert (engine.pool.size(), engine.pool._max_overflow) == (intended["pool_size"], intended["max_overflow"])

    async def borrow_all() -> None:
        borrowed = [await engine.connect() for _ in range(SIZE)]
        begin = time.monotonic()
        with pytest.raises(PoolTimeout):
            await engine.connect()
        assert WAIT_LIMIT_MS - 20 <= 1000 * (time.monotonic() - begin) <= WAIT_LIMIT_MS + LATE_MS
        assert await asyncio.to_thread(connections, server) == SIZE
        for connection in borrowed:
            await connection.close()
        await engine.dispose()

    asyncio.run(borrow_all())


@pytest.mark.parametrize("stack", ["asyncmy", "aiomysql"])
def test_asyncio_drivers(server: PrivateServer, account: str, stack: str) -> None:
    intended, names = namespace(stack)

    async def borrow_all() -> None:
        pool = await names["create_pool"](**parts(account, db=SCHEMA))
        assert (pool.minsize, pool.maxsize) == (intended["minsize"], intended["maxsize"])
        assert pool._recycle == intended["pool_recycle"]
        borrowed = [await names["acquire"](pool) for _ in range(SIZE)]
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            await names["acquire"](pool)
        assert WAIT_LIMIT_MS - 20 <= 1000 * (time.monotonic() - begin) <= WAIT_LIMIT_MS + LATE_MS
        assert await asyncio.to_thread(connections, server) == SIZE
        for connection in borrowed:
            pool.release(connection)
        await asyncio.sleep(0.1)
        pool.close()
        await pool.wait_closed()

    asyncio.run(borrow_all())


def test_mysql_connector_python_fails_at_once(server: PrivateServer, account: str) -> None:
    from mysql.connector.errors import PoolError

    intended, names = namespace("mysql-connector-python", account=parts(account, database=SCHEMA))
    pool = names["pool"]
    assert pool.pool_size == intended["pool_size"] == names["THREADS"]
    assert pool.reset_session == intended["pool_reset_session"]
    borrowed = [pool.get_connection() for _ in range(SIZE)]
    assert_times_out(server, pool.get_connection, PoolError, after_ms=20)
    for connection in borrowed:
        connection.close()
    pool._remove_connections()


def test_peewee(server: PrivateServer, account: str) -> None:
    from playhouse.pool import MaxConnectionsExceeded

    intended, names = namespace("peewee", schema=SCHEMA, account=parts(account))
    database = names["database"]
    assert (database._max_connections, database._wait_timeout) == (intended["max_connections"], intended["timeout"])
    assert database._stale_timeout == intended["stale_timeout"]
    with ExitStack() as ends:
        ends.callback(database.close_all)
        threads = [threading.Thread(target=database.connect) for _ in range(SIZE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert_times_out(server, database.connect, MaxConnectionsExceeded, WAIT_LIMIT_MS)


def test_dbutils_waits_until_a_connection_is_given_back(server: PrivateServer, account: str) -> None:
    intended, names = namespace("dbutils", account=parts(account, database=SCHEMA))
    pool = names["pool"]
    assert (pool._maxconnections, pool._maxcached) == (intended["maxconnections"], intended["maxcached"])
    borrowed = [pool.connection() for _ in range(SIZE)]
    further: list[Any] = []
    borrower = threading.Thread(target=lambda: further.append(pool.connection()))
    borrower.start()
    borrower.join(timeout=0.5)
    assert borrower.is_alive()
    assert connections(server) == SIZE
    borrowed.pop().close()
    borrower.join(timeout=30)
    assert further
    assert connections(server) == SIZE
    for connection in [*borrowed, *further]:
        connection.close()
    pool.close()


DJANGO = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import pymysql
pymysql.install_as_MySQLdb()
pymysql.version_info = (2, 2, 1, "final", 0)
DATABASES = {{"default": {database!r}}}
{settings}
from django.conf import settings
settings.configure(DATABASES=DATABASES)
import django
django.setup()
from django.db import close_old_connections, connection
together = Barrier({threads})

def request(_):
    for _ in range(3):
        close_old_connections()
        with connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'pools'")
            together.wait()
            seen = cursor.fetchone()[0]
        close_old_connections()
    return connection.settings_dict["CONN_MAX_AGE"], connection.settings_dict["CONN_HEALTH_CHECKS"], seen

with ThreadPoolExecutor({threads}) as threads:
    print(*max(threads.map(request, range({threads}))))
"""


def test_each_thread_of_django_keeps_its_connection(account: str) -> None:
    intended, text = configured("django")
    url = make_url(account)
    database = {
        "ENGINE": "django.db.backends.mysql", "HOST": url.host, "PORT": str(url.port), "NAME": SCHEMA,
        "USER": url.username, "PASSWORD": url.password,
    }  # fmt: skip
    threads = intended["gunicorn.threads"]
    done = subprocess.run(
        [sys.executable, "-c", DJANGO.format(database=database, settings=text, threads=threads)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    age, checks, seen = done.stdout.split()
    assert (int(age), checks) == (intended["CONN_MAX_AGE"], str(intended["CONN_HEALTH_CHECKS"]))
    assert int(seen) == threads == SIZE


def assert_client_times_out(server: PrivateServer, command: list[str], error: str, folder: Path | None = None) -> None:
    """A program that borrows SIZE connections, and then one more, prints what became of that, and waits for a line.

    It prints the pool's maximum, its open connections, after how many ms the borrower failed, and the error.
    """
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:  # fmt: skip
        assert program.stdout
        maximum, opened, waited_ms, message = program.stdout.readline().split(maxsplit=3)
        seen = connections(server)
        program.communicate("\n", timeout=30)
    assert (int(maximum), int(opened), seen) == (SIZE, SIZE, SIZE)
    assert WAIT_LIMIT_MS - 20 <= int(waited_ms) <= WAIT_LIMIT_MS + LATE_MS
    assert error in message


GO_MODULE = """module pools

go 1.24

require github.com/go-sql-driver/mysql v1.10.1
"""
GO_PROGRAM = """package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"pools/database"
)

func main() {
	db, err := sql.Open("mysql", os.Args[1])
	if err != nil {
		panic(err)
	}
	database.Configure(db)
	ctx := context.Background()
	for range %d {
		if _, err := database.Conn(ctx, db); err != nil {
			panic(err)
		}
	}
	begin := time.Now()
	_, err = database.Conn(ctx, db)
	stats := db.Stats()
	fmt.Println(stats.MaxOpenConnections, stats.OpenConnections, time.Since(begin).Milliseconds(), err)
	fmt.Scanln()
}
"""


def test_go(server: PrivateServer, account: str, tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("no Go on this machine")
    (tmp_path / "database").mkdir()
    intended = written("go", tmp_path / "database")
    (tmp_path / "go.mod").write_text(GO_MODULE)
    (tmp_path / "main.go").write_text(GO_PROGRAM % SIZE)
    for command in (["mod", "tidy"], ["vet", "./..."], ["build", "-o", "pools"]):
        subprocess.run(["go", *command], cwd=tmp_path, check=True, timeout=200)
    assert not subprocess.run(["gofmt", "-l", "database"], cwd=tmp_path, check=True, stdout=subprocess.PIPE).stdout
    url = make_url(account)
    source = f"{url.username}:{url.password}@tcp({url.host}:{url.port})/{SCHEMA}?allowNativePasswords=true"
    assert_client_times_out(server, [str(tmp_path / "pools"), source], "context deadline exceeded")
    assert intended["SetMaxIdleConns"] == SIZE


NODE_PROGRAM = """
const { createPool, acquire } = require("./database.js");
const pool = createPool(JSON.parse(process.argv[2]));
(async () => {
  for (let number = 0; number < Number(process.argv[3]); number++) await acquire(pool);
  const begin = Date.now();
  const error = await acquire(pool).catch((error) => error);
  const { config, _allConnections } = pool.pool;
  console.log(config.connectionLimit, _allConnections.length, Date.now() - begin, error.message);
  process.stdin.once("data", () => process.exit());
})();
"""


def test_node_mysql2(server: PrivateServer, account: str, tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("no Node.js on this machine")
    written("node-mysql2", tmp_path)
    (tmp_path / "main.js").write_text(NODE_PROGRAM)
    subprocess.run(["npm", "install", "--silent", "--no-fund", "mysql2@3"], cwd=tmp_path, check=True, timeout=200)
    account_json = json.dumps(parts(account, database=SCHEMA))
    assert_client_times_out(server, ["node", "main.js", account_json, str(SIZE)], "no connection within", tmp_path)


PHP_FPM = ("php-fpm", "php-fpm8.2", "php-fpm8.3", "php-fpm8.4")


def test_php_fpm(tmp_path: Path) -> None:
    program = next(
        (path for name in PHP_FPM if (path := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin"))), None
    )
    if program is None:
        pytest.skip("no PHP-FPM on this machine")
    intended = written("php-fpm", tmp_path)
    pool = tmp_path / "www.conf"
    pool.write_text(f"{pool.read_text()}\nuser = www-data\nlisten = {tmp_path}/php.sock\n")
    (tmp_path / "php-fpm.conf").write_text(f"[global]\nerror_log = {tmp_path}/log\ninclude = {pool}\n")
    done = subprocess.run(
        [program, "-tt", "--fpm-config", str(tmp_path / "php-fpm.conf")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    log = done.stderr + done.stdout + (tmp_path / "log").read_text()
    assert done.returncode == 0, log
    for name in ("pm", "pm.max_children"):
        assert f"{name} = {intended[name]}\n" in log
    assert f"php_admin_value[mysqli.max_persistent] = {intended['mysqli.max_persistent']}" in log


@pytest.mark.parametrize("flavor", FLAVORS)
def test_the_server_reads_its_configuration(flavor: str, tmp_path: Path) -> None:
    intended = written("my.cnf", tmp_path)
    program = mysqld(flavor) or shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")
    done = subprocess.run(
        [str(program), f"--defaults-file={tmp_path}/poolsize.cnf", "--user=root", "--verbose", "--help"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    values = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) == 2)
    assert {name: int(values[name.replace("_", "-")]) for name in intended} == intended


def test_maxscale_has_each_setting_in_its_section(tmp_path: Path) -> None:
    """The sections are those of MaxScale's Configuration Guide; no MaxScale can be had here."""
    intended = written("maxscale", tmp_path)
    parser = configparser.ConfigParser()
    parser.read(tmp_path / "maxscale.cnf")
    sections = {
        "server1": {"max_routing_connections", "persistpoolmax", "persistmaxtime"},
        "service1": {"idle_session_pool_time", "multiplex_timeout", "max_connections"},
    }
    assert {name: set(parser[name]) - {"type"} for name in parser.sections()} == sections
    read = {**parser["server1"], **parser["service1"]}
    assert {name: int(read[name].rstrip("ms")) for name in intended} == intended


PROXYSQL_RANGES = {
    "mysql-free_connections_pct": (0, 100), "mysql-connect_timeout_server_max": (10, 3_600_000),
    "mysql-connection_max_age_ms": (0, 86_400_000), "mysql-ping_interval_server_msec": (1_000, 7 * 86_400_000),
    "mysql-max_connections": (1, 1_000_000),
}  # fmt: skip
"""Variable -> the values that ProxySQL accepts. Source: its lib/MySQL_Thread.cpp."""


def test_proxysql_s_statements(tmp_path: Path) -> None:
    """ProxySQL's admin interface is SQLite with statements of its own, SET; no ProxySQL can be had here."""
    intended = written("proxysql", tmp_path)
    text = (tmp_path / "proxysql.sql").read_text()
    with closing(sqlite3.connect(":memory:")) as admin:
        admin.execute("CREATE TABLE mysql_servers (hostgroup_id INT, hostname TEXT, max_connections INT)")
        admin.execute("INSERT INTO mysql_servers VALUES (1, 'HOST', 1000), (2, 'HOST', 1000)")
        (update,) = [line for line in text.splitlines() if line.startswith("UPDATE")]
        admin.execute(update.replace("HOSTGROUP", "1"))
        rows = admin.execute("SELECT max_connections FROM mysql_servers ORDER BY hostgroup_id").fetchall()
    assert rows == [(intended["mysql_servers.max_connections"],), (1000,)]
    variables = dict(re.findall(r"^SET (\S+) = (\d+);$", text, re.MULTILINE))
    assert set(variables) == set(PROXYSQL_RANGES)
    for name, (least, most) in PROXYSQL_RANGES.items():
        assert least <= int(variables[name]) == intended[name] <= most
