"""The pools of Java: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator

from poolsize.answer.finding import Caution
from poolsize.pool_config.libraries.hikaricp import find_hikaricp
from poolsize.pool_config.libraries.rules import (
    DOCUMENTED,
    FailsAtOnce,
    NoPoolSize,
    Unlimited,
    WaitsForEver,
    closes_idle,
    in_time,
    is_on,
    is_tested,
    known,
    least_above_most,
    no_limit,
    outlives_server,
    refused_size,
    tested_on_borrow,
)
from poolsize.pool_config.pool import FilePool, Library, OfSetting, Worded


class RemovesAbandoned(OfSetting, Caution, code="pool_removes_abandoned"):
    """A pool ends connections that are borrowed for longer; None for an unknown time. state: of the connections."""

    seconds: float | None
    state: str
    words = (
        "{0.setting} ends connections that are {0.state} for {0.after}, in the middle of their work. Set it only to "
        f"look for leaks. {DOCUMENTED}"
    )
    after = property(lambda self: "too long" if self.seconds is None else f"longer than {self.seconds:,.0f} s")


def _druid(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from refused_size(pool, "maxActive")
    yield from no_limit(pool, "maxWait", WaitsForEver)
    yield from tested_on_borrow(pool, "testOnBorrow")
    yield from removes_abandoned(pool, "removeAbandoned")
    yield from least_above_most(pool, "maxActive", "minIdle", "initialSize")
    yield from least_above_most(pool, "maxEvictableIdleTimeMillis", "minEvictableIdleTimeMillis")
    if pool.value("keepAlive") is True and not pool.settings["keepAlive"].variables:
        of_keep_alive = "keepAliveBetweenTimeMillis", "timeBetweenEvictionRunsMillis"
        yield from least_above_most(pool, *of_keep_alive, may_be_equal=False)
    is_checked = is_tested(pool, wait_timeout, ends_idle=False)
    yield from outlives_server(pool, wait_timeout, "maxEvictableIdleTimeMillis", 1000, is_checked=is_checked)


def removes_abandoned(pool: FilePool, *settings: str, state: str = "borrowed") -> Iterator[Worded]:
    """Find settings by which a pool ends borrowed connections. state: of these connections."""
    is_duration = isinstance(pool.value("removeAbandonedTimeout"), float)
    seconds = known(pool.number("removeAbandonedTimeout") / (1000 if is_duration else 1))
    for setting in settings:
        if pool.value(setting) is True:
            yield RemovesAbandoned(setting, seconds, state)


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
    is_maintained = not pool.number("timeBetweenEvictionRunsMillis") <= 0
    of_abandoned = "removeAbandonedOnBorrow", *(["removeAbandonedOnMaintenance"] if is_maintained else [])
    yield from removes_abandoned(pool, *of_abandoned, state="borrowed and not used")
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
    yield from removes_abandoned(pool, "removeAbandoned")
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
        "maxEvictableIdleTimeMillis": 25_200_000, "keepAlive": False, "keepAliveBetweenTimeMillis": 120_000,
        "removeAbandoned": False, "removeAbandonedTimeout": 300, "validationQuery": None,
    },
    stack="druid",
    find=_druid,
    sizes=("maxActive",),
    ignored=frozenset({"keepAlive", "keepAliveBetweenTimeMillis", "maxWaitThreadCount"}),
    waits={"maxWait": 1000},
    ages={
        "timeBetweenEvictionRunsMillis": 1000, "minEvictableIdleTimeMillis": 1000, "maxEvictableIdleTimeMillis": 1000,
        "keepAliveBetweenTimeMillis": 1000,
    },
)  # fmt: skip
"""ignored: in its own properties files, which must write druid.keepAlive; it has setters for them (DruidDataSource)."""
DBCP2 = Library(
    "DBCP 2",
    {
        "maxTotal": 8, "maxIdle": 8, "minIdle": 0, "initialSize": 0, "maxWaitMillis": -1, "testOnBorrow": True,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": -1,
        "numTestsPerEvictionRun": 3, "minEvictableIdleTimeMillis": 1_800_000, "maxConnLifetimeMillis": -1,
        "validationQueryTimeout": -1, "removeAbandonedOnBorrow": False, "removeAbandonedOnMaintenance": False,
        "removeAbandonedTimeout": 300,
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
    waits={"maxWaitMillis": 1000},
    ages={
        "timeBetweenEvictionRunsMillis": 1000, "minEvictableIdleTimeMillis": 1000, "maxConnLifetimeMillis": 1000,
    },
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
    waits={"checkoutTimeout": 1000},
    ages={"idleConnectionTestPeriod": 1, "maxIdleTime": 1, "maxConnectionAge": 1},
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
    waits={"maxWait": 1000},
    ages={"timeBetweenEvictionRunsMillis": 1000, "minEvictableIdleTimeMillis": 1000, "maxAge": 1000},
)  # fmt: skip
