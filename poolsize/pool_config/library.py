"""The libraries whose settings are recognised, with their default values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = int | float | bool | str | None


@dataclass(frozen=True)
class Library:
    """A library with a pool, or the server.

    stack: its configuration in `templates`, or "" where there is none.
    defaults: setting -> default value in the setting's own unit; None where another setting decides or it is not set.
    in_spring: other names by which Spring Boot binds a setting. ignored: names that people write and the library does
    not read.
    """

    title: str
    stack: str
    defaults: Mapping[str, Value]
    in_spring: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()

    def setting(self, name: str, *, relaxed: bool = False) -> str | None:
        """Return the setting that a name in a file means; None for another name.

        relaxed: whether hyphens, underscores and capitals make no difference, and names of in_spring count.
        """
        if not relaxed:
            return name if name in self.defaults else None
        names = {normalized(each): each for each in self.defaults}
        names |= {normalized(other): setting for other, setting in self.in_spring.items()}
        return names.get(normalized(name))


def normalized(name: str) -> str:
    """Return a name without hyphens, underscores and capitals: relaxed binding, as Spring Boot calls it."""
    return name.replace("-", "").replace("_", "").lower()


HIKARICP = Library(
    "HikariCP",
    "hikaricp",
    {
        "maximumPoolSize": 10, "minimumIdle": None, "connectionTimeout": 30_000, "idleTimeout": 600_000,
        "maxLifetime": 1_800_000, "keepaliveTime": 120_000, "validationTimeout": 5_000, "connectionTestQuery": None,
        "leakDetectionThreshold": 0,
    },
)  # fmt: skip
DRUID = Library(
    "Druid",
    "druid",
    {
        "maxActive": 8, "initialSize": 0, "minIdle": 0, "maxWait": -1, "testOnBorrow": False, "testOnReturn": False,
        "testWhileIdle": True, "timeBetweenEvictionRunsMillis": 60_000, "minEvictableIdleTimeMillis": 1_800_000,
        "maxEvictableIdleTimeMillis": 25_200_000, "removeAbandoned": False,
        "removeAbandonedTimeout": 300, "validationQuery": None,
    },
    ignored=frozenset({"keepAlive", "keepAliveBetweenTimeMillis", "maxWaitThreadCount"}),
)  # fmt: skip
DBCP2 = Library(
    "DBCP 2",
    "dbcp2",
    {
        "maxTotal": 8, "maxIdle": 8, "minIdle": 0, "initialSize": 0, "maxWaitMillis": -1, "testOnBorrow": True,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": -1,
        "numTestsPerEvictionRun": 3, "minEvictableIdleTimeMillis": 1_800_000, "maxConnLifetimeMillis": -1,
    },
    in_spring={
        "maxWait": "maxWaitMillis", "durationBetweenEvictionRuns": "timeBetweenEvictionRunsMillis",
        "minEvictableIdle": "minEvictableIdleTimeMillis", "maxConn": "maxConnLifetimeMillis",
    },
    ignored=frozenset({"maxActive", "maxWait"}),
)  # fmt: skip
C3P0 = Library(
    "c3p0",
    "c3p0",
    {
        "maxPoolSize": 15, "minPoolSize": 3, "initialPoolSize": 3, "acquireIncrement": 3, "checkoutTimeout": 0,
        "idleConnectionTestPeriod": 0, "maxIdleTime": 0, "maxConnectionAge": 0, "testConnectionOnCheckout": False,
        "testConnectionOnCheckin": False, "numHelperThreads": 3,
    },
)  # fmt: skip
TOMCAT_JDBC = Library(
    "Tomcat JDBC Pool",
    "tomcat-jdbc",
    {
        "maxActive": 100, "maxIdle": 100, "minIdle": 10, "initialSize": 10, "maxWait": 30_000, "testOnBorrow": False,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": 5_000,
        "minEvictableIdleTimeMillis": 60_000, "maxAge": 0, "validationInterval": 3_000,
    },
)  # fmt: skip
SQLALCHEMY = Library(
    "SQLAlchemy",
    "sqlalchemy",
    {
        "pool_size": 5, "max_overflow": 10, "pool_timeout": 30, "pool_recycle": -1, "pool_pre_ping": False,
        "pool_use_lifo": False,
    },
)  # fmt: skip
FLASK_SQLALCHEMY = Library(
    "Flask-SQLAlchemy",
    "flask-sqlalchemy",
    {**SQLALCHEMY.defaults, "pool_recycle": 7_200},
)
DJANGO = Library(
    "Django",
    "django",
    {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False},
)
DJANGO_POOL = Library(
    "django-db-connection-pool",
    "",
    {"POOL_SIZE": 10, "MAX_OVERFLOW": 10, "RECYCLE": 900, "TIMEOUT": 30, "PRE_PING": True},
)
CONNECTOR_PYTHON = Library(
    "MySQL Connector/Python", "mysql-connector-python", {"pool_size": 5, "pool_reset_session": True}
)
GO = Library(
    "Go's database/sql",
    "go",
    {"SetMaxOpenConns": 0, "SetMaxIdleConns": 2, "SetConnMaxLifetime": 0, "SetConnMaxIdleTime": 0},
)
NODE_MYSQL2 = Library(
    "mysql2",
    "node-mysql2",
    {
        "connectionLimit": 10, "maxIdle": None, "idleTimeout": 60_000, "queueLimit": 0, "waitForConnections": True,
        "enableKeepAlive": True, "keepAliveInitialDelay": None,
    },
    ignored=frozenset({"acquireTimeout"}),
)  # fmt: skip
SERVER = Library(
    "the server",
    "my.cnf",
    {
        "max_connections": 151, "max_user_connections": 0, "thread_cache_size": None, "back_log": None,
        "wait_timeout": 28_800, "interactive_timeout": 28_800, "thread_handling": "one-thread-per-connection",
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
