"""What can be wrong with a setting of any pool: the rules that libraries share."""

from collections.abc import Iterator
from math import isnan

from poolsize.pool_config.findings import of_java, of_pools
from poolsize.pool_config.pool import FilePool, Worded


def no_limit(pool: FilePool, setting: str, record: type[of_pools.NoLimit]) -> Iterator[Worded]:
    """Find a setting without a positive value, which sets no limit."""
    if (value := pool.number(setting)) <= 0:
        yield record(setting, not pool.has(setting), value)


def below_least(pool: FilePool, setting: str, record: type[of_java.BelowLeast]) -> Iterator[Worded]:
    """Find a value below the least that the library uses."""
    value, least = pool.number(setting), pool.library.least[setting]
    if value and value < least:
        yield record(setting, value, least)


def tested_on_borrow(pool: FilePool, setting: str) -> Iterator[Worded]:
    """Find that each borrowed connection is tested."""
    if pool.value(setting) is True:
        yield of_pools.BorrowTested(setting, not pool.has(setting))


def closes_idle(pool: FilePool, idle: str, most: str) -> Iterator[Worded]:
    """Find a pool that keeps fewer idle connections than it opens. idle, most: the settings of these numbers."""
    kept, opened = pool.number(idle), pool.number(most)
    if kept < opened > 0 or (opened <= 0 and not pool.has(idle)):
        yield of_pools.ClosesIdle(idle, not pool.has(idle), max(0, int(kept)))


def outlives_server(
    pool: FilePool, lifetime: str, per_second: int, wait_timeout: int, *, is_checked: bool
) -> Iterator[Worded]:
    """Find a connection that neither ends nor is checked before the server ends it.

    lifetime: setting after which a connection ends. per_second: its units in a second.
    """
    limit = pool.number(lifetime)
    if not is_checked and (limit <= 0 or limit >= wait_timeout * per_second):
        seconds = limit / per_second if limit > 0 else None
        yield of_pools.OutlivesServer(lifetime, not pool.has(lifetime), seconds, wait_timeout)


def in_time(pool: FilePool, setting: str, per_second: int, wait_timeout: int) -> bool:
    """Return whether an interval is shorter than the server's wait_timeout, or may be: the file does not show it."""
    return 0 < pool.number(setting) < wait_timeout * per_second or pool.is_unknown(setting)


def is_on(pool: FilePool, setting: str) -> bool:
    """Return whether a setting is true, or may be because the file does not contain its value."""
    return pool.value(setting) is True or pool.is_unknown(setting)


def is_tested(pool: FilePool, wait_timeout: int, *, ends_idle: bool) -> bool:
    """Return whether Druid, DBCP 2 or Tomcat test or end a connection that was idle, or test each that is borrowed.

    ends_idle: whether the pool may end every connection that was idle.
    """
    runs = in_time(pool, "timeBetweenEvictionRunsMillis", 1000, wait_timeout)
    ends = ends_idle and in_time(pool, "minEvictableIdleTimeMillis", 1000, wait_timeout)
    return is_on(pool, "testOnBorrow") or (runs and (ends or is_on(pool, "testWhileIdle")))


def known(number: float) -> float | None:
    """Return a number; None for NaN."""
    return None if isnan(number) else number
