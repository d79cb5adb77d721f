"""The pools of Node.js: their settings, defaults and limits, and what is wrong with a pool of each.

Sources: pool_config.js of mysql2 3, PoolConfig.js and the README of mysqljs 2, pool-options.js of the MariaDB connector
3, connection-manager.js of Sequelize 6, client.js of Knex 3, Pool.js of tarn 3, and MysqlDriver.js of TypeORM 1.
"""

from collections.abc import Iterator

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.rules import DOCUMENTED, NoLimit, Unlimited, least_above_most, no_limit
from poolsize.pool_config.pool import FilePool, Library, MayBeDefault, Worded


class QueueUnlimited(NoLimit, Caution, code="pool_queue_unlimited"):
    """The queueLimit of a driver of Node.js lets any number of requests wait, for ever."""

    words = (
        "queueLimit {0.shown}{0.default} lets any number of requests wait. The driver does not limit how long they "
        f"wait. {DOCUMENTED}"
    )


class KeepsForEver(MayBeDefault, Reason, code="pool_keeps_for_ever"):
    """Knex keeps idle connections for ever."""

    kept: int
    words = (
        "Knex never closes {0.kept:,} idle connections ({0.setting}{0.default_at_end}), and the server or the network "
        "may end them. Knex advises min 0. Source: Knex's documentation, pool."
    )


class IdleOverServer(Worded, Reason, code="pool_idle_over_server"):
    """The MariaDB connector keeps idle connections for as long as the server, or longer. value: in seconds."""

    value: float
    wait_timeout_seconds: int
    about = "idleTimeout"
    words = (
        "idleTimeout is {0.value:,.0f} s, not ms, and must be less than the server's wait_timeout, "
        "{0.wait_timeout_seconds:,} s. Source: the documentation of MariaDB Connector/Node.js, idleTimeout."
    )


class AdapterUnused(Worded, Caution, code="prisma_adapter_unused"):
    """No client of Prisma gets the driver adapter of its file."""

    about = "connectionLimit"
    words = (
        "No PrismaClient gets this adapter, so its settings have no effect: Prisma's engine has a pool of its own. "
        "Give it to the client: new PrismaClient({{ adapter }}). Source: Prisma's documentation, Database drivers."
    )


def _driver(pool: FilePool, _: int) -> Iterator[Worded]:
    yield from no_limit(pool, "connectionLimit", Unlimited)
    if pool.value("waitForConnections") is not False:
        yield from no_limit(pool, "queueLimit", QueueUnlimited)


def _mariadb(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    if (idle := pool.number("idleTimeout")) >= wait_timeout:
        yield IdleOverServer(idle, wait_timeout)


def _sequelize(pool: FilePool, _: int) -> Iterator[Worded]:
    yield from least_above_most(pool, "max", "min")


def _knex(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from _sequelize(pool, wait_timeout)
    if pool.number("min") > 0 and not pool.has("maxConnectionLifetimeMillis"):
        yield KeepsForEver("min", not pool.has("min"), int(pool.number("min")))


NO_OPTIONS = frozenset({"timeout", "reconnect"})
"""Names that people write to limit a wait or to reconnect, and that neither mysql2 nor mysqljs reads."""
_MYSQL2 = {
    "connectionLimit": 10, "maxIdle": None, "idleTimeout": 60_000, "queueLimit": 0, "waitForConnections": True,
    "enableKeepAlive": True, "keepAliveInitialDelay": None,
}  # fmt: skip
NODE_MYSQL2 = Library(
    "mysql2",
    {**_MYSQL2, "WAIT_LIMIT_MS": None},
    stack="node-mysql2",
    find=_driver,
    same_as={"maxIdle": "connectionLimit"},
    sizes=("connectionLimit",),
    ignored=NO_OPTIONS | {"acquireTimeout"},
    ages={"idleTimeout": 1000},
    constants=frozenset({"WAIT_LIMIT_MS"}),
)
NODE_MYSQL = Library(
    "mysqljs",
    {"connectionLimit": 10, "acquireTimeout": 10_000, "queueLimit": 0, "waitForConnections": True},
    find=_driver,
    sizes=("connectionLimit",),
    ignored=NO_OPTIONS | {"maxIdle", "idleTimeout", "enableKeepAlive", "keepAliveInitialDelay"},
    waits={"acquireTimeout": 1000},
)
NODE_MARIADB = Library(
    "MariaDB Connector/Node.js",
    {
        "connectionLimit": 10, "acquireTimeout": 10_000, "idleTimeout": 1_800, "minimumIdle": None,
        "minDelayValidation": 500, "leakDetectionTimeout": 0, "initializationTimeout": None, "pingTimeout": 250,
        "noControlAfterUse": False, "resetAfterUse": False,
    },
    find=_mariadb,
    same_as={"minimumIdle": "connectionLimit"},
    sizes=("connectionLimit",),
    ignored=frozenset({"queueLimit", "waitForConnections", "maxIdle"}),
    waits={"acquireTimeout": 1000, "initializationTimeout": 1000},
)  # fmt: skip
UNUSED_ADAPTER = Library(
    "Prisma's MariaDB adapter, not used",
    NODE_MARIADB.defaults,
    same_as=NODE_MARIADB.same_as,
    ignored=NODE_MARIADB.ignored,
    notes=(AdapterUnused(),),
)
SEQUELIZE = Library(
    "Sequelize",
    {"max": 5, "min": 0, "idle": 10_000, "acquire": 60_000, "evict": 1_000, "maxUses": None},
    find=_sequelize,
    sizes=("max",),
    ignored=frozenset({"maxConnections", "minConnections", "maxIdleTime", "connectionLimit"}),
    waits={"acquire": 1000},
    ages={"idle": 1000},
)
KNEX = Library(
    "Knex",
    {
        "min": 2, "max": 10, "acquireTimeoutMillis": 60_000, "acquireConnectionTimeout": 60_000,
        "createTimeoutMillis": 30_000, "destroyTimeoutMillis": 5_000, "idleTimeoutMillis": 30_000,
        "reapIntervalMillis": 1_000, "createRetryIntervalMillis": 200, "maxConnectionLifetimeMillis": None,
    },
    find=_knex,
    sizes=("max",),
    ignored=frozenset({
        "maxWaitingClients", "testOnBorrow", "fifo", "autostart", "evictionRunIntervalMillis", "numTestsPerRun",
        "softIdleTimeoutMillis", "requestTimeout", "acquireTimeout", "idleTimeout", "connectionLimit",
    }),
    waits={"acquireTimeoutMillis": 1000, "acquireConnectionTimeout": 1000, "createTimeoutMillis": 1000},
    ages={"idleTimeoutMillis": 1000, "maxConnectionLifetimeMillis": 1000},
)  # fmt: skip
TYPEORM = Library(
    "TypeORM",
    _MYSQL2,
    find=_driver,
    same_as=NODE_MYSQL2.same_as,
    sizes=("connectionLimit",),
    ignored=NO_OPTIONS | {"max", "min", "poolSize", "idleTimeoutMillis"},
    ages=NODE_MYSQL2.ages,
)
