"""The findings on pools in a configuration file: each record with its sentence, which names its source."""

from poolsize.answer.finding import Caution, Figures, Reason
from poolsize.present.text.sentences.findings import register_fixed, sentence
from poolsize.units import count

HIKARICP = "HikariCP's README"


class OfSetting(Figures):
    """A setting by the library's name. is_default: whether its value is the default, because the file has none."""

    setting: str
    is_default: bool

    @property
    def source(self) -> str:
        """The page that describes the setting."""
        return f"Source: the library's documentation, {self.setting}."


def _default(finding: OfSetting) -> str:
    return ", the default," if finding.is_default else ""


def _in_brackets(finding: OfSetting) -> str:
    return f"({finding.setting}{', the default' if finding.is_default else ''})"


class AboveServer(Caution, code="pool_above_server"):
    """A pool may open as many connections as the server admits, or more. is_default: the limit is MySQL's default."""

    connections: int
    max_connections: int
    is_default: bool


@sentence.register
def _(finding: AboveServer) -> str:
    server = "A server with the default max_connections" if finding.is_default else "The server"
    return (
        f"This pool alone may open {count(finding.connections, 'connection')}. {server} admits "
        f"{finding.max_connections:,} for all clients. Source: MySQL's manual, max_connections."
    )


class WaitsForEver(OfSetting, Caution, code="pool_waits"):
    """A setting without a positive value sets no limit for waiting."""

    value: float


@sentence.register
def _(finding: WaitsForEver) -> str:
    return (
        f"{finding.setting} {finding.value:.0f}{_default(finding)} sets no limit for waiting: while all "
        f"connections are borrowed, a borrower waits until one is given back. {finding.source}"
    )


class Unlimited(OfSetting, Caution, code="pool_unlimited"):
    """A setting with this value sets no limit for the connections."""

    value: float


@sentence.register
def _(finding: Unlimited) -> str:
    return (
        f"{finding.setting} {finding.value:.0f}{_default(finding)} sets no limit: the pool opens any number of "
        f"connections, until the server refuses them. {finding.source}"
    )


class QueueUnlimited(OfSetting, Caution, code="pool_queue_unlimited"):
    """A queueLimit of this value lets any number of borrowers wait, for ever."""

    value: float


@sentence.register
def _(finding: QueueUnlimited) -> str:
    return (
        f"queueLimit {finding.value:.0f}{_default(finding)} lets any number of borrowers wait, and mysql2 "
        "has no limit for the time that they wait. Source: mysql2's documentation, createPool."
    )


class BorrowTested(OfSetting, Reason, code="pool_tests_on_borrow"):
    """Each borrowed connection is tested."""


@sentence.register
def _(finding: BorrowTested) -> str:
    return (
        f"{finding.setting}{_default(finding)} costs a round trip to the database for every transaction. "
        "Test idle connections in the background instead. "
        'Source: the survey "Connection pool survey: dbcp, druid, c3p0, tomcat-jdbc, HikariCP".'
    )


class ClosesIdle(OfSetting, Caution, code="pool_closes_idle"):
    """A pool keeps fewer idle connections than it opens."""

    kept: int


@sentence.register
def _(finding: ClosesIdle) -> str:
    return (
        f"The pool keeps {finding.kept:,} idle connections {_in_brackets(finding)} and closes the others when they are "
        "given back: under load it opens connections all the time. Set it to the largest number of connections. "
        f"{finding.source}"
    )


class OutlivesServer(OfSetting, Caution, code="pool_outlives_server"):
    """The server ends an idle connection before the pool does. value: lifetime in seconds; None for ever."""

    value: float | None
    wait_timeout_seconds: int


@sentence.register
def _(finding: OutlivesServer) -> str:
    kept = "for ever" if finding.value is None else f"for {finding.value:,.0f} s"
    return (
        f"An idle connection is kept {kept} {_in_brackets(finding)} without a check in time. The server ends it after "
        f"{finding.wait_timeout_seconds:,} s (wait_timeout), and the next borrower gets an error. Choose a shorter "
        "lifetime. Source: MySQL's manual, wait_timeout."
    )


class KeepaliveByDefault(Caution, code="pool_keepalive_default"):
    """Only the default keepaliveTime, which older versions lack, protects idle connections."""

    keepalive_ms: float
    lifetime_ms: float | None
    wait_timeout_seconds: int


@sentence.register
def _(finding: KeepaliveByDefault) -> str:
    kept = f"for {finding.lifetime_ms / 1000:,.0f} s" if finding.lifetime_ms else "for ever"
    return (
        f"A connection is kept {kept} (maxLifetime), and the server ends an idle one after "
        f"{finding.wait_timeout_seconds:,} s (wait_timeout). HikariCP checks idle connections by default "
        f"(every {finding.keepalive_ms:,.0f} ms) only from version 6.2.1 on. For an earlier version, "
        f"set keepaliveTime. Source: {HIKARICP}, keepaliveTime."
    )


class KeepaliveOverLifetime(Caution, code="pool_keepalive_over_lifetime"):
    """HikariCP's keepaliveTime is not less than the lifetime, so that it has no effect."""

    keepalive_ms: float
    lifetime_ms: float


@sentence.register
def _(finding: KeepaliveOverLifetime) -> str:
    return (
        f"keepaliveTime {finding.keepalive_ms:,.0f} ms is not less than the lifetime, {finding.lifetime_ms:,.0f} "
        f"ms: HikariCP then checks no idle connection. Source: {HIKARICP}, keepaliveTime."
    )


class BelowLeast(Caution, code="pool_below_least"):
    """HikariCP does not use a value, in ms, because it is below the least."""

    setting: str
    value: float
    least: int


class RefusedBelowLeast(Caution, code="pool_refused"):
    """HikariCP does not start with a value, in ms, because it is below the least."""

    setting: str
    value: float
    least: int


@sentence.register
def _(finding: BelowLeast | RefusedBelowLeast) -> str:
    instead = "switches it off" if finding.setting == "keepaliveTime" else "uses its default instead"
    if isinstance(finding, RefusedBelowLeast):
        instead = "does not start"
    return (
        f"{finding.setting} {finding.value:,.0f} ms is below the least value, {finding.least:,} ms: HikariCP "
        f"{instead}. Source: {HIKARICP}, {finding.setting}."
    )


class NotRead(Caution, code="pool_not_read"):
    """The library does not read a setting of this name."""

    library: str
    name: str


@sentence.register
def _(finding: NotRead) -> str:
    return f"{finding.library} does not read {finding.name}: it has another name for this setting, or none."


class NotANumber(Caution, code="pool_no_number"):
    """A setting that takes a number has another text."""

    name: str
    text: str


@sentence.register
def _(finding: NotANumber) -> str:
    return f"{finding.name} {finding.text} is not a number: the library does not accept it."


class Shrinks(Reason, code="pool_shrinks"):
    """HikariCP's pool closes idle connections down to the least number."""

    least: int
    most: int


@sentence.register
def _(finding: Shrinks) -> str:
    return (
        f"minimumIdle {finding.least:,} is less than maximumPoolSize {finding.most:,}: after a quiet time, the "
        "pool must open connections when load comes. Leave it out for a fixed size. "
        f"Source: {HIKARICP}, minimumIdle."
    )


class OldTestQuery(Reason, code="pool_test_query"):
    """HikariCP has a test query, which is for old drivers."""


class RemovesAbandoned(Caution, code="pool_removes_abandoned"):
    """Druid ends connections that are borrowed for longer; None for an unknown time."""

    seconds: float | None


@sentence.register
def _(finding: RemovesAbandoned) -> str:
    after = "too long" if finding.seconds is None else f"longer than {finding.seconds:,.0f} s"
    return (
        f"removeAbandoned ends connections that are borrowed for {after}, in the middle of their work. Use it only to "
        "look for leaks. Source: Druid's wiki, removeAbandoned."
    )


class TooLarge(Caution, code="pool_too_large"):
    """Connector/Python refuses a pool size above the largest."""

    size: int
    largest: int


@sentence.register
def _(finding: TooLarge) -> str:
    return (
        f"pool_size {finding.size:,} is an error: the library accepts up to {finding.largest}. "
        "Source: mysql.connector.pooling.CNX_POOL_MAXSIZE."
    )


class DjangoConnects(Caution, code="django_connects"):
    """Django opens a connection for each request."""


class GoLifetime(Caution, code="go_lifetime"):
    """Go's connections live longer than the driver's authors advise, in seconds. value: None for ever."""

    value: float | None
    most: int


@sentence.register
def _(finding: GoLifetime) -> str:
    longest = "Connections have no longest lifetime"
    kept = longest if finding.value is None else f"SetConnMaxLifetime is {finding.value:,.0f} s"
    return (
        f"{kept}. The driver's authors advise less than {finding.most // 60} min, so that no connection is "
        "used which the server or the network has ended. "
        "Source: the README of go-sql-driver/mysql, Important settings."
    )


class ThreadCache(Reason, code="server_thread_cache"):
    """The server caches more threads than it can have connections."""

    cached: int
    max_connections: int


@sentence.register
def _(finding: ThreadCache) -> str:
    return (
        f"thread_cache_size {finding.cached:,} is more than max_connections {finding.max_connections:,}: the "
        "server never has so many threads. Source: MySQL's manual, thread_cache_size."
    )


class ShortWaitTimeout(Caution, code="server_wait_timeout"):
    """The server soon ends idle connections. value: in seconds."""

    value: int


@sentence.register
def _(finding: ShortWaitTimeout) -> str:
    return (
        f"The server ends connections that are idle for {finding.value:,} s. The pools of all clients must check or "
        "replace idle connections sooner; SQLAlchemy does neither by default. Source: MySQL's manual, wait_timeout."
    )


class ServerTooSmall(Caution, code="server_too_small"):
    """The server's limit is too small for the recommended pools."""

    max_connections: int
    needed: int


@sentence.register
def _(finding: ServerTooSmall) -> str:
    return (
        f"max_connections {finding.max_connections:,} is too small: in a rolling deploy, the recommended pools and "
        f"the reserve need {finding.needed:,}."
    )


register_fixed(
    {
        OldTestQuery: "connectionTestQuery is for drivers before JDBC 4. Leave it out: HikariCP then pings the server. "
        f"Source: {HIKARICP}, connectionTestQuery.",
        DjangoConnects: "With CONN_MAX_AGE 0, Django opens a connection for each request and closes it. "
        "Source: Django's documentation, Persistent connections.",
    }
)
