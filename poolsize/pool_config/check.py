"""The settings of pools in a file -> what is wrong with them, and which differ from a recommendation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from poolsize.answer.finding import Finding
from poolsize.pool_config.files.pool import FilePool
from poolsize.pool_config.findings import (
    AboveServer,
    BelowLeast,
    BorrowTested,
    ClosesIdle,
    DjangoConnects,
    GoLifetime,
    KeepaliveByDefault,
    KeepaliveOverLifetime,
    NotANumber,
    NotRead,
    OldTestQuery,
    OutlivesServer,
    QueueUnlimited,
    RefusedBelowLeast,
    RemovesAbandoned,
    ServerTooSmall,
    ShortWaitTimeout,
    Shrinks,
    ThreadCache,
    TooLarge,
    Unlimited,
    WaitsForEver,
)
from poolsize.pool_config.library import (
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
from poolsize.pool_config.settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_WAIT_TIMEOUT_SECONDS,
    LIFETIME_SECONDS,
    PoolSettings,
)

SIZES = {
    HIKARICP.title: ("maximumPoolSize",), DRUID.title: ("maxActive",), DBCP2.title: ("maxTotal",),
    C3P0.title: ("maxPoolSize",), TOMCAT_JDBC.title: ("maxActive",), SQLALCHEMY.title: ("pool_size", "max_overflow"),
    FLASK_SQLALCHEMY.title: ("pool_size", "max_overflow"), DJANGO_POOL.title: ("POOL_SIZE", "MAX_OVERFLOW"),
    CONNECTOR_PYTHON.title: ("pool_size",), GO.title: ("SetMaxOpenConns",), NODE_MYSQL2.title: ("connectionLimit",),
}  # fmt: skip
"""Library -> the settings whose sum is the most connections that a pool opens."""
CONNECTOR_PYTHON_LARGEST = 32
HIKARICP_LEAST_MS = {"keepaliveTime": 30_000, "maxLifetime": 30_000}
"""Settings of HikariCP -> the least value that it uses; with less it uses another value."""
HIKARICP_LIFETIME_MS = 1_800_000.0
"""The lifetime that HikariCP uses in place of a smaller value."""
HIKARICP_REFUSED_BELOW_MS = {"connectionTimeout": 250, "validationTimeout": 250}
"""Settings of HikariCP -> the least value with which it starts."""
GO_LONGEST_LIFETIME_SECONDS = 300


@dataclass(frozen=True)
class Difference:
    """A setting whose value differs from the recommended value.

    name: the library's. in_file: the file's value; where the file has none (is_default), the library's default.
    """

    name: str
    in_file: Value
    is_default: bool
    recommended: Value
    unit: str | None


@dataclass(frozen=True)
class CheckedPool:
    """A pool of a file, checked.

    most_connections: that it may open; None for no limit, for an unknown number, and for the server.
    findings: warnings for what causes errors, reasons for departures from the library's own advice.
    differences: from the recommended configuration; None without a recommendation for this library.
    """

    pool: FilePool
    most_connections: int | None
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...] | None


@dataclass(frozen=True)
class KnownServer:
    """What is known of the server that the pools connect to; the defaults where it is not known."""

    wait_timeout_seconds: int = DEFAULT_WAIT_TIMEOUT_SECONDS
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    is_default: bool = True


def check_pools(
    pools: Sequence[FilePool],
    server: KnownServer | None = None,
    settings: PoolSettings | None = None,
    recommended: Mapping[str, Sequence[tuple[str, Value, str | None]]] | None = None,
) -> tuple[CheckedPool, ...]:
    """Return each pool with its findings.

    server: None for the defaults. settings: the recommended ones, or None.
    recommended: stack -> name, value and unit of each setting of its configuration; None without a recommendation.
    """
    server = server or KnownServer()
    checked = []
    for pool in pools:
        most = most_connections(pool)
        findings = [rule(pool, server.wait_timeout_seconds) for rule in RULES[pool.library.title]]
        findings += [_above_server(most, server), _below_need(pool, settings), *_unread(pool)]
        intended = recommended.get(pool.library.stack) if recommended else None
        differences = None if intended is None else _differences(pool, intended)
        checked.append(CheckedPool(pool, most, tuple(each for each in findings if each), differences))
    return tuple(checked)


def most_connections(pool: FilePool) -> int | None:
    """Return the most connections that a pool opens; None for no limit, an unknown number, and the server."""
    numbers = [pool.number(name) for name in SIZES.get(pool.library.title, ())]
    known = [number for number in numbers if number is not None and number >= 0]
    return int(sum(known)) if known and known[0] > 0 and len(known) == len(numbers) else None


def _differences(pool: FilePool, intended: Sequence[tuple[str, Value, str | None]]) -> tuple[Difference, ...]:
    """Return the settings that the recommendation has and the file has otherwise or not at all."""
    differences = []
    for name, value, unit in intended:
        setting = pool.library.setting(name.rsplit(".", 1)[-1], relaxed=True)
        if setting is None:
            continue
        in_file = pool.value(setting)
        if in_file is None and not pool.has(setting) and setting in DEFAULTS_OF_ANOTHER:
            in_file = pool.value(DEFAULTS_OF_ANOTHER[setting])
        if in_file != value:
            differences.append(Difference(setting, in_file, not pool.has(setting), value, unit))
    return tuple(differences)


DEFAULTS_OF_ANOTHER = {"minimumIdle": "maximumPoolSize", "maxIdle": "connectionLimit"}
"""Setting -> the setting whose value is its default."""


def _above_server(most: int | None, server: KnownServer) -> Finding | None:
    if most is None or most < server.max_connections:
        return None
    return AboveServer(most, server.max_connections, server.is_default)


def _below_need(pool: FilePool, settings: PoolSettings | None) -> Finding | None:
    """Return the finding that the server's limit is too small for the recommended pools."""
    limit = pool.number("max_connections") if pool.library is SERVER else None
    needed = None if settings is None else settings.needed_connections
    if limit is None or needed is None or limit >= needed:
        return None
    return ServerTooSmall(int(limit), needed)


def _unread(pool: FilePool) -> list[Finding]:
    """Return a finding for each setting that the library does not read, and for each that is not a number."""
    findings: list[Finding] = [NotRead(pool.library.title, each.name) for each in pool.unread]
    for setting, in_file in pool.settings.items():
        default = pool.library.defaults[setting]
        if isinstance(in_file.value, str) and isinstance(default, int | float) and not isinstance(default, bool):
            findings.append(NotANumber(in_file.name, in_file.text))
    return findings


Rule = Callable[[FilePool, int], Finding | None]
"""A rule: a pool and the server's wait_timeout in seconds -> a finding, or None."""


def _not_positive(record: type[WaitsForEver | Unlimited], setting: str) -> Rule:
    """Return the rule that a setting without a positive value sets no limit."""

    def rule(pool: FilePool, _: int) -> Finding | None:
        value = pool.number(setting)
        if value is None or value > 0:
            return None
        return record(setting, not pool.has(setting), value)

    return rule


def _tests_on_borrow(setting: str, interval: str | None = None) -> Rule:
    """Return the rule that each borrowed connection is tested. interval: a setting that makes such tests rare."""

    def rule(pool: FilePool, _: int) -> Finding | None:
        if pool.value(setting) is not True or (interval and (pool.number(interval) or 0) > 0):
            return None
        return BorrowTested(setting, not pool.has(setting))

    return rule


def _closes_idle(idle: str, most: str, *, negative_is_all: bool) -> Rule:
    """Return the rule that a pool keeps fewer idle connections than it opens."""

    def rule(pool: FilePool, _: int) -> Finding | None:
        kept, opened = pool.number(idle), pool.number(most)
        if kept is None or opened is None or (negative_is_all and kept < 0):
            return None
        if kept >= opened > 0 or (opened <= 0 and pool.has(idle)):
            return None
        return ClosesIdle(idle, not pool.has(idle), max(0, int(kept)))

    return rule


def _outlives_server(
    lifetime: str, per_second: int, checked: Callable[[FilePool, float], bool], also: tuple[str, ...] = ()
) -> Rule:
    """Return the rule that a connection ends, or is checked, before the server ends it.

    lifetime: setting after which a connection ends. per_second: its units in a second. also: further such settings.
    checked: a pool and the wait_timeout in seconds -> whether a connection is checked before it is used.
    """

    def rule(pool: FilePool, wait_timeout: int) -> Finding | None:
        limits = {name: pool.number(name) for name in (lifetime, *also)}
        if limits[lifetime] is None or checked(pool, wait_timeout):
            return None
        if any(limit is not None and 0 < limit < wait_timeout * per_second for limit in limits.values()):
            return None
        limit = limits[lifetime] or 0.0
        return OutlivesServer(lifetime, not pool.has(lifetime), limit / per_second if limit > 0 else None, wait_timeout)

    return rule


def _in_time(pool: FilePool, setting: str, per_second: int, wait_timeout: float) -> bool:
    """Return whether an interval is shorter than the server's wait_timeout."""
    interval = pool.number(setting)
    return interval is not None and 0 < interval < wait_timeout * per_second


def _tested(pool: FilePool, wait_timeout: float) -> bool:
    """Return whether Druid, DBCP 2 or Tomcat test or end a connection that was idle, or test each that is borrowed."""
    if pool.value("testOnBorrow") is True:
        return True
    runs = _in_time(pool, "timeBetweenEvictionRunsMillis", 1000, wait_timeout)
    ended = _in_time(pool, "minEvictableIdleTimeMillis", 1000, wait_timeout)
    ends_all = pool.library is DBCP2 or (pool.library is TOMCAT_JDBC and pool.number("minIdle") == 0)
    return runs and (pool.value("testWhileIdle") is True or (ends_all and ended))


def _c3p0_tested(pool: FilePool, wait_timeout: float) -> bool:
    return pool.value("testConnectionOnCheckout") is True or _in_time(pool, "idleConnectionTestPeriod", 1, wait_timeout)


def _hikaricp_lifetime_ms(pool: FilePool) -> float | None:
    """Return the lifetime that HikariCP uses: below the least value, its default."""
    lifetime = pool.number("maxLifetime")
    if lifetime is None or lifetime <= 0 or lifetime >= HIKARICP_LEAST_MS["maxLifetime"]:
        return lifetime
    return HIKARICP_LIFETIME_MS


def _hikaricp_kept_alive(pool: FilePool, wait_timeout: float) -> bool:
    """Return whether HikariCP pings idle connections in time: not with a keepaliveTime that it does not use."""
    keepalive, lifetime = pool.number("keepaliveTime"), _hikaricp_lifetime_ms(pool)
    if keepalive is None or keepalive < HIKARICP_LEAST_MS["keepaliveTime"] or (lifetime and keepalive >= lifetime):
        return False
    return _in_time(pool, "keepaliveTime", 1000, wait_timeout)


def _keepalive_by_default(pool: FilePool, wait_timeout: int) -> Finding | None:
    """Return the warning that only the default keepaliveTime, which older versions lack, protects idle connections."""
    lifetime = _hikaricp_lifetime_ms(pool)
    ends_in_time = lifetime is not None and 0 < lifetime < wait_timeout * 1000
    if ends_in_time or pool.has("keepaliveTime") or not _hikaricp_kept_alive(pool, wait_timeout):
        return None
    return KeepaliveByDefault(pool.number("keepaliveTime") or 0.0, lifetime, wait_timeout)


def _keepalive_over_lifetime(pool: FilePool, _: int) -> Finding | None:
    keepalive, lifetime = pool.number("keepaliveTime"), _hikaricp_lifetime_ms(pool)
    if not (pool.has("keepaliveTime") and keepalive and lifetime and keepalive >= lifetime):
        return None
    return KeepaliveOverLifetime(keepalive, lifetime)


def _below_least(setting: str) -> Rule:
    def rule(pool: FilePool, _: int) -> Finding | None:
        value, least = pool.number(setting), HIKARICP_LEAST_MS[setting]
        if not (pool.has(setting) and value and value < least):
            return None
        return BelowLeast(setting, value, least)

    return rule


def _refused(setting: str) -> Rule:
    def rule(pool: FilePool, _: int) -> Finding | None:
        value, least = pool.number(setting), HIKARICP_REFUSED_BELOW_MS[setting]
        if value is None or value == 0 or value >= least:
            return None
        return RefusedBelowLeast(setting, value, least)

    return rule


def _shrinks(pool: FilePool, _: int) -> Finding | None:
    least, most = pool.number("minimumIdle"), pool.number("maximumPoolSize")
    if least is None or most is None or not 0 <= least < most:
        return None
    return Shrinks(int(least), int(most))


def _test_query(pool: FilePool, _: int) -> Finding | None:
    return OldTestQuery() if pool.has("connectionTestQuery") else None


def _removes_abandoned(pool: FilePool, _: int) -> Finding | None:
    removes = pool.value("removeAbandoned") is True
    return RemovesAbandoned(pool.number("removeAbandonedTimeout")) if removes else None


def _connector_python_maximum(pool: FilePool, _: int) -> Finding | None:
    size = pool.number("pool_size")
    if size is None or size <= CONNECTOR_PYTHON_LARGEST:
        return None
    return TooLarge(int(size), CONNECTOR_PYTHON_LARGEST)


def _unlimited_overflow(size: str, overflow: str) -> Rule:
    """Return the rule that SQLAlchemy's pool opens any number: with an overflow of -1, and with a size of 0."""

    def rule(pool: FilePool, _: int) -> Finding | None:
        for setting, unlimited in ((size, pool.number(size) == 0), (overflow, (pool.number(overflow) or 0) < 0)):
            if unlimited:
                return Unlimited(setting, is_default=False, value=pool.number(setting) or 0.0)
        return None

    return rule


def _django_connects(pool: FilePool, _: int) -> Finding | None:
    return DjangoConnects() if pool.number("CONN_MAX_AGE") == 0 else None


def _django_keeps(pool: FilePool, wait_timeout: int) -> Finding | None:
    """Return the finding that a kept connection outlives the server's; None is a value here: kept for ever."""
    age = pool.number("CONN_MAX_AGE")
    for_ever = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text == "None"
    if pool.value("CONN_HEALTH_CHECKS") is True or not (for_ever or (age is not None and age >= wait_timeout)):
        return None
    return OutlivesServer("CONN_MAX_AGE", False, age, wait_timeout)


def _go_lifetime(pool: FilePool, _: int) -> Finding | None:
    lifetime = pool.number("SetConnMaxLifetime")
    if lifetime is None or 0 < lifetime <= GO_LONGEST_LIFETIME_SECONDS:
        return None
    return GoLifetime(lifetime or None, GO_LONGEST_LIFETIME_SECONDS)


def _unbounded_queue(pool: FilePool, _: int) -> Finding | None:
    longest = pool.number("queueLimit")
    if pool.value("waitForConnections") is False or longest is None or longest > 0:
        return None
    return QueueUnlimited("queueLimit", not pool.has("queueLimit"), longest)


def _thread_cache(pool: FilePool, _: int) -> Finding | None:
    cached, most = pool.number("thread_cache_size"), pool.number("max_connections")
    if cached is None or most is None or cached <= most:
        return None
    return ThreadCache(int(cached), int(most))


def _short_wait_timeout(pool: FilePool, _: int) -> Finding | None:
    value = pool.number("wait_timeout")
    if value is None or value >= LIFETIME_SECONDS:
        return None
    return ShortWaitTimeout(int(value))


def _pinged(pool: FilePool, _: float) -> bool:
    return pool.value("pool_pre_ping") is True


def _pool_of_django_pinged(pool: FilePool, _: float) -> bool:
    return pool.value("PRE_PING") is True


_SQLALCHEMY: tuple[Rule, ...] = (
    _unlimited_overflow("pool_size", "max_overflow"), _outlives_server("pool_recycle", 1, _pinged),
)  # fmt: skip
RULES: Mapping[str, tuple[Rule, ...]] = {
    HIKARICP.title: (
        _not_positive(WaitsForEver, "connectionTimeout"), _refused("connectionTimeout"),
        _refused("validationTimeout"), _keepalive_over_lifetime, _keepalive_by_default,
        _below_least("keepaliveTime"),
        _below_least("maxLifetime"), _shrinks, _test_query,
        _outlives_server("maxLifetime", 1000, _hikaricp_kept_alive),
    ),
    DRUID.title: (
        _not_positive(WaitsForEver, "maxWait"), _tests_on_borrow("testOnBorrow"), _removes_abandoned,
        _outlives_server("maxEvictableIdleTimeMillis", 1000, _tested),
    ),
    DBCP2.title: (
        _not_positive(Unlimited, "maxTotal"), _not_positive(WaitsForEver, "maxWaitMillis"),
        _tests_on_borrow("testOnBorrow"), _closes_idle("maxIdle", "maxTotal", negative_is_all=True),
        _outlives_server("maxConnLifetimeMillis", 1000, _tested),
    ),
    C3P0.title: (
        _not_positive(WaitsForEver, "checkoutTimeout"), _tests_on_borrow("testConnectionOnCheckout"),
        _outlives_server("maxIdleTime", 1, _c3p0_tested, also=("maxConnectionAge",)),
    ),
    TOMCAT_JDBC.title: (
        _not_positive(WaitsForEver, "maxWait"), _tests_on_borrow("testOnBorrow", "validationInterval"),
        _outlives_server("maxAge", 1000, _tested),
    ),
    SQLALCHEMY.title: _SQLALCHEMY,
    FLASK_SQLALCHEMY.title: _SQLALCHEMY,
    DJANGO.title: (_django_connects, _django_keeps),
    DJANGO_POOL.title: (
        _unlimited_overflow("POOL_SIZE", "MAX_OVERFLOW"), _outlives_server("RECYCLE", 1, _pool_of_django_pinged),
    ),
    CONNECTOR_PYTHON.title: (_connector_python_maximum,),
    GO.title: (
        _not_positive(Unlimited, "SetMaxOpenConns"),
        _closes_idle("SetMaxIdleConns", "SetMaxOpenConns", negative_is_all=False), _go_lifetime,
    ),
    NODE_MYSQL2.title: (_not_positive(Unlimited, "connectionLimit"), _unbounded_queue),
    SERVER.title: (_thread_cache, _short_wait_timeout),
}  # fmt: skip
"""Library -> the rules for its settings."""
