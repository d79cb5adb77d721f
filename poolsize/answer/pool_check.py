"""The settings of pools in a file -> which of them bite, and which differ from a recommendation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from poolsize.answer.finding import Code, Finding, reason, warning
from poolsize.answer.pool_settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_WAIT_TIMEOUT_SECONDS,
    LIFETIME_SECONDS,
    PoolSettings,
)
from poolsize.pool_files.found import FoundPool
from poolsize.pool_files.library import (
    C3P0,
    CONNECTOR_PYTHON,
    DBCP2,
    DJANGO,
    DJANGO_POOL,
    DRUID,
    FLASK_SQLALCHEMY,
    GO,
    HIKARICP,
    NODE_MYSQL2,
    SERVER,
    SQLALCHEMY,
    TOMCAT_JDBC,
    Value,
)

SIZES = {
    HIKARICP.title: ("maximumPoolSize",), DRUID.title: ("maxActive",), DBCP2.title: ("maxTotal",),
    C3P0.title: ("maxPoolSize",), TOMCAT_JDBC.title: ("maxActive",), SQLALCHEMY.title: ("pool_size", "max_overflow"),
    FLASK_SQLALCHEMY.title: ("pool_size", "max_overflow"), DJANGO_POOL.title: ("POOL_SIZE", "MAX_OVERFLOW"),
    CONNECTOR_PYTHON.title: ("pool_size",), GO.title: ("SetMaxOpenConns",), NODE_MYSQL2.title: ("connectionLimit",),
}  # fmt: skip
"""Library -> the settings whose sum is the most connections that a pool opens."""
CONNECTOR_PYTHON_LARGEST = 32
HIKARICP_SHORTEST_MS = {"keepaliveTime": 30_000, "maxLifetime": 30_000, "connectionTimeout": 250}
GO_LONGEST_LIFETIME_SECONDS = 300


@dataclass(frozen=True)
class Difference:
    """A setting whose value is not the recommended one.

    name: the library's. found: the file's value; where the file has none (is_default), the library's default.
    """

    name: str
    found: Value
    is_default: bool
    recommended: Value
    unit: str | None


@dataclass(frozen=True)
class CheckedPool:
    """A pool of a file, judged.

    most_connections: that it may open; None for no limit, for an unknown one, and for the server.
    findings: warnings for what bites, reasons for departures from the library's own advice.
    differences: from the recommended configuration; None without a recommendation for this library.
    """

    pool: FoundPool
    most_connections: int | None
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...] | None


def check_pools(
    pools: Sequence[FoundPool],
    wait_timeout_seconds: int | None = None,
    settings: PoolSettings | None = None,
    recommended: Mapping[str, Sequence[tuple[str, Value, str | None]]] | None = None,
) -> tuple[CheckedPool, ...]:
    """Return the judgement on each pool.

    wait_timeout_seconds: of the server; None for the default. settings: the recommended ones, or None.
    recommended: stack -> name, value and unit of each setting of its configuration; None without a recommendation.
    """
    wait_timeout = wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS
    checked = []
    for pool in pools:
        own = [rule(pool, wait_timeout) for rule in RULES[pool.library.title]]
        most = most_connections(pool)
        findings = [*own, _above_server(most), *_below_need(pool, settings)]
        intended = recommended.get(pool.library.stack) if recommended else None
        differences = None if intended is None else _differences(pool, intended)
        checked.append(CheckedPool(pool, most, tuple(each for each in findings if each), differences))
    return tuple(checked)


def most_connections(pool: FoundPool) -> int | None:
    """Return the most connections that a pool opens; None for no limit, an unknown one, and the server."""
    numbers = [pool.number(name) for name in SIZES.get(pool.library.title, ())]
    if not numbers or numbers[0] is None or not numbers[0] > 0:
        return None
    return int(sum(number for number in numbers if number))


def _differences(pool: FoundPool, intended: Sequence[tuple[str, Value, str | None]]) -> tuple[Difference, ...]:
    """Return the settings that the recommendation has and the file has otherwise or not at all."""
    differences = []
    for name, value, unit in intended:
        setting = pool.library.setting(name.rsplit(".", 1)[-1])
        if setting is None:
            continue
        found = pool.value(setting)
        if setting == "minimumIdle" and found is None:
            found = pool.value("maximumPoolSize")
        if found != value:
            differences.append(Difference(setting, found, not pool.has(setting), value, unit))
    return tuple(differences)


def _above_server(most: int | None) -> Finding | None:
    if most is None or most < DEFAULT_MAX_CONNECTIONS:
        return None
    return warning(Code.POOL_ABOVE_SERVER, connections=most, max_connections=DEFAULT_MAX_CONNECTIONS)


def _below_need(pool: FoundPool, settings: PoolSettings | None) -> list[Finding]:
    """Return the finding that the server's limit is too small for the recommended pools."""
    limit = pool.number("max_connections") if pool.library is SERVER else None
    needed = None if settings is None else settings.plan.connections_in_deploy + settings.plan.limit.reserve
    if limit is None or needed is None or limit >= needed:
        return []
    return [warning(Code.SERVER_TOO_SMALL, max_connections=int(limit), needed=needed)]


Rule = Callable[[FoundPool, int], Finding | None]


def _waits_for_ever(setting: str) -> Rule:
    def rule(pool: FoundPool, _: int) -> Finding | None:
        limit = pool.number(setting)
        if limit is None or limit > 0:
            return None
        return warning(Code.POOL_WAITS_FOR_EVER, setting=setting, value=limit, is_default=not pool.has(setting))

    return rule


def _unlimited(setting: str, code: Code = Code.POOL_UNLIMITED) -> Rule:
    def rule(pool: FoundPool, _: int) -> Finding | None:
        number = pool.number(setting)
        if number is None or number > 0:
            return None
        return warning(code, setting=setting, value=number, is_default=not pool.has(setting))

    return rule


def _tests_on_borrow(setting: str) -> Rule:
    def rule(pool: FoundPool, _: int) -> Finding | None:
        if pool.value(setting) is not True:
            return None
        return reason(Code.POOL_TESTS_ON_BORROW, setting=setting, is_default=not pool.has(setting))

    return rule


def _closes_idle(idle: str, most: str) -> Rule:
    def rule(pool: FoundPool, _: int) -> Finding | None:
        kept, opened = pool.number(idle), pool.number(most)
        if kept is None or opened is None or kept >= opened > 0 or (opened <= 0 and pool.has(idle)):
            return None
        return warning(Code.POOL_CLOSES_IDLE, setting=idle, kept=int(kept), is_default=not pool.has(idle))

    return rule


def _outlives_server(lifetime: str, per_second: int, checks: Callable[[FoundPool], bool]) -> Rule:
    """Return the rule that connections end, or are checked, before the server ends them. checks: whether they are."""

    def rule(pool: FoundPool, wait_timeout: int) -> Finding | None:
        limit = pool.number(lifetime)
        if limit is None or 0 < limit < wait_timeout * per_second or checks(pool):
            return None
        return warning(
            Code.POOL_OUTLIVES_SERVER, setting=lifetime, is_default=not pool.has(lifetime),
            value=limit / per_second if limit > 0 else None, wait_timeout_seconds=wait_timeout,
        )  # fmt: skip

    return rule


def _background_checks(pool: FoundPool) -> bool:
    """Return whether idle connections are tested in the background, or borrowed ones are tested."""
    period = pool.number("timeBetweenEvictionRunsMillis")
    return bool(pool.value("testOnBorrow") or (pool.value("testWhileIdle") and period and period > 0))


def _keepalive_over_lifetime(pool: FoundPool, _: int) -> Finding | None:
    keepalive, lifetime = pool.number("keepaliveTime"), pool.number("maxLifetime")
    if not (pool.has("keepaliveTime") and keepalive and lifetime and keepalive >= lifetime):
        return None
    return warning(Code.POOL_KEEPALIVE_OVER_LIFETIME, keepalive_ms=keepalive, lifetime_ms=lifetime)


def _hikaricp_ignores(pool: FoundPool, _: int) -> Finding | None:
    for setting, shortest in HIKARICP_SHORTEST_MS.items():
        value = pool.number(setting)
        if pool.has(setting) and value and value < shortest:
            return warning(Code.POOL_IGNORES, setting=setting, value=value, least=shortest)
    return None


def _shrinks(pool: FoundPool, _: int) -> Finding | None:
    least, most = pool.number("minimumIdle"), pool.number("maximumPoolSize")
    if least is None or most is None or least >= most:
        return None
    return reason(Code.POOL_SHRINKS, least=int(least), most=int(most))


def _test_query(pool: FoundPool, _: int) -> Finding | None:
    return reason(Code.POOL_TEST_QUERY) if pool.has("connectionTestQuery") else None


def _removes_abandoned(pool: FoundPool, _: int) -> Finding | None:
    if pool.value("removeAbandoned") is not True:
        return None
    return warning(Code.POOL_REMOVES_ABANDONED, seconds=pool.number("removeAbandonedTimeout"))


def _connector_python_maximum(pool: FoundPool, _: int) -> Finding | None:
    size = pool.number("pool_size")
    if size is None or size <= CONNECTOR_PYTHON_LARGEST:
        return None
    return warning(Code.POOL_TOO_LARGE, size=int(size), largest=CONNECTOR_PYTHON_LARGEST)


def _django_connects(pool: FoundPool, _: int) -> Finding | None:
    return warning(Code.DJANGO_CONNECTS) if pool.number("CONN_MAX_AGE") == 0 else None


def _django_keeps(pool: FoundPool, wait_timeout: int) -> Finding | None:
    """Return the finding that a kept connection outlives the server's; None is a value here: kept for ever."""
    age = pool.number("CONN_MAX_AGE")
    unknown = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text != "None"
    if (
        pool.value("CONN_HEALTH_CHECKS") is True
        or (age is None and unknown)
        or (age is not None and age < wait_timeout)
    ):
        return None
    return warning(
        Code.POOL_OUTLIVES_SERVER, setting="CONN_MAX_AGE", is_default=False, value=age,
        wait_timeout_seconds=wait_timeout,
    )  # fmt: skip


def _go_lifetime(pool: FoundPool, _: int) -> Finding | None:
    lifetime = pool.number("SetConnMaxLifetime")
    if lifetime is None or 0 < lifetime <= GO_LONGEST_LIFETIME_SECONDS:
        return None
    return warning(Code.GO_LIFETIME, value=lifetime or None, most=GO_LONGEST_LIFETIME_SECONDS)


def _thread_cache(pool: FoundPool, _: int) -> Finding | None:
    cached, most = pool.number("thread_cache_size"), pool.number("max_connections")
    if cached is None or most is None or cached <= most:
        return None
    return reason(Code.SERVER_THREAD_CACHE, cached=int(cached), max_connections=int(most))


def _short_wait_timeout(pool: FoundPool, _: int) -> Finding | None:
    value = pool.number("wait_timeout")
    if value is None or value > LIFETIME_SECONDS:
        return None
    return warning(Code.SERVER_WAIT_TIMEOUT, value=int(value))


def _unlimited_overflow(pool: FoundPool, _: int) -> Finding | None:
    """Return the finding that SQLAlchemy opens any number: max_overflow -1, or pool_size 0, which means the same."""
    if pool.number("pool_size") == 0:
        return warning(Code.POOL_UNLIMITED, setting="pool_size", value=0.0, is_default=False)
    overflow = pool.number("max_overflow")
    if overflow is None or overflow >= 0:
        return None
    return warning(Code.POOL_UNLIMITED, setting="max_overflow", value=overflow, is_default=False)


_SQLALCHEMY: tuple[Rule, ...] = (
    _unlimited_overflow,
    _outlives_server("pool_recycle", 1, lambda pool: pool.value("pool_pre_ping") is True),
)
RULES: Mapping[str, tuple[Rule, ...]] = {
    HIKARICP.title: (
        _waits_for_ever("connectionTimeout"), _keepalive_over_lifetime, _hikaricp_ignores, _shrinks, _test_query,
        _outlives_server("maxLifetime", 1000, lambda pool: bool(pool.number("keepaliveTime"))),
    ),
    DRUID.title: (
        _waits_for_ever("maxWait"), _tests_on_borrow("testOnBorrow"), _removes_abandoned,
        _outlives_server("maxEvictableIdleTimeMillis", 1000, _background_checks),
    ),
    DBCP2.title: (
        _unlimited("maxTotal"), _waits_for_ever("maxWaitMillis"), _tests_on_borrow("testOnBorrow"),
        _closes_idle("maxIdle", "maxTotal"),
        _outlives_server("maxConnLifetimeMillis", 1000, _background_checks),
    ),
    C3P0.title: (
        _waits_for_ever("checkoutTimeout"), _tests_on_borrow("testConnectionOnCheckout"),
        _outlives_server(
            "maxIdleTime", 1,
            lambda pool: bool(pool.number("idleConnectionTestPeriod") or pool.value("testConnectionOnCheckout")),
        ),
    ),
    TOMCAT_JDBC.title: (
        _waits_for_ever("maxWait"), _tests_on_borrow("testOnBorrow"),
        _outlives_server("maxAge", 1000, _background_checks),
    ),
    SQLALCHEMY.title: _SQLALCHEMY,
    FLASK_SQLALCHEMY.title: _SQLALCHEMY,
    DJANGO.title: (_django_connects, _django_keeps),
    DJANGO_POOL.title: (),
    CONNECTOR_PYTHON.title: (_connector_python_maximum,),
    GO.title: (_unlimited("SetMaxOpenConns"), _closes_idle("SetMaxIdleConns", "SetMaxOpenConns"), _go_lifetime),
    NODE_MYSQL2.title: (_unlimited("connectionLimit"), _unlimited("queueLimit", Code.POOL_QUEUE_UNLIMITED)),
    SERVER.title: (_thread_cache, _short_wait_timeout),
}  # fmt: skip
"""Library -> the rules for its settings."""
