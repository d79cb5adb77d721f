"""The table of libraries: the names, defaults and limits of their settings, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import isnan

from poolsize.pool_config import findings
from poolsize.pool_config.pool import FilePool, Library
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_WAIT_TIMEOUT_SECONDS, LIFETIME_SECONDS


def _hikaricp(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    least_idle, most = pool.number("minimumIdle"), pool.number("maximumPoolSize")
    keepalive, lifetime = pool.number("keepaliveTime"), pool.number("maxLifetime")
    if 0 < lifetime < pool.library.least["maxLifetime"]:  # HikariCP uses its default in place of such a lifetime
        lifetime = float(str(pool.library.defaults["maxLifetime"]))
    is_kept_alive = (
        keepalive >= pool.library.least["keepaliveTime"]
        and not (lifetime and keepalive >= lifetime)
        and _in_time(pool, "keepaliveTime", 1000, wait_timeout)
    )
    yield from _no_limit(pool, "connectionTimeout", findings.WaitsForEver)
    yield from _below_least(pool, "connectionTimeout", findings.RefusedBelowLeast)
    yield from _below_least(pool, "validationTimeout", findings.RefusedBelowLeast)
    if pool.has("keepaliveTime") and keepalive and lifetime and keepalive >= lifetime:
        yield findings.KeepaliveOverLifetime(keepalive, lifetime)
    ends_in_time = 0 < lifetime < wait_timeout * 1000
    if is_kept_alive and not ends_in_time and not pool.has("keepaliveTime"):
        yield findings.KeepaliveByDefault(keepalive, _known(lifetime), wait_timeout)
    yield from _below_least(pool, "keepaliveTime", findings.BelowLeast)
    yield from _below_least(pool, "maxLifetime", findings.BelowLeast)
    if 0 <= least_idle < most:
        yield findings.Shrinks(int(least_idle), int(most))
    if pool.has("connectionTestQuery"):
        yield findings.OldTestQuery()
    yield from _outlives_server(pool, "maxLifetime", 1000, wait_timeout, is_checked=is_kept_alive)


def _druid(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "maxWait", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testOnBorrow")
    if pool.value("removeAbandoned") is True:
        yield findings.RemovesAbandoned(_known(pool.number("removeAbandonedTimeout")))
    is_checked = _is_tested(pool, wait_timeout, ends_idle=False)
    yield from _outlives_server(pool, "maxEvictableIdleTimeMillis", 1000, wait_timeout, is_checked=is_checked)


def _dbcp2(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "maxTotal", findings.Unlimited)
    yield from _no_limit(pool, "maxWaitMillis", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testOnBorrow")
    if not pool.number("maxIdle") < 0:
        yield from _closes_idle(pool, "maxIdle", "maxTotal")
    is_checked = _is_tested(pool, wait_timeout, ends_idle=True)
    yield from _outlives_server(pool, "maxConnLifetimeMillis", 1000, wait_timeout, is_checked=is_checked)


def _c3p0(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "checkoutTimeout", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testConnectionOnCheckout")
    is_checked = (
        pool.value("testConnectionOnCheckout") is True
        or _in_time(pool, "idleConnectionTestPeriod", 1, wait_timeout)
        or _in_time(pool, "maxConnectionAge", 1, wait_timeout)
    )
    yield from _outlives_server(pool, "maxIdleTime", 1, wait_timeout, is_checked=is_checked)


def _tomcat_jdbc(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "maxWait", findings.WaitsForEver)
    if not pool.number("validationInterval") > 0:  # an interval makes tests of borrowed connections rare
        yield from _tested_on_borrow(pool, "testOnBorrow")
    is_checked = _is_tested(pool, wait_timeout, ends_idle=pool.number("minIdle") == 0)
    yield from _outlives_server(pool, "maxAge", 1000, wait_timeout, is_checked=is_checked)


def _sqlalchemy(
    pool: FilePool, wait_timeout: int, recycle: str = "pool_recycle", pre_ping: str = "pool_pre_ping"
) -> Iterator[findings.Worded]:
    size, overflow = pool.library.sizes
    if pool.number(size) == 0:  # which is no limit, as an overflow of -1
        yield findings.Unlimited(size, is_default=False, value=0.0)
    elif (value := pool.number(overflow)) < 0:
        yield findings.Unlimited(overflow, is_default=False, value=value)
    yield from _outlives_server(pool, recycle, 1, wait_timeout, is_checked=pool.value(pre_ping) is True)


def _django(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    age = pool.number("CONN_MAX_AGE")
    for_ever = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text == "None"  # which is a value
    if asgi := pool.settings.get("ASGI_APPLICATION"):
        if for_ever or age > 0:
            yield findings.DjangoPersists(pool.settings["CONN_MAX_AGE"].text, asgi.line)
        return
    if age == 0:
        yield findings.DjangoConnects("CONN_MAX_AGE", not pool.has("CONN_MAX_AGE"), LIFETIME_SECONDS)
    if pool.value("CONN_HEALTH_CHECKS") is not True and (for_ever or age >= wait_timeout):
        yield findings.OutlivesServer("CONN_MAX_AGE", False, _known(age), wait_timeout)


def _connector_python(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    if (size := pool.number("pool_size")) > (largest := pool.library.largest["pool_size"]):
        yield findings.TooLarge(int(size), largest)


def _go(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "SetMaxOpenConns", findings.Unlimited)
    yield from _closes_idle(pool, "SetMaxIdleConns", "SetMaxOpenConns")
    lifetime, most = pool.number("SetConnMaxLifetime"), pool.library.largest["SetConnMaxLifetime"]
    if lifetime <= 0 or lifetime > most:
        yield findings.GoLifetime(lifetime or None, most)


def _mysql2(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    yield from _no_limit(pool, "connectionLimit", findings.Unlimited)
    if pool.value("waitForConnections") is not False:
        yield from _no_limit(pool, "queueLimit", findings.QueueUnlimited)


def _server(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    cached, most, wait_timeout = map(pool.number, ("thread_cache_size", "max_connections", "wait_timeout"))
    if cached > most:
        yield findings.ThreadCache(int(cached), int(most))
    if wait_timeout < LIFETIME_SECONDS:
        yield findings.ShortWaitTimeout(int(wait_timeout))


def _no_limit(pool: FilePool, setting: str, record: type[findings.NoLimit]) -> Iterator[findings.Worded]:
    if (value := pool.number(setting)) <= 0:
        yield record(setting, not pool.has(setting), value)


def _below_least(pool: FilePool, setting: str, record: type[findings.BelowLeast]) -> Iterator[findings.Worded]:
    value, least = pool.number(setting), pool.library.least[setting]
    if value and value < least:
        yield record(setting, value, least)


def _tested_on_borrow(pool: FilePool, setting: str) -> Iterator[findings.Worded]:
    if pool.value(setting) is True:
        yield findings.BorrowTested(setting, not pool.has(setting))


def _closes_idle(pool: FilePool, idle: str, most: str) -> Iterator[findings.Worded]:
    kept, opened = pool.number(idle), pool.number(most)
    if kept < opened > 0 or (opened <= 0 and not pool.has(idle)):
        yield findings.ClosesIdle(idle, not pool.has(idle), max(0, int(kept)))


def _outlives_server(
    pool: FilePool, lifetime: str, per_second: int, wait_timeout: int, *, is_checked: bool
) -> Iterator[findings.Worded]:
    """Find a connection that neither ends nor is checked before the server ends it.

    lifetime: setting after which a connection ends. per_second: its units in a second.
    """
    limit = pool.number(lifetime)
    if not is_checked and (limit <= 0 or limit >= wait_timeout * per_second):
        seconds = limit / per_second if limit > 0 else None
        yield findings.OutlivesServer(lifetime, not pool.has(lifetime), seconds, wait_timeout)


def _in_time(pool: FilePool, setting: str, per_second: int, wait_timeout: int) -> bool:
    """Return whether an interval is shorter than the server's wait_timeout."""
    return 0 < pool.number(setting) < wait_timeout * per_second


def _is_tested(pool: FilePool, wait_timeout: int, *, ends_idle: bool) -> bool:
    """Return whether Druid, DBCP 2 or Tomcat test or end a connection that was idle, or test each that is borrowed.

    ends_idle: whether the pool may end every connection that was idle.
    """
    runs = _in_time(pool, "timeBetweenEvictionRunsMillis", 1000, wait_timeout)
    ends = ends_idle and _in_time(pool, "minEvictableIdleTimeMillis", 1000, wait_timeout)
    return pool.value("testOnBorrow") is True or (runs and (ends or pool.value("testWhileIdle") is True))


def _known(number: float) -> float | None:
    return None if isnan(number) else number


HIKARICP = Library(
    "HikariCP",
    "hikaricp",
    _hikaricp,
    {
        "maximumPoolSize": 10, "minimumIdle": None, "connectionTimeout": 30_000, "idleTimeout": 600_000,
        "maxLifetime": 1_800_000, "keepaliveTime": 120_000, "validationTimeout": 5_000, "connectionTestQuery": None,
        "leakDetectionThreshold": 0,
    },
    same_as={"minimumIdle": "maximumPoolSize"},
    sizes=("maximumPoolSize",),
    least={"keepaliveTime": 30_000, "maxLifetime": 30_000, "connectionTimeout": 250, "validationTimeout": 250},
)  # fmt: skip
DRUID = Library(
    "Druid",
    "druid",
    _druid,
    {
        "maxActive": 8, "initialSize": 0, "minIdle": 0, "maxWait": -1, "testOnBorrow": False, "testOnReturn": False,
        "testWhileIdle": True, "timeBetweenEvictionRunsMillis": 60_000, "minEvictableIdleTimeMillis": 1_800_000,
        "maxEvictableIdleTimeMillis": 25_200_000, "removeAbandoned": False,
        "removeAbandonedTimeout": 300, "validationQuery": None,
    },
    sizes=("maxActive",),
    ignored=frozenset({"keepAlive", "keepAliveBetweenTimeMillis", "maxWaitThreadCount"}),
)  # fmt: skip
DBCP2 = Library(
    "DBCP 2",
    "dbcp2",
    _dbcp2,
    {
        "maxTotal": 8, "maxIdle": 8, "minIdle": 0, "initialSize": 0, "maxWaitMillis": -1, "testOnBorrow": True,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": -1,
        "numTestsPerEvictionRun": 3, "minEvictableIdleTimeMillis": 1_800_000, "maxConnLifetimeMillis": -1,
    },
    in_spring={
        "maxWait": "maxWaitMillis", "durationBetweenEvictionRuns": "timeBetweenEvictionRunsMillis",
        "minEvictableIdle": "minEvictableIdleTimeMillis", "maxConn": "maxConnLifetimeMillis",
    },
    sizes=("maxTotal",),
    ignored=frozenset({"maxActive", "maxWait"}),
)  # fmt: skip
C3P0 = Library(
    "c3p0",
    "c3p0",
    _c3p0,
    {
        "maxPoolSize": 15, "minPoolSize": 3, "initialPoolSize": 3, "acquireIncrement": 3, "checkoutTimeout": 0,
        "idleConnectionTestPeriod": 0, "maxIdleTime": 0, "maxConnectionAge": 0, "testConnectionOnCheckout": False,
        "testConnectionOnCheckin": False, "numHelperThreads": 3,
    },
    sizes=("maxPoolSize",),
)  # fmt: skip
TOMCAT_JDBC = Library(
    "Tomcat JDBC Pool",
    "tomcat-jdbc",
    _tomcat_jdbc,
    {
        "maxActive": 100, "maxIdle": 100, "minIdle": 10, "initialSize": 10, "maxWait": 30_000, "testOnBorrow": False,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": 5_000,
        "minEvictableIdleTimeMillis": 60_000, "maxAge": 0, "validationInterval": 3_000,
    },
    sizes=("maxActive",),
)  # fmt: skip
SQLALCHEMY = Library(
    "SQLAlchemy",
    "sqlalchemy",
    _sqlalchemy,
    {
        "pool_size": 5, "max_overflow": 10, "pool_timeout": 30, "pool_recycle": -1, "pool_pre_ping": False,
        "pool_use_lifo": False,
    },
    sizes=("pool_size", "max_overflow"),
)  # fmt: skip
FLASK_SQLALCHEMY = replace(
    SQLALCHEMY,
    title="Flask-SQLAlchemy",
    stack="flask-sqlalchemy",
    defaults={**SQLALCHEMY.defaults, "pool_recycle": 7_200},
)
DJANGO = Library(
    "Django",
    "django",
    _django,
    {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "ASGI_APPLICATION": None},
)
DJANGO_POOL = Library(
    "django-db-connection-pool",
    "",
    partial(_sqlalchemy, recycle="RECYCLE", pre_ping="PRE_PING"),
    {"POOL_SIZE": 10, "MAX_OVERFLOW": 10, "RECYCLE": 900, "TIMEOUT": 30, "PRE_PING": True},
    sizes=("POOL_SIZE", "MAX_OVERFLOW"),
)
CONNECTOR_PYTHON = Library(
    "MySQL Connector/Python",
    "mysql-connector-python",
    _connector_python,
    {"pool_size": 5, "pool_reset_session": True},
    sizes=("pool_size",),
    largest={"pool_size": 32},
)
GO = Library(
    "Go's database/sql",
    "go",
    _go,
    {"SetMaxOpenConns": 0, "SetMaxIdleConns": 2, "SetConnMaxLifetime": 0, "SetConnMaxIdleTime": 0},
    sizes=("SetMaxOpenConns",),
    largest={"SetConnMaxLifetime": 300},
)
NODE_MYSQL2 = Library(
    "mysql2",
    "node-mysql2",
    _mysql2,
    {
        "connectionLimit": 10, "maxIdle": None, "idleTimeout": 60_000, "queueLimit": 0, "waitForConnections": True,
        "enableKeepAlive": True, "keepAliveInitialDelay": None,
    },
    same_as={"maxIdle": "connectionLimit"},
    sizes=("connectionLimit",),
    ignored=frozenset({"acquireTimeout"}),
)  # fmt: skip
SERVER = Library(
    "the server",
    "my.cnf",
    _server,
    {
        "max_connections": DEFAULT_MAX_CONNECTIONS, "max_user_connections": 0, "thread_cache_size": None,
        "back_log": None, "wait_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS,
        "interactive_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS, "thread_handling": "one-thread-per-connection",
        "thread_pool_size": None,
    },
)  # fmt: skip
LIBRARIES = {
    library.title: library
    for library in (
        HIKARICP, DRUID, DBCP2, C3P0, TOMCAT_JDBC, SQLALCHEMY, FLASK_SQLALCHEMY, DJANGO, DJANGO_POOL, CONNECTOR_PYTHON,
        GO, NODE_MYSQL2, SERVER,
    )
}  # fmt: skip
