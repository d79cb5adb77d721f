"""The pools of Java: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator

from poolsize.answer.finding import Caution
from poolsize.pool_config.libraries.hikaricp import find_hikaricp
from poolsize.pool_config.libraries.rules import (
    FailsAtOnce,
    NoPoolSize,
    Unlimited,
    WaitsForEver,
    closes_idle,
    in_time,
    is_on,
    is_tested,
    known,
    no_limit,
    outlives_server,
    refused_size,
    tested_on_borrow,
)
from poolsize.pool_config.pool import FilePool, Library, Worded


class RemovesAbandoned(Worded, Caution, code="pool_removes_abandoned"):
    """Druid or Tomcat JDBC ends connections that are borrowed for longer; None for an unknown time."""

    seconds: float | None
    about = "removeAbandoned"
    words = (
        "removeAbandoned ends connections that are borrowed for {0.after}, in the middle of their work. Set it only to "
        "look for leaks. Source: the library's documentation, removeAbandoned."
    )
    after = property(lambda self: "too long" if self.seconds is None else f"longer than {self.seconds:,.0f} s")


def _druid(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from refused_size(pool, "maxActive")
    yield from no_limit(pool, "maxWait", WaitsForEver)
    yield from tested_on_borrow(pool, "testOnBorrow")
    yield from _removes_abandoned(pool)
    is_checked = is_tested(pool, wait_timeout, ends_idle=False)
    yield from outlives_server(pool, wait_timeout, "maxEvictableIdleTimeMillis", 1000, is_checked=is_checked)


def _removes_abandoned(pool: FilePool) -> Iterator[Worded]:
    if pool.value("removeAbandoned") is True:
        yield RemovesAbandoned(known(pool.number("removeAbandonedTimeout")))


def _dbcp2(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    if (most := pool.number("maxTotal")) == 0:
        yield NoPoolSize("maxTotal", most, "no request gets a connection")
    elif most < 0:
        yield from no_limit(pool, "maxTotal", Unlimited)
    if (wait := pool.number("maxWaitMillis")) == 0:
        yield FailsAtOnce("maxWaitMillis", is_default=False, value="0")
    elif wait < 0:
        yield from no_limit(pool, "maxWaitMillis", WaitsForEver)
    yield from tested_on_borrow(pool, "testOnBorrow")
    if not pool.number("maxIdle") < 0:
        yield from closes_idle(pool, "maxIdle", "maxTotal")
    is_checked = is_tested(pool, wait_timeout, ends_idle=True)
    yield from outlives_server(pool, wait_timeout, "maxConnLifetimeMillis", 1000, is_checked=is_checked)


def _c3p0(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from no_limit(pool, "checkoutTimeout", WaitsForEver)
    yield from tested_on_borrow(pool, "testConnectionOnCheckout")
    is_checked = (
        is_on(pool, "testConnectionOnCheckout")
        or in_time(pool, wait_timeout, "idleConnectionTestPeriod", 1)
        or in_time(pool, wait_timeout, "maxConnectionAge", 1)
    )
    yield from outlives_server(pool, wait_timeout, "maxIdleTime", is_checked=is_checked)


def _tomcat_jdbc(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from no_limit(pool, "maxWait", WaitsForEver)
    if not pool.number("validationInterval") > 0:  # an interval makes tests of borrowed connections rare
        yield from tested_on_borrow(pool, "testOnBorrow")
    yield from _removes_abandoned(pool)
    is_checked = is_tested(pool, wait_timeout, ends_idle=pool.number("minIdle") == 0)
    yield from outlives_server(pool, wait_timeout, "maxAge", 1000, is_checked=is_checked)


HIKARICP = Library(
    "HikariCP",
    {
        "maximumPoolSize": 10, "minimumIdle": None, "connectionTimeout": 30_000, "idleTimeout": 600_000,
        "maxLifetime": 1_800_000, "keepaliveTime": 120_000, "validationTimeout": 5_000, "connectionTestQuery": None,
        "leakDetectionThreshold": 0, "openInView": None,
    },
    stack="hikaricp",
    find=find_hikaricp,
    same_as={"minimumIdle": "maximumPoolSize"},
    sizes=("maximumPoolSize",),
    least={
        "keepaliveTime": 30_000, "maxLifetime": 30_000, "connectionTimeout": 250, "validationTimeout": 250,
        "idleTimeout": 10_000, "leakDetectionThreshold": 2_000,
    },
    ignored=frozenset({
        "maxPoolSize", "minPoolSize", "minimumPoolSize", "poolSize", "maxSize", "minSize", "minIdle", "maxIdle",
        "maximumIdle", "maxActive", "maxTotal", "maxWait", "initialSize", "testOnBorrow", "testWhileIdle",
    }),
    durations=frozenset({False}),
)  # fmt: skip
DRUID = Library(
    "Druid",
    {
        "maxActive": 8, "initialSize": 0, "minIdle": 0, "maxWait": -1, "testOnBorrow": False, "testOnReturn": False,
        "testWhileIdle": True, "timeBetweenEvictionRunsMillis": 60_000, "minEvictableIdleTimeMillis": 1_800_000,
        "maxEvictableIdleTimeMillis": 25_200_000, "removeAbandoned": False,
        "removeAbandonedTimeout": 300, "validationQuery": None,
    },
    stack="druid",
    find=_druid,
    sizes=("maxActive",),
    ignored=frozenset({"keepAlive", "keepAliveBetweenTimeMillis", "maxWaitThreadCount"}),
)  # fmt: skip
"""ignored: in its own properties files, which must write druid.keepAlive; it has setters for them (DruidDataSource)."""
DBCP2 = Library(
    "DBCP 2",
    {
        "maxTotal": 8, "maxIdle": 8, "minIdle": 0, "initialSize": 0, "maxWaitMillis": -1, "testOnBorrow": True,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": -1,
        "numTestsPerEvictionRun": 3, "minEvictableIdleTimeMillis": 1_800_000, "maxConnLifetimeMillis": -1,
        "validationQueryTimeout": -1,
    },
    stack="dbcp2",
    find=_dbcp2,
    aliases={
        "maxWait": "maxWaitMillis", "durationBetweenEvictionRuns": "timeBetweenEvictionRunsMillis",
        "minEvictableIdle": "minEvictableIdleTimeMillis", "maxConn": "maxConnLifetimeMillis",
    },
    sizes=("maxTotal",),
    ignored=frozenset({"maxActive", "maxWait"}),
    durations=frozenset({True}),
)  # fmt: skip
C3P0 = Library(
    "c3p0",
    {
        "maxPoolSize": 15, "minPoolSize": 3, "initialPoolSize": 3, "acquireIncrement": 3, "checkoutTimeout": 0,
        "idleConnectionTestPeriod": 0, "maxIdleTime": 0, "maxConnectionAge": 0, "testConnectionOnCheckout": False,
        "testConnectionOnCheckin": False, "numHelperThreads": 3, "connectionIsValidTimeout": 0,
    },
    stack="c3p0",
    find=_c3p0,
    sizes=("maxPoolSize",),
)  # fmt: skip
TOMCAT_JDBC = Library(
    "Tomcat JDBC Pool",
    {
        "maxActive": 100, "maxIdle": 100, "minIdle": 10, "initialSize": 10, "maxWait": 30_000, "testOnBorrow": False,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": 5_000,
        "minEvictableIdleTimeMillis": 60_000, "maxAge": 0, "validationInterval": 3_000,
        "removeAbandoned": False, "removeAbandonedTimeout": 60,
    },
    stack="tomcat-jdbc",
    find=_tomcat_jdbc,
    sizes=("maxActive",),
)  # fmt: skip
