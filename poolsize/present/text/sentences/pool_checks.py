"""The findings on pools in a configuration file as sentences, each with its source."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding
from poolsize.units import count

HIKARICP = "HikariCP's README"
HIKARICP_SIZING = "HikariCP's README, minimumIdle"
GO_DRIVER = "go-sql-driver/mysql's README, Important settings"
SURVEY = "a survey of five JDBC pools"


def _default(finding: Finding) -> str:
    return ", the default," if finding.values["is_default"] else ""


def _above_server(finding: Finding) -> str:
    values = finding.values
    return (
        f"A single pool may open {count(values['connections'], 'connection')}. A server with the default "
        f"max_connections admits {values['max_connections']:,} for all clients. Source: the server's manual."
    )


def _waits_for_ever(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:.0f}{_default(finding)} has no wait limit: while all connections are "
        "borrowed, a borrower waits for ever. Set a limit. Source: the library's documentation of this setting."
    )


def _unlimited(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:.0f}{_default(finding)} sets no limit: the pool opens any number of "
        "connections, until the server refuses them. Source: the library's documentation of this setting."
    )


def _queue_unlimited(finding: Finding) -> str:
    return (
        f"{finding.values['setting']} 0{_default(finding)} lets any number of borrowers wait, and mysql2 has no wait "
        "limit. Set a limit. Source: mysql2's documentation of createPool."
    )


def _tests_on_borrow(finding: Finding) -> str:
    return (
        f"{finding.values['setting']}{_default(finding)} costs a round trip to the database for every transaction. "
        f"Test idle connections in the background instead. Source: {SURVEY}."
    )


def _closes_idle(finding: Finding) -> str:
    values = finding.values
    return (
        f"The pool keeps {values['kept']:,} idle connections ({values['setting']}{_default(finding).rstrip(',')}) and "
        "closes the others when they are given back: under load it opens connections all the time. Set it to the "
        "largest number of connections. Source: the library's documentation of this setting."
    )


def _outlives_server(finding: Finding) -> str:
    values = finding.values
    kept = "for ever" if values["value"] is None else f"for {values['value']:,.0f} s"
    return (
        f"An idle connection is kept {kept} ({values['setting']}{_default(finding).rstrip(',')}) without a check. The "
        f"server ends it after {values['wait_timeout_seconds']:,} s (wait_timeout), and the next borrower gets an "
        "error. Choose a shorter lifetime. Source: MySQL's manual, wait_timeout."
    )


def _keepalive_over_lifetime(finding: Finding) -> str:
    values = finding.values
    return (
        f"keepaliveTime {values['keepalive_ms']:,.0f} ms is not less than maxLifetime {values['lifetime_ms']:,.0f} ms: "
        f"HikariCP then checks no idle connection. Source: {HIKARICP}, keepaliveTime."
    )


def _ignores(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:,.0f} ms is below the least value, {values['least']:,} ms: HikariCP "
        f"uses another value, or none at all. Source: {HIKARICP}, {values['setting']}."
    )


def _shrinks(finding: Finding) -> str:
    values = finding.values
    return (
        f"minimumIdle {values['least']:,} is less than maximumPoolSize {values['most']:,}: after a quiet time, the "
        f"pool must open connections when load comes. Leave it out for a fixed size. Source: {HIKARICP_SIZING}."
    )


def _test_query(_: Finding) -> str:
    return (
        "connectionTestQuery is for drivers before JDBC 4. Leave it out: HikariCP then pings the server. "
        f"Source: {HIKARICP}, connectionTestQuery."
    )


def _removes_abandoned(finding: Finding) -> str:
    return (
        f"removeAbandoned ends connections that are borrowed for longer than {finding.values['seconds']:,.0f} s, in "
        "the middle of their work. Use it only to look for leaks. Source: Druid's wiki, removeAbandoned."
    )


def _too_large(finding: Finding) -> str:
    values = finding.values
    return (
        f"pool_size {values['size']:,} is an error: the library accepts up to {values['largest']}. "
        "Source: mysql.connector.pooling.CNX_POOL_MAXSIZE."
    )


def _django_connects(_: Finding) -> str:
    return (
        "With CONN_MAX_AGE 0, Django opens a connection for each request and closes it. "
        "Source: Django's documentation, Persistent connections."
    )


def _go_lifetime(finding: Finding) -> str:
    value = finding.values["value"]
    kept = "Connections have no longest lifetime" if value is None else f"SetConnMaxLifetime is {value:,.0f} s"
    return (
        f"{kept}: the driver's authors advise less than {finding.values['most'] // 60} min, so that no connection is "
        f"used which the server or the network has ended. Source: {GO_DRIVER}."
    )


def _thread_cache(finding: Finding) -> str:
    values = finding.values
    return (
        f"thread_cache_size {values['cached']:,} is more than max_connections {values['max_connections']:,}: the "
        "server never has so many threads. Source: MySQL's manual, thread_cache_size."
    )


def _wait_timeout(finding: Finding) -> str:
    value = finding.values["value"]
    return (
        f"The server ends connections that are idle for {value:,} s. The pools of all clients must replace or check "
        "them sooner: HikariCP's maxLifetime is 1,800 s by default, and SQLAlchemy's pool_recycle is off. "
        "Source: MySQL's manual, wait_timeout."
    )


def _too_small(finding: Finding) -> str:
    values = finding.values
    return (
        f"max_connections {values['max_connections']:,} is too small: in a rolling deploy, the recommended pools and "
        f"the reserve need {values['needed']:,}."
    )


POOL_CHECKS: Mapping[Code, Callable[[Finding], str]] = {
    Code.POOL_ABOVE_SERVER: _above_server,
    Code.POOL_WAITS_FOR_EVER: _waits_for_ever,
    Code.POOL_UNLIMITED: _unlimited,
    Code.POOL_QUEUE_UNLIMITED: _queue_unlimited,
    Code.POOL_TESTS_ON_BORROW: _tests_on_borrow,
    Code.POOL_CLOSES_IDLE: _closes_idle,
    Code.POOL_OUTLIVES_SERVER: _outlives_server,
    Code.POOL_KEEPALIVE_OVER_LIFETIME: _keepalive_over_lifetime,
    Code.POOL_IGNORES: _ignores,
    Code.POOL_SHRINKS: _shrinks,
    Code.POOL_TEST_QUERY: _test_query,
    Code.POOL_REMOVES_ABANDONED: _removes_abandoned,
    Code.POOL_TOO_LARGE: _too_large,
    Code.DJANGO_CONNECTS: _django_connects,
    Code.GO_LIFETIME: _go_lifetime,
    Code.SERVER_THREAD_CACHE: _thread_cache,
    Code.SERVER_WAIT_TIMEOUT: _wait_timeout,
    Code.SERVER_TOO_SMALL: _too_small,
}
