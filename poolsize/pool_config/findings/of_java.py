"""The findings on pools of Java only."""

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.findings.of_pools import kept_for
from poolsize.pool_config.pool import OfSetting, Worded

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


class OfVersion(Worded, Reason, code="pool_of_version"):
    """No build file names the version of Quarkus, on which the default size depends."""

    words = (
        "The default is that of Quarkus 3.31 and later; before, it was 20 connections. No pom.xml or Gradle file above "
        "this file names the version. Source: quarkusio/quarkus, pull request 51169."
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


class NoPoolSize(OfSetting, Caution, code="pool_no_size"):
    """A pool without a connection. result: what the library then does, in words."""

    gravity = 2
    value: float
    result: str
    words = "{0.setting} {0.value:,.0f} is no pool size: {0.result}. Give 1 or more."


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


class RemovesAbandoned(Worded, Caution, code="pool_removes_abandoned"):
    """Druid or Tomcat JDBC ends connections that are borrowed for longer; None for an unknown time."""

    seconds: float | None
    about = "removeAbandoned"
    words = (
        "removeAbandoned ends connections that are borrowed for {0.after}, in the middle of their work. Set it only to "
        "look for leaks. Source: the library's documentation, removeAbandoned."
    )
    after = property(lambda self: "too long" if self.seconds is None else f"longer than {self.seconds:,.0f} s")
