"""The known texts of pools, drivers and servers, with the numbers in them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Numbers = Mapping[str, float]
"""Name -> value. Names end with their unit; those without a unit are counts of connections or requests, or a code."""


class Kind(StrEnum):
    """What a text reports."""

    WAIT_TIMEOUT = "wait_timeout"
    EXHAUSTED = "exhausted"
    QUEUE_FULL = "queue_full"
    STATISTICS = "statistics"
    HELD_LONG = "held_long"
    RETURNED_LATE = "returned_late"
    STALLED = "stalled"
    OPENING_BLOCKED = "opening_blocked"
    STALE = "stale_connection"
    DISCARDED = "valid_connection_discarded"
    LOST = "connection_lost"
    CLOSED = "pool_closed"
    SETTING = "pool_setting"
    SERVER_FULL = "server_full"
    ACCOUNT_LIMIT = "account_limit"
    USER_LIMIT = "user_limit"
    HOST_BLOCKED = "host_blocked"
    HOST_REFUSED = "host_refused"
    LOGIN_REFUSED = "login_refused"
    DATABASE_REFUSED = "database_refused"
    READ_ONLY = "read_only"
    SHARED_CONNECTION = "shared_connection"
    METADATA_LOCK = "metadata_lock"
    LOCK_WAIT = "lock_wait"
    DEADLOCK = "deadlock"
    NO_PORT = "no_port"
    UNREACHABLE = "unreachable"
    PROXY_TIMEOUT = "proxy_timeout"
    DEADLINE = "deadline"


@dataclass(frozen=True)
class KnownText:
    """A text of a library or of the server.

    mark: a fixed part of it; only a line with it is searched. pattern: each repetition is bounded, so that the search
    takes linear time; its groups with a name are numbers. unless: parts of a line that show another program's text.
    """

    library: str
    kind: Kind
    mark: str
    pattern: re.Pattern[str]
    unless: tuple[str, ...]


SERVER, CLIENT, CONNECTOR_J, GO = "MySQL/MariaDB server", "MySQL/MariaDB client", "MySQL Connector/J", "Go database/sql"
ANY_POOL = "a pool"
_CANT_CONNECT = r"Can't connect to (MySQL )?server on '[^']{1,200}' ?\((\[Errno )?"
_DATABASE_PORT = r":(33\d\d|6033)\b"
_TEXTS: Mapping[str, Sequence[tuple[Kind, *tuple[str, ...]]]] = {
    "HikariCP": (
        (Kind.WAIT_TIMEOUT, (r"Connection is not available, request timed out( after <wait_ms>ms( \(total=<open>,"
            r" active=<in_use>, idle=<idle>, waiting=<waiting>\))?)?")),
        (Kind.WAIT_TIMEOUT, (r"request timed out after <wait_ms>ms \(total=<open>, active=<in_use>, idle=<idle>,"
            r" waiting=<waiting>\)")),
        (Kind.STATISTICS, r"stats \(total=<open>/<size>, idle=<idle>/\d{1,12}, active=<in_use>, waiting=<waiting>\)"),
        (Kind.STATISTICS, r"stats \(total=<open>, active=<in_use>, idle=<idle>, waiting=<waiting>\)"),
        (Kind.STALE, r"Failed to validate connection …Possibly consider using a shorter maxLifetime value"),
        (Kind.HELD_LONG, r"Connection leak detection triggered( for …stack trace follows)?"),
        (Kind.RETURNED_LATE, r"Previously reported leaked connection …was returned to the pool \(unleaked\)"),
        (Kind.STALLED, r"Thread starvation or clock leap detected \(housekeeper delta=<<late>>\)"),
    ),
    "Druid": (
        (Kind.WAIT_TIMEOUT, (r"wait millis <wait_ms>, active <in_use>, maxActive <size>(, creating <opening>)?(,"
            r" createElapseMillis <opening_ms>)?(, createErrorCount <opening_errors>)?(, runningSqlCount <running>"
            r"( (?!nested |Caused ).{0,2000})?)?")),
        (Kind.QUEUE_FULL, r"maxWaitThreadCount <queue_limit>, current wait Thread count <waiting>"),
        (Kind.STATISTICS, (r'"WaitThreadCount":<waiting>,(?>…"PoolingCount":<idle>,)'
            r'(?>…"ActiveCount":<in_use>,)…"MaxActive":<size>')),
        (Kind.DISCARDED, r"discard long time none received connection(?=(…lastPacketReceivedIdleMillis : <idle_ms>)?)"),
        (Kind.HELD_LONG, r"abandon connection, owner thread: …, connected at : \d{1,15}"),
        (Kind.CLOSED, r"dataSource already closed"),
        (Kind.CLOSED, r"DataSourceClosedException"),
    ),
    "DBCP2": (
        (Kind.WAIT_TIMEOUT, (r"Cannot get a connection, pool error:? Timeout waiting for idle object(, "
            r"(borrowMaxWait|maxWait)(Millis|Duration)=(<wait_ms>|<<wait>>))?")),
        (Kind.EXHAUSTED, r"Cannot get a connection, pool error:? Pool exhausted"),
        (Kind.HELD_LONG, r"Pooled object created …by the following code has not been returned to the pool"),
    ),
    "Tomcat JDBC": (
        (Kind.WAIT_TIMEOUT, (r"Timeout: Pool empty\. Unable to fetch a connection in <wait_s> seconds, none"
            r" available\[size:<size>; busy:<in_use>; idle:<idle>; lastwait:<last_wait_ms>\]")),
        (Kind.WAIT_TIMEOUT, r"Timeout: Pool empty\."),
        (Kind.EXHAUSTED, r"NoWait: Pool empty\. Unable to fetch a connection, none available\[<in_use> in use\]"),
        (Kind.HELD_LONG, r"Connection has been (abandoned|marked suspect, possibly abandoned) "),
    ),
    "c3p0": (
        (Kind.WAIT_TIMEOUT, r"An attempt by a client to checkout a Connection has timed out"),
        (Kind.WAIT_TIMEOUT, (r"A client timed out while waiting to acquire a resource from …timeout at"
            r" awaitAvailable\(\)")),
        (Kind.OPENING_BLOCKED, r"APPARENT DEADLOCK!!!"),
        (Kind.HELD_LONG, r"A checked-out resource is overdue, and will be destroyed"),
    ),
    "SQLAlchemy": (
        (Kind.WAIT_TIMEOUT, (r"QueuePool limit of size <size> overflow <overflow> reached(, connection timed"
            r" out, timeout <wait_s>)?")),
        (Kind.STATISTICS, (r"Pool size: <size>  Connections in pool: <idle> Current Overflow: -?\d{1,12} Current"
            r" Checked out connections: <in_use>")),
        (Kind.HELD_LONG, r"The garbage collector is trying to clean up non-checked-in connection"),
    ),
    "MySQL Connector/Python": (
        (Kind.EXHAUSTED, r"Failed getting connection; pool exhausted"),
        (Kind.SETTING, r"Pool size should be higher than 0 and lower or equal to <limit>"),
    ),
    "peewee": ((Kind.EXHAUSTED, r"Exceeded maximum connections\."),
        (Kind.WAIT_TIMEOUT, r"Max connections exceeded, timed out attempting to connect")),
    "DBUtils": ((Kind.EXHAUSTED, r"TooManyConnections(Error)?\b", "asyncpg", "psycopg", "too many clients"),),
    "mysql2": (
        (Kind.QUEUE_FULL, r"Queue limit reached\."),
        (Kind.EXHAUSTED, r"No connections available\."),
        (Kind.CLOSED, r"Pool is closed\."),
    ),
    "Sequelize": ((Kind.WAIT_TIMEOUT, r"SequelizeConnectionAcquireTimeoutError\]?: Operation timeout"),),
    "Knex": ((Kind.WAIT_TIMEOUT, r"Knex: Timeout acquiring a connection\b"),),
    "Prisma": (
        (Kind.WAIT_TIMEOUT, (r"Timed out fetching a new connection from the connection pool(…connection pool timeout:"
            r" <wait_s>, connection limit: <size>)?")),
    ),
    "Active Record": (
        (Kind.WAIT_TIMEOUT, (r"could not obtain a (database )?connection (from the pool )?within [\d.]{1,12} seconds"
            r" \(waited <wait_s> seconds\)")),
    ),
    GO: (
        (Kind.STATISTICS, (r"MaxOpenConnections:<size> OpenConnections:<open> InUse:<in_use> Idle:<idle>"
            r" WaitCount:<waits> WaitDuration:<<waited>>")),
        (Kind.SERVER_FULL, r"Error 1040( \(08004\))?: Too many connections"),
        (Kind.STALE, r"closing bad idle connection: "),
        (Kind.STALE, r"driver: bad connection"),
        (Kind.STALE, r"packets\.go:\d{1,5}:? (unexpected )?EOF\b"),
        (Kind.LOST, r"invalid connection(?=[^\w]{0,9}$)"),
        (Kind.SHARED_CONNECTION, r"commands out of sync\. (You can't run this command now|Did you run multiple)"),
        (Kind.DEADLINE, r"context deadline exceeded(: [\w ]{1,60})?",
            "rpc error", "Client.Timeout", "://", "Get ", "Post ", "etcd"),
    ),
    "MySqlConnector": (
        (Kind.WAIT_TIMEOUT, r"Connect Timeout expired\. All pooled connections are in use\."),
        (Kind.SHARED_CONNECTION, r"This MySqlConnection is already in use\."),
    ),
    "MySQL Connector/NET": (
        (Kind.SHARED_CONNECTION, r"There is already an open DataReader associated with this Connection",
            "InvalidOperationException", "Microsoft.Data.SqlClient", "System.Data.SqlClient"),
        (Kind.WAIT_TIMEOUT, (r"error connecting: Timeout expired\. {1,2}The timeout period elapsed prior to obtaining"
            r" a connection from the pool")),
    ),
    "sqlx": (
        (Kind.WAIT_TIMEOUT, r"pool timed out while waiting for an open connection"),
        (Kind.WAIT_TIMEOUT, r"PoolTimedOut\b"),
    ),
    "asyncio": (
        (Kind.SHARED_CONNECTION, r"readexactly\(\) called while another coroutine is already waiting"),
    ),
    "deadpool": ((Kind.WAIT_TIMEOUT, r"Timeout occurred while waiting for a slot to become available"),),
    "Agroal": (
        (Kind.WAIT_TIMEOUT, r"Sorry, acquisition timeout!"),
        (Kind.WAIT_TIMEOUT, r"Acquisition timeout while waiting for (new )?connection"),
    ),
    "R2DBC pool": ((Kind.WAIT_TIMEOUT, r"Connection acquisition timed out after <wait_ms>ms"),),
    "Vert.x": ((Kind.QUEUE_FULL, r"Connection pool reached max wait queue size of <queue_limit>"),),
    "ProxySQL": (
        (Kind.PROXY_TIMEOUT, (r"Max connect timeout reached while reaching hostgroup( <hostgroup> (for 'fast_forward'"
            r" session )?after <wait_ms>ms)?")),
    ),
    SERVER: (
        (Kind.SERVER_FULL, r'message from server: "Too many connections"'),
        (Kind.SERVER_FULL, r"Too many connections(?! from| to| per| for| open)", "421 ", "ftp", "smtp", "postfix",
            "redis", "Redis", "Jedis", "memcache", "imap", "ldap", "FTP", "SMTP", "IMAP", "LDAP"),
        (Kind.USER_LIMIT, r"already has more than 'max_user_connections' active connections"),
        (Kind.ACCOUNT_LIMIT, r"has exceeded the '\w{1,40}' resource( \(current value: <limit>\))?"),
        (Kind.HOST_BLOCKED, r"is blocked because of many connection errors"),
        (Kind.DATABASE_REFUSED, r"Access denied for user '[^']{0,80}'@'[^']{1,255}' to database '[^']{1,64}'"),
        (Kind.LOGIN_REFUSED, r"Access denied for user '[^']{0,80}'@'[^']{1,255}'( \(using password: \w{2,3}\))?"),
        (Kind.HOST_REFUSED, r"is not allowed to connect to this (MySQL|MariaDB) server"),
        (Kind.READ_ONLY, r"server is running with the --(super-)?read-only option"),
        (Kind.READ_ONLY, r"Running in read-only mode"),
        (Kind.LOCK_WAIT, r"Lock wait timeout exceeded(; try restarting transaction)?"),
        (Kind.METADATA_LOCK, r"Waiting for table metadata lock"),
        (Kind.DEADLOCK, r"Deadlock found when trying to get lock"),
        (Kind.STALE, r"The client was disconnected by the server because of inactivity"),
        (Kind.STALE, r"Aborted connection \d{1,20} to db: …\(Got timeout reading communication packets"),
        (Kind.LOST, r"Aborted connection \d{1,20} to db: …\(Got an error reading communication packets"),
    ),
    CLIENT: (
        (Kind.NO_PORT, _CANT_CONNECT + r"(?P<errno>99|49)\b[^)]{0,80}\)"),
        (Kind.NO_PORT, r"Cannot assign requested address", "bind", "Bind", "listen"),
        (Kind.NO_PORT, r"Can't assign requested address", "bind", "Bind", "listen"),
        (Kind.NO_PORT, r"connect: can(?:not|'t) assign requested address"),
        (Kind.NO_PORT, r"connect EADDRNOTAVAIL"),
        (Kind.UNREACHABLE, _CANT_CONNECT + r"(?P<errno>110|111|113|115|60|61|10060|10061)\b[^)]{0,80}\)"),
        (Kind.UNREACHABLE, _CANT_CONNECT + r"(-\d|8|1100[12])\b[^)]{0,80}\)"),
        (Kind.UNREACHABLE, r"Can't connect to (MySQL )?server on '[^']{1,200}'[ :]{0,2}(\(timed out\)|\W{0,3}$)"),
        (Kind.UNREACHABLE, (r"SQLSTATE\[HY000\] \[2002\] (Connection (refused|timed out)|"
            r"php_network_getaddresses(: getaddrinfo failed: [\w ]{1,40})?)")),
        (Kind.UNREACHABLE, r"dial tcp [^ ]{1,100}" + _DATABASE_PORT + r": (connect: connection \w{5,7}|i/o timeout)"),
        (Kind.UNREACHABLE, r"connect (ECONNREFUSED|ETIMEDOUT) [^ ]{1,100}" + _DATABASE_PORT),
        (Kind.STALE, r"MySQL server has gone away"),
        (Kind.STALE, r"Server has gone away"),
        (Kind.LOST, r"Lost connection to (MySQL )?server during query( \([^)]{1,80}\))?"),
        (Kind.LOST, r"Connection lost: The server closed the connection\."),
        (Kind.LOST, r"PROTOCOL_CONNECTION_LOST"),
        (Kind.LOST, r"Lost connection to (MySQL )?server at '…', system error: <errno>"),
        (Kind.SHARED_CONNECTION, r"General error: 2014 Cannot execute queries while "),
        (Kind.SHARED_CONNECTION, r"Packet sequence number wrong - got \d{1,3} expected \d{1,3}"),
        (Kind.SHARED_CONNECTION, r"Commands out of sync; you can't run this command now"),
    ),
    CONNECTOR_J: (
        (Kind.UNREACHABLE, (r"The last packet sent successfully to the server was \d{1,3} milliseconds ago\. {1,2}The"
            r" driver has not received any packets")),
        (Kind.LOST, r"Communications link failure"),
        (Kind.LOST, (r"The last packet successfully received from the server was <idle_ms> milliseconds ago(\. {1,2}The"
            r" last packet sent successfully to the server was <sent_ms> milliseconds ago)?"
            r"(\. {1,2}is longer than the server configured value of 'wait_timeout')?")),
        (Kind.LOST, r"No operations allowed after connection closed"),
    ),
    ANY_POOL: ((Kind.STATISTICS, r"active=<in_use>, idle=<idle>, waiting=<waiting>"),),
}  # fmt: skip
"""Library -> kind, pattern, and parts of a line that exclude it. <name> is a number, <<name>> a duration with units,
and … up to 300 characters."""
_FIXED = re.compile(r"(?:[\w \"',:;=!/-]|\\[.()\[\]])+(?![?{])")
_RUNNING = re.compile(r"\brunningSqlCount (\d{1,9}) ")
_SECONDS = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ns|µs|us|ms|[smhd])")


def _known(library: str, kind: Kind, text: str, *unless: str) -> KnownText:
    fixed = _FIXED.match(text)
    assert fixed is not None
    pattern = re.sub(r"<<(\w+)>>", r"(?P<\1_text>[-\\w.µ]{1,60})", text)
    pattern = re.sub(r"(?<!\?P)<(\w+_s)>", r"(?P<\1>\\d{1,12}(?:\\.\\d{1,6})?)", pattern)
    pattern = re.sub(r"(?<!\?P)<(\w+)>", r"(?P<\1>\\d{1,12}(?:[.,]\\d{3}){0,4})", pattern)
    return KnownText(library, kind, fixed[0].replace("\\", ""), re.compile(pattern.replace("…", ".{0,300}?")), unless)


_TYPED = {
    "connection is not available": "Connection is not available, request timed out",
    "hikaripool-1 - connection is not available": "Connection is not available, request timed out",
    "timeout waiting for idle object": "Cannot get a connection, pool error Timeout waiting for idle object",
    "pool empty": "Timeout: Pool empty.",
    "pool exhausted": "Failed getting connection; pool exhausted",
    "timeout acquiring a connection": "Knex: Timeout acquiring a connection",
    "too many connections": "Too many connections",
    "1203 max_user_connections": "already has more than 'max_user_connections' active connections",
    "max_user_connections": "has exceeded the 'max_user_connections' resource",
    "lock wait timeout exceeded": "Lock wait timeout exceeded; try restarting transaction",
    "deadlock found": "Deadlock found when trying to get lock",
    "server has gone away": "MySQL server has gone away",
    "access denied": "Access denied for user ''@'HOST'",
    "1044 access denied": "Access denied for user ''@'HOST' to database 'DATABASE'",
    "metadata lock": "Waiting for table metadata lock",
    "host is not allowed": "is not allowed to connect to this MySQL server",
    "read-only": "server is running with the --read-only option",
    "commands out of sync": "Commands out of sync; you can't run this command now",
    "host is blocked": "is blocked because of many connection errors",
    "lost connection": "Lost connection to MySQL server during query",
    "can't connect to mysql server": "Can't connect to MySQL server on 'HOST'",
    "max connect timeout": "Max connect timeout reached while reaching hostgroup",
    "p2024": "Timed out fetching a new connection from the connection pool",
    "inactivity": "The client was disconnected by the server because of inactivity",
}
"""The beginning of an error as people type it -> the text of the library or the server."""
_CODES = {
    "1040": "too many connections",
    "1044": "1044 access denied",
    "1045": "access denied",
    "1129": "host is blocked",
    "1130": "host is not allowed",
    "1203": "1203 max_user_connections",
    "1205": "lock wait timeout exceeded",
    "1213": "deadlock found",
    "1226": "max_user_connections",
    "1698": "access denied",
    "2003": "can't connect to mysql server",
    "2006": "server has gone away",
    "2013": "lost connection",
    "2014": "commands out of sync",
    "4031": "inactivity",
    "9001": "max connect timeout",
}
_NAMES = {
    "1040": "ER_CON_COUNT_ERROR",
    "1044": "ER_DBACCESS_DENIED_ERROR",
    "1045": "ER_ACCESS_DENIED_ERROR",
    "1129": "ER_HOST_IS_BLOCKED",
    "1130": "ER_HOST_NOT_PRIVILEGED",
    "1203": "ER_TOO_MANY_USER_CONNECTIONS",
    "1205": "ER_LOCK_WAIT_TIMEOUT",
    "1213": "ER_LOCK_DEADLOCK",
    "1226": "ER_USER_LIMIT_REACHED",
    "1698": "ER_ACCESS_DENIED_NO_PASSWORD_ERROR",
    "2003": "CR_CONN_HOST_ERROR",
    "2006": "CR_SERVER_GONE_ERROR",
    "2013": "CR_SERVER_LOST",
    "2014": "CR_COMMANDS_OUT_OF_SYNC",
    "4031": "ER_CLIENT_INTERACTION_TIMEOUT",
}
"""Code of an error -> its symbolic name. Source: pymysql.constants, mysql.connector.errorcode."""
_NAMED = {name: code for code, name in _NAMES.items()}
_WITH_NAME = (
    r"(?<!- )\b(?:code|errorCode)[\"']?: ?[\"']NAME[\"'](?=,?\s*$|.*(?:errno|sqlState|sqlMessage))"
    r"|(?:Error|Exception): NAME(?=:)"
    r"|(?<!case )(?<![,{\[(] )(?<![\w,{\[(\"'])NAME: (?=[A-Z][\w']*,? \w|[^\x00-\x7f])"
)
"""An error of Node.js with its name: as a property of the printed error, and before the message."""
_WITH_CODE = (
    r"(?:\(CODE, ?[\"']|SQLSTATE\[\w{5}\](?: \[CODE\]|: [^:]{1,60}: CODE )"
    r"|(?:ERROR|Error) CODE \(\w{5}\)(?: at line [^:]{1,30})?:"
    r"|SQL Error: CODE, SQLState: |ErrorCode: CODE, SQLState: |errno\"?: ?CODE\b)[^(\"']{0,180}(?:[\"']\))?"
)
"""An error with its code: of Python, PDO, the command line and Go, Hibernate (SQL Error; 7: ErrorCode), Node.js."""
_FAILED = re.compile(r"(?:Error|Warning|Exception)\)?:? ?$|^[\W\dTZ]*$")
"""What is before an error of Python, the exception's name or a time: others write such a pair in brackets, too."""
_TYPED_ERROR = re.compile(r"(?:error:? )?(?:(\d{4})(?![-/\d]))?(?: ?\(\w{5}\))?[\s:,]*(.*)", re.IGNORECASE | re.DOTALL)

_TYPED_NAME = re.compile(r"(?:error:? )?[\"'`]?(?:\d{4} )?([CE]R_[A-Z_]{3,60})[\"'`]?:?", re.IGNORECASE)
_CODE = re.compile(r"\b(?:ERROR|Error) ([134]\d{3}) \(\w{5}\)|\b(ER_[A-Z_]{3,60}):|\(([134]\d{3}), ?[\"']")
"""The code of an error of the server: of the command line and Go, Node.js, and Python."""

KNOWN = tuple(_known(library, *row) for library, rows in _TEXTS.items() for row in rows)
_CODED = (
    ("1040", Kind.SERVER_FULL), ("1044", Kind.DATABASE_REFUSED), ("1045", Kind.LOGIN_REFUSED),
    ("1129", Kind.HOST_BLOCKED), ("1130", Kind.HOST_REFUSED), ("1203", Kind.USER_LIMIT), ("1205", Kind.LOCK_WAIT),
    ("1213", Kind.DEADLOCK), ("1226", Kind.ACCOUNT_LIMIT), ("4031", Kind.STALE),
)  # fmt: skip
CODED = [
    KnownText(SERVER, kind, mark, re.compile(pattern), ())
    for code, kind in _CODED
    for mark, pattern in (
        (code, _WITH_CODE.replace("CODE", code)),
        (_NAMES[code], _WITH_NAME.replace("NAME", _NAMES[code])),
    )
]
"""Errors of the server by their codes and names, as its messages are in its language."""
_MARKED = [(known.mark, known) for known in KNOWN]


def completed(typed: str) -> str:
    """Return the text of an error that a person typed in short, as by its code or name; other texts as they are.

    Not for a log's lines: there, a number or a few words may report something else.
    """
    name = _TYPED_NAME.fullmatch(typed.strip())
    parts = _TYPED_ERROR.fullmatch(_NAMED.get(name[1].upper(), "") if name else typed.strip())
    assert parts is not None  # every part may be empty
    code, words = parts[1] or "", parts[2].lower()
    beginnings = [words or _CODES.get(code, ""), f"{code} {words}"]
    if typed.lstrip().lower().startswith("error"):
        beginnings.append(_CODES.get(code, ""))  # the shell took the quotes out of the words
    return next((text for known, text in _TYPED.items() if any(each.startswith(known) for each in beginnings)), typed)


def matches(line: str) -> Iterator[tuple[KnownText, str, dict[str, float]]]:
    """Yield each known text in a line: what it is, the part of the line that it covers, and its numbers.

    A text within another is a part of it, and a code counts where the line has no text.
    """
    spans: list[tuple[int, int]] = []
    for known in [known for mark, known in _MARKED if mark in line]:
        if not any(part in line for part in known.unless):
            match = known.pattern.search(line)
            if match and not any(start <= match.start() < end for start, end in spans):
                spans.append(match.span())
                numbers = _numbers(match.groupdict())
                if "running" in numbers:  # Druid lists each statement, and counts it
                    running = sum(map(int, _RUNNING.findall(match[0]))) or numbers["running"]
                    numbers["running"] = min(running, numbers["in_use"])
                yield known, match[0], numbers
    for known in [known for known in CODED if known.mark in line and not spans]:
        match = known.pattern.search(line)
        if match and (match[0][0] != "(" or _FAILED.search(line, 0, match.start())):
            yield known, match[0].strip(), {}


def server_code(line: str) -> str:
    """Return the code in an error of the server, known or not; empty if the line has none."""
    match = _CODE.search(line)
    if not match or (match[0][0] == "(" and not _FAILED.search(line, 0, match.start())):
        return ""
    code: str = next(filter(None, match.groups()))
    return code


def _numbers(groups: Mapping[str, str | None]) -> dict[str, float]:
    """Return the numbers of a text: seconds and durations as milliseconds, and whole numbers as int."""
    numbers: dict[str, float] = {}
    for name, text in groups.items():
        if text is None:
            continue
        if name.endswith("_text"):
            parts = _DURATION.findall(text.lower())
            numbers[name.replace("_text", "_ms")] = sum(float(part) * 1000 * _SECONDS[unit] for part, unit in parts)
        elif name.endswith("_s"):
            numbers[name.replace("_s", "_ms")] = float(text) * 1000
        else:
            numbers[name] = int(re.sub(r"\D", "", text))
    if "overflow" in numbers:
        numbers["in_use"] = numbers["size"] + numbers["overflow"]
    return {name: int(value) if value == int(value) else value for name, value in numbers.items()}
