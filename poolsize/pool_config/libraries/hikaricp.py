"""What is wrong with a pool of HikariCP: its own findings, and the rules that find them."""

from collections.abc import Iterator

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.rules import (
    WaitsForEver,
    in_time,
    kept_for,
    known,
    no_limit,
    outlives_server,
    refused_size,
)
from poolsize.pool_config.pool import FilePool, OfSetting, Worded

CLOSE_TO_LIFETIME = 1000
"""HikariCP switches the idle timeout off where it ends less than this, in ms, before the lifetime."""
SWITCHED_OFF = {"keepaliveTime", "leakDetectionThreshold"}
"""Settings that HikariCP switches off where they are below the least value."""


class KeepaliveByDefault(Worded, Caution, code="pool_keepalive_default"):
    """Only the default keepaliveTime, which older versions lack, protects idle connections."""

    keepalive_ms: float
    lifetime_ms: float | None
    wait_timeout_seconds: int
    about = "maxLifetime"
    words = (
        "The pool keeps a connection {0.kept} (maxLifetime). The server ends an idle connection after "
        "{0.wait_timeout_seconds:,} s (wait_timeout). Only HikariCP 6.2.1 and later check idle connections by default "
        "(every {0.keepalive_ms:,.0f} ms). For an earlier version, set keepaliveTime. "
        "Source: HikariCP's README, keepaliveTime."
    )

    kept = property(lambda self: kept_for((self.lifetime_ms or 0) / 1000))


class KeepaliveOverLifetime(Worded, Caution, code="pool_keepalive_over_lifetime"):
    """HikariCP's keepaliveTime is not less than the lifetime, so that it has no effect."""

    keepalive_ms: float
    lifetime_ms: float
    about = "keepaliveTime"
    words = (
        "keepaliveTime {0.keepalive_ms:,.0f} ms is not less than the lifetime, {0.lifetime_ms:,.0f} ms: HikariCP then "
        "checks no idle connection. Source: HikariCP's README, keepaliveTime."
    )


class KeepaliveOffByDefault(Worded, Reason, code="pool_keepalive_off"):
    """The lifetime is so short that HikariCP switches the default keepaliveTime off."""

    keepalive_ms: float
    lifetime_ms: float
    about = "maxLifetime"
    words = (
        "The default keepaliveTime, {0.keepalive_ms:,.0f} ms, is not less than maxLifetime {0.lifetime_ms:,.0f} ms: "
        "HikariCP then checks no idle connection. For checks, set both, and keepaliveTime to less. "
        "Source: HikariCP's README, keepaliveTime."
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
        "idleTimeout {0.idle_ms:,.0f} ms{0.default} must be at least 1 s below the lifetime, {0.lifetime_ms:,.0f} ms. "
        "HikariCP ignores idleTimeout here, and the pool does not shrink to minimumIdle. Source: "
        "HikariConfig.validateNumerics."
    )
    default = property(lambda self: ", the default," if self.is_default else "")


class OpenInView(Worded, Reason, code="pool_open_in_view"):
    """Spring keeps the connection of a request until its view is written."""

    about = "openInView"
    words = (
        "spring.jpa.open-in-view is true, also by default: a request that has used the database keeps its connection "
        "until its response is written. Requests then soon use up a small pool: set spring.jpa.open-in-view to false. "
        "Source: Spring Boot's documentation, Open EntityManager in View."
    )


class BelowLeast(OfSetting, Caution, code="pool_below_least"):
    """HikariCP does not use a value, in ms, because it is below the least."""

    value: float
    least: int
    words = (
        "{0.setting} {0.value:,.0f} ms is below the minimum, {0.least:,} ms: HikariCP {0.instead}. "
        "Source: HikariCP's README, {0.setting}."
    )
    instead = property(lambda self: "ignores the value" if self.setting in SWITCHED_OFF else "uses its default instead")


class RefusedBelowLeast(BelowLeast, code="pool_refused"):
    """HikariCP does not start with a value, in ms, because it is below the least."""

    gravity = 2
    instead = "does not start"


class Shrinks(Worded, Reason, code="pool_shrinks"):
    """HikariCP's pool closes idle connections down to the least number."""

    least: int
    most: int
    about = "minimumIdle"
    words = (
        "minimumIdle {0.least:,} is less than maximumPoolSize {0.most:,}: after a quiet time, the pool must open "
        "connections when load comes. For a pool of fixed size, set minimumIdle to maximumPoolSize, or leave it out. "
        "Source: HikariCP's README, minimumIdle."
    )


class OldTestQuery(Worded, Reason, code="pool_test_query"):
    """HikariCP has a test query, which is for old drivers."""

    about = "connectionTestQuery"
    words = (
        "connectionTestQuery is for drivers before JDBC 4. Without this setting, HikariCP pings the server: leave it "
        "out. Source: HikariCP's README, connectionTestQuery."
    )


def find_hikaricp(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    """Find what is wrong with a pool. wait_timeout: of the server, in seconds."""
    least_idle, most = pool.number("minimumIdle"), pool.number("maximumPoolSize")
    keepalive, lifetime = pool.number("keepaliveTime"), pool.number("maxLifetime")
    if 0 < lifetime < pool.library.least["maxLifetime"]:  # HikariCP uses its default in place of such a lifetime
        lifetime = float(str(pool.library.defaults["maxLifetime"]))
    is_kept_alive = (
        keepalive >= pool.library.least["keepaliveTime"]
        and not (lifetime and keepalive >= lifetime)
        and in_time(pool, wait_timeout, "keepaliveTime", 1000)
    )
    yield from refused_size(pool, "maximumPoolSize")
    if not pool.number("connectionTimeout") < 0:  # which HikariCP refuses
        yield from no_limit(pool, "connectionTimeout", WaitsForEver)
    yield from _below_least(pool, "connectionTimeout", RefusedBelowLeast)
    yield from _below_least(pool, "validationTimeout", RefusedBelowLeast)
    if keepalive and lifetime and keepalive >= lifetime:
        is_set = pool.has("keepaliveTime")
        yield (KeepaliveOverLifetime if is_set else KeepaliveOffByDefault)(keepalive, lifetime)
    may_outlive = lifetime <= 0 or lifetime >= wait_timeout * 1000  # false where the file does not contain it
    if is_kept_alive and may_outlive and not pool.has("keepaliveTime"):
        yield KeepaliveByDefault(keepalive, known(lifetime), wait_timeout)
    yield from _below_least(pool, "keepaliveTime", BelowLeast)
    yield from _below_least(pool, "maxLifetime", BelowLeast)
    yield from _below_least(pool, "leakDetectionThreshold", BelowLeast)
    if lifetime and lifetime < (leak := pool.number("leakDetectionThreshold")):
        yield LeakOverLifetime(leak, lifetime)
    if 0 <= least_idle < most:
        yield Shrinks(int(least_idle), int(most))
        yield from _below_least(pool, "idleTimeout", BelowLeast)
        if lifetime and (idle := pool.number("idleTimeout")) > lifetime - CLOSE_TO_LIFETIME:
            yield IdleTimeoutOff(idle, lifetime, not pool.has("idleTimeout"))
    if pool.value("openInView") is True:
        yield OpenInView()
    if pool.has("connectionTestQuery"):
        yield OldTestQuery()
    yield from outlives_server(pool, wait_timeout, "maxLifetime", 1000, is_checked=is_kept_alive)


def _below_least(pool: FilePool, setting: str, record: type[BelowLeast]) -> Iterator[Worded]:
    """Find a value below the least that the library uses."""
    value, least = pool.number(setting), pool.library.least[setting]
    if value and value < least:
        yield record(setting, value, least)
