"""Texts of errors as libraries and servers write them, each with its version and source, and the numbers in it.

The sources were read: the constant strings of a released library's class files (a jar of that version), or the file of
the library's repository that is named. Numbers and names in the texts are made up.
"""

from dataclasses import dataclass

from poolsize.explanation.texts import ANY_POOL, CLIENT, CONNECTOR_J, GO, SERVER, Kind

JAR = "strings of the released jar"


@dataclass(frozen=True)
class Example:
    """A text, where it comes from, and what `poolsize explain` must read in it."""

    library: str
    version: str
    source: str
    text: str
    kind: Kind
    numbers: dict[str, float]


HIKARI, DRUID, DBCP2, TOMCAT, C3P0 = "HikariCP", "Druid", "DBCP2", "Tomcat JDBC", "c3p0"
TYPED = {
    "QueuePool limit of size 5 overflow 10 reached": ("SQLAlchemy", Kind.WAIT_TIMEOUT),
    "Timeout waiting for idle object": (DBCP2, Kind.WAIT_TIMEOUT),
    "Pool empty": (TOMCAT, Kind.WAIT_TIMEOUT),
    "pool exhausted": ("MySQL Connector/Python", Kind.EXHAUSTED),
    "Knex: Timeout acquiring a connection": ("Knex", Kind.WAIT_TIMEOUT),
    "Timeout acquiring a connection": ("Knex", Kind.WAIT_TIMEOUT),
    "Connection is not available": (HIKARI, Kind.WAIT_TIMEOUT),
    "HikariPool-1 - Connection is not available": (HIKARI, Kind.WAIT_TIMEOUT),
    "Connection leak detection triggered": (HIKARI, Kind.HELD_LONG),
    "Lock wait timeout exceeded": (SERVER, Kind.LOCK_WAIT),
    "1205 Lock wait timeout exceeded": (SERVER, Kind.LOCK_WAIT),
    "Deadlock found": (SERVER, Kind.DEADLOCK),
    "1213 Deadlock found": (SERVER, Kind.DEADLOCK),
    "2006 server has gone away": (CLIENT, Kind.STALE),
    "server has gone away": (CLIENT, Kind.STALE),
    "1226 max_user_connections": (SERVER, Kind.ACCOUNT_LIMIT),
    "max_user_connections": (SERVER, Kind.ACCOUNT_LIMIT),
    "too many connections": (SERVER, Kind.SERVER_FULL),
    "1040": (SERVER, Kind.SERVER_FULL),
    "Error 1040": (SERVER, Kind.SERVER_FULL),
    "ERROR 1040 (HY000):": (SERVER, Kind.SERVER_FULL),
    "1203": (SERVER, Kind.USER_LIMIT),
    "1129": (SERVER, Kind.HOST_BLOCKED),
    "1044": (SERVER, Kind.DATABASE_REFUSED),
    "1045": (SERVER, Kind.LOGIN_REFUSED),
    "1130": (SERVER, Kind.HOST_REFUSED),
    "metadata lock": (SERVER, Kind.METADATA_LOCK),
    "read-only": (SERVER, Kind.READ_ONLY),
    "2014": (CLIENT, Kind.SHARED_CONNECTION),
    "2013": (CLIENT, Kind.LOST),
    "4031": (SERVER, Kind.STALE),
    "2003": (CLIENT, Kind.UNREACHABLE),
    "ERROR 2003": (CLIENT, Kind.UNREACHABLE),
    "Can't connect to MySQL server": (CLIENT, Kind.UNREACHABLE),
    "9001": ("ProxySQL", Kind.PROXY_TIMEOUT),
    "P2024": ("Prisma", Kind.WAIT_TIMEOUT),
    "PROTOCOL_CONNECTION_LOST": (CLIENT, Kind.LOST),
    "ER_CON_COUNT_ERROR": (SERVER, Kind.SERVER_FULL),
    "er_con_count_error": (SERVER, Kind.SERVER_FULL),
    "'ER_CON_COUNT_ERROR'": (SERVER, Kind.SERVER_FULL),
    "1040 ER_CON_COUNT_ERROR": (SERVER, Kind.SERVER_FULL),
    "Error: ER_CON_COUNT_ERROR": (SERVER, Kind.SERVER_FULL),
    "ER_TOO_MANY_USER_CONNECTIONS": (SERVER, Kind.USER_LIMIT),
    "ER_USER_LIMIT_REACHED": (SERVER, Kind.ACCOUNT_LIMIT),
    "ER_LOCK_WAIT_TIMEOUT": (SERVER, Kind.LOCK_WAIT),
    "code: 'ER_LOCK_DEADLOCK'": (SERVER, Kind.DEADLOCK),
    "ER_ACCESS_DENIED_NO_PASSWORD_ERROR": (SERVER, Kind.LOGIN_REFUSED),
    "CR_SERVER_GONE_ERROR": (CLIENT, Kind.STALE),
    "CR_SERVER_LOST": (CLIENT, Kind.LOST),
}
"""Errors as people type them, and what they mean."""
EXAMPLES = [
    Example(
        HIKARI, "7.1.0", f"{JAR}; HikariPool.createTimeoutException; 5.1.0 has it, 4.0.3 not",
        "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after "
        "30000ms (total=10, active=10, idle=0, waiting=37)",
        Kind.WAIT_TIMEOUT, {"wait_ms": 30_000, "open": 10, "in_use": 10, "idle": 0, "waiting": 37},
    ),
    Example(
        HIKARI, "4.0.3", "HikariPool.java, createTimeoutException",
        "HikariPool-1 - Connection is not available, request timed out after 30003ms.",
        Kind.WAIT_TIMEOUT, {"wait_ms": 30_003},
    ),
    Example(
        HIKARI, "7.1.0", f"{JAR}; HikariPool.logPoolState",
        "shop - Timeout failure stats (total=10/10, idle=0/10, active=10, waiting=37)",
        Kind.STATISTICS, {"open": 10, "size": 10, "idle": 0, "in_use": 10, "waiting": 37},
    ),
    Example(
        HIKARI, "2.7.9", "HikariPool.java, logPoolState",
        "HikariPool-1 - Pool stats (total=10, active=4, idle=6, waiting=0)",
        Kind.STATISTICS, {"open": 10, "in_use": 4, "idle": 6, "waiting": 0},
    ),
    Example(
        HIKARI, "7.1.0", f"{JAR}; PoolBase.isConnectionDead",
        "HikariPool-1 - Failed to validate connection com.mysql.cj.jdbc.ConnectionImpl@5f0e9815 (No operations allowed "
        "after connection closed.). Possibly consider using a shorter maxLifetime value.",
        Kind.STALE, {},
    ),
    Example(
        HIKARI, "7.1.0", f"{JAR}; ProxyLeakTask.run",
        "Connection leak detection triggered for com.mysql.cj.jdbc.ConnectionImpl@5f0e on thread http-nio-8080-exec-3, "
        "stack trace follows",
        Kind.HELD_LONG, {},
    ),
    Example(
        HIKARI, "7.1.0", f"{JAR}; ProxyLeakTask.cancel",
        "Previously reported leaked connection com.mysql.cj.jdbc.ConnectionImpl@5f0e on thread "
        "http-nio-8080-exec-3 was "
        "returned to the pool (unleaked)",
        Kind.RETURNED_LATE, {},
    ),
    Example(
        HIKARI, "7.1.0", f"{JAR}; HikariPool.HouseKeeper; ClockSource.elapsedDisplayString writes 1m2s500ms40µs3ns",
        "HikariPool-1 - Thread starvation or clock leap detected (housekeeper delta=1m2s500ms40µs3ns).",
        Kind.STALLED, {"late_ms": 62_500.040003},
    ),
    Example(
        DRUID, "1.2.28", f"{JAR}; DruidDataSource.getConnectionInternal",
        "com.alibaba.druid.pool.GetConnectionTimeoutException: wait millis 60000, active 20, maxActive 20, creating 0",
        Kind.WAIT_TIMEOUT, {"wait_ms": 60_000, "in_use": 20, "size": 20, "opening": 0},
    ),
    Example(
        DRUID, "1.2.28", f"{JAR}; DruidDataSource.getConnectionInternal",
        "wait millis 5001, active 3, maxActive 20, creating 1, createElapseMillis 4210, createErrorCount 7, "
        "runningSqlCount 2 : SELECT * FROM stock WHERE id = ?",
        Kind.WAIT_TIMEOUT,
        {"wait_ms": 5001, "in_use": 3, "size": 20, "opening": 1, "opening_ms": 4210, "opening_errors": 7, "running": 2},
    ),
    Example(
        DRUID, "1.2.28", f"{JAR}; DruidDataSource.getConnectionInternal",
        "java.sql.SQLException: maxWaitThreadCount 100, current wait Thread count 100",
        Kind.QUEUE_FULL, {"queue_limit": 100, "waiting": 100},
    ),
    Example(
        DRUID, "1.2.28", "DruidDataSource.getStatData, as /druid/datasource.json writes it",
        '{"URL":"jdbc:mysql://db/shop","UserName":"shop","WaitThreadCount":12,"NotEmptyWaitCount":90,'
        '"NotEmptyWaitMillis":4000,"PoolingCount":0,"PoolingPeak":8,"PoolingPeakTime":"Thu","ActiveCount":8,'
        '"ActivePeak":8,"ActivePeakTime":"Thu","InitialSize":0,"MinIdle":0,"MaxActive":8}',
        Kind.STATISTICS, {"waiting": 12, "idle": 0, "in_use": 8, "size": 8},
    ),
    Example(
        DRUID, "1.2.8", "DruidAbstractDataSource.testConnectionInternal; 1.2.28 has no such text",
        "discard long time none received connection. , jdbcUrl : jdbc:mysql://db/shop?password=Secret9, "
        "version : 1.2.8, "
        "lastPacketReceivedIdleMillis : 120348",
        Kind.DISCARDED, {"idle_ms": 120_348},
    ),
    Example(
        DRUID, "1.2.28", f"{JAR}; DruidDataSource.removeAbandoned",
        "abandon connection, owner thread: http-nio-8080-exec-3, connected at : 1764150000000, open stackTrace",
        Kind.HELD_LONG, {},
    ),
    Example(
        DRUID, "1.2.28", f"{JAR}; DruidDataSource.getConnectionInternal",
        "com.alibaba.druid.pool.DataSourceClosedException: dataSource already closed at Thu Nov 26 10:15:03 UTC 2026",
        Kind.CLOSED, {},
    ),
    Example(
        DBCP2, "2.14.0 with commons-pool 2.13.0", f"{JAR}s; GenericObjectPool: the rest of the limit at the wait",
        "java.sql.SQLException: Cannot get a connection, pool error Timeout waiting for idle object, "
        "maxWaitDuration=PT4.999812S",
        Kind.WAIT_TIMEOUT, {"wait_ms": 4999.812},
    ),
    Example(
        DBCP2, "2.x with commons-pool 2.11.1 and 2.12.0", "GenericObjectPool.borrowObject(Duration)",
        "Cannot get a connection, pool error Timeout waiting for idle object, borrowMaxWaitDuration=PT1M30.5S",
        Kind.WAIT_TIMEOUT, {"wait_ms": 90_500},
    ),
    Example(
        DBCP2, "2.x with commons-pool 2.11.0", "GenericObjectPool.borrowObject(Duration): a duration, despite its name",
        "Cannot get a connection, pool error Timeout waiting for idle object, borrowMaxWaitMillis=PT5S",
        Kind.WAIT_TIMEOUT, {"wait_ms": 5000},
    ),
    Example(
        DBCP2, "2.x with commons-pool 2.13.0, keyed", f"{JAR}; GenericKeyedObjectPool.borrowObject",
        "Cannot get a connection, pool error Timeout waiting for idle object, borrowMaxWaitMillis=5000",
        Kind.WAIT_TIMEOUT, {"wait_ms": 5000},
    ),
    Example(
        DBCP2, "2.x with commons-pool 2.0 to 2.10", "GenericObjectPool.borrowObject",
        "java.sql.SQLException: Cannot get a connection, pool error Timeout waiting for idle object",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        DBCP2, "2.14.0 with commons-pool 2.13.0", f"{JAR}s; PoolingDriver.connect writes a colon",
        "Cannot get a connection, pool error: Pool exhausted",
        Kind.EXHAUSTED, {},
    ),
    Example(
        DBCP2, "commons-pool 2.13.0", f"{JAR}; DefaultPooledObject",
        "Pooled object created 2026-11-26 10:15:03 +0000 by the following code has not been returned to the pool:",
        Kind.HELD_LONG, {},
    ),
    Example(
        TOMCAT, "11.0.25", f"{JAR}; ConnectionPool.borrowConnection",
        "[http-nio-8080-exec-3] Timeout: Pool empty. Unable to fetch a connection in 30 seconds, none "
        "available[size:100; busy:100; idle:0; lastwait:30000].",
        Kind.WAIT_TIMEOUT, {"wait_ms": 30_000, "size": 100, "in_use": 100, "idle": 0, "last_wait_ms": 30_000},
    ),
    Example(TOMCAT, "11.0.25", "the beginning of the text above", "Timeout: Pool empty.", Kind.WAIT_TIMEOUT, {}),
    Example(
        TOMCAT, "11.0.25", f"{JAR}; ConnectionPool.borrowConnection",
        "[main] NoWait: Pool empty. Unable to fetch a connection, none available[100 in use].",
        Kind.EXHAUSTED, {"in_use": 100},
    ),
    Example(
        TOMCAT, "11.0.25", f"{JAR}; ConnectionPool.abandon",
        "WARNING: Connection has been abandoned "
        "PooledConnection[com.mysql.cj.jdbc.ConnectionImpl@5f0e]:java.lang.Exception",
        Kind.HELD_LONG, {},
    ),
    Example(
        C3P0, "0.14.1", f"{JAR}; C3P0PooledConnectionPool.checkoutPooledConnection",
        "java.sql.SQLException: An attempt by a client to checkout a Connection has timed out.",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        C3P0, "0.14.1", f"{JAR}; BasicResourcePool",
        "Caused by: com.mchange.v2.resourcepool.TimeoutException: A client timed out while waiting to acquire "
        "a resource "
        "from com.mchange.v2.resourcepool.BasicResourcePool@1b -- timeout at awaitAvailable()",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        C3P0, "mchange-commons-java 0.6.1", f"{JAR}; ThreadPoolAsynchronousRunner",
        "com.mchange.v2.async.ThreadPoolAsynchronousRunner$DeadlockDetector@1b -- APPARENT DEADLOCK!!! "
        "Creating emergency "
        "threads for unassigned pending tasks!",
        Kind.OPENING_BLOCKED, {},
    ),
    Example(
        C3P0, "0.14.1", f"{JAR}; BasicResourcePool, with unreturnedConnectionTimeout",
        "A checked-out resource is overdue, and will be destroyed: com.mchange.v2.c3p0.impl.NewPooledConnection@1b",
        Kind.HELD_LONG, {},
    ),
    Example(
        "SQLAlchemy", "2.1.9", "pool/impl.py, QueuePool._do_get",
        "sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached, connection timed out, "
        "timeout 30.00 "
        "(Background on this error at: https://sqlalche.me/e/21/3o7r)",
        Kind.WAIT_TIMEOUT, {"size": 5, "overflow": 10, "in_use": 15, "wait_ms": 30_000},
    ),
    Example(
        "SQLAlchemy", "2.1.9", "pool/impl.py, QueuePool.status",
        "Pool size: 5  Connections in pool: 1 Current Overflow: -1 Current Checked out connections: 3",
        Kind.STATISTICS, {"size": 5, "idle": 1, "in_use": 3},
    ),
    Example(
        "SQLAlchemy", "2.1.9", "pool/base.py, _finalize_fairy",
        "The garbage collector is trying to clean up non-checked-in connection <AdaptedConnection <asyncmy>>, "
        "which will "
        "be terminated.  Please ensure that SQLAlchemy pooled connections are returned to the pool explicitly",
        Kind.HELD_LONG, {},
    ),
    Example(
        "MySQL Connector/Python", "26.10.0", "mysql/connector/pooling.py, get_connection",
        "mysql.connector.errors.PoolError: Failed getting connection; pool exhausted",
        Kind.EXHAUSTED, {},
    ),
    Example(
        "MySQL Connector/Python", "26.10.0", "mysql/connector/pooling.py, _set_pool_size",
        "AttributeError: Pool size should be higher than 0 and lower or equal to 32",
        Kind.SETTING, {"limit": 32},
    ),
    Example(
        "peewee", "4.5.3", "playhouse/pool.py",
        "playhouse.pool.MaxConnectionsExceeded: Exceeded maximum connections.",
        Kind.EXHAUSTED, {},
    ),
    Example(
        "peewee", "3 and later", "playhouse/pool.py, connect, with a timeout",
        "playhouse.pool.MaxConnectionsExceeded: Max connections exceeded, timed out attempting to connect.",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "DBUtils", "3.2.0", "dbutils/pooled_db.py; TooManyConnections before 3.0",
        "dbutils.pooled_db.TooManyConnectionsError",
        Kind.EXHAUSTED, {},
    ),
    Example("mysql2", "3.23.4", "lib/base/pool.js, getConnection", "Error: Queue limit reached.", Kind.QUEUE_FULL, {}),
    Example(
        "mysql2", "3.23.4", "lib/base/pool.js, getConnection", "Error: No connections available.", Kind.EXHAUSTED, {}
    ),
    Example("mysql2", "3.23.4", "lib/base/pool.js, getConnection", "Error: Pool is closed.", Kind.CLOSED, {}),
    Example(
        "Sequelize", "6 and 7", "packages/core/src/errors/connection/connection-acquire-timeout-error.ts",
        "SequelizeConnectionAcquireTimeoutError: Operation timeout",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "Knex", "3.3.0", "lib/client.js, acquireConnection",
        "KnexTimeoutError: Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a "
        ".transacting(trx) call?",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "Prisma", "P2024", "its error reference and messages in the field: the link is in some versions only",
        "Timed out fetching a new connection from the connection pool. More info: http://pris.ly/d/connection-pool "
        "(Current connection pool timeout: 10, connection limit: 5)",
        Kind.WAIT_TIMEOUT, {"wait_ms": 10_000, "size": 5},
    ),
    Example(
        "Active Record", "main", "activerecord, connection_pool/queue.rb, wait_poll",
        "ActiveRecord::ConnectionTimeoutError: could not obtain a connection from the pool within 5.000 "
        "seconds (waited "
        "5.004 seconds); all pooled connections were in use",
        Kind.WAIT_TIMEOUT, {"wait_ms": 5004},
    ),
    Example(
        GO, "Go 1", "database/sql DBStats, written with %+v",
        "{MaxOpenConnections:10 OpenConnections:10 InUse:10 Idle:0 WaitCount:120 WaitDuration:1m6s MaxIdleClosed:0}",
        Kind.STATISTICS, {"size": 10, "open": 10, "in_use": 10, "idle": 0, "waits": 120, "waited_ms": 66_000},
    ),
    Example(
        GO, "go-sql-driver/mysql 1.9.3", "errors.go, MySQLError.Error, with the state; older versions without",
        "orders: begin tx: Error 1040 (08004): Too many connections", Kind.SERVER_FULL, {},
    ),
    Example(
        GO, "go-sql-driver/mysql 1.9.3", "connection.go",
        "[mysql] 2026/11/26 10:15:03 connection.go:803: closing bad idle connection: EOF",
        Kind.STALE, {},
    ),
    Example(
        GO, "go-sql-driver/mysql 1.5 to 1.9", "its issues 777 and 1140; packets.go, readPacket",
        "[mysql] 2026/11/28 02:14:07 packets.go:58: unexpected EOF",
        Kind.STALE, {},
    ),
    Example(GO, "go-sql-driver/mysql", "without the colon", "[mysql] packets.go:37 unexpected EOF", Kind.STALE, {}),
    Example(
        HIKARI, "7.1.0", f"{JAR}; its end", "request timed out after 30000ms (total=10, active=10, idle=0, waiting=37)",
        Kind.WAIT_TIMEOUT, {"wait_ms": 30_000, "open": 10, "in_use": 10, "idle": 0, "waiting": 37},
    ),
    Example(
        ANY_POOL, "-", "HikariCP's figures, without its name", "active=20, idle=0, waiting=130",
        Kind.STATISTICS, {"in_use": 20, "idle": 0, "waiting": 130},
    ),
    Example(GO, "Go 1", "database/sql/driver, ErrBadConn", "query: driver: bad connection", Kind.STALE, {}),
    Example(GO, "go-sql-driver/mysql 1.9.3", "errors.go, ErrInvalidConn", 'err="invalid connection"', Kind.LOST, {}),
    Example(
        GO, "Go 1", "context.DeadlineExceeded, wrapped", "orders: context deadline exceeded: begin tx for order 55120",
        Kind.DEADLINE, {},
    ),
    Example(GO, "Go 1", "context.DeadlineExceeded", "borrow: context deadline exceeded", Kind.DEADLINE, {}),
    Example(
        "MySqlConnector", "2.6.1", "MySqlConnection.cs, CreateSessionAsync",
        "MySqlException (0x80004005): Connect Timeout expired. All pooled connections are in use.",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "MySQL Connector/NET", "9.1.0", "MySQL.Data/src/Resources.resx",
        "error connecting: Timeout expired.  The timeout period elapsed prior to obtaining a connection from "
        "the pool.  "
        "This may have occurred because all pooled connections were in use and max pool size was reached.",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "sqlx", "0.8.6", "sqlx-core/src/error.rs",
        "PoolTimedOut: pool timed out while waiting for an open connection",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "deadpool", "0.12.2", "src/managed/errors.rs",
        "Timeout occurred while waiting for a slot to become available",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "Agroal", "3.2.1", "ConnectionPool.java", "SQLException: Sorry, acquisition timeout!",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "Agroal", "2.0 to 2.8", "ConnectionPool.java, handlerFromSharedCache",
        "java.sql.SQLException: Acquisition timeout while waiting for new connection",
        Kind.WAIT_TIMEOUT, {},
    ),
    Example(
        "R2DBC pool", "1.0.2", "ConnectionPool.java",
        "java.util.concurrent.TimeoutException: Connection acquisition timed out after 5000ms",
        Kind.WAIT_TIMEOUT, {"wait_ms": 5000},
    ),
    Example(
        "Vert.x", "4", "vertx-core, net/impl/pool, which the SQL clients use: ConnectionPoolTooBusyException",
        "io.vertx.core.http.ConnectionPoolTooBusyException: Connection pool reached max wait queue size of 24",
        Kind.QUEUE_FULL, {"queue_limit": 24},
    ),
    Example(
        "ProxySQL", "3.0.0", "lib/MySQL_Session.cpp, handler_again___status_CONNECTING_SERVER",
        "ERROR 9001 (HY000): Max connect timeout reached while reaching hostgroup 10 after 10000ms",
        Kind.PROXY_TIMEOUT, {"hostgroup": 10, "wait_ms": 10_000},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys", "ERROR 1040 (HY000): Too many connections",
        Kind.SERVER_FULL, {},
    ),
    Example(
        SERVER, "MySQL Connector/J 8.0.33", "LocalizedErrorMessages.properties, SQLError.46 and Protocol.0",
        'Data source rejected establishment of connection,  message from server: "Too many connections"',
        Kind.SERVER_FULL, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1203 (42000): User shop already has more than 'max_user_connections' active connections",
        Kind.USER_LIMIT, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1226 (42000): User 'shop' has exceeded the 'max_user_connections' resource (current value: 20)",
        Kind.ACCOUNT_LIMIT, {"limit": 20},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1045 (28000): Access denied for user 'shop'@'10.0.0.7' (using password: YES)", Kind.LOGIN_REFUSED, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1130 (HY000): Host '10.0.0.7' is not allowed to connect to this MariaDB server", Kind.HOST_REFUSED, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1044 (42000): Access denied for user 'shop'@'%' to database 'orders'", Kind.DATABASE_REFUSED, {},
    ),
    Example(
        SERVER, "MySQL 9", "errmsg.sys, 1836", "ERROR 1836 (HY000): Running in read-only mode", Kind.READ_ONLY, {},
    ),
    Example(
        CLIENT, "PHP 8", "pdo_mysql, messages in the field",
        "PDOException: SQLSTATE[HY000]: General error: 2014 Cannot execute queries while other unbuffered queries are "
        "active.",
        Kind.SHARED_CONNECTION, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys, with the option that the server names",
        "Mysql2::Error: The MySQL server is running with the --read-only option so it cannot execute this statement",
        Kind.READ_ONLY, {},
    ),
    Example(
        SERVER, "MariaDB 10.11", "errmsg.sys; MySQL 9 ends with 'mysqladmin flush-hosts'",
        "ERROR 1129 (HY000): Host '10.0.0.7' is blocked because of many connection errors; unblock with 'mariadb-admin "
        "flush-hosts'",
        Kind.HOST_BLOCKED, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction",
        Kind.LOCK_WAIT, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "errmsg.sys",
        "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        Kind.DEADLOCK, {},
    ),
    Example(
        SERVER, "MySQL 9", "errmsg.sys, 4031",
        "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for "
        "configuring this behavior.",
        Kind.STALE, {},
    ),
    Example(
        SERVER, "MariaDB 10.11", "errmsg.sys, ER_NEW_ABORTING_CONNECTION, in the error log",
        "2026-11-26 10:15:03 37 [Warning] Aborted connection 37 to db: 'shop' user: 'shop' host: '10.0.0.7' "
        "(Got timeout "
        "reading communication packets)",
        Kind.STALE, {},
    ),
    Example(
        SERVER, "MySQL 9", "errmsg.sys, in the error log",
        "Aborted connection 37 to db: 'shop' user: 'shop' host: '10.0.0.7' (Got an error reading communication "
        "packets)",
        Kind.LOST, {},
    ),
    Example(
        CLIENT, "MySQL 9", "libmysql/errmsg.cc",
        "ERROR 2003 (HY000): Can't connect to MySQL server on 'db:3306' (99)",
        Kind.NO_PORT, {"errno": 99},
    ),
    Example(
        CLIENT, "PyMySQL 1.2.4", "pymysql/connections.py, connect",
        """(2003, "Can't connect to MySQL server on '10.0.0.5' ([Errno 99] Cannot assign requested address)")""",
        Kind.NO_PORT, {"errno": 99},
    ),
    Example(
        CLIENT, "macOS", "strerror(49), in the first article",
        "(2003, \"Can't connect to MySQL server on '10.0.0.5' ([Errno 49] Can't assign requested address)\")",
        Kind.NO_PORT, {"errno": 49},
    ),
    Example(
        CLIENT, "Go 1", "net.OpError", "dial tcp 10.0.0.5:3306: connect: cannot assign requested address",
        Kind.NO_PORT, {},
    ),
    Example(
        CLIENT, "Node.js", "libuv", "Error: connect EADDRNOTAVAIL 10.0.0.5:3306 - Local (10.0.0.7:0)", Kind.NO_PORT, {}
    ),
    Example(
        CLIENT, "MariaDB Connector/C", "strings of libmariadb.so.3",
        "ERROR 2003 (HY000): Can't connect to server on 'db' (111)",
        Kind.UNREACHABLE, {"errno": 111},
    ),
    Example(
        CLIENT, "PyMySQL 1.2.4", "pymysql/connections.py, connect",
        """(2003, "Can't connect to MySQL server on 'db' (timed out)")""",
        Kind.UNREACHABLE, {},
    ),
    Example(
        "asyncio", "Python 3.11", "asyncio/streams.py, _wait_for_data; aiomysql, issue 277",
        "RuntimeError: readexactly() called while another coroutine is already waiting for incoming data",
        Kind.SHARED_CONNECTION, {},
    ),
    Example(
        CLIENT, "PyMySQL 1.2.4", "pymysql/connections.py, _read_packet",
        "pymysql.err.InternalError: Packet sequence number wrong - got 102 expected 1", Kind.SHARED_CONNECTION, {},
    ),
    Example(
        CLIENT, "MariaDB Connector/C", "strings of libmariadb.so.3",
        """(2014, "Commands out of sync; you can't run this command now")""", Kind.SHARED_CONNECTION, {},
    ),
    Example(
        GO, "go-sql-driver/mysql 1.9", "errors.go",
        "commands out of sync. You can't run this command now", Kind.SHARED_CONNECTION, {},
    ),
    Example(
        "MySQL Connector/NET", "8", "messages in the field",
        "There is already an open DataReader associated with this Connection which must be closed first.",
        Kind.SHARED_CONNECTION, {},
    ),
    Example(
        "MySqlConnector", "2.4", "ServerSession.cs; its page on conn-reuse",
        "This MySqlConnection is already in use. See https://fl.vu/mysql-conn-reuse", Kind.SHARED_CONNECTION, {},
    ),
    Example(
        SERVER, "MySQL 9 and MariaDB 10.11", "SHOW FULL PROCESSLIST",
        "| 5 | shop | 10.0.0.7:53538 | shop | Query | 770 | Waiting for table metadata lock | ALTER TABLE orders |",
        Kind.METADATA_LOCK, {},
    ),
    Example(CLIENT, "Go 1", "net.OpError", "dial tcp 10.0.0.5:3306: i/o timeout", Kind.UNREACHABLE, {}),
    Example(
        CLIENT, "MariaDB Connector/C", "messages in the field, of servers that are down or start",
        """(2002, "Can't connect to server on 'db' (115)")""",
        Kind.UNREACHABLE, {"errno": 115},
    ),
    Example(
        CLIENT, "PyMySQL 1.2.4", "pymysql/connections.py, connect; gai_strerror of Linux",
        """(2003, "Can't connect to MySQL server on 'db' ([Errno -2] Name or service not known)")""",
        Kind.UNREACHABLE, {},
    ),
    Example(
        CLIENT, "PHP 8", "pdo_mysql and mysqlnd, messages in the field",
        "PDOException: SQLSTATE[HY000] [2002] Connection refused", Kind.UNREACHABLE, {},
    ),
    Example(
        CLIENT, "mysql2 3.23.4", "lib/base/connection.js, at the end of the stream",
        "Error: Connection lost: The server closed the connection.", Kind.LOST, {},
    ),
    Example(
        CLIENT, "mysql2 3.23.4", "lib/base/connection.js, the code of the error above",
        "code: 'PROTOCOL_CONNECTION_LOST'", Kind.LOST, {},
    ),
    Example(
        CLIENT, "aiomysql 0.3.2", "connection.py", """(2003, "Can't connect to MySQL server on 'db'")""",
        Kind.UNREACHABLE, {},
    ),
    Example(CLIENT, "Node.js", "libuv", "Error: connect ECONNREFUSED 127.0.0.1:3306", Kind.UNREACHABLE, {}),
    Example(
        CLIENT, "Java", "java.net.NoRouteToHostException and strerror(99)",
        "java.net.NoRouteToHostException: Cannot assign requested address (Address not available)",
        Kind.NO_PORT, {},
    ),
    Example(CLIENT, "MariaDB Connector/C", "strings of libmariadb.so.3", "Server has gone away", Kind.STALE, {}),
    Example(CLIENT, "MySQL 9", "libmysql/errmsg.cc", "ERROR 2006 (HY000): MySQL server has gone away", Kind.STALE, {}),
    Example(
        CLIENT, "MySQL 9", "libmysql/errmsg.cc",
        "ERROR 2013 (HY000): Lost connection to MySQL server during query",
        Kind.LOST, {},
    ),
    Example(
        CLIENT, "PyMySQL 1.2.4", "pymysql/connections.py, _read_bytes: the error of the socket in brackets",
        "pymysql.err.OperationalError: (2013, 'Lost connection to MySQL server during query (timed out)')",
        Kind.LOST, {},
    ),
    Example(
        CLIENT, "MySQL 9", "libmysql/errmsg.cc, 2055",
        "Lost connection to MySQL server at 'reading initial communication packet', system error: 104",
        Kind.LOST, {"errno": 104},
    ),
    Example(
        CONNECTOR_J, "9.1.0", f"{JAR}; ServerPacketTimingInfoNoRecv",
        "The last packet sent successfully to the server was 0 milliseconds ago. The driver has not received "
        "any packets "
        "from the server.",
        Kind.UNREACHABLE, {},
    ),
    Example(
        CONNECTOR_J, "9.1.0", f"{JAR}; Connection.2",
        "java.sql.SQLNonTransientConnectionException: No operations allowed after connection closed.", Kind.LOST, {},
    ),
    Example(CONNECTOR_J, "9.1.0", f"{JAR}; CommunicationsException.20", "Communications link failure", Kind.LOST, {}),
    Example(
        CONNECTOR_J, "9.1.0", "ServerPacketTimingInfo, written by the released jar",
        "The last packet successfully received from the server was 28,800,004 milliseconds ago. The last packet sent "
        "successfully to the server was 28,800,005 milliseconds ago.",
        Kind.STALE, {"idle_ms": 28_800_004, "sent_ms": 28_800_005},
    ),
]  # fmt: skip

OTHERS = [
    "org.redisson.client.RedisConnectionException: Connection is not available",
    "2026-11-26 10:15:03.123  INFO 1 --- [main] com.zaxxer.hikari.HikariDataSource : HikariPool-1 - Start completed.",
    "2026-11-26 10:15:03.123  INFO 1 --- [main] c.z.hikari.HikariDataSource : HikariPool-1 - Shutdown completed.",
    "INFO {dataSource-1} inited",
    "redis.clients.jedis.exceptions.JedisConnectionException: Could not get a resource from the pool",
    "Caused by: java.util.NoSuchElementException: Timeout waiting for idle object",
    "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    'Get "https://api.example.com/v1": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    "421 4.7.0 Too many connections from your host",
    "FATAL: sorry, too many clients already",
    "asyncpg.exceptions.TooManyConnectionsError: sorry, too many clients already",
    "dial tcp 10.0.0.9:9092: connect: connection refused",
    "Error: connect ECONNREFUSED 127.0.0.1:6379",
    "java.net.BindException: Cannot assign requested address (Bind failed)",
    "ERROR 1064 (42000): You have an error in your SQL syntax",
    "ERROR 1146 (42S02): Table 'shop.orders' doesn't exist",
    "ERROR 1290 (HY000): The MySQL server is running with the --secure-file-priv option so it cannot execute this",
    "ftplib.error_perm: 530 Access denied for user 'shop'",
    "System.InvalidOperationException: There is already an open DataReader associated with this Connection which must",
    "Error 1053: The service did not respond to the start or control request in a timely fashion",
    "Error 5001: cache miss (1000, 'records')",
    "Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)",
    "java.net.SocketTimeoutException: Read timed out",
    '10.0.0.7 - - [26/Nov/2026:10:15:03 +0000] "GET /pool HTTP/1.1" 503 123 "-" "curl/8.5.0"',
    "java.util.concurrent.RejectedExecutionException: Thread pool is EXHAUSTED! Pool Size: 200 (active: 200)",
    "worker_connections are not enough while connecting to upstream",
    "Deadlock detected: process 4711 waits for ShareLock on transaction 815",
    "MongoServerSelectionError: connection timed out",
    "Lock wait is disabled; no timeout was exceeded",
    "retries of ER_LOCK_DEADLOCK and ER_LOCK_WAIT_TIMEOUT are on",
    "case ER_LOCK_DEADLOCK:",
    "case ER_LOCK_DEADLOCK: Retry it",
    "if (err.code === 'ER_LOCK_DEADLOCK') {",
    "ER_LOCK_DEADLOCK: true",
    "{ER_LOCK_DEADLOCK: 1213, ER_CON_COUNT_ERROR: 1040}",
    "retry on: [{ code: 'ER_LOCK_DEADLOCK' }, { code: 'ER_LOCK_WAIT_TIMEOUT' }]",
    "- code: 'ER_LOCK_DEADLOCK'",
    "retryOn: code: ER_LOCK_DEADLOCK, code: ER_LOCK_WAIT_TIMEOUT",
    "why ER_LOCK_DEADLOCK?",
    "invalid connection string: missing host",
    "redis.exceptions.ConnectionError: Too many connections",
    "order 1040 shipped, error 1205 corrected",
    "INFO pairs (1205, 'two words') of 1213 rows",
    'ERROR could not ship order (1213, "Main Street")',
    "ERROR 1064 (42000): an error in the order 1205 (of 2003)",
    "SQL Error: 0, SQLState: 08S01",
    '{"errno": -111, "code": "ECONNREFUSED", "order": 1040}',
    "dial tcp 10.0.0.9:3306: i/o timer started",
]
"""Lines of logs that report nothing about a pool, a driver or a MySQL server, or not enough."""
