"""The pools of Java's frameworks: their own names for a pool's settings, their own pools, and older versions' names."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import nan

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.java import C3P0, DBCP2, DRUID, HIKARICP, TOMCAT_JDBC, removes_abandoned
from poolsize.pool_config.libraries.rules import (
    Unlimited,
    WaitsForEver,
    in_time,
    is_on,
    no_limit,
    outlives_server,
    tested_on_borrow,
)
from poolsize.pool_config.pool import FilePool, Library, Worded


class OfVersion(Worded, Reason, code="pool_of_version"):
    """No build file names the version of Quarkus, on which the default size depends."""

    words = (
        "The default is that of Quarkus 3.31 and later; before, it was 20 connections. No pom.xml or Gradle file above "
        "this file names the version. Source: quarkusio/quarkus, pull request 51169."
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


class NeedsPoolDriver(Worded, Caution, code="pool_needs_driver"):
    """Options of R2DBC have settings of a pool, and a driver without a pool. names: of the settings."""

    names: str
    words = (
        '{0.names}: no effect. The driver is that of the database, which has no pool. Set DRIVER to "pool" and '
        'PROTOCOL to "mysql" or "mariadb". Source: r2dbc-pool\'s README, Getting started.'
    )


class NoPool(Unlimited, code="pool_none"):
    """A data source without a pool."""

    words = (
        "{0.setting} has no pool: each use opens a connection of its own, and nothing limits their number. Source: "
        "Spring's documentation, {0.setting}."
    )


class BesideBean(Worded, Caution, code="pool_beside_bean"):
    """Settings of Spring's data source, beside a bean that is the data source. names: their keys."""

    names: str
    words = (
        "{0.names}: no effect, unless the project's own code reads these names. A bean of the project is the data "
        "source, so Spring Boot makes no pool. Source: Spring Boot's documentation, Configure a Custom DataSource."
    )


class NotOfSpring(Worded, Reason, code="pool_not_of_spring"):
    """Settings of Spring's data source, which Spring Boot does not make."""

    words = (
        "The file excludes DataSourceAutoConfiguration, so Spring Boot makes no pool. Whether a bean of the project "
        "makes one for this URL is not known here."
    )


def _dropwizard(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from tested_on_borrow(pool, "checkConnectionOnBorrow")
    is_checked = is_on(pool, "checkConnectionOnBorrow") or (
        is_on(pool, "checkConnectionWhileIdle") and in_time(pool, wait_timeout, "evictionInterval", 1000)
    )
    yield from outlives_server(pool, wait_timeout, "maxConnectionAge", 1000, is_checked=is_checked)


def _quarkus_of_any_version(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from _quarkus(pool, wait_timeout)
    if pool.complete and not pool.has("maxSize"):
        yield OfVersion()


def _quarkus(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from no_limit(pool, "acquisitionTimeout", WaitsForEver)
    yield from tested_on_borrow(pool, "validateOnBorrow")
    is_checked = is_on(pool, "validateOnBorrow") or in_time(pool, wait_timeout, "backgroundValidationInterval", 1000)
    yield from outlives_server(pool, wait_timeout, "maxLifetime", 1000, is_checked=is_checked)


def _vertx(pool: FilePool, _: int) -> Iterator[Worded]:
    yield from no_limit(pool, "connectionTimeout", WaitsForEver)


def _r2dbc(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from no_limit(pool, "maxAcquireTime", WaitsForEver)
    is_checked = in_time(pool, wait_timeout, "maxLifeTime", 1000)
    yield from outlives_server(pool, wait_timeout, "maxIdleTime", 1000, is_checked=is_checked)


def _r2dbc_driver(pool: FilePool, _: int) -> Iterator[Worded]:
    yield NeedsPoolDriver(" and ".join(sorted(each.name for each in pool.settings.values())))


def _dbcp1(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:  # noqa: ARG001
    yield from no_limit(pool, "maxActive", Unlimited)
    yield from no_limit(pool, "maxWait", WaitsForEver)
    yield from removes_abandoned(pool, "removeAbandoned", state="borrowed and not used")


SHARDINGSPHERE = replace(
    HIKARICP,
    title="ShardingSphere",
    defaults={**HIKARICP.defaults, "maximumPoolSize": 50},
    aliases={
        "maxPoolSize": "maximumPoolSize", "minPoolSize": "minimumIdle", "minIdle": "minimumIdle",
        "connectionTimeoutMilliseconds": "connectionTimeout", "idleTimeoutMilliseconds": "idleTimeout",
        "maxLifetimeMilliseconds": "maxLifetime", "maxLifetimeMillis": "maxLifetime",
    },
    ignored=frozenset(),
)  # fmt: skip
"""ShardingSphere-Proxy: HikariCP, with other names and defaults."""
PLAY = replace(HIKARICP, title="HikariCP (Play)", durations=frozenset({True, False}))
SLICK = Library(
    "HikariCP (Slick)",
    {
        "numThreads": 20, "maxConnections": None, "minConnections": None, "queueSize": 1_000,
        "connectionTimeout": 1_000, "validationTimeout": 1_000, "idleTimeout": 600_000, "maxLifetime": 1_800_000,
        "leakDetectionThreshold": 0,
    },
    find=partial(outlives_server, lifetime="maxLifetime", per_second=1000, is_checked=False),
    same_as={"maxConnections": "numThreads", "minConnections": "numThreads"},
    sizes=("maxConnections",),
    ignored=frozenset({"maximumPoolSize", "minimumIdle", "maxPoolSize"}),
    durations=frozenset({True, False}),
    waits={"connectionTimeout": 1000},
    ages={"idleTimeout": 1000, "maxLifetime": 1000},
)  # fmt: skip
"""slick/slick, HikariCPJdbcDataSource.scala. Before version 3.2, maxConnections was numThreads * 5 by default."""
DBCP1 = replace(
    DBCP2,
    title="DBCP 1",
    stack="",
    find=_dbcp1,
    aliases={},
    defaults={
        "maxActive": 8, "maxIdle": 8, "minIdle": 0, "initialSize": 0, "maxWait": -1, "testOnBorrow": True,
        "testOnReturn": False, "testWhileIdle": False, "timeBetweenEvictionRunsMillis": -1,
        "minEvictableIdleTimeMillis": 1_800_000, "removeAbandoned": False, "removeAbandonedTimeout": 300,
    },
    sizes=("maxActive",),
    ignored=frozenset({"maxTotal", "maxWaitMillis"}),
    waits={"maxWait": 1000},
    ages={"timeBetweenEvictionRunsMillis": 1000, "minEvictableIdleTimeMillis": 1000},
)  # fmt: skip
TOMCAT_7 = replace(DBCP1, title="DBCP 1 (Tomcat 7)", notes=(OldTomcat(),))
HIBERNATE_C3P0 = replace(
    C3P0,
    title="c3p0 (Hibernate)",
    aliases={
        "max_size": "maxPoolSize", "min_size": "minPoolSize", "timeout": "maxIdleTime",
        "idle_test_period": "idleConnectionTestPeriod", "acquire_increment": "acquireIncrement",
        "validate": "testConnectionOnCheckout",
    },
)  # fmt: skip
SPRING_C3P0 = replace(HIBERNATE_C3P0, title="c3p0 (Spring, Hibernate)", notes=(SpringsDataSource(),))
HIBERNATE_POOL = Library("Hibernate's own pool", {"pool_size": 20}, sizes=("pool_size",), notes=(NotForProduction(),))
BOOT_1_TOMCAT, BOOT_1_DRUID, BOOT_1_HIKARICP, BOOT_1_DBCP2 = (
    replace(library, title=f"{library.title} (Spring Boot 1)", notes=(OnlySpringBoot1(),))
    for library in (TOMCAT_JDBC, DRUID, HIKARICP, DBCP2)
)
"""The libraries whose settings Spring Boot 1 binds directly below spring.datasource."""
SPRING_TOMCAT = replace(TOMCAT_JDBC, title="Tomcat JDBC Pool (Spring Boot)", notes=(NeedsItsType(),))
DROPWIZARD = Library(
    "Dropwizard",
    {
        "maxSize": 100, "minSize": 10, "initialSize": 10, "maxWaitForConnection": 30_000, "maxConnectionAge": 0,
        "minIdleTime": 60_000, "checkConnectionWhileIdle": True, "checkConnectionOnBorrow": False,
        "evictionInterval": 5_000, "validationInterval": 30_000,
    },
    find=_dropwizard,
    sizes=("maxSize",),
    durations=frozenset({True, False}),
)  # fmt: skip
"""Tomcat's JDBC pool with other names: dropwizard/dropwizard, DataSourceFactory.java."""
QUARKUS = Library(
    "Agroal (Quarkus)",
    {
        "maxSize": 50, "minSize": 0, "initialSize": None, "acquisitionTimeout": 5_000, "maxLifetime": 0,
        "idleRemovalInterval": 300_000, "backgroundValidationInterval": 120_000, "leakDetectionInterval": 0,
        "validateOnBorrow": False,
    },
    find=_quarkus_of_any_version,
    sizes=("maxSize",),
    durations=frozenset({True, False}),
    seconds=frozenset({
        "acquisitionTimeout", "maxLifetime", "idleRemovalInterval", "backgroundValidationInterval",
            "leakDetectionInterval",
    }),
    waits={"acquisitionTimeout": 1},
    ages={"maxLifetime": 1, "idleRemovalInterval": 1, "backgroundValidationInterval": 1},
)  # fmt: skip
"""quarkusio/quarkus, DataSourceJdbcRuntimeConfig.java. maxSize: 20 in the jar of 3.30.8, 50 in that of 3.31.0."""


def quarkus_of(version: tuple[int, int] | None) -> Library:
    """Return the library with the defaults of a version; of None, with those of the newest."""
    if version is None:
        return QUARKUS
    return replace(QUARKUS, find=_quarkus, defaults={**QUARKUS.defaults, "maxSize": 50 if version >= (3, 31) else 20})


QUARKUS_REACTIVE = Library(
    "Vert.x (Quarkus)",
    {"maxSize": 20, "idleTimeout": 0},
    sizes=("maxSize",),
    durations=frozenset({True, False}),
    seconds=frozenset({"idleTimeout"}),
    ages={"idleTimeout": 1},
)
"""maxSize: since quarkusio/quarkus, pull request 30801 (2.16 or later); before, that of Vert.x."""


def quarkus_reactive_of(version: tuple[int, int] | None) -> Library:
    """Return the library with the defaults of a version; of None, with those of the newest."""
    if version is None or version >= (2, 16):
        return QUARKUS_REACTIVE
    return replace(QUARKUS_REACTIVE, defaults={**QUARKUS_REACTIVE.defaults, "maxSize": 4})


VERTX = Library(
    "Vert.x",
    {
        "maxSize": 4, "maxWaitQueueSize": -1, "connectionTimeout": 30, "connectionTimeoutUnit": "SECONDS",
        "idleTimeout": 0, "idleTimeoutUnit": "SECONDS", "maxLifetime": 0, "maxLifetimeUnit": "SECONDS",
    },
    find=_vertx,
    sizes=("maxSize",),
)  # fmt: skip
"""Its pool drops a connection that the server ends: eclipse-vertx/vertx-sql-client, issue 863; PoolOptions.java."""
R2DBC = Library(
    "R2DBC Pool",
    {
        "maxSize": 10, "initialSize": 10, "minIdle": 0, "maxIdleTime": 1_800_000, "maxLifeTime": -1,
        "maxAcquireTime": -1, "maxCreateConnectionTime": -1,
    },
    find=_r2dbc,
    sizes=("maxSize",),
    durations=frozenset({True, False}),
    waits={"maxAcquireTime": 1000, "maxCreateConnectionTime": 1000},
    ages={"maxIdleTime": 1000, "maxLifeTime": 1000},
)  # fmt: skip
"""r2dbc/r2dbc-pool, ConnectionPoolConfiguration.java."""
R2DBC_DRIVER = replace(R2DBC, title="R2DBC without a pool", find=_r2dbc_driver, sizes=())
"""The driver of the database alone."""
UNPOOLED = Library(
    "Spring's DriverManagerDataSource",
    {"connections": None},
    sizes=("connections",),
    notes=(NoPool("DriverManagerDataSource", is_default=False, value=nan),),
)
OF_BEAN = replace(UNPOOLED, title="Data source of a bean", notes=(NotOfSpring(),))
"""Where Spring Boot makes none by itself."""


def beside_bean(pool: FilePool) -> FilePool:
    """Return what Spring's pool is where a bean is the data source: settings without effect."""
    names = [each.name for each in (*pool.settings.values(), *pool.unread)]
    note = BesideBean(" and ".join(f"{pool.place}.{name}" for name in names))
    return replace(pool, library=replace(OF_BEAN, sizes=(), notes=(note,)), settings={}, unread=())


MYBATIS = Library(
    "MyBatis's own pool",
    {
        "poolMaximumActiveConnections": 10, "poolMaximumIdleConnections": 5, "poolMaximumCheckoutTime": 20_000,
        "poolTimeToWait": 20_000, "poolPingEnabled": False,
    },
    sizes=("poolMaximumActiveConnections",),
)  # fmt: skip
WILDFLY = Library(
    "WildFly",
    {
        "maxPoolSize": 20, "minPoolSize": 0, "initialPoolSize": None, "blockingTimeoutMillis": 30_000,
        "idleTimeoutMinutes": 30, "backgroundValidation": False,
    },
    aliases={"blockingTimeoutWaitMillis": "blockingTimeoutMillis"},
    sizes=("maxPoolSize",),
    waits={"blockingTimeoutMillis": 1000},
)  # fmt: skip
