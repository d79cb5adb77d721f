"""The findings on pools of Node.js, Go, Rails, PHP or .NET only."""

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.findings.of_pools import DOCUMENTED, NoLimit
from poolsize.pool_config.findings.worded import MayBeDefault, OfSetting, Worded


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


class PoolingOff(Worded, Reason, code="pool_off"):
    """A connection string of .NET switches the pool off."""

    about = "Pooling"
    words = (
        "Pooling false: there is no pool. Each request opens a connection and closes it, and nothing limits their "
        "number. Source: MySqlConnector's documentation, Connection Options."
    )
