"""The pools of Rust, .NET, Rails, Prisma, PHP, and of projects' own code: their settings, and what is wrong."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import nan

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.files.values import without_unit
from poolsize.pool_config.libraries.rules import OwnNames, Unlimited, WaitsForEver, outlives_server
from poolsize.pool_config.pool import FilePool, Library, OfSetting, Worded


class ThreadsOfProcess(Worded, Reason, code="pool_threads"):
    """Rails has a pool in each process, which must have a connection for each thread."""

    words = (
        "Each process has a pool of its own, which needs a connection for each thread: Puma's threads, or Sidekiq's "
        "concurrency. Count the processes with --processes. Source: the Rails guides, Configuring a Database."
    )


class WorkersArePool(Worded, Reason, code="php_workers"):
    """The workers of PHP-FPM are the pool."""

    about = "pm.max_children"
    words = (
        "Each worker may hold 1 connection for each database that the application uses. A persistent connection stays "
        "open while the worker is idle. The PHP source decides whether connections are persistent, not this file. "
        "Source: PHP's manual, Persistent Database Connections."
    )


class PhpPersists(OfSetting, Reason, code="php_persists"):
    """PHP keeps its connection. setting: that says so."""

    words = (
        "Each PHP worker keeps its connection open between requests. So the workers are the pool: pm.max_children of "
        "PHP-FPM is its size. Source: PHP's manual, Persistent Database Connections."
    )


class PhpConnects(Worded, Reason, code="php_connects"):
    """PHP has no pool."""

    words = (
        "PHP has no pool: each request opens a connection and closes it. The workers limit the connections: "
        "pm.max_children of PHP-FPM. Source: PHP's manual, Persistent Database Connections."
    )


class PoolOfLaravel(Worded, Caution, code="php_pool_not_read"):
    """A block `pool` in Laravel's configuration, which only Hyperf and webman read."""

    about = "max_connections"
    words = (
        "Laravel does not read this block, so it has no effect: PHP has no pool, and the workers limit the "
        "connections (pm.max_children of PHP-FPM). Hyperf and webman have such a block. Source: Laravel's "
        "documentation, Database."
    )


class PoolingOff(Worded, Reason, code="pool_off"):
    """A connection string of .NET switches the pool off."""

    about = "Pooling"
    words = (
        "Pooling false: there is no pool. Each request opens a connection and closes it, and nothing limits their "
        "number. Source: MySqlConnector's documentation, Connection Options."
    )


def _sqlx(pool: FilePool, wait_timeout: int, test: str = "test_before_acquire") -> Iterator[Worded]:
    """Find connections that outlive the server. test: the setting that tests each connection before use."""
    is_checked = pool.value(test) is not False or 0 < pool.number("idle_timeout") < wait_timeout
    yield from outlives_server(pool, wait_timeout, "max_lifetime", is_checked=is_checked)


def _deadpool(pool: FilePool, _: int) -> Iterator[Worded]:
    if not pool.has("wait_timeout"):
        yield WaitsForEver("wait_timeout", is_default=True, value=nan)


def _dotnet(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.is_off:
        yield PoolingOff()


SQLX = Library(
    "sqlx",
    {
        "max_connections": 10, "min_connections": 0, "acquire_timeout": 30, "idle_timeout": 600, "max_lifetime": 1_800,
        "test_before_acquire": True,
    },
    find=_sqlx,
    sizes=("max_connections",),
)  # fmt: skip
SEAORM = replace(SQLX, title="SeaORM")
R2D2 = Library(
    "r2d2 or bb8",
    {
        "max_size": 10, "min_idle": None, "connection_timeout": 30, "idle_timeout": 600, "max_lifetime": 1_800,
        "test_on_check_out": True,
    },
    find=partial(_sqlx, test="test_on_check_out"),
    sizes=("max_size",),
)  # fmt: skip
DEADPOOL = Library(
    "deadpool",
    {"max_size": None, "wait_timeout": None, "create_timeout": None, "recycle_timeout": None},
    find=_deadpool,
    sizes=("max_size",),
    of_cpus=("the machine: CPUs * 2 (in older versions, physical cores * 4)", "deadpool's documentation, PoolConfig"),
)
MYSQL_ASYNC = Library("mysql or mysql_async", {"max": 100, "min": 10}, sizes=("max",))
"""Of the crates `mysql` and `mysql_async`: the arguments of PoolConstraints::new."""
ROCKET = Library(
    "Rocket",
    {"max_connections": None, "min_connections": None, "connect_timeout": 5, "idle_timeout": None},
    sizes=("max_connections",),
    waits={"connect_timeout": 1},
    ages={"idle_timeout": 1},
    of_cpus=("the machine: workers * 4, with a worker for each CPU", "rocket_db_pools' documentation, Config"),
)
ROCKET_SYNC = replace(
    ROCKET,
    title="Rocket's rocket_sync_db_pools",
    defaults={"pool_size": None, "timeout": 5},
    sizes=("pool_size",),
    waits={"timeout": 1},
    ages={},
)
DOTNET = Library(
    "MySqlConnector or Connector/NET",
    {
        "MaximumPoolSize": 100, "MinimumPoolSize": 0, "ConnectionTimeout": 15, "ConnectionIdleTimeout": 180,
        "ConnectionLifeTime": 0, "ConnectionReset": True, "Pooling": True,
    },
    find=_dotnet,
    aliases={
        "MaxPoolSize": "MaximumPoolSize", "MinPoolSize": "MinimumPoolSize", "ConnectTimeout": "ConnectionTimeout",
    },
    sizes=("MaximumPoolSize",),
    waits={"ConnectionTimeout": 1},
    ages={"ConnectionIdleTimeout": 1, "ConnectionLifeTime": 1},
    switch="Pooling",
)  # fmt: skip


def _rails(pool: FilePool, _: int) -> Iterator[Worded]:
    (size,) = pool.library.sizes
    if (most := pool.number(size)) < 0:
        yield Unlimited(size, is_default=False, value=most)


def _prisma(pool: FilePool, _: int) -> Iterator[Worded]:
    if (wait := pool.number("pool_timeout")) == 0:
        yield WaitsForEver("pool_timeout", is_default=False, value=wait)


def _php_fpm(pool: FilePool, _: int) -> Iterator[Worded]:
    if not pool.has("mysqli.max_persistent"):  # which shows that connections are persistent, and how many
        yield WorkersArePool()


def _php(pool: FilePool, _: int) -> Iterator[Worded]:
    persists = [name for name, setting in pool.settings.items() if setting.value is True]
    yield from map(PhpPersists, persists)
    if not (persists or pool.not_followed):
        yield PhpConnects()


RAILS = Library(
    "Rails",
    {"pool": 5, "checkout_timeout": 5, "idle_timeout": 300, "reaping_frequency": 60},
    find=_rails,
    sizes=("pool",),
    waits={"checkout_timeout": 1},
    ages={"idle_timeout": 1, "reaping_frequency": 1},
    notes=(ThreadsOfProcess(),),
)
RAILS_8_1 = replace(
    RAILS,
    title="Rails 8.1",
    defaults={
        "max_connections": 5, "min_connections": 0, "checkout_timeout": 5, "idle_timeout": 300, "reaping_frequency": 20,
        "max_age": None, "keepalive": 600,
    },
    sizes=("max_connections",),
    ages={**RAILS.ages, "max_age": 1, "keepalive": 1},
)  # fmt: skip
"""It has a new name for the pool, and still reads the old one."""
PRISMA = Library(
    "Prisma",
    {"connection_limit": None, "pool_timeout": 10, "connect_timeout": 5, "socket_timeout": None},
    find=_prisma,
    sizes=("connection_limit",),
    waits={"pool_timeout": 1, "connect_timeout": 1},
    of_cpus=(
        "the machine: physical CPUs * 2 + 1 (from Prisma 7 on, the driver adapter's default)",
        "Prisma's documentation, Connection pool",
    ),
)


def prisma_of(version: tuple[int, int] | None) -> Library:
    """Return the library with the default of a version; of None, with those of all versions."""
    if version is None:
        return PRISMA
    default = "the machine: physical CPUs * 2 + 1" if version < (7, 0) else "the driver adapter (Prisma 7 or later)"
    return replace(PRISMA, of_cpus=(default, "Prisma's documentation, Connection pool"))


PHP_FPM = Library(
    "PHP-FPM",
    {
        "pm.max_children": None, "pm": None, "pm.start_servers": None, "pm.min_spare_servers": None,
        "pm.max_spare_servers": None, "pm.process_idle_timeout": None, "pm.max_requests": 0,
        "mysqli.max_persistent": -1, "mysqli.allow_persistent": "on",
    },
    stack="php-fpm",
    find=_php_fpm,
    sizes=("pm.max_children",),
)  # fmt: skip
PHP = Library(
    "PHP",
    dict.fromkeys(("ATTR_PERSISTENT", "p:", "mysql_pconnect", "pConnect", "pconnect", "persistent"), False),
    find=_php,
    aliases={"PDO::ATTR_PERSISTENT": "ATTR_PERSISTENT", "12": "ATTR_PERSISTENT"},  # in Doctrine's YAML
)
"""Its workers are the pool: PHP_FPM has the size."""
HYPERF = Library(
    "Hyperf or webman",
    {
        "min_connections": 1, "max_connections": 10, "connect_timeout": 10.0, "wait_timeout": 3.0, "heartbeat": -1,
        "max_idle_time": 60.0,
    },
    find=partial(outlives_server, lifetime="max_idle_time", is_checked=False),
    aliases={"idle_timeout": "max_idle_time", "heartbeat_interval": "heartbeat"},  # in webman
    sizes=("max_connections",),
    waits={"connect_timeout": 1, "wait_timeout": 1},
    ages={"max_idle_time": 1},
)  # fmt: skip
LARAVEL = Library("Laravel, a pool block", HYPERF.defaults, aliases=HYPERF.aliases, notes=(PoolOfLaravel(),))
SWOOLE = Library("Swoole", {"size": 64}, sizes=("size",))
"""Of PDOPool and MysqliPool: the second argument."""


# Pools whose settings the code of a project binds by names of its own: only what the values say is known.
OWN_CODE = Library(
    "Pool of the project's own code",
    dict.fromkeys(
        (
            "maxActive", "maxIdle", "minIdle", "initialSize", "maxWait", "testOnBorrow", "testOnReturn",
            "testWhileIdle", "timeBetweenEvictionRunsMillis", "minEvictableIdleTimeMillis", "validationQuery",
            "removeAbandoned", "removeAbandonedTimeout", "maxLifetime",
        )
    ),
    aliases={
        "maxTotal": "maxActive", "maxPoolSize": "maxActive", "minPoolSize": "minIdle", "initialPoolSize": "initialSize",
        "maxWaitMillis": "maxWait",
    },
    sizes=("maxActive",),
    notes=(OwnNames("its pool is Druid, DBCP, Tomcat JDBC or c3p0"),),
)  # fmt: skip
"""Names that the code of a project binds to Druid, DBCP, Tomcat's pool or c3p0; the file does not show which."""


UNIT = re.compile(r"\d\s?[a-z]", re.IGNORECASE)
"""In the text of a duration."""


def _own_go(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    """Find a stated lifetime above the server's. The unit of a plain number is not known."""
    lifetime = pool.settings.get("connMaxLifetime")
    has_unit = lifetime is not None and (
        lifetime.value == 0 or without_unit(lifetime.name)[0] != lifetime.name or UNIT.search(lifetime.text)
    )
    is_checked = not has_unit or pool.has("connMaxIdleTime")
    yield from outlives_server(pool, wait_timeout, "connMaxLifetime", 1_000, is_checked=is_checked)


def _own_python(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    is_checked = pool.has("pool_pre_ping") and pool.value("pool_pre_ping") is not False
    yield from outlives_server(pool, wait_timeout, "pool_recycle", is_checked=is_checked)


OWN_GO = Library(
    "Pool of the project's own Go code",
    dict.fromkeys(("maxOpenConns", "maxIdleConns", "connMaxLifetime", "connMaxIdleTime")),
    find=_own_go,
    aliases={
        **dict.fromkeys(("maxOpen", "maxOpenConn", "maxOpenConnection", "maxOpenConnections", "maxOpenConnCount",
            "maxConn", "maxConns"), "maxOpenConns"),
        **dict.fromkeys(("maxIdle", "maxIdleConn", "maxIdleConnection", "maxIdleConnections", "maxIdleConnCount"),
            "maxIdleConns"),
        **dict.fromkeys(("maxLifetime", "maxConnLifetime", "maxConnectionLifetime", "connectionMaxLifetime",
            "connMaxLife", "conMaxLifetime"), "connMaxLifetime"),
        **dict.fromkeys(("maxIdleTime", "maxConnIdleTime", "maxConnectionIdleTime", "connectionMaxIdleTime"),
            "connMaxIdleTime"),
    },
    sizes=("maxOpenConns",),
    durations=frozenset({True}),
    notes=(OwnNames("its pool is Go's database/sql"),),
)  # fmt: skip
OWN_PYTHON = Library(
    "Pool of the project's own Python code",
    dict.fromkeys(("pool_size", "max_overflow", "pool_timeout", "pool_recycle", "pool_pre_ping", "pool_use_lifo")),
    find=_own_python,
    sizes=("pool_size", "max_overflow"),
    notes=(OwnNames("its pool is SQLAlchemy's"),),
)
OWN_SIZE = Library(
    "Pool of the project's own code (its size)",
    dict.fromkeys(("connectionLimit", "minConnections", "idleTimeout", "poolTimeout", "pool_recycle", "pool_pre_ping")),
    find=_own_python,
    aliases={
        **dict.fromkeys(
            ("poolSize", "maxConnections", "maxConns", "maxConn", "poolMax", "poolMaxSize", "poolMaxConnections",
             "poolMaxNum", "maxObjectNum", "poolSizeMax"),
            "connectionLimit",
        ),
        **dict.fromkeys(("minConns", "poolMin", "poolMinSize", "minPoolSize", "poolMinNum", "minObjectNum",
            "poolIdleMin"), "minConnections"),
        **dict.fromkeys(("poolAcquire", "getObjectTimeout"), "poolTimeout"),
        **dict.fromkeys(("poolIdle", "poolIdleTimeout", "poolIdleTime", "maxIdleTime"), "idleTimeout"),
    },
    sizes=("connectionLimit",),
    notes=(OwnNames("this number limits the pool of each process"),),
)  # fmt: skip
"""A number of connections beside the address of a server, which tells no library."""
OWN = {
    "maxOpenConns": OWN_GO, "max_overflow": OWN_PYTHON, "connectionLimit": OWN_SIZE, "pool_recycle": OWN_PYTHON,
    "connMaxLifetime": OWN_GO,
}  # fmt: skip
"""A setting that shows a pool of a project's own code -> its library; the first counts."""
