"""The findings on pools, in a file or to write: each record with its sentence, which names the source of advice."""

from collections.abc import Mapping
from math import isnan
from typing import ClassVar

from poolsize.answer.finding import Caution, Finding, Reason, Severity
from poolsize.answer.fleet_plan import MoreInstances
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS, SURVEY
from poolsize.present.text.sentences.findings import sentence
from poolsize.present.text.sentences.fleet import in_deploy
from poolsize.units import count, per_second, percent

DOCUMENTED = "Source: the library's documentation, {0.setting}."
SWITCHED_OFF = {"keepaliveTime", "leakDetectionThreshold"}
"""Settings that HikariCP switches off where they are below the least value."""
RARE = 0.001
"""A smaller share of requests that reach the wait limit is no caution."""


class Worded(Finding):
    """A finding with its own sentence: words, with the figures in place of {0.NAME}."""

    words: ClassVar[str]

    @property
    def about(self) -> str | None:
        """The setting that the finding is about; None for the one that has the pool size."""
        return None


@sentence.register
def _(finding: Worded) -> str:
    return finding.words.format(finding)


class AboveServer(Worded, Caution, code="pool_above_server"):
    """A pool may open as many connections as the server admits, or more. is_default: the limit is MySQL's default."""

    connections: int
    max_connections: int
    is_default: bool
    words = (
        "This pool alone may open {0.open}. {0.server} admits {0.max_connections:,} for all clients. "
        "Source: MySQL's manual, max_connections."
    )
    open = property(lambda self: count(self.connections, "connection"))
    server = property(lambda self: "A server with the default max_connections" if self.is_default else "The server")


class AboveLimit(Worded, Caution, code="pools_above_limit"):
    """All pools of the files, in all processes, may open more connections than the server's limit leaves to them.

    of_process: connections that the pools of a process may open, and the number of these pools. usual, most: number of
    processes usually and in a rolling deploy, with the instances that it adds. usable: connections that the limit
    leaves. is_default: the limit is MySQL's default.
    """

    of_process: int
    pools: int
    usual: int
    most: int
    usable: int
    is_default: bool
    instances: MoreInstances
    words = "{0.together} {0.server} leaves {0.usable:,} for them. {0.fits}"
    server = property(lambda self: server_limit(is_default=self.is_default))

    @property
    def together(self) -> str:
        """The connections in words, in a deploy and usually."""
        each = count(self.of_process, "connection")
        if self.most == 1:
            return f"{'The pool' if self.pools == 1 else 'All pools together'} may open {each}."
        subject = "the pool of each process, in all processes together," if self.pools == 1 else "all pools together"
        opened = count(self.of_process * self.most, "connection")
        usual = count(self.usual, "process", "processes")
        usually = f" Usually they may open {self.of_process * self.usual:,}, in {usual}."
        return (
            f"{in_deploy(self.instances)}, {subject} may open {opened}. Each of {self.most:,} processes may open "
            f"{self.of_process:,}.{usually if self.usual < self.most else ''}"
        )

    @property
    def fits(self) -> str:
        """The largest pool that fits, in words."""
        largest = self.usable // self.most
        if not self.usable:
            return "No pool fits: the reserve (--reserve) uses up the limit."
        if largest < self.pools:
            return f"Not even 1 connection in each pool fits: there are {self.pools * self.most:,} pools."
        together = "Largest pool that fits" if self.pools == 1 else "The pools of a process fit if together they have"
        return f"{together}: {count(largest, 'connection')}."


class WorkloadsAboveLimit(Worded, Caution, code="workloads_above_limit"):
    """The pools of workloads with different numbers of instances may open more connections than the limit leaves.

    connections, in_deploy: of all pools, usually and in a rolling deploy. usable, is_default: as in AboveLimit.
    """

    connections: int
    in_deploy: int
    usable: int
    is_default: bool
    words = "All pools together may open {0.most}. {0.server} leaves {0.usable:,} for them."
    server = property(lambda self: server_limit(is_default=self.is_default))

    @property
    def most(self) -> str:
        """The connections in words, usually and in a deploy."""
        return connections_in_words(self.connections, self.in_deploy)


def connections_in_words(connections: int, in_deploy: int) -> str:
    """Return the connections of several workloads, usually and in a rolling deploy."""
    most = f", and {in_deploy:,} in a rolling deploy" if in_deploy > connections else ""
    return count(connections, "connection") + most


def server_limit(*, is_default: bool) -> str:
    """Return the server's limit in words, as the subject of a sentence. is_default: whether it is MySQL's default."""
    return f"MySQL's default limit, {DEFAULT_MAX_CONNECTIONS}," if is_default else "The server's limit"


class OfSetting(Worded):
    """A setting by the library's name. is_default: whether its value is the default, because the file has none."""

    setting: str
    is_default: bool
    default_at_end = property(lambda self: ", the default" if self.is_default else "")
    default = property(lambda self: f"{self.default_at_end}," if self.is_default else "")

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class NoLimit(OfSetting):
    """A setting without a positive value, which sets no limit."""

    value: float


class WaitsForEver(NoLimit, Caution, code="pool_waits"):
    """A setting sets no limit for waiting."""

    words = (
        "{0.setting} {0.value:.0f}{0.default} sets no limit for waiting: while all connections are in use, a "
        f"request waits until a connection is given back. {DOCUMENTED}"
    )


class Unlimited(NoLimit, Caution, code="pool_unlimited"):
    """A setting sets no limit for the connections."""

    words = (
        "{0.setting} {0.value:.0f}{0.default} sets no limit: the pool opens any number of connections, until the "
        f"server refuses them. {DOCUMENTED}"
    )


class QueueUnlimited(NoLimit, Caution, code="pool_queue_unlimited"):
    """The queueLimit of a driver of Node.js lets any number of requests wait, for ever."""

    words = (
        "queueLimit {0.value:.0f}{0.default} lets any number of requests wait, and the driver has no limit for the "
        f"time that they wait. {DOCUMENTED}"
    )


class LeastAboveMost(Worded, Caution, code="pool_least_above_most"):
    """A pool of Node.js whose min is more than its max. default: the setting of these that is not in the file."""

    least: int
    most: int
    default: str
    about = "min"
    words = "min {0.least:,} is more than max {0.most:,}{0.by_default}: the library does not start with such a pool."
    by_default = property(lambda self: f" ({self.default} is the default)" if self.default else "")


class KeepsForEver(OfSetting, Reason, code="pool_keeps_for_ever"):
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


class BorrowTested(OfSetting, Reason, code="pool_tests_on_borrow"):
    """Each borrowed connection is tested."""

    words = (
        "{0.setting}{0.default} costs a round trip to the database for every transaction. Test idle connections in "
        f"the background instead. Source: {SURVEY}."
    )


class ClosesIdle(OfSetting, Caution, code="pool_closes_idle"):
    """A pool keeps fewer idle connections than it opens."""

    kept: int
    words = (
        "The pool keeps {0.kept:,} idle connections ({0.setting}{0.default_at_end}) and closes the others when they "
        "are given back: under load it opens connections all the time. Set it to the largest number of connections. "
        f"{DOCUMENTED}"
    )


class OutlivesServer(OfSetting, Caution, code="pool_outlives_server"):
    """The server ends an idle connection before the pool does. value: lifetime in seconds; None for ever."""

    value: float | None
    wait_timeout_seconds: int
    words = (
        "An idle connection is kept {0.kept} ({0.setting}{0.default_at_end}) without a check in time. The server ends "
        "it after {0.wait_timeout_seconds:,} s (wait_timeout), and the next request gets an error. Choose a shorter "
        "lifetime. Source: MySQL's manual, wait_timeout."
    )

    kept = property(lambda self: _kept(self.value))


def _kept(seconds: float | None) -> str:
    return f"for {seconds:,.0f} s" if seconds else "for ever"


class KeepaliveByDefault(Worded, Caution, code="pool_keepalive_default"):
    """Only the default keepaliveTime, which older versions lack, protects idle connections."""

    keepalive_ms: float
    lifetime_ms: float | None
    wait_timeout_seconds: int
    about = "maxLifetime"
    words = (
        "A connection is kept {0.kept} (maxLifetime), and the server ends an idle one after "
        "{0.wait_timeout_seconds:,} s (wait_timeout). HikariCP checks idle connections by default (every "
        "{0.keepalive_ms:,.0f} ms) only from version 6.2.1 on. For an earlier version, set keepaliveTime. "
        "Source: HikariCP's README, keepaliveTime."
    )

    kept = property(lambda self: _kept((self.lifetime_ms or 0) / 1000))


class KeepaliveOverLifetime(Worded, Caution, code="pool_keepalive_over_lifetime"):
    """HikariCP's keepaliveTime is not less than the lifetime, so that it has no effect."""

    keepalive_ms: float
    lifetime_ms: float
    about = "keepaliveTime"
    words = (
        "keepaliveTime {0.keepalive_ms:,.0f} ms is not less than the lifetime, {0.lifetime_ms:,.0f} ms: HikariCP then "
        "checks no idle connection. Source: HikariCP's README, keepaliveTime."
    )


class LeakOverLifetime(Worded, Caution, code="pool_leak_over_lifetime"):
    """HikariCP's leakDetectionThreshold is more than the lifetime, so that it has no effect."""

    leak_ms: float
    lifetime_ms: float
    about = "leakDetectionThreshold"
    words = (
        "leakDetectionThreshold {0.leak_ms:,.0f} ms is more than the lifetime, {0.lifetime_ms:,.0f} ms: HikariCP then "
        "looks for no leaks. Source: HikariConfig.validateNumerics."
    )


class IdleTimeoutOff(Worded, Caution, code="pool_idle_timeout_off"):
    """HikariCP switches the idle timeout off, because it ends with the lifetime or later. is_default: its value."""

    idle_ms: float
    lifetime_ms: float
    is_default: bool
    about = "idleTimeout"
    words = (
        "idleTimeout {0.idle_ms:,.0f} ms{0.default} is not at least 1 s below the lifetime, {0.lifetime_ms:,.0f} ms: "
        "HikariCP switches it off, and the pool does not shrink to minimumIdle. Source: HikariConfig.validateNumerics."
    )
    default = property(lambda self: ", the default," if self.is_default else "")


class OpenInView(Worded, Reason, code="pool_open_in_view"):
    """Spring keeps the connection of a request until its view is written."""

    about = "openInView"
    words = (
        "spring.jpa.open-in-view is true, also by default: a request that has used the database keeps its connection "
        "until its response is written. A small pool is then soon used up: set it to false. "
        "Source: Spring Boot's documentation, Open EntityManager in View."
    )


class OnlySpringBoot1(Worded, Caution, code="pool_spring_boot_1"):
    """Settings stand where only Spring Boot 1 reads them."""

    words = (
        "Spring Boot 1 reads these names directly below spring.datasource. Spring Boot 2 and later ignore them, unless "
        "the project's own code reads them. There, write them below the pool's prefix, such as "
        "spring.datasource.hikari. Source: Spring Boot 2.0's migration guide."
    )


class NeedsItsType(Worded, Caution, code="pool_needs_type"):
    """Settings of Tomcat's pool, which Spring Boot 2 does not choose by itself."""

    words = (
        "Spring Boot 1 chooses Tomcat's pool. Spring Boot 2 and later choose HikariCP and ignore "
        "spring.datasource.tomcat, unless spring.datasource.type names Tomcat's pool. "
        "Source: Spring Boot's documentation, Supported connection pools."
    )


class SpringsDataSource(Worded, Caution, code="pool_springs_data_source"):
    """Spring Boot gives Hibernate its own data source, so that Hibernate's settings of a pool have no effect."""

    words = (
        "Spring Boot gives Hibernate its own data source, usually HikariCP with up to 10 connections. Hibernate then "
        "does not use hibernate.c3p0: set the size in spring.datasource.hikari. Source: Spring Boot's documentation, "
        "Configure a custom DataSource."
    )


class NotForProduction(Worded, Caution, code="pool_not_for_production"):
    """Hibernate's own pool, which its authors advise against."""

    words = (
        "This pool is not for production: use HikariCP, Agroal or c3p0. Source: Hibernate's user guide, "
        "Using Hibernate's built-in (and unsupported) pooling."
    )


class OldTomcat(Worded, Caution, code="pool_old_tomcat"):
    """A resource of Tomcat has names that only Tomcat 7 and earlier read."""

    words = (
        "Tomcat 7 reads maxActive and maxWait of a Resource without a factory. Tomcat 8 and later ignore them: there, "
        "write maxTotal and maxWaitMillis. Source: Tomcat's documentation, JNDI Datasource How-To."
    )


class OwnNames(Worded, Reason, code="pool_own_names"):
    """The project's own code binds the settings, so that the file does not show the library."""

    words = (
        "The project's own code reads these names. The values hold if its pool is Druid, DBCP, Tomcat JDBC or c3p0. "
        "Defaults and the library's rules are not checked."
    )


class BelowLeast(Worded, Caution, code="pool_below_least"):
    """HikariCP does not use a value, in ms, because it is below the least."""

    setting: str
    value: float
    least: int
    words = (
        "{0.setting} {0.value:,.0f} ms is below the least value, {0.least:,} ms: HikariCP {0.instead}. "
        "Source: HikariCP's README, {0.setting}."
    )
    instead = property(lambda self: "switches it off" if self.setting in SWITCHED_OFF else "uses its default instead")

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class RefusedBelowLeast(BelowLeast, code="pool_refused"):
    """HikariCP does not start with a value, in ms, because it is below the least."""

    instead = "does not start"


class NotRead(Worded, Caution, code="pool_not_read"):
    """The library does not read a setting of this name."""

    library: str
    name: str
    words = "{0.library} does not read {0.name}: it has another name for this setting, or none."

    @property
    def about(self) -> str:
        """The setting."""
        return self.name


class NotFollowed(Worded, Reason, code="pool_not_followed"):
    """The file alone does not contain the value of a setting. text: as the file writes it."""

    name: str
    text: str
    words = "{0.name} is not followed: its value, {0.text}, is not in this file. The check does not cover it."

    @property
    def about(self) -> str:
        """The setting."""
        return self.name


class Elsewhere(NotFollowed, code="pool_elsewhere"):
    """A statement names a place with further settings, such as an included file."""

    words = "{0.name} {0.text} is not followed. The check does not cover the settings there."


class Incomplete(Worded, Reason, code="pool_incomplete"):
    """Further settings of a pool come from elsewhere."""

    words = "Further settings come from outside this file and are not followed. The check does not cover them."


class Defaults(Worded, Reason, code="pool_defaults"):
    """A pool whose size the file does not set. connections: that the library opens by default."""

    library: str
    connections: int
    words = "The file sets no pool size. The default of {0.library} is {0.size}."
    size = property(lambda self: count(self.connections, "connection"))


class NotANumber(Worded, Caution, code="pool_no_number"):
    """A setting that takes a number has another text."""

    name: str
    text: str
    words = "{0.name} {0.text} is not a number: the library does not accept it."

    @property
    def about(self) -> str:
        """The setting."""
        return self.name


class Shrinks(Worded, Reason, code="pool_shrinks"):
    """HikariCP's pool closes idle connections down to the least number."""

    least: int
    most: int
    about = "minimumIdle"
    words = (
        "minimumIdle {0.least:,} is less than maximumPoolSize {0.most:,}: after a quiet time, the pool must open "
        "connections when load comes. Leave it out for a fixed size. Source: HikariCP's README, minimumIdle."
    )


class OldTestQuery(Worded, Reason, code="pool_test_query"):
    """HikariCP has a test query, which is for old drivers."""

    about = "connectionTestQuery"
    words = (
        "connectionTestQuery is for drivers before JDBC 4. Leave it out: HikariCP then pings the server. "
        "Source: HikariCP's README, connectionTestQuery."
    )


class RemovesAbandoned(Worded, Caution, code="pool_removes_abandoned"):
    """Druid or Tomcat JDBC ends connections that are borrowed for longer; None for an unknown time."""

    seconds: float | None
    about = "removeAbandoned"
    words = (
        "removeAbandoned ends connections that are borrowed for {0.after}, in the middle of their work. Use it only to "
        "look for leaks. Source: the library's documentation, removeAbandoned."
    )
    after = property(lambda self: "too long" if self.seconds is None else f"longer than {self.seconds:,.0f} s")


class TooLarge(Worded, Caution, code="pool_too_large"):
    """Connector/Python refuses a pool size above the largest."""

    size: int
    largest: int
    about = "pool_size"
    words = (
        "pool_size {0.size:,} is an error: the library accepts up to {0.largest}. "
        "Source: mysql.connector.pooling.CNX_POOL_MAXSIZE."
    )


class FailsAtOnce(OfSetting, Reason, code="pool_fails_at_once"):
    """A request does not wait for a connection. value: as the file writes it."""

    value: str
    words = (
        "{0.setting} {0.value}{0.default} sets no wait: while all connections are in use, a request gets an error at "
        f"once. That is right where no more threads use the pool than it has connections. {DOCUMENTED}"
    )


class NoWaitLimit(Worded, Reason, code="pool_no_wait_limit"):
    """A library that has no limit for waiting."""

    library: str
    words = (
        "{0.library} has no wait limit: while all connections are in use, a request waits until a connection is given "
        "back. Limit the wait in the application, as with asyncio.timeout(). Source: the library's source code."
    )


class RaisedSize(Worded, Reason, code="pool_size_raised"):
    """DBUtils raises the limit to the value of another setting."""

    setting: str
    limit: int
    raising: str
    used: int
    words = (
        "{0.setting} {0.limit:,} is less than {0.raising} {0.used:,}: DBUtils then uses {0.used:,} as the limit. "
        "Source: PooledDB's source code."
    )

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class PerThread(Worded, Reason, code="pool_per_thread"):
    """A library that keeps a connection for each thread."""

    library: str
    words = (
        "{0.library} has no pool size: each thread keeps a connection of its own. The number of threads in all "
        "processes is the number of connections. Source: the library's documentation."
    )


class FlaskOldNames(Worded, Caution, code="flask_old_names"):
    """Only Flask-SQLAlchemy 2 reads some settings. first: of the names. connections: of version 3 by default."""

    first: str
    names: tuple[str, ...]
    connections: int
    words = (
        "Flask-SQLAlchemy 3 ignores {0.listed}: its pool then has the default, {0.connections:,} connections. Only "
        "version 2 reads these names. Set SQLALCHEMY_ENGINE_OPTIONS instead, which both read. "
        "Source: Flask-SQLAlchemy's changelog, 2.4.0 and 3.0.0."
    )
    listed = property(lambda self: ", ".join(self.names))

    @property
    def about(self) -> str:
        """The first of the settings."""
        return self.first


class DjangoConnects(OfSetting, Reason, code="django_connects"):
    """Django opens a connection for each request, which is right under ASGI. lifetime_seconds: advised under WSGI."""

    lifetime_seconds: int
    words = (
        "{0.setting} 0{0.default} is right under ASGI. Under WSGI (gunicorn sync or gthread, mod_wsgi, uWSGI), Django "
        "then opens a connection for each request and closes it: set {0.lifetime_seconds} there. "
        "Source: Django's documentation, Persistent connections."
    )


class DjangoPersists(Worded, Caution, code="django_asgi"):
    """Django keeps connections under ASGI. text: of CONN_MAX_AGE, as the file writes it. line: of ASGI_APPLICATION."""

    text: str
    line: int
    about = "CONN_MAX_AGE"
    words = (
        "CONN_MAX_AGE {0.text}: ASGI_APPLICATION (line {0.line}) shows that ASGI serves this application. There, "
        "persistent connections should be disabled: set CONN_MAX_AGE to 0. "
        "Source: Django's documentation, Persistent connections."
    )


class GoLifetime(Worded, Caution, code="go_lifetime"):
    """Go's connections live longer than the driver's authors advise, in seconds. value: None for ever."""

    value: float | None
    most: int
    about = "SetConnMaxLifetime"
    words = (
        "{0.kept}. The driver's authors advise less than {0.minutes} min, so that no connection is used which the "
        "server or the network has ended. Source: the README of go-sql-driver/mysql, Important settings."
    )
    minutes = property(lambda self: self.most // 60)

    @property
    def kept(self) -> str:
        """The lifetime in words."""
        longest = "Connections have no longest lifetime"
        return longest if self.value is None else f"SetConnMaxLifetime is {self.value:,.0f} s"


class OfCpus(Worded, Reason, code="pool_of_cpus"):
    """A pool whose size the file does not set, and whose default depends on the CPUs. formula: the default, in words.

    setting: that would set it. source: of the default.
    """

    setting: str
    library: str
    formula: str
    source: str
    words = (
        "This file sets no {0.setting}. The default of {0.library} depends on the machine: {0.formula}. The check does "
        "not cover it. Source: {0.source}."
    )


class ThreadsOfProcess(Worded, Reason, code="pool_threads"):
    """Rails has a pool in each process, which must have a connection for each thread."""

    words = (
        "Each process has a pool of its own, with a connection for each thread: Puma's threads, or Sidekiq's "
        "concurrency. Count the processes with --processes. Source: the Rails guides, Configuring a Database."
    )


class WorkersArePool(Worded, Reason, code="php_workers"):
    """The workers of PHP-FPM are the pool."""

    about = "pm.max_children"
    words = (
        "Each worker may hold 1 connection for each database that the application uses; a persistent connection stays "
        "open while the worker is idle. The PHP source decides whether connections are persistent, not this file. "
        "Source: PHP's manual, Persistent Database Connections."
    )


class PhpPersists(Worded, Reason, code="php_persists"):
    """PHP keeps its connection. setting: that says so."""

    setting: str
    words = (
        "Each PHP worker keeps its connection open between requests. So the workers are the pool: pm.max_children of "
        "PHP-FPM is its size. Source: PHP's manual, Persistent Database Connections."
    )

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class NoMultiplexing(Worded, Caution, code="proxy_no_multiplexing"):
    """Clients of ProxySQL do not share its connections."""

    about = "multiplexing"
    words = (
        "multiplexing false: each connection of a client holds a connection to the server, also while it is idle. "
        "Source: ProxySQL's documentation, Multiplexing."
    )


class ProxyPasses(OfSetting, Reason, code="proxy_passes"):
    """A proxy opens a connection to the server for each connection of a client."""

    words = (
        "{0.setting} 0{0.default} sets no limit for the connections to the server. MaxScale opens a connection for "
        "each connection of a client. So the pools of the clients are the limit. "
        "Source: MaxScale's documentation, {0.setting}."
    )


class PoolingOff(Worded, Reason, code="pool_off"):
    """A connection string of .NET switches the pool off."""

    about = "Pooling"
    words = (
        "Pooling false: there is no pool. Each request opens a connection and closes it, and nothing limits their "
        "number. Source: MySqlConnector's documentation, Connection Options."
    )


class DatabaseUnknown(Worded, Reason, code="pool_database_unknown"):
    """A pool may be one of another database than MySQL."""

    words = "This file does not show whether the database is MySQL or MariaDB. So the check does not cover this pool."


class ThreadCache(Worded, Reason, code="server_thread_cache"):
    """The server caches more threads than it can have connections."""

    cached: int
    max_connections: int
    about = "thread_cache_size"
    words = (
        "thread_cache_size {0.cached:,} is more than max_connections {0.max_connections:,}: the server never has so "
        "many threads. Source: MySQL's manual, thread_cache_size."
    )


class ShortWaitTimeout(Worded, Caution, code="server_wait_timeout"):
    """The server soon ends idle connections. value: in seconds."""

    value: int
    about = "wait_timeout"
    words = (
        "The server ends connections that are idle for {0.value:,} s. The pools of all clients must check or replace "
        "idle connections sooner; SQLAlchemy does neither by default. Source: MySQL's manual, wait_timeout."
    )


class ServerRefused(Worded, Caution, code="server_refused"):
    """The server refused connections, because as many as max_connections were open."""

    connections: int
    about = "Connection_errors_max_connections"
    words = (
        "The server refused {0.refused} since its start, because max_connections were open. "
        "Source: MySQL's manual, Connection_errors_max_connections."
    )
    refused = property(lambda self: count(self.connections, "connection"))


class ServerCounters(Worded, Reason, code="server_counters"):
    """The server's counters since its start: name of the status variable -> value."""

    counters: Mapping[str, int]
    words = "{0.sentences}"

    @property
    def sentences(self) -> str:
        """The counters in words."""
        texts = {
            "Threads_connected": "Connections open now: {}.", "Threads_running": "Running a statement: {}.",
            "Max_used_connections": "Most open at the same time: {}.", "Aborted_connects": "Failed to connect: {}.",
            "Aborted_clients": "Ended without a close: {}.",
        }  # fmt: skip
        parts = [text.format(f"{self.counters[name]:,}") for name, text in texts.items() if name in self.counters]
        uptime = self.counters.get("Uptime")
        if uptime and "Connections" in self.counters:
            parts.append(f"New connections: {per_second(self.counters['Connections'] / uptime)}.")
        return " ".join(parts or ["The text has no counter of connections."])


class ServerTooSmall(Worded, Caution, code="server_too_small"):
    """The server's limit is too small for the recommended pools."""

    max_connections: int
    needed: int
    about = "max_connections"
    words = (
        "max_connections {0.max_connections:,} is too small: in a rolling deploy, the recommended pools and the "
        "reserve need {0.needed:,}."
    )


class WholeRequests(Worded, Caution, code="pool_whole_requests"):
    """The pool size is the number of threads or workers, and each of them serves a whole request."""

    worker: str
    words = (
        "A {0.worker} is busy for the whole request. So --usage-time must be the whole request's time, not only the "
        "time in the database: else the {0.worker}s are too few. Requests wait for a {0.worker}, not for a connection."
    )


class TimesOut(Worded, Caution, code="pool_times_out"):
    """A share of the requests, NaN if not known, reaches the wait limit. one_away: while an instance is away.

    bounded: whether the server's limit decides the pool size.
    """

    share: float
    seconds: int
    one_away: bool
    bounded: bool
    words = (
        "{0.part} of the requests time out at the wait limit of {0.seconds:,} s{0.away}. {0.larger}, or give a longer "
        "--caller-timeout."
    )
    part = property(lambda self: "Some" if isnan(self.share) else percent(self.share))
    away = property(lambda self: " while an instance is away" if self.one_away else "")
    larger = property(
        lambda self: "Raise the server's limit" if self.bounded else "Use a larger pool (a shorter --max-wait-p99)"
    )


class RarelyTimesOut(TimesOut):
    """Hardly a request reaches the wait limit."""

    severity = Severity.REASON
    words = f"Fewer than {percent(RARE)} of the requests time out{{0.away}}."


class ProxyFloor(Worded, Caution, code="proxy_floor"):
    """The deadlock floor of a proxy is above the connections that are needed, or recommended."""

    floor: int
    needed: int
    words = (
        "The threads of all processes share the proxy, and its deadlock floor is {0.floor:,}: with fewer connections, "
        "threads that hold several can deadlock. Otherwise {0.needed:,} would do."
    )


class ProxyLimit(Worded, Caution, code="proxy_limit"):
    """The server's limit allows a proxy fewer connections than recommended. variables: as in LimitBound."""

    allowed: int
    recommended: int
    variables: Mapping[str, int]
    words = (
        "The server's limit allows the proxy {0.allowed:,} of the recommended {0.recommended:,} connections. For more, "
        "raise {0.raised}."
    )
    raised = property(lambda self: " and ".join(f"{name} to {value:,}" for name, value in self.variables.items()))
