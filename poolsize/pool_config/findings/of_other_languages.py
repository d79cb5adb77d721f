"""The findings on pools of Python, Node.js, Go, Rails, PHP or .NET only."""

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.findings.of_pools import DOCUMENTED, NoLimit
from poolsize.pool_config.pool import MayBeDefault, OfSetting, Worded


class QueueUnlimited(NoLimit, Caution, code="pool_queue_unlimited"):
    """The queueLimit of a driver of Node.js lets any number of requests wait, for ever."""

    words = (
        "queueLimit {0.shown}{0.default} lets any number of requests wait. The driver does not limit how long they "
        f"wait. {DOCUMENTED}"
    )


class LeastAboveMost(Worded, Caution, code="pool_least_above_most"):
    """A pool of Node.js whose min is more than its max. default: the setting of these that is not in the file."""

    gravity = 2
    least: int
    most: int
    default: str
    about = "min"
    words = "min {0.least:,} is more than max {0.most:,}{0.by_default}: the library does not start with such a pool."
    by_default = property(lambda self: f" ({self.default} is the default)" if self.default else "")


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


class GoLifetime(Worded, Caution, code="go_lifetime"):
    """Go's connections live longer than the driver's authors advise, in seconds. value: None for ever."""

    value: float | None
    most: int
    about = "SetConnMaxLifetime"
    words = (
        "{0.kept}. The driver's authors advise less than {0.minutes} min: the server or the network may end an older "
        "connection, and the next request then gets an error. Source: the README of go-sql-driver/mysql, Important "
        "settings."
    )
    minutes = property(lambda self: self.most // 60)

    @property
    def kept(self) -> str:
        """The lifetime in words."""
        longest = "Connections have no longest lifetime"
        return longest if self.value is None else f"SetConnMaxLifetime is {self.value:,.0f} s"


class GoNanoseconds(OfSetting, Caution, code="go_nanoseconds"):
    """A duration in Go has no unit, so Go reads the number as nanoseconds. nanoseconds: the number."""

    nanoseconds: int
    words = (
        "{0.setting} is {0.nanoseconds:,} ns: the pool closes {0.closed}. A number without a unit is in nanoseconds: "
        "write the unit, as in 180 * time.Second. Source: the documentation of Go's package time, Duration."
    )

    @property
    def closed(self) -> str:
        """What the pool closes, and when, in words."""
        idle = "all idle connections once a second"  # the shortest interval of database/sql's connectionCleaner
        return idle if self.setting == "SetConnMaxIdleTime" else "each connection after a single use"


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


class PoolingOff(Worded, Reason, code="pool_off"):
    """A connection string of .NET switches the pool off."""

    about = "Pooling"
    words = (
        "Pooling false: there is no pool. Each request opens a connection and closes it, and nothing limits their "
        "number. Source: MySqlConnector's documentation, Connection Options."
    )


class TooLarge(Worded, Caution, code="pool_too_large"):
    """Connector/Python refuses a pool size above the largest."""

    gravity = 2
    size: int
    largest: int
    about = "pool_size"
    words = (
        "pool_size {0.size:,} is an error: the library accepts up to {0.largest}. "
        "Source: mysql.connector.pooling.CNX_POOL_MAXSIZE."
    )


class NoWaitLimit(Worded, Reason, code="pool_no_wait_limit"):
    """A library that has no limit for waiting."""

    library: str
    words = (
        "{0.library} has no wait limit: while all connections are in use, a request waits until a connection is given "
        "back. Limit the wait in the application, as with asyncio.timeout(). Source: the library's source code."
    )


class RaisedSize(OfSetting, Reason, code="pool_size_raised"):
    """DBUtils raises the limit to the value of another setting."""

    limit: int
    raising: str
    used: int
    words = (
        "{0.setting} {0.limit:,} is less than {0.raising} {0.used:,}: DBUtils then uses {0.used:,} as the limit. "
        "Source: PooledDB's source code."
    )


class PerThread(Worded, Reason, code="pool_per_thread"):
    """A library that keeps a connection for each thread."""

    library: str
    words = (
        "{0.library} has no pool size: each thread keeps a connection of its own. The number of threads in all "
        "processes is the number of connections. Source: the library's documentation."
    )


class FlaskOldNames(OfSetting, Caution, code="flask_old_names"):
    """Only Flask-SQLAlchemy 2 reads some settings. connections: of version 3 by default."""

    names: tuple[str, ...]
    connections: int
    words = (
        "Flask-SQLAlchemy 3 ignores {0.listed}: its pool then has the default, {0.connections:,} connections. Only "
        "version 2 reads these names. Set SQLALCHEMY_ENGINE_OPTIONS instead, which both read. "
        "Source: Flask-SQLAlchemy's changelog, 2.4.0 and 3.0.0."
    )
    listed = property(lambda self: ", ".join(self.names))


class DjangoConnects(MayBeDefault, Reason, code="django_connects"):
    """Django opens a connection for each request, which is right under ASGI. lifetime_seconds: advised under WSGI."""

    lifetime_seconds: int
    words = (
        "{0.setting} 0{0.default} is right under ASGI. Under WSGI (gunicorn sync or gthread, mod_wsgi, uWSGI), Django "
        "then opens a connection for each request: set {0.setting} to {0.lifetime_seconds} there. "
        "Source: Django's documentation, Persistent connections."
    )


class DjangoPool(Worded, Caution, code="django_pool"):
    """Django has a pool for PostgreSQL and Oracle only."""

    gravity = 2
    about = "pool"
    words = (
        "pool in OPTIONS is for PostgreSQL and Oracle: with MySQL, the driver refuses it. Use CONN_MAX_AGE, or "
        "django-db-connection-pool. Source: Django's documentation, Databases."
    )


class DjangoPersists(Worded, Caution, code="django_asgi"):
    """Django keeps connections under ASGI. text: of CONN_MAX_AGE, as the file writes it. line: of ASGI_APPLICATION."""

    text: str
    line: int
    about = "CONN_MAX_AGE"
    words = (
        "CONN_MAX_AGE {0.text}: ASGI_APPLICATION (line {0.line}) suggests that ASGI serves this application. Under "
        "ASGI, persistent connections should be disabled: set CONN_MAX_AGE to 0, unless WSGI serves the requests. "
        "Source: Django's documentation, Persistent connections."
    )
