"""Pools whose settings the code of a project binds by names of its own: only what the values say is known."""

from poolsize.pool_config.findings import of_pools
from poolsize.pool_config.libraries.rules import nothing
from poolsize.pool_config.pool import Library

OWN_CODE = Library(
    "Pool of the project's own code",
    "",
    nothing,
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
    notes=(of_pools.OwnNames("its pool is Druid, DBCP, Tomcat JDBC or c3p0"),),
)  # fmt: skip
"""Names that the code of a project binds to Druid, DBCP, Tomcat's pool or c3p0; the file does not show which."""
OWN_GO = Library(
    "Pool of the project's own Go code",
    "",
    nothing,
    dict.fromkeys(("maxOpenConns", "maxIdleConns", "connMaxLifetime", "connMaxIdleTime")),
    aliases={
        "maxOpenConn": "maxOpenConns", "maxOpenConnections": "maxOpenConns", "maxOpen": "maxOpenConns",
        "maxConns": "maxOpenConns", "maxIdleConn": "maxIdleConns", "maxIdleConnections": "maxIdleConns",
        "maxIdle": "maxIdleConns", "maxConnLifetime": "connMaxLifetime", "maxLifetime": "connMaxLifetime",
        "maxConnIdleTime": "connMaxIdleTime",
    },
    sizes=("maxOpenConns",),
    notes=(of_pools.OwnNames("its pool is Go's database/sql"),),
)  # fmt: skip
OWN_PYTHON = Library(
    "Pool of the project's own Python code",
    "",
    nothing,
    dict.fromkeys(("pool_size", "max_overflow", "pool_timeout", "pool_recycle", "pool_pre_ping")),
    sizes=("pool_size", "max_overflow"),
    notes=(of_pools.OwnNames("its pool is SQLAlchemy's"),),
)
OWN_SIZE = Library(
    "Pool of the project's own code (its size)",
    "",
    nothing,
    dict.fromkeys(("connectionLimit",)),
    aliases=dict.fromkeys(("poolSize", "maxConnections", "poolMax", "poolMaxSize"), "connectionLimit"),
    sizes=("connectionLimit",),
    notes=(of_pools.OwnNames("this number limits the pool of each process"),),
)
"""A number of connections beside the address of a server, which tells no library."""
OWN = (OWN_GO, OWN_PYTHON, OWN_SIZE)
