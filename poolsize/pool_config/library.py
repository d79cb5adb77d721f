"""The table of libraries: the names, defaults and limits of their settings, and the rules for them."""

from dataclasses import replace

from poolsize.pool_config import rules
from poolsize.pool_config.pool import Library
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_WAIT_TIMEOUT_SECONDS

HIKARICP = Library(
    "HikariCP",
    "hikaricp",
    rules.hikaricp,
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
    rules.druid,
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
    rules.dbcp2,
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
    rules.c3p0,
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
    rules.tomcat_jdbc,
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
    rules.sqlalchemy,
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
    rules.django,
    {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False},
)
DJANGO_POOL = Library(
    "django-db-connection-pool",
    "",
    rules.django_pool,
    {"POOL_SIZE": 10, "MAX_OVERFLOW": 10, "RECYCLE": 900, "TIMEOUT": 30, "PRE_PING": True},
    sizes=("POOL_SIZE", "MAX_OVERFLOW"),
)
CONNECTOR_PYTHON = Library(
    "MySQL Connector/Python",
    "mysql-connector-python",
    rules.connector_python,
    {"pool_size": 5, "pool_reset_session": True},
    sizes=("pool_size",),
    largest={"pool_size": 32},
)
GO = Library(
    "Go's database/sql",
    "go",
    rules.go,
    {"SetMaxOpenConns": 0, "SetMaxIdleConns": 2, "SetConnMaxLifetime": 0, "SetConnMaxIdleTime": 0},
    sizes=("SetMaxOpenConns",),
)
NODE_MYSQL2 = Library(
    "mysql2",
    "node-mysql2",
    rules.mysql2,
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
    rules.server,
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
