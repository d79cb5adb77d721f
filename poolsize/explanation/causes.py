"""The most probable causes of each kind of error, how to tell them apart, and what to look at next."""

from collections.abc import Mapping
from dataclasses import dataclass

from poolsize.explanation.events import HOUSEKEEPING_MS, OF_POOL, Event, Use
from poolsize.explanation.texts import CLIENT, CONNECTOR_J, GO, SERVER, Kind


@dataclass(frozen=True)
class Cause:
    """A cause. tell: what shows that it is this one."""

    cause: str
    tell: str


@dataclass(frozen=True)
class Advice:
    """The causes of an event, the most probable first, and what to look at next: commands, metrics, settings."""

    causes: tuple[Cause, ...] = ()
    next: tuple[str, ...] = ()


_ACROSS = Cause("Code holds a connection across something slow: a call of another service, a file, a lock.",
    "On the server most of the pool's connections sleep; innodb_trx has old transactions.")  # fmt: skip
_LEAK = Cause("Code does not return connections (a leak).",
    "Connections in use stay at the maximum when the traffic stops, and only a restart helps.")  # fmt: skip
_NESTED_THREADS = Cause("Threads hold a connection and wait for a second connection: REQUIRES_NEW, a query outside the "
    "transaction. Then the pool needs threads x (connections of a thread - 1) + 1 connections.",
    "In a thread dump, threads inside a transaction wait in getConnection.")  # fmt: skip
_NESTED = Cause("Requests hold a connection and wait for a second connection: a query outside the "
    "transaction. Then the pool needs requests x (connections of a request - 1) + 1 connections.",
    "On the server, all of the pool's connections sleep inside transactions.")  # fmt: skip
_NOT_RELEASED = Cause("Code does not return connections: a release() is missing, most often after an error.",
    "Connections in use stay at connectionLimit when the traffic stops, and only a restart helps.")  # fmt: skip
_SLOW = Cause("Statements are slow, or wait for row locks.",
    "On the server most of the pool's connections run, or have LOCK WAIT in innodb_trx.")  # fmt: skip
_LONG = Cause("Connections are held for long: by slow statements, row locks, or a call of another service.",
    "On the server most of the pool's connections run, have LOCK WAIT in innodb_trx, or sleep.")  # fmt: skip
_SLOWER = Cause("The usage time has grown: the database or the code became slower.",
    "The mean usage time rose before the first error, the rate did not.")  # fmt: skip
_RATE = Cause("The pool is too small for the rate.",
    "Rate x mean usage time is near the pool size, and the usage time is as usual.")  # fmt: skip
_BURST = Cause("More requests arrive at once than the pool has connections: a timer, a retry, a cold cache.",
    "Errors come in single minutes; between them few connections are in use.")  # fmt: skip
_REFUSED = Cause("The server refuses further connections: a limit, a wrong password, a blocked host.",
    "A cause below the error, or the log around it, has 1040, 1045, 1129, 1203 or 1226.")  # fmt: skip
_SLOW_OPENING = Cause("Opening a connection takes longer than the pool waits: DNS, encryption, a busy server.",
    "A connection by hand from the same host takes as long.")  # fmt: skip
_NETWORK = Cause("The server can't be reached: it restarts or failed over, or a firewall drops packets.",
    "A connection by hand from the same host fails, too.")  # fmt: skip
_PAUSE = Cause("The process stood still, and the wait limit ran out: garbage collection, or its CPU limit.",
    "The garbage collector's log has a pause, or container_cpu_cfs_throttled_seconds_total rises.")  # fmt: skip
_IDLE_LIMIT = Cause("The server ended an idle connection: its wait_timeout is below the connections' lifetime.",
    "The idle time is near wait_timeout: SHOW GLOBAL VARIABLES LIKE 'wait_timeout'.")  # fmt: skip
_FIREWALL = Cause("A firewall, proxy or load balancer dropped the idle connection.",
    "The idle time is below wait_timeout, and near a limit on the way, often 300 or 350 s.")  # fmt: skip
_RESTART = Cause("The server restarted, crashed or failed over.",
    "SHOW GLOBAL STATUS LIKE 'Uptime' is short; many connections failed in the same second.")  # fmt: skip
_PINGS_BY_DEFAULT = Cause("Druid before 1.2.9 tests with a ping. Connector/J 8 and later do not count it as a query, "
    "so Druid takes the connection to be idle for too long (timeBetweenEvictionRunsMillis).",
    "The text, or the build file, names a version before 1.2.9.")  # fmt: skip
_PINGS_BY_SETTING = Cause("Druid 1.2.9 to 1.2.20 has usePingMethod=true.",
    "The code calls setUsePingMethod(true), or Java starts with -Ddruid.mysql.usePingMethod=true.")  # fmt: skip
_PINGS_BY_QUERY = Cause("validationQuery begins with /* ping */: the driver then sends a ping and no query.",
    "The settings of the pool have this query.")  # fmt: skip
_KILLED = Cause("Something ended it: KILL, a proxy, a packet above max_allowed_packet, a read timeout of the driver.",
    'It fails for the same statement, or after the same time; PyMySQL writes "timed out" at its own.')  # fmt: skip
_PACKET = Cause("A packet is larger than max_allowed_packet.",
    "The same large statement fails each time; SHOW VARIABLES LIKE 'max_allowed_packet' is less.")  # fmt: skip
_NOTHING_LISTENS = Cause("The server is down, listens elsewhere (bind_address), or host or port are wrong.",
    "nc -vz HOST 3306 is refused; on the server's host, ss -ltn shows where it listens.")  # fmt: skip
_REJECTED = Cause("A firewall rejects the connection.",
    "nc -vz HOST 3306 is refused from this host, and connects from another.")  # fmt: skip
_DROPPED = Cause("A firewall drops the packets, the host is down, or the address is wrong.",
    "nc -vz HOST 3306 hangs; getent hosts HOST shows the address.")  # fmt: skip
_UNKNOWN_NAME = Cause("The host name is wrong, unknown in this network, or its name server does not answer.",
    "getent hosts HOST prints nothing on the application's host, always or at times.")  # fmt: skip
_BACKLOG = Cause("The server's queue of new connections overflows (back_log).",
    "Only in bursts; nstat -az TcpExtListenOverflows rises on the server.")  # fmt: skip
_NOT_KEPT = Cause("Each request opens and closes a connection, or the pool keeps few idle connections (Go keeps 2).",
    "Connections in SHOW GLOBAL STATUS rises as requests do.")  # fmt: skip
_UNLIMITED = Cause("SetMaxOpenConns is missing: database/sql opens connections without a limit by default.",
    "MaxOpenConnections of sql.DBStats is 0.")  # fmt: skip
_POOLS_TOGETHER = Cause("The pools of all processes together may open more than the limit.",
    "Pool size x processes is above the limit, or twice as much in a deploy is: see poolsize fleet.")  # fmt: skip
_IDLE_CROWD = Cause("Others hold connections without using them: old instances, scripts, tools.",
    "Most connections of the process list sleep, and come from hosts that you do not expect.")  # fmt: skip
_PILE_UP = Cause("The server became slow, and clients opened more and more connections.",
    "Threads_running rose before the first error.")  # fmt: skip
_SLOW_STATEMENT = Cause("The statement is slow: it lacks an index, its plan changed, or its tables grew.",
    "EXPLAIN has many rows, or no key; the slow query log has the statement.")  # fmt: skip
_LONG_TRANSACTION = Cause("A transaction holds its row locks for long, or was left open.",
    "SELECT * FROM sys.innodb_lock_waits names the blocking session; its transaction is old.")  # fmt: skip
_HOT_ROW = Cause("Many transactions change the same row: a counter, a queue.",
    "SHOW ENGINE INNODB STATUS names the same table and index each time.")  # fmt: skip
_PASSWORD = Cause("The password is wrong: it was changed, or its variable is empty or of another environment.",
    '"using password: NO" means that none was sent. The account is in mysql.user, and the login fails by hand.'
    )  # fmt: skip
_NO_ACCOUNT = Cause("No account matches this user and address: in MySQL, an account is a user and a host.",
    "SELECT user, host FROM mysql.user has no row that fits; an anonymous account may fit first.")  # fmt: skip
_SYSTEM_USER = Cause("The account logs in by its system user (auth_socket, unix_socket), error 1698.",
    "SHOW CREATE USER names the plugin.")  # fmt: skip
_OTHER_SERVER = Cause("The application reaches another server than you expect.",
    "SELECT @@hostname by hand, with the application's host name and port, shows which.")  # fmt: skip
_OTHER_ADDRESS = Cause("The application's address has changed: a new network, a proxy, a host behind NAT.",
    "The error names the address that the server sees; older accounts have another.")  # fmt: skip
_NO_GRANT = Cause("The account lacks privileges on this database.", "SHOW GRANTS does not name it.")
_NO_DATABASE = Cause("The database's name is wrong, or it does not exist.", "SHOW DATABASES as root lacks it.")
_OLD_PRIMARY = Cause("A failover made another server the primary, and the pool keeps its connections.",
    "It began at once for all writes; SELECT @@hostname on a new connection shows another server.")  # fmt: skip
_REPLICA = Cause("The application writes to a replica: the host name is a reader's, or its address was cached.",
    "SHOW REPLICA STATUS has a row (older: SHOW SLAVE STATUS); Aurora: innodb_read_only is ON.")  # fmt: skip
_MADE_READ_ONLY = Cause("Somebody, a restart with read_only in its configuration, or a full disk at a cloud provider "
    "made the primary read-only.",
    "The server is the primary, and read_only is ON.")  # fmt: skip
_SHARED = Cause("Code gives the same connection, cursor or session to several tasks or threads.",
    "The connection is global, or a member of an object that several requests use.")  # fmt: skip
_UNREAD = Cause("A statement began before all rows of the last statement, or all results of a CALL, were read.",
    "Within a transaction, a query runs inside the loop over another query's rows.")  # fmt: skip
_FORKED = Cause("Processes share a connection that was opened before they were forked. SQLAlchemy: "
    "engine.dispose(close=False) in each process.",
    "The errors come with several workers only: gunicorn's preload_app, uWSGI without lazy-apps, multiprocessing."
    )  # fmt: skip
_SHARED_TX = Cause("Goroutines share a Tx or a Conn.",
    "It is a global, or a field of something that several requests use.")  # fmt: skip
_CANCELLED = Cause("A cancelled task left its answer unread, and the connection went back to the pool.",
    "A timeout or a cancelled request is in the log just before.")  # fmt: skip
_OPEN_TRANSACTION = Cause("A session sleeps and keeps a transaction open, even if the transaction only read.",
    "innodb_trx has a transaction as old as the wait, whose session sleeps.")  # fmt: skip
_LONG_READ = Cause("A long statement still reads the table: a report, a backup.",
    "SHOW FULL PROCESSLIST has a statement on the table that has run for longer than the wait.")  # fmt: skip
_SCHEMA_CHANGE = Cause("A change of the schema waits, and all later statements on the table wait behind it.",
    "The oldest waiting statement is ALTER, DROP, TRUNCATE, RENAME or LOCK TABLES.")  # fmt: skip
_CLOSING = Cause("Closing statements of the statement cache blocks the helper threads.",
    "The active tasks below the error are StatementCloseTask.")  # fmt: skip
_LOCK_ORDER = Cause("Transactions lock the same rows in different orders.",
    "SHOW ENGINE INNODB STATUS, LATEST DETECTED DEADLOCK, has two statements of different code.")  # fmt: skip
_FEWER_THAN_THREADS = Cause("The pool has fewer connections than threads; a request keeps its connection.",
    "pool in database.yml is below RAILS_MAX_THREADS, or below the concurrency of Sidekiq.")  # fmt: skip
_MORE_THREADS = Cause("The pool is smaller than the threads that use it, and a request does not wait.",
    "The errors begin as soon as more threads than connections work at once.")  # fmt: skip

_OWN_CAUSES: Mapping[str, Mapping[Cause, Cause]] = {
    **{java: {_NESTED: _NESTED_THREADS} for java in ("HikariCP", "Druid", "DBCP2", "Tomcat JDBC", "c3p0", "Agroal")},
    "Active Record": {_LONG: _FEWER_THAN_THREADS, _RATE: _LONG},
    "Prisma": {_RATE: Cause("connection_limit is too small for the rate.", _RATE.tell)},
    "mysql2": {_LEAK: _NOT_RELEASED, _MORE_THREADS: _BURST},
    GO: {_POOLS_TOGETHER: _UNLIMITED, _SHARED: _SHARED_TX, _FORKED: _IDLE_LIMIT},
}
"""Library -> causes in its own words: only Java's threads that wait stand in a thread dump, in getConnection."""

_PROCESSES = (
    "SHOW FULL PROCESSLIST: do the connections sleep or run? Those that wait for a row lock seem to run: "
    "SELECT * FROM sys.innodb_lock_waits"
)
"""Source: the manual of MySQL, InnoDB Lock and Lock-Wait Information: LOCK WAIT is in innodb_trx alone."""
_HOLDERS = "poolsize recommend --url URL: who holds connections, and what the server admits"
_HOLDERS_ELSE = f"{_HOLDERS}; URL with another account, as this account is refused"
_COUNT_SESSIONS = (
    "SELECT user, SUBSTRING_INDEX(host, ':', 1), command, COUNT(*) FROM information_schema.processlist GROUP BY 1, 2, "
    "3 ORDER BY 4 DESC"
)
_LOCKS = "without sys: SELECT * FROM information_schema.innodb_trx WHERE trx_rows_locked > 0 ORDER BY trx_started"
_SUM = (
    "poolsize config --check FILE --instances NUMBER --max-connections NUMBER: do the pools of all instances fit the "
    "limit?"
)
_BELOW = "the cause below the error in the log"
_AGES = "lifetime against wait_timeout: poolsize config --check FILE --url URL"
_MEASURE = "rate and mean usage time at that minute, against the pool size"
ADVICE: Mapping[Kind | Use, Advice] = {
    Use.HELD: Advice((_ACROSS, _LEAK, _SLOW, _NESTED), (_PROCESSES,)),
    Use.UNCLEAR: Advice((_RATE, _ACROSS, _SLOWER, _NESTED), (_MEASURE, _PROCESSES)),
    Use.BUSY: Advice((_SLOWER, _RATE, _BURST, _NESTED), (_MEASURE, _PROCESSES)),
    Use.RUNNING: Advice((_SLOW_STATEMENT, _LONG_TRANSACTION, _BURST), (_PROCESSES, _LOCKS)),
    Use.FULL: Advice((_LONG, _LEAK, _NESTED, _RATE), (_PROCESSES, _MEASURE)),
    Use.LOCKED: Advice((_LONG_TRANSACTION, _HOT_ROW, _ACROSS), (_LOCKS, _PROCESSES)),
    Use.LEAKED: Advice((_LEAK, _ACROSS, _NESTED, _RATE), (_PROCESSES,)),
    Use.NOT_FULL: Advice((_SLOW_OPENING, _REFUSED, _PAUSE), (_BELOW, _HOLDERS)),
    Use.NONE_OPEN: Advice((_REFUSED, _NETWORK, _SLOW_OPENING), (_BELOW, _HOLDERS)),
    Kind.WAIT_TIMEOUT: Advice((_LONG, _LEAK, _NESTED, _RATE), (_PROCESSES, _MEASURE)),
    Kind.EXHAUSTED: Advice((_MORE_THREADS, _ACROSS, _LEAK), (_PROCESSES,)),
    Kind.QUEUE_FULL: Advice((_LEAK, _SLOWER, _BURST, _NESTED), (_PROCESSES, _MEASURE)),
    Kind.HELD_LONG: Advice((_ACROSS, _LEAK, _SLOW), (_PROCESSES,)),
    Kind.RETURNED_LATE: Advice((_SLOW, _ACROSS, _LONG_TRANSACTION), (_PROCESSES,)),
    Kind.STALLED: Advice((
        Cause("Garbage collection stopped the process.", "Its log has a pause of that length."),
        Cause("The CPU limit of the container was used up.", "container_cpu_cfs_throttled_seconds_total rises."),
        Cause("The machine was suspended, or its clock was set.", "All processes of the host have a gap."),
    ), ("the log of the garbage collector, and the CPU use against its limit",)),
    Kind.OPENING_BLOCKED: Advice((
        _SLOW_OPENING, _NETWORK, _CLOSING,
    ), ("the thread dump below the error: what do c3p0's helper threads wait for?",)),
    Kind.STALE: Advice((_IDLE_LIMIT, _FIREWALL, _RESTART, _PACKET), (
        _AGES, "SHOW GLOBAL STATUS LIKE 'Aborted_clients'")),
    Kind.DISCARDED: Advice((_PINGS_BY_DEFAULT, _PINGS_BY_SETTING, _PINGS_BY_QUERY), (
        "SHOW GLOBAL STATUS LIKE 'Connections': it rises by each connection that Druid opens in place of another",)),
    Kind.LOST: Advice((_RESTART, _FIREWALL, _KILLED), ("the server's error log at that time", _AGES)),
    Kind.CLOSED: Advice((
        Cause("The process shuts down while requests still run.", "The errors begin with the stop of the process."),
        Cause("Code closes the pool, for example after each request.", "The errors go on in a running process."),
        Cause("A reload made a new pool, and code keeps the old one.", "The errors begin with a change of settings."),
    ), ("what the log has just before the first error",)),
    Kind.SETTING: Advice((
        Cause("The size is above the library's own maximum.", "The text has that maximum."),
        Cause("The size is 0 or negative.", "The setting, or its environment variable, is empty."),
        Cause("The size is that of all processes together.", "Divided by the processes, it is accepted."),
    ), ("poolsize config --for mysql-connector-python --size SIZE",)),
    Kind.SERVER_FULL: Advice((_POOLS_TOGETHER, _IDLE_CROWD, _PILE_UP), (
        _COUNT_SESSIONS, _SUM,
        "then, if memory allows, SET GLOBAL max_connections, a few dozen more (MySQL: SYSTEM_VARIABLES_ADMIN, SUPER)")),
    Kind.USER_LIMIT: Advice((_POOLS_TOGETHER, _IDLE_CROWD, _NOT_KEPT), (
        _COUNT_SESSIONS, _HOLDERS_ELSE, "SHOW GLOBAL VARIABLES LIKE 'max_user_connections'")),
    Kind.ACCOUNT_LIMIT: Advice((_POOLS_TOGETHER, _IDLE_CROWD, _NOT_KEPT), (
        _COUNT_SESSIONS, _HOLDERS_ELSE,
        "SHOW CREATE USER: its own limits, which max_user_connections of the server doesn't change")),
    Kind.HOST_BLOCKED: Advice((
        Cause("A health check or a scanner opens the port and leaves.", "Its address is that of the blocked host."),
        Cause("Connections break while they open: network, encryption.", "The server's error log has them as aborted."),
        Cause("Clients give up before a busy server answers.", "Their connect timeout is short, and the CPU was full."),
    ), ("then TRUNCATE it (MariaDB: FLUSH HOSTS; no rows without performance_schema: see the error log)",)),
    Kind.HOST_REFUSED: Advice((_NO_ACCOUNT, _OTHER_ADDRESS, _OTHER_SERVER), ("SELECT user, host FROM mysql.user",)),
    Kind.LOGIN_REFUSED: Advice((_PASSWORD, _NO_ACCOUNT, _SYSTEM_USER, _OTHER_SERVER), (
        "a pool keeps its open connections after a change of password: new ones fail until it has the new password",)),
    Kind.DATABASE_REFUSED: Advice((_NO_GRANT, _NO_DATABASE, _OTHER_SERVER), ("SHOW GRANTS FOR 'USER'@'HOST'",)),
    Kind.READ_ONLY: Advice((_OLD_PRIMARY, _REPLICA, _MADE_READ_ONLY), (
        "the pool's maxLifetime: after it, connections go to the new primary by themselves",
        "Java caches addresses: networkaddress.cache.ttl")),
    Kind.SHARED_CONNECTION: Advice((_SHARED, _UNREAD, _FORKED, _CANCELLED), (
        "the stack trace: which code took the connection, and does it give the same connection to others?",)),
    Kind.METADATA_LOCK: Advice((_OPEN_TRANSACTION, _LONG_READ, _SCHEMA_CHANGE), (
        "MySQL: SELECT * FROM sys.schema_table_lock_waits names the blocking session",
        "SET lock_wait_timeout = 5 before the next ALTER: it gives up after 5 s, and the statements behind it go on")),
    Kind.LOCK_WAIT: Advice((_LONG_TRANSACTION, _HOT_ROW, _ACROSS), (_LOCKS,
        "if the wait is over: what ran 50 s (innodb_lock_wait_timeout) before the first error: jobs, slow statements")),
    Kind.DEADLOCK: Advice((_LOCK_ORDER, _HOT_ROW, _LONG_TRANSACTION), (
        "SHOW ENGINE INNODB STATUS, LATEST DETECTED DEADLOCK", "does the code repeat the transaction, as it should?")),
    Kind.NO_PORT: Advice((
        _NOT_KEPT,
        Cause("A pool drops and reopens connections in a loop.", "Its counter of created connections rises."),
        Cause("The host name is wrong (localhost or ::1 in a container).", "All requests fail."),
    ), ("keep idle connections; Go: SetMaxIdleConns as high as SetMaxOpenConns",
        "PHP: PDO::ATTR_PERSISTENT, if PHP-FPM workers x hosts fit max_connections")),
    Kind.UNREACHABLE: Advice(
        (_NOTHING_LISTENS, _DROPPED, _REJECTED, _BACKLOG), ("the server's error log and its Uptime",)
    ),
    Kind.PROXY_TIMEOUT: Advice((
        Cause("ProxySQL uses all its connections to the hostgroup.", "ConnFree is 0, and ConnUsed is max_connections."),
        Cause("The hostgroup's servers are shunned or offline.", "status in runtime_mysql_servers is not ONLINE."),
        Cause("Transactions hold connections: multiplexing is off.", "ConnUsed is high, and queries are few."),
    ), ("SELECT * FROM stats_mysql_connection_pool, on ProxySQL's admin interface",)),
    Kind.DEADLINE: Advice((
        Cause("The time ran out while the request waited for a connection of the pool.",
              "InUse is MaxOpenConnections; WaitCount and WaitDuration rise."),
        Cause("Opening a connection, or a statement, took too long.",
              "WaitCount does not rise; connecting or the statement is slow."),
        Cause("The time was nearly used up before the database was called.", "The trace has earlier, longer parts."),
    ), (_PROCESSES,)),
}  # fmt: skip
_SESSIONS = (
    "SHOW FULL PROCESSLIST: if the pool's sessions sleep, find what holds them; if they run, see "
    "sys.innodb_lock_waits, then EXPLAIN; if all are short, enlarge the pool."
)
_SESSIONS_OR_NONE = (
    "SHOW FULL PROCESSLIST: if the pool has too few sessions, find why it can't connect; if they sleep, find what "
    "holds them; if they run, see sys.innodb_lock_waits."
)
_UNBLOCK = (
    "SELECT * FROM sys.innodb_lock_waits names the blocking session: see what it does before you KILL it. Without "
    "rows, the wait is over."
)
_STACK_TRACE = "read the stack trace of the report: it names the code that holds the connection."
FIRST: Mapping[Kind | Use, str] = {
    Use.HELD: "find what holds the connections, before you enlarge the pool: SHOW FULL PROCESSLIST (do they sleep or "
    "run?), sys.innodb_lock_waits (row locks).",
    Use.UNCLEAR: "look at the pool's sessions now: SHOW FULL PROCESSLIST (sleep or run?), sys.innodb_lock_waits. Run "
    "again with --usage-time MEAN: it decides between the two.",
    Use.BUSY: "look for slow statements now: SHOW FULL PROCESSLIST, sys.innodb_lock_waits. If there are none, and the "
    "usage time is as usual, enlarge the pool.",
    Use.RUNNING: "EXPLAIN the statement in the text, and stop it or what sends it. If sys.innodb_lock_waits has rows, "
    "end the blocking session instead.",
    Use.FULL: _SESSIONS,
    Use.LOCKED: _UNBLOCK,
    Use.LEAKED: "find the code that the leak report names, before you enlarge the pool.",
    Use.NOT_FULL: "read the cause below the error in the log, and open a connection by hand from the same host.",
    Use.NONE_OPEN: "open a connection by hand, from the same host with the same account: its error names the cause.",
    Kind.WAIT_TIMEOUT: _SESSIONS_OR_NONE,
    Kind.EXHAUSTED: "compare the threads of a process with the pool size: if there are more, raise it, or run fewer "
    "threads; if fewer, look for a missing close().",
    Kind.QUEUE_FULL: _SESSIONS_OR_NONE,
    Kind.STATISTICS: "nothing, if no request fails. If requests time out, explain the text of that error.",
    Kind.HELD_LONG: _STACK_TRACE,
    Kind.RETURNED_LATE: _STACK_TRACE,
    Kind.STALLED: "look for a pause of {pause} in the garbage collector's log, just before this report.",
    Kind.OPENING_BLOCKED: "read the thread dump below the error: it shows what c3p0's helper threads wait for.",
    Kind.STALE: "SHOW GLOBAL STATUS LIKE 'Uptime': if short, the server restarted. Else set {settings} below "
    "wait_timeout and firewalls' limits.",
    Kind.DISCARDED: "upgrade Druid to 1.2.22 or later. Until then, start Java with -Ddruid.mysql.usePingMethod=false, "
    "if no validationQuery begins with /* ping */.",
    Kind.LOST: "read the server's error log at that time: it shows a restart, a failover, or an ended session.",
    Kind.CLOSED: "read what the log has just before the first error: the stop of the process, or a reload.",
    Kind.SETTING: "set the pool size of a process between 1 and the library's maximum.",
    Kind.SERVER_FULL: "count the sessions by user, client and command (below), with PROCESS and CONNECTION_ADMIN or "
    "SUPER (MariaDB: extra_port). End idle ones, or run fewer processes.",
    Kind.USER_LIMIT: "with another account, count this account's sessions (below). End those of old instances, "
    "or SET GLOBAL max_user_connections = NUMBER, below max_connections.",
    Kind.ACCOUNT_LIMIT: "with another account, see which idle sessions can end. Else raise the limit that the "
    "error names: ALTER USER ... WITH MAX_USER_CONNECTIONS NUMBER, for example.",
    Kind.HOST_BLOCKED: "from another host, SELECT * FROM performance_schema.host_cache WHERE IP = 'ADDRESS': the "
    "COUNT_..._ERRORS above 0, beside HOST_BLOCKED, name the reason.",
    Kind.HOST_REFUSED: "from another host, SELECT user, host FROM mysql.user: create the account for the application's "
    "address, which the error names, or correct the address.",
    Kind.LOGIN_REFUSED: "log in by hand, from the same host with the same account and password. If that works, correct "
    "the application's password; if not, the account.",
    Kind.DATABASE_REFUSED: "SHOW GRANTS FOR the account: GRANT it the privileges on the database that the error names, "
    "or correct the name; a database that does not exist has this error, too.",
    Kind.READ_ONLY: "SELECT @@hostname, @@read_only, @@innodb_read_only by hand: if both are 0, restart the "
    "application. On a replica, correct the host name; on the primary, find why.",
    Kind.SHARED_CONNECTION: "give each task, thread and forked process a connection of its own from a pool, and read "
    "all rows before the next statement.",
    Kind.METADATA_LOCK: "SELECT * FROM information_schema.innodb_trx ORDER BY trx_started: end the old transaction. "
    "If an ALTER waits, ending it lets the statements behind it go on.",
    Kind.LOCK_WAIT: _UNBLOCK,
    Kind.DEADLOCK: "retry the transaction; lock rows in the same order everywhere. A larger pool does not help.",
    Kind.NO_PORT: "count the lines of ss -tanH state time-wait dst SERVER. Thousands use up the ports: sysctl -w "
    "net.ipv4.tcp_tw_reuse=1 helps now. If few, check the host name.",
    Kind.UNREACHABLE: "run nc -vz HOST 3306 on the application's host. If refused, nothing listens there; if it hangs, "
    "a firewall drops the packets, or the host is down.",
    Kind.PROXY_TIMEOUT: "SELECT * FROM stats_mysql_connection_pool on ProxySQL's admin interface: are connections "
    "free, and servers ONLINE?",
    Kind.DEADLINE: "db.Stats(): if InUse is MaxOpenConnections and WaitCount rises, requests wait for the pool. Else "
    "connecting, BEGIN, the statement or the work before was slow.",
}
"""What to do first. Source for 1040: the manuals of MySQL and MariaDB, "Too many connections", and extra_port. For
DISCARDED: alibaba/druid, testConnectionInternal and MySqlValidConnectionChecker of 1.1.10 to 1.2.22, pull requests 4677
and 5560, issue 4682; NativeSession.java of MySQL Connector/J."""
OPENS_WHILE_WAITING = (
    "HikariCP", "c3p0", "Agroal", "R2DBC pool", "sqlx", "deadpool", "Prisma", "MySqlConnector", "Sequelize", "Knex",
    "SQLAlchemy",
)  # fmt: skip
"""Libraries whose text is the same where none can be opened. Sources: c3p0, issue 20; sqlx, issue 3808; Prisma, issue
7249; tarn, Pool.ts: it retries; HikariCP, with total=0; Agroal, r2dbc-pool: the wait includes the opening; deadpool,
managed/mod.rs, MySqlConnector, ConnectionPool.cs, sequelize-pool, Pool.ts, SQLAlchemy, pool/impl.py: an opening takes
a place of the pool."""
FIRST_OF_STATEMENT: Mapping[tuple[Kind, str], str] = {
    (Kind.SHARED_CONNECTION, "asyncio"): "see in the stack trace whose connection it is (Redis's client has this text, "
    "too). Give each task a connection of its own from a pool.",
    (Kind.SHARED_CONNECTION, GO): "read all rows and Close() them before the next statement of the same Tx or Conn. If "
    "no rows are open, set SetConnMaxLifetime below wait_timeout.",
}
"""Kind of error and library -> what to do first, where it differs from other libraries."""
FIRST_OF_FAILURE: Mapping[tuple[Kind, str | None], str] = {
    (Kind.UNREACHABLE, "name"): "run getent hosts HOST where the application runs (in its container). If it prints "
    "nothing, check the name and the name server (/etc/resolv.conf).",
    (Kind.UNREACHABLE, "refused"): "run nc -vz HOST 3306 on the application's host. If refused, too, check host and "
    "port, then on the server: does it run, and listen there (ss -ltn)?",
    (Kind.UNREACHABLE, "timeout"): "run nc -vz HOST 3306 on the application's host. If it hangs, check the address, "
    "firewalls, and whether the host is up. If it connects, the failure is over.",
    (Kind.LOST, ""): "SHOW GLOBAL STATUS LIKE 'Uptime': if short, the server restarted. Else compare the connection's "
    "idle time with wait_timeout, and look for KILL and proxies.",
    (Kind.LOST, "timeout"): "look for the statement in SHOW FULL PROCESSLIST: it may still run, or wait for a lock "
    "(sys.innodb_lock_waits). If not, see the slow query log, then the network.",
    (Kind.LOST, "idle"): "set the pool's maxLifetime below the limits of firewalls: poolsize config --check FILE --url "
    "URL.",
}
CAUSES_OF_FAILURE: Mapping[tuple[Kind, str | None], tuple[Cause, ...]] = {
    (Kind.UNREACHABLE, "name"): (_UNKNOWN_NAME,),
    (Kind.UNREACHABLE, "refused"): (_NOTHING_LISTENS, _REJECTED),
    (Kind.UNREACHABLE, "timeout"): (_DROPPED, _BACKLOG),
    (Kind.LOST, ""): (_IDLE_LIMIT, _RESTART, _KILLED),
    (Kind.LOST, "reset"): (_RESTART, _FIREWALL, _IDLE_LIMIT),
    (Kind.LOST, "timeout"): (_SLOW, _FIREWALL),
    (Kind.LOST, "idle"): (_FIREWALL, _SLOW),
}
"""Kind of error and failure of the network -> what its text leaves. Source of 2013: PyMySQL (see text.py);
the manual of MySQL, "MySQL server has gone away": an end and libmysqlclient's read timeout have the same text."""
FIRST_OF_LIBRARY = {
    "MySQL Connector/Python": "compare the threads of a process with pool_size (by default 5, at most 32): if there "
    "are more, raise it, or run fewer threads; if fewer, look for a missing close().",
    "mysql2": "SHOW FULL PROCESSLIST: if the pool's sessions sleep, look for a missing release(), commit or rollback; "
    "if they run, see sys.innodb_lock_waits.",
    "Vert.x": "see in the stack trace whose pool it is: Vert.x's HTTP and Redis clients give this text, too. If the "
    "database's: SHOW FULL PROCESSLIST: do sessions sleep or run?",
    "Active Record": "compare pool in database.yml with the process's threads (RAILS_MAX_THREADS, Sidekiq's "
    "concurrency): it needs as many. If it has them: SHOW FULL PROCESSLIST.",
    "Knex": "SHOW FULL PROCESSLIST: if the pool has too few sessions, find why it can't connect; if they sleep, find a "
    "query without .transacting(trx), or a missing commit.",
    "sqlx": "connect by hand from the same host: where sqlx can't connect, it has this text, too. If that works: SHOW "
    "FULL PROCESSLIST: do the pool's sessions sleep or run?",
}
"""Library -> what to do first where a request waited for its pool in vain."""
_CLOSE_LATER = (
    "set statementCacheNumDeferredCloseThreads to 1, or switch the statement cache off: maxStatements and "
    "maxStatementsPerConnection 0."
)
_OF_CLOSING = (_CLOSE_LATER, (_CLOSING,))
_OF_OPENING = (
    "connect by hand from the same host: most of c3p0's helper threads open a connection.",
    (_SLOW_OPENING, _NETWORK, _REFUSED),
)
OF_C3P0_TASKS: Mapping[str, tuple[str, tuple[Cause, ...]]] = {
    "StatementCloseTask": _OF_CLOSING,
    "UncheckedStatementCloseTask": _OF_CLOSING,
    "AcquireTask": _OF_OPENING,
    "ScatteredAcquireTask": _OF_OPENING,
}
"""Task of most helper threads in c3p0's report -> what to do first, and the causes. Source: c3p0's manual, "Configuring
Statement Pooling"; the class files of 0.14.1; its issues 53 (0.9.1) and 84."""
LEAK_OF_LIBRARY = {
    "SQLAlchemy": "find a connection or session that is not closed, or not used in a with block. "
    "echo_pool='debug' logs each checkout: the report itself names no code.",
    "c3p0": "set debugUnreturnedConnectionStackTraces to true: the next report names the code that holds the "
    "connection.",
}
"""Library whose leak report has no stack trace -> what to do first."""
LIFETIMES = {
    "HikariCP": "maxLifetime and keepaliveTime",
    CONNECTOR_J: "the pool's lifetime (HikariCP: maxLifetime, keepaliveTime)",
    GO: "SetConnMaxLifetime and SetConnMaxIdleTime",
    CLIENT: "the connections' lifetime (Django: CONN_MAX_AGE)",
}
"""Library -> its settings that end a connection before the server or a firewall does."""
_LIFETIMES_OF_CLIENTS = (
    "SQLAlchemy: pool_recycle and pool_pre_ping; Django: CONN_MAX_AGE and CONN_HEALTH_CHECKS; in workers and commands, "
    "outside a request, close_old_connections()"
)
METRICS = {
    "HikariCP": "if exported, hikaricp_connections_usage_seconds (the mean, for --usage-time, is _sum / _count, not "
    "_max) and hikaricp_connections_pending; leakDetectionThreshold=10000 logs the code that holds a connection",
    "Druid": "ActiveCount, WaitThreadCount and ConnectionHoldTimeHistogram of /druid/datasource.json",
    "DBCP2": "commons.pool2.num.active, commons.pool2.num.waiters; with removeAbandonedOnBorrow, logAbandoned logs "
    "the code that holds a connection",
    "Tomcat JDBC": "Active, Size and WaitCount (JMX); with suspectTimeout=30, logAbandoned logs the code that holds a "
    "connection",
    "c3p0": "NumBusyConnections and NumThreadsAwaitingCheckoutDefaultUser (JMX); debugUnreturnedConnectionStackTraces",
    "SQLAlchemy": "engine.pool.status() in each process; echo_pool='debug' logs each checkout and return",
    "mysql2": "queueLimit and connectionLimit; the pool's events acquire, release and enqueue, counted",
    GO: "db.Stats(); if its collector is registered, go_sql_in_use_connections, go_sql_wait_count_total and "
    "go_sql_wait_duration_seconds_total",
}
"""Library -> where its pool shows how its connections are used."""


def advice(event: Event) -> Advice:
    """Return the causes of an event, and what to look at next. A pool with free connections has no causes."""
    has_metrics = event.library in METRICS and event.kind in (*OF_POOL, Kind.DEADLINE)
    metrics = (METRICS[event.library],) if has_metrics and event.load.use is not Use.NONE_OPEN else ()
    if is_at_ease(event):
        return Advice(next=metrics)
    chosen = ADVICE[event.load.use or event.kind]
    if event.kind is Kind.LOST and event.failure in ("timeout", "idle"):
        chosen = Advice(next=(_PROCESSES, "the slow query log at that time"))
    if event.kind is Kind.STALE and event.library in (CLIENT, SERVER):
        metrics = (_LIFETIMES_OF_CLIENTS,)
    return Advice(_causes(event, chosen), chosen.next[:1] + metrics + chosen.next[1:])


def first_action(event: Event) -> str:
    """Return what to do first."""
    of_task, _ = OF_C3P0_TASKS.get(event.task, ("", ()))
    of_kind = FIRST_OF_FAILURE.get((event.kind, event.failure)) or FIRST_OF_STATEMENT.get((event.kind, event.library))
    if first := of_task or _first_of_library(event) or of_kind:
        return first
    is_kind = is_at_ease(event) or (event.kind is Kind.EXHAUSTED and event.load.use is Use.FULL)
    chosen = FIRST[event.kind if is_kind else event.load.use or event.kind]
    if event.load.use is Use.UNCLEAR and event.load.usage_ms:
        chosen = _SESSIONS
    elif event.kind is Kind.STALE and (event.library == SERVER or "idle_ms" in event.numbers):
        chosen = "set {settings} below {limit}: poolsize config --check FILE --url URL."
    limit = "wait_timeout" if event.is_near_wait_timeout else "wait_timeout and the limits of firewalls"
    if event.is_near_firewall:
        limit = "300 s, a usual limit of firewalls and load balancers"
    late_s = event.numbers.get("late_ms", 0) / 1000
    return chosen.format(
        settings=LIFETIMES.get(event.library, "the pool's lifetime"),
        limit=limit,
        pause=f"{max(late_s - HOUSEKEEPING_MS / 1000, 0):,.0f} to {late_s:,.0f} s",
    )


def _first_of_library(event: Event) -> str | None:
    """Return what to do first after a leak report, and where a text of a library does not show how its pool is used."""
    if event.load.use is Use.LEAKED or event.kind is Kind.HELD_LONG:
        if event.frame:
            return f"find what holds the connection in the code of the leak report: {event.frame}."
        return LEAK_OF_LIBRARY.get(event.library)
    if event.kind not in OF_POOL or not _is_unknown(event):
        return None
    return FIRST_OF_LIBRARY.get(event.library) or (_SESSIONS_OR_NONE if event.kind is Kind.WAIT_TIMEOUT else None)


def is_at_ease(event: Event) -> bool:
    """Return whether an event is the state of a pool that is not full, and for whose connections nobody waits."""
    is_idle = event.load.use is Use.NONE_OPEN and not event.numbers.get("waiting")
    return event.kind is Kind.STATISTICS and (is_idle or event.load.use in (None, Use.NOT_FULL))


def _is_unknown(event: Event) -> bool:
    """Return whether nothing shows how a pool's connections are used, nor that they are open."""
    is_derived = "in_use" not in event.numbers or "overflow" in event.numbers
    return is_derived and event.load.use in (None, Use.FULL)


def _causes(event: Event, chosen: Advice) -> tuple[Cause, ...]:
    """Return the causes in the order that a mean usage time, if known, gives: it lacks connections not returned."""
    _, of_task = OF_C3P0_TASKS.get(event.task, ("", ()))
    causes = of_task or CAUSES_OF_FAILURE.get((event.kind, event.failure), chosen.causes)
    if event.load.is_above_mean:
        causes = _LEAK, _NESTED, _ACROSS
    elif event.load.is_confirmed:
        causes = *(cause for cause in causes if cause is not _LEAK), _LEAK
    elif event.kind is Kind.WAIT_TIMEOUT and event.library in OPENS_WHILE_WAITING and _is_unknown(event):
        place = 0 if event.library == "sqlx" else 1  # its first action is to connect by hand
        causes = *causes[:place], _NETWORK, *causes[place:]
    elif event.kind is Kind.STALE and (event.library != CLIENT or "idle_ms" in event.numbers):
        causes = tuple(cause for cause in causes if cause is not _PACKET)
        if event.is_near_firewall:
            causes = _FIREWALL, *(cause for cause in causes if cause is not _FIREWALL)
    own = _OWN_CAUSES.get(event.library, {})
    return tuple(own.get(cause, cause) for cause in causes)
