"""What is wrong with the settings of a pool: a function for each library."""

from collections.abc import Iterator
from math import isnan

from poolsize.answer.finding import Finding
from poolsize.pool_config import findings
from poolsize.pool_config.pool import FilePool
from poolsize.pool_config.settings import LIFETIME_SECONDS

GO_LONGEST_LIFETIME_SECONDS = 300


def hikaricp(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of HikariCP, which uses its default in place of a lifetime below the least."""
    least_idle, most = pool.number("minimumIdle"), pool.number("maximumPoolSize")
    keepalive, lifetime = pool.number("keepaliveTime"), pool.number("maxLifetime")
    if 0 < lifetime < pool.library.least["maxLifetime"]:
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


def druid(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of Druid."""
    yield from _no_limit(pool, "maxWait", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testOnBorrow")
    if pool.value("removeAbandoned") is True:
        yield findings.RemovesAbandoned(_known(pool.number("removeAbandonedTimeout")))
    is_checked = _is_tested(pool, wait_timeout, ends_idle=False)
    yield from _outlives_server(pool, "maxEvictableIdleTimeMillis", 1000, wait_timeout, is_checked=is_checked)


def dbcp2(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of DBCP 2."""
    yield from _no_limit(pool, "maxTotal", findings.Unlimited)
    yield from _no_limit(pool, "maxWaitMillis", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testOnBorrow")
    if not pool.number("maxIdle") < 0:
        yield from _closes_idle(pool, "maxIdle", "maxTotal")
    is_checked = _is_tested(pool, wait_timeout, ends_idle=True)
    yield from _outlives_server(pool, "maxConnLifetimeMillis", 1000, wait_timeout, is_checked=is_checked)


def c3p0(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of c3p0."""
    yield from _no_limit(pool, "checkoutTimeout", findings.WaitsForEver)
    yield from _tested_on_borrow(pool, "testConnectionOnCheckout")
    is_checked = (
        pool.value("testConnectionOnCheckout") is True
        or _in_time(pool, "idleConnectionTestPeriod", 1, wait_timeout)
        or _in_time(pool, "maxConnectionAge", 1, wait_timeout)
    )
    yield from _outlives_server(pool, "maxIdleTime", 1, wait_timeout, is_checked=is_checked)


def tomcat_jdbc(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of Tomcat JDBC, whose validationInterval makes tests of borrowed ones rare."""
    yield from _no_limit(pool, "maxWait", findings.WaitsForEver)
    if not pool.number("validationInterval") > 0:
        yield from _tested_on_borrow(pool, "testOnBorrow")
    is_checked = _is_tested(pool, wait_timeout, ends_idle=pool.number("minIdle") == 0)
    yield from _outlives_server(pool, "maxAge", 1000, wait_timeout, is_checked=is_checked)


def sqlalchemy(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of SQLAlchemy."""
    yield from _unlimited_overflow(pool)
    is_checked = pool.value("pool_pre_ping") is True
    yield from _outlives_server(pool, "pool_recycle", 1, wait_timeout, is_checked=is_checked)


def django_pool(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of django-db-connection-pool, which is one of SQLAlchemy."""
    yield from _unlimited_overflow(pool)
    yield from _outlives_server(pool, "RECYCLE", 1, wait_timeout, is_checked=pool.value("PRE_PING") is True)


def django(pool: FilePool, wait_timeout: int) -> Iterator[Finding]:
    """Find what is wrong with the connections of Django. A CONN_MAX_AGE of None is a value: kept for ever."""
    age = pool.number("CONN_MAX_AGE")
    for_ever = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text == "None"
    if age == 0:
        yield findings.DjangoConnects()
    if pool.value("CONN_HEALTH_CHECKS") is not True and (for_ever or age >= wait_timeout):
        yield findings.OutlivesServer("CONN_MAX_AGE", False, _known(age), wait_timeout)


def connector_python(pool: FilePool, _: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of MySQL Connector/Python."""
    size, largest = pool.number("pool_size"), pool.library.largest["pool_size"]
    if size > largest:
        yield findings.TooLarge(int(size), largest)


def go(pool: FilePool, _: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of Go's database/sql."""
    yield from _no_limit(pool, "SetMaxOpenConns", findings.Unlimited)
    yield from _closes_idle(pool, "SetMaxIdleConns", "SetMaxOpenConns")
    lifetime = pool.number("SetConnMaxLifetime")
    if lifetime <= 0 or lifetime > GO_LONGEST_LIFETIME_SECONDS:
        yield findings.GoLifetime(lifetime or None, GO_LONGEST_LIFETIME_SECONDS)


def mysql2(pool: FilePool, _: int) -> Iterator[Finding]:
    """Find what is wrong with a pool of mysql2."""
    yield from _no_limit(pool, "connectionLimit", findings.Unlimited)
    if pool.value("waitForConnections") is not False:
        yield from _no_limit(pool, "queueLimit", findings.QueueUnlimited)


def server(pool: FilePool, _: int) -> Iterator[Finding]:
    """Find what is wrong with the server's own settings."""
    cached, most, wait_timeout = map(pool.number, ("thread_cache_size", "max_connections", "wait_timeout"))
    if cached > most:
        yield findings.ThreadCache(int(cached), int(most))
    if wait_timeout < LIFETIME_SECONDS:
        yield findings.ShortWaitTimeout(int(wait_timeout))


def _no_limit(pool: FilePool, setting: str, record: type[findings.NoLimit]) -> Iterator[Finding]:
    if (value := pool.number(setting)) <= 0:
        yield record(setting, not pool.has(setting), value)


def _unlimited_overflow(pool: FilePool) -> Iterator[Finding]:
    """Find a pool of SQLAlchemy that opens any number: with a size of 0, and with an overflow of -1."""
    size, overflow = pool.library.sizes
    setting = size if pool.number(size) == 0 else overflow
    value = pool.number(setting)
    if setting == size or value < 0:
        yield findings.Unlimited(setting, is_default=False, value=value)


def _below_least(pool: FilePool, setting: str, record: type[findings.BelowLeast]) -> Iterator[Finding]:
    value, least = pool.number(setting), pool.library.least[setting]
    if value and value < least:
        yield record(setting, value, least)


def _tested_on_borrow(pool: FilePool, setting: str) -> Iterator[Finding]:
    if pool.value(setting) is True:
        yield findings.BorrowTested(setting, not pool.has(setting))


def _closes_idle(pool: FilePool, idle: str, most: str) -> Iterator[Finding]:
    """Find a pool that keeps fewer idle connections than it opens."""
    kept, opened = pool.number(idle), pool.number(most)
    if kept < opened > 0 or (opened <= 0 and not pool.has(idle)):
        yield findings.ClosesIdle(idle, not pool.has(idle), max(0, int(kept)))


def _outlives_server(
    pool: FilePool, lifetime: str, per_second: int, wait_timeout: int, *, is_checked: bool
) -> Iterator[Finding]:
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
