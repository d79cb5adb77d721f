"""The findings on pools in a configuration file as sentences, each with its source."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding
from poolsize.units import count

HIKARICP = "HikariCP's README"
GO_DRIVER = "the README of go-sql-driver/mysql, Important settings"
SURVEY = 'the survey "Connection pool survey: dbcp, druid, c3p0, tomcat-jdbc, HikariCP"'
WAIT_TIMEOUT = "MySQL's manual, wait_timeout"
OF_SETTING = "the library's documentation, {setting}"


def _default(finding: Finding) -> str:
    return ", the default," if finding.values["is_default"] else ""


def _above_server(finding: Finding) -> str:
    values = finding.values
    server = "A server with the default max_connections" if values["is_default"] else "The server"
    return (
        f"This pool alone may open {count(values['connections'], 'connection')}. {server} admits "
        f"{values['max_connections']:,} for all clients. Source: MySQL's manual, max_connections."
    )


def _waits(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:.0f}{_default(finding)} sets no limit for waiting: while all "
        f"connections are borrowed, a borrower waits until one is given back. Source: {OF_SETTING.format(**values)}."
    )


def _unlimited(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:.0f}{_default(finding)} sets no limit: the pool opens any number of "
        f"connections, until the server refuses them. Source: {OF_SETTING.format(**values)}."
    )


def _queue_unlimited(finding: Finding) -> str:
    return (
        f"queueLimit {finding.values['value']:.0f}{_default(finding)} lets any number of borrowers wait, and mysql2 "
        "has no limit for the time that they wait. Source: mysql2's documentation, createPool."
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
        f"largest number of connections. Source: {OF_SETTING.format(**values)}."
    )


def _outlives_server(finding: Finding) -> str:
    values = finding.values
    kept = "for ever" if values["value"] is None else f"for {values['value']:,.0f} s"
    return (
        f"An idle connection is kept {kept} ({values['setting']}{_default(finding).rstrip(',')}) without a check in "
        f"time. The server ends it after {values['wait_timeout_seconds']:,} s (wait_timeout), and the next borrower "
        f"gets an error. Choose a shorter lifetime. Source: {WAIT_TIMEOUT}."
    )


def _keepalive_by_default(finding: Finding) -> str:
    values = finding.values
    kept = f"for {values['lifetime_ms'] / 1000:,.0f} s" if values["lifetime_ms"] else "for ever"
    return (
        f"A connection is kept {kept} (maxLifetime), and the server ends an idle one after "
        f"{values['wait_timeout_seconds']:,} s (wait_timeout). HikariCP checks idle connections by default "
        f"(every {values['keepalive_ms']:,.0f} ms) only from version 6.2.1 on. For an earlier version, "
        f"set keepaliveTime. Source: {HIKARICP}, keepaliveTime."
    )


def _keepalive_over_lifetime(finding: Finding) -> str:
    values = finding.values
    return (
        f"keepaliveTime {values['keepalive_ms']:,.0f} ms is not less than the lifetime, {values['lifetime_ms']:,.0f} "
        f"ms: HikariCP then checks no idle connection. Source: {HIKARICP}, keepaliveTime."
    )


def _below_least(finding: Finding) -> str:
    values = finding.values
    instead = "switches it off" if values["setting"] == "keepaliveTime" else "uses its default instead"
    return (
        f"{values['setting']} {values['value']:,.0f} ms is below the least value, {values['least']:,} ms: HikariCP "
        f"{instead}. Source: {HIKARICP}, {values['setting']}."
    )


def _refused(finding: Finding) -> str:
    values = finding.values
    return (
        f"{values['setting']} {values['value']:,.0f} ms is below the least value, {values['least']:,} ms: HikariCP "
        f"does not start. Source: {HIKARICP}, {values['setting']}."
    )


def _not_read(finding: Finding) -> str:
    values = finding.values
    return f"{values['library']} does not read {values['name']}: it has another name for this setting, or none."


def _no_number(finding: Finding) -> str:
    values = finding.values
    return f"{values['name']} {values['text']} is not a number: the library does not accept it."


def _shrinks(finding: Finding) -> str:
    values = finding.values
    return (
        f"minimumIdle {values['least']:,} is less than maximumPoolSize {values['most']:,}: after a quiet time, the "
        "pool must open connections when load comes. Leave it out for a fixed size. "
        f"Source: {HIKARICP}, minimumIdle."
    )


def _test_query(_: Finding) -> str:
    return (
        "connectionTestQuery is for drivers before JDBC 4. Leave it out: HikariCP then pings the server. "
        f"Source: {HIKARICP}, connectionTestQuery."
    )


def _removes_abandoned(finding: Finding) -> str:
    seconds = finding.values["seconds"]
    after = "too long" if seconds is None else f"longer than {seconds:,.0f} s"
    return (
        f"removeAbandoned ends connections that are borrowed for {after}, in the middle of their work. Use it only to "
        "look for leaks. Source: Druid's wiki, removeAbandoned."
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
        f"{kept}. The driver's authors advise less than {finding.values['most'] // 60} min, so that no connection is "
        f"used which the server or the network has ended. Source: {GO_DRIVER}."
    )


def _thread_cache(finding: Finding) -> str:
    values = finding.values
    return (
        f"thread_cache_size {values['cached']:,} is more than max_connections {values['max_connections']:,}: the "
        "server never has so many threads. Source: MySQL's manual, thread_cache_size."
    )


def _wait_timeout(finding: Finding) -> str:
    return (
        f"The server ends connections that are idle for {finding.values['value']:,} s. The pools of all clients must "
        f"check or replace idle connections sooner; SQLAlchemy does neither by default. Source: {WAIT_TIMEOUT}."
    )


def _too_small(finding: Finding) -> str:
    values = finding.values
    return (
        f"max_connections {values['max_connections']:,} is too small: in a rolling deploy, the recommended pools and "
        f"the reserve need {values['needed']:,}."
    )


POOL_CHECKS: Mapping[Code, Callable[[Finding], str]] = {
    Code.POOL_ABOVE_SERVER: _above_server,
    Code.POOL_WAITS: _waits,
    Code.POOL_UNLIMITED: _unlimited,
    Code.POOL_QUEUE_UNLIMITED: _queue_unlimited,
    Code.POOL_TESTS_ON_BORROW: _tests_on_borrow,
    Code.POOL_CLOSES_IDLE: _closes_idle,
    Code.POOL_OUTLIVES_SERVER: _outlives_server,
    Code.POOL_KEEPALIVE_DEFAULT: _keepalive_by_default,
    Code.POOL_KEEPALIVE_OVER_LIFETIME: _keepalive_over_lifetime,
    Code.POOL_BELOW_LEAST: _below_least,
    Code.POOL_REFUSED: _refused,
    Code.POOL_NOT_READ: _not_read,
    Code.POOL_NO_NUMBER: _no_number,
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


def check_sentence(finding: Finding) -> str:
    """Return the sentence of a finding on a pool in a configuration file."""
    return POOL_CHECKS[finding.code](finding)
