"""The rules for the settings of pools, each at its border: one file that it warns of, and one that it does not."""

import json
from pathlib import Path

import pytest

from poolsize.answer.finding import Finding
from poolsize.pool_config import findings, libraries
from poolsize.pool_config.check import check_pools
from poolsize.pool_config.files.reading import read_pools
from poolsize.pool_config.libraries.table import LIBRARIES
from poolsize.pool_config.settings import ServerFacts
from poolsize.present.text.sentences.findings import sentence
from tests.conftest import Command
from tests.unit.test_sentences import records_of

PROPERTIES = "hikari.properties"
MYSQL = "jdbc:mysql://h/shop"
MYSQL2 = "const mysql = require('mysql2');\n"
SEQUELIZE = "new Sequelize('s', 'u', 'p', {dialect: 'mysql', "
KNEX = "require('knex')({client: 'mysql2', connection: url, "
MARIADB = "import { createPool } from 'mariadb'; "
TYPEORM = "new DataSource({type: 'mysql', entities: [], "
ADAPTER = "const adapter = new PrismaMariaDb({host, connectionLimit: 9}); "
PRISMA = 'datasource db {\nprovider = "mysql"\n'
POOL_OF_PHP = "['mysql' => ['driver' => 'mysql', 'host' => 'h', 'pool' => ['max_connections' => 9]]]"
OF_DRUID = f'class A {{ void f() {{ var d = new DruidDataSource(); d.setUrl("{MYSQL}"); '
OF_DBCP2 = OF_DRUID.replace("Druid", "Basic")
KEEP_ALIVE = "spring.datasource.druid: {max-active: 9, keep-alive: true, "
BORDERS: list[tuple[str, str, str | None, str]] = [
    (PROPERTIES, "maxLifetime=900000", "maximumPoolSize=10", "pool_defaults"),
    (PROPERTIES, "maximumPoolSize=${SIZE}", "maximumPoolSize=${SIZE:9}", "pool_not_followed"),
    ("a.js", f"{MYSQL2}createPool(options)", f"{MYSQL2}createPool({{connectionLimit: 9, ...options}})",
     "pool_incomplete"),
    (PROPERTIES, "maxLifetime=60000\nkeepaliveTime=60000", "maxLifetime=60000\nkeepaliveTime=59999",
     "pool_keepalive_over_lifetime"),
    (PROPERTIES, "maxLifetime=120000", "maxLifetime=120001", "pool_keepalive_off"),
    (PROPERTIES, "maxLifetime=0", "maxLifetime=0\nkeepaliveTime=120000", "pool_keepalive_default"),
    (PROPERTIES, "maximumPoolSize=9\nkeepaliveTime=29999", "maximumPoolSize=9\nkeepaliveTime=30000",
     "pool_below_least"),
    (PROPERTIES, "maximumPoolSize=9\nmaxLifetime=29999", "maximumPoolSize=9\nmaxLifetime=30000", "pool_below_least"),
    (PROPERTIES, "maximumPoolSize=9\nconnectionTimeout=249", "maximumPoolSize=9\nconnectionTimeout=250",
     "pool_refused"),
    (PROPERTIES, "maximumPoolSize=9\nmaximum-pool-size=9", "maximumPoolSize=9", "pool_not_read"),
    (PROPERTIES, "maximumPoolSize=9\nmaxLifetime=soon", "maximumPoolSize=9\nmaxLifetime=30m", "pool_no_number"),
    ("a.yml", "hikari: {maxLifetime: 30m}", "hikari: {maxLifetime: 1800000}", "pool_no_number"),
    ("druid.properties", "maxWait=1\nkeepAlive=true", "maxWait=1\ndruid.keepAlive=true", "pool_not_read"),
    ("dbcp2.properties", "maxTotal=9\nmaxWait=1", "maxTotal=9\nmaxWaitMillis=1", "pool_not_read"),
    (PROPERTIES, "maximumPoolSize=9\nconnectionTimeout=0", "maximumPoolSize=9\nconnectionTimeout=-1",
     "pool_waits"),
    (PROPERTIES, "maximumPoolSize=9\nconnectionTimeout=-1", "maximumPoolSize=9\nconnectionTimeout=0",
     "pool_refused"),
    (PROPERTIES, "maximumPoolSize=0", "maximumPoolSize=1", "pool_no_size"),
    ("druid.properties", "maxActive=0\nmaxWait=1", "maxActive=1\nmaxWait=1", "pool_no_size"),
    ("dbcp2.properties", "maxTotal=0\nmaxWaitMillis=1", "maxTotal=-1\nmaxWaitMillis=1", "pool_no_size"),
    (PROPERTIES, "maximumPoolSize=9\nminimumIdle=8", "maximumPoolSize=9\nminimumIdle=9", "pool_shrinks"),
    (PROPERTIES, "maximumPoolSize=9\nmaxLifetime=0\nkeepaliveTime=0", "maximumPoolSize=9\nmaxLifetime=0",
     "pool_outlives_server"),
    (PROPERTIES, "maximumPoolSize=9\nleakDetectionThreshold=1999", "maximumPoolSize=9\nleakDetectionThreshold=2000",
     "pool_below_least"),
    (PROPERTIES, "maxLifetime=60000\nleakDetectionThreshold=60001", "maxLifetime=60000\nleakDetectionThreshold=60000",
     "pool_leak_over_lifetime"),
    (PROPERTIES, "maximumPoolSize=9\nminimumIdle=8\nidleTimeout=9999", "maximumPoolSize=9\nidleTimeout=9999",
     "pool_below_least"),
    (PROPERTIES, "minimumIdle=8\nmaxLifetime=900000\nidleTimeout=899001",
     "minimumIdle=8\nmaxLifetime=900000\nidleTimeout=899000", "pool_idle_timeout_off"),
    (PROPERTIES, "minimumIdle=8\nmaxLifetime=600000", "minimumIdle=10\nmaxLifetime=600000", "pool_idle_timeout_off"),
    ("a.yml", "spring: {datasource.hikari.maximumPoolSize: 10, jpa: {show-sql: true}}",
     "spring: {datasource.hikari.maximumPoolSize: 11, jpa: {show-sql: true}}", "pool_open_in_view"),
    ("a.yml", "spring: {datasource.hikari.maximumPoolSize: 10, jpa.open-in-view: true}",
     "spring: {datasource.hikari.maximumPoolSize: 10, jpa.open-in-view: false}", "pool_open_in_view"),
    ("a.yml", "spring.datasource: {max-active: 9}", "spring.datasource.tomcat: {max-active: 9}", "pool_spring_boot_1"),
    ("a.yml", "spring.datasource: {tomcat.max-active: 9}",
     "spring.datasource: {type: org.apache.tomcat.jdbc.pool.DataSource, tomcat.max-active: 9}", "pool_needs_type"),
    ("A.java", 'class A { Object o = ConnectionFactoryOptions.builder().option(DRIVER, "mysql").option(MAX_SIZE, 9); }',
     'class A { Object o = ConnectionFactoryOptions.builder().option(DRIVER, "pool").option(MAX_SIZE, 9); }',
     "pool_needs_driver"),
    ("A.java", f'class A {{ void f() {{ var d = new DriverManagerDataSource("{MYSQL}"); }} }}',
     f'class A {{ void f() {{ var d = new HikariDataSource(); d.setJdbcUrl("{MYSQL}"); }} }}', "pool_none"),
    ("a.properties", f"spring.datasource.url={MYSQL}\nspring.autoconfigure.exclude[0]=a.DataSourceAutoConfiguration",
     f"spring.datasource.url={MYSQL}\nspring.autoconfigure.exclude[0]=a.XADataSourceAutoConfiguration",
     "pool_not_of_spring"),
    ("a.properties", "spring.jpa.properties.hibernate.c3p0.max_size=9", "hibernate.c3p0.max_size=9",
     "pool_springs_data_source"),
    ("a.properties", "hibernate.connection.pool_size=9", "hibernate.c3p0.max_size=9", "pool_not_for_production"),
    ("a.xml", "<Resource type='javax.sql.DataSource' maxActive='9'/>",
     "<Resource type='javax.sql.DataSource' maxTotal='9'/>", "pool_old_tomcat"),
    ("a.properties", "jdbc.maxActive=9", "druid.maxActive=9", "pool_own_names"),
    ("a.yml", "spring.datasource.hikari: {max-pool-size: 9}", "spring.datasource.dynamic.hikari: {max-pool-size: 9}",
     "pool_not_read"),
    ("tomcat.properties", "removeAbandoned=true", "removeAbandoned=false", "pool_removes_abandoned"),
    (PROPERTIES, "maximumPoolSize=151", "maximumPoolSize=150", "pool_above_server"),
    (PROPERTIES, "maximumPoolSize=9\nconnectionTestQuery=SELECT 1", "maximumPoolSize=9", "pool_test_query"),
    ("druid.properties", "maxActive=9", "maxActive=9\nmaxWait=1", "pool_waits"),
    ("druid.properties", "maxWait=1\ntestOnBorrow=true", "maxWait=1\ntestOnBorrow=false", "pool_tests_on_borrow"),
    ("druid.properties", "maxWait=1\nremoveAbandoned=true", "maxWait=1\nremoveAbandoned=false",
     "pool_removes_abandoned"),
    ("druid.properties", "maxActive=8\nminIdle=9", "maxActive=9\nminIdle=9", "pool_least_above_most"),
    ("druid.properties", "maxActive=8\ninitialSize=9", "minIdle=9\ninitialSize=9", "pool_least_above_most"),
    ("druid.properties", "maxActive=8\ninitialSize=9", "maxActive=-1\ninitialSize=9", "pool_least_above_most"),
    ("a.yml", "spring.datasource.druid: {max-active: 8, min-idle: 9}",
     "spring.datasource.druid: {max-active: '${MAX:8}', min-idle: 9}", "pool_least_above_most"),
    ("A.java", f"{OF_DRUID}d.setMaxActive(8); d.setMinIdle(9); }} }}",
     f"{OF_DRUID}d.setMaxActive(size); d.setMinIdle(9); }} int size = 8; }}", "pool_least_above_most"),
    ("druid.properties", "maxEvictableIdleTimeMillis=99\nminEvictableIdleTimeMillis=100",
     "maxEvictableIdleTimeMillis=99", "pool_least_above_most"),
    ("a.yml", f"{KEEP_ALIVE}keep-alive-between-time-millis: 70, time-between-eviction-runs-millis: 70}}",
     f"{KEEP_ALIVE}keep-alive-between-time-millis: 71, time-between-eviction-runs-millis: 70}}",
     "pool_least_above_most"),
    ("a.yml", f"{KEEP_ALIVE}keep-alive-between-time-millis: 70, time-between-eviction-runs-millis: 70}}",
     f"{KEEP_ALIVE}time-between-eviction-runs-millis: 120000}}", "pool_least_above_most"),
    ("a.yml", f"{KEEP_ALIVE}keep-alive-between-time-millis: 70, time-between-eviction-runs-millis: 70}}",
     f"{KEEP_ALIVE}keep-alive-between-time-millis: 70, time-between-eviction-runs-millis: 70}}".replace(
         "true", "'${ALIVE:true}'"), "pool_least_above_most"),
    ("A.java", f"{OF_DRUID}d.setMaxWait(WAIT); }} static final long WAIT = 60L; }}",
     f"{OF_DRUID}d.setMaxWait(Math.max(60L, 50L)); }} }}", "pool_wrong_unit"),
    ("A.java", f"{OF_DRUID}d.setMaxWait(WAIT); }} static final long WAIT = 60L; }}",
     f"{OF_DRUID}d.setMaxWait(WAIT_MS); }} static final long WAIT_MS = 60L; }}", "pool_wrong_unit"),
    ("A.java", f"{OF_DBCP2}d.setMaxWait(W); }} static final int W = 50; }}",
     f"{OF_DBCP2}d.setMaxWait(W); }} static final Duration W = Duration.ofMillis(50); }}", "pool_wrong_unit"),
    ("a.yml", "spring.datasource.druid: {max-active: 9, max-wait: 60}",
     "spring.datasource.druid: {max-active: 9, max-wait: '${WAIT:60}'}", "pool_wrong_unit"),
    ("c3p0.properties", "c3p0.maxIdleTime=300001", "c3p0.maxIdleTime=300000", "pool_outlives_server"),
    ("druid.properties", "maxActive=9\nmaxWait=60", "maxActive=9\nmaxWait=61", "pool_wrong_unit"),
    ("druid.properties", "maxActive=9\nminEvictableIdleTimeMillis=60", "maxActive=9\nmaxWait=0", "pool_wrong_unit"),
    ("dbcp2.properties", "maxTotal=9\nmaxWaitMillis=10", "maxTotal=9\nmaxWaitMillis=-1", "pool_wrong_unit"),
    ("a.yml", "spring.datasource.dbcp2: {max-total: 9, max-wait: 30}",
     "spring.datasource.dbcp2: {max-total: 9, max-wait: 30s}", "pool_wrong_unit"),
    ("a.yml", "spring.datasource.dbcp2: {max-total: 9, max-wait: 30}",
     "spring.datasource.dbcp2: {max-total: 9, max-wait: 30ms}", "pool_wrong_unit"),
    ("A.java", f'class A {{ void f() {{ var d = new DruidDataSource(); d.setUrl("{MYSQL}"); d.setMaxWait(60L); }} }}',
     f'class A {{ void f() {{ var d = new DruidDataSource(); d.setUrl("{MYSQL}"); d.setMaxWait(60_000L); }} }}',
     "pool_wrong_unit"),
    ("tomcat.properties", "maxActive=9\nmaxWait=60", "maxActive=9\nmaxWait=100", "pool_wrong_unit"),
    ("c3p0.properties", "c3p0.maxIdleTime=300000", "c3p0.maxIdleTime=86400", "pool_wrong_unit"),
    ("a.properties", "quarkus.datasource.jdbc.acquisition-timeout=5000",
     "quarkus.datasource.jdbc.acquisition-timeout=5000ms", "pool_wrong_unit"),
    ("db.py", "create_engine(u, pool_timeout=30_000)", "create_engine(u, pool_timeout=3600)", "pool_wrong_unit"),
    ("db.py", "create_engine(u, pool_recycle=1800000)", "create_engine(u, pool_recycle=604800)", "pool_wrong_unit"),
    ("settings.py", "D = {'CONN_MAX_AGE': 600_000}", "D = {'CONN_MAX_AGE': 60_000}", "pool_wrong_unit"),
    ("database.yml", "production: {adapter: mysql2, checkout_timeout: 5000}",
     "production: {adapter: mysql2, checkout_timeout: 5}", "pool_wrong_unit"),
    ("a.js", f"{KNEX}acquireConnectionTimeout: 60, pool: {{max: 9}}}})",
     f"{KNEX}acquireConnectionTimeout: 60 * 1000, pool: {{max: 9}}}})", "pool_wrong_unit"),
    ("a.js", f"{SEQUELIZE}pool: {{acquire: 30}}}})", f"{SEQUELIZE}pool: {{acquire: 30000, idle: 0}}}})",
     "pool_wrong_unit"),
    ("a.js", f"{SEQUELIZE}pool: {{idle: 10}}}})", f"{SEQUELIZE}pool: {{idle: 10000}}}})", "pool_wrong_unit"),
    ("a.js", f"{MYSQL2}createPool({{idleTimeout: 60}})", f"{MYSQL2}createPool({{idleTimeout: 60000}})",
     "pool_wrong_unit"),
    ("dbcp2.properties", "maxTotal=9\nremoveAbandonedOnBorrow=true",
     "maxTotal=9\nremoveAbandonedOnBorrow=false\nremoveAbandonedTimeout=9", "pool_removes_abandoned"),
    ("dbcp2.properties", "removeAbandonedOnMaintenance=true\ntimeBetweenEvictionRunsMillis=60000",
     "removeAbandonedOnMaintenance=true", "pool_removes_abandoned"),
    ("a.xml", "<Resource type='javax.sql.DataSource' maxActive='9' removeAbandoned='true'/>",
     "<Resource type='javax.sql.DataSource' maxActive='9' removeAbandoned='false'/>", "pool_removes_abandoned"),
    ("db.py", "aiomysql.create_pool(minsize=11, maxsize=10)", "aiomysql.create_pool(minsize=11, maxsize=0)",
     "pool_least_above_most"),
    ("db.py", "aiomysql.create_pool(minsize=11, maxsize=10)", "aiomysql.create_pool(minsize=11)",
     "pool_least_above_most"),
    ("dbcp2.properties", "maxTotal=9", "maxTotal=9\nmaxWaitMillis=1", "pool_waits"),
    ("dbcp2.properties", "maxTotal=9", "maxTotal=9\nmaxWaitMillis=0", "pool_waits"),
    ("dbcp2.properties", "maxTotal=9\nmaxWaitMillis=0", "maxTotal=9\nmaxWaitMillis=-1", "pool_fails_at_once"),
    ("dbcp2.properties", "maxTotal=9", "maxTotal=9\ntestOnBorrow=false", "pool_tests_on_borrow"),
    ("dbcp2.properties", "maxTotal=9", "maxTotal=9\nmaxIdle=9", "pool_closes_idle"),
    ("dbcp2.properties", "maxTotal=-1", "maxTotal=0", "pool_unlimited"),
    ("dbcp2.properties", "testOnBorrow=false", "testOnBorrow=false\nmaxConnLifetimeMillis=1800000",
     "pool_outlives_server"),
    ("c3p0.properties", "c3p0.maxPoolSize=9", "c3p0.checkoutTimeout=1", "pool_waits"),
    ("c3p0.properties", "c3p0.maxPoolSize=9", "c3p0.idleConnectionTestPeriod=90", "pool_outlives_server"),
    ("tomcat.properties", "maxActive=9\nmaxWait=0", "maxActive=9", "pool_waits"),
    ("tomcat.properties", "maxActive=9", "maxActive=9\nmaxAge=1800000", "pool_outlives_server"),
    ("tomcat.properties", "maxActive=9", "maxActive=9\nminIdle=0", "pool_outlives_server"),
    ("tomcat.properties", "testOnBorrow=true\nvalidationInterval=0", "testOnBorrow=true", "pool_tests_on_borrow"),
    ("dbcp2.properties", "testOnBorrow=false", "testOnBorrow=false\ntimeBetweenEvictionRunsMillis=60000",
     "pool_outlives_server"),
    ("dbcp2.properties", "maxTotal=9\nmaxIdle=8", "maxTotal=9\nmaxIdle=-1", "pool_closes_idle"),
    (".env", "SPRING_DATASOURCE_DBCP2_MAX_TOTAL=-1", None, "pool_unlimited"),  # another file may set maxIdle
    (PROPERTIES, "maxLifetime=0\nkeepaliveTime=10000", "maxLifetime=0\nkeepaliveTime=30000",
     "pool_outlives_server"),
    ("db.py", "create_engine(u)", "create_engine(u, pool_recycle=28799)", "pool_outlives_server"),
    ("db.py", "create_engine(u)", "create_engine(u, pool_pre_ping=True)", "pool_outlives_server"),
    ("db.py", "create_engine(u, max_overflow=-1)", "create_engine(u, max_overflow=0)", "pool_unlimited"),
    ("db.py", "create_engine(u, pool_size=0)", "create_engine(u, pool_size=1)", "pool_unlimited"),
    ("db.py", "MySQLConnectionPool(pool_size=33)", "MySQLConnectionPool(pool_size=32)", "pool_too_large"),
    ("db.py", "PooledMySQLDatabase('d', timeout=None)", "PooledMySQLDatabase('d', timeout=1)", "pool_fails_at_once"),
    ("db.py", "PooledMySQLDatabase('d', timeout=0)", "PooledMySQLDatabase('d', timeout=1)", "pool_waits"),
    ("db.py", "PooledDB(c, maxconnections=9)", "PooledDB(c, maxconnections=9, blocking=True)", "pool_fails_at_once"),
    ("db.py", "PooledDB(c, maxconnections=4, maxcached=5)", "PooledDB(c, maxconnections=5, maxcached=5)",
     "pool_size_raised"),
    ("db.py", "PooledDB(c, maxconnections=9, maxcached=8)", "PooledDB(c, maxconnections=9)", "pool_closes_idle"),
    ("db.py", "aiomysql.create_pool(maxsize=0)", "aiomysql.create_pool(maxsize=1)", "pool_unlimited"),
    ("db.py", "asyncmy.create_pool()", "WAIT_LIMIT_SECONDS = 9\nasyncmy.create_pool()", "pool_no_wait_limit"),
    ("db.py", "PersistentDB(c)", "PooledDB(c)", "pool_per_thread"),
    ("config.py", "SQLALCHEMY_POOL_SIZE = 5", "SQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 5}", "flask_old_names"),
    ("config.py", "SQLALCHEMY_ENGINE_OPTIONS = {'max_overflow': 5}", "SQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 5}",
     "flask_size_of_2"),
    ("config.py", "SQLALCHEMY_DATABASE_URI = 'mysql://h/d'", "SQLALCHEMY_POOL_TIMEOUT = 9", "flask_size_of_2"),
    ("db.py", "create_engine(u, pool_pre_ping=False)", "create_engine(u, pool_pre_ping=X)", "pool_outlives_server"),
    ("settings.py", "D = {'CONN_MAX_AGE': 0}", "D = {'CONN_MAX_AGE': 1}", "django_connects"),
    ("settings.py", "D = {'CONN_MAX_AGE': 0}", "D = {'CONN_MAX_AGE': 0}\nASGI_APPLICATION = 'a'", "django_connects"),
    ("settings.py", "D = {'CONN_MAX_AGE': 1}\nASGI_APPLICATION = 'a'", "D = {'CONN_MAX_AGE': 1}", "django_asgi"),
    ("settings.py", "D = {'CONN_MAX_AGE': None}\nASGI_APPLICATION = 'a'",
     "D = {'CONN_MAX_AGE': 0}\nASGI_APPLICATION = 'a'", "django_asgi"),
    ("settings.py", "D = {'CONN_MAX_AGE': None}", "D = {'CONN_MAX_AGE': None, 'CONN_HEALTH_CHECKS': True}",
     "pool_outlives_server"),
    ("settings.py", "D = {'CONN_MAX_AGE': 1, 'OPTIONS': {'pool': True}}",
     "D = {'CONN_MAX_AGE': 1, 'OPTIONS': {'charset': 'utf8mb4'}}", "django_pool"),
    ("a.go", "func f() { d.SetMaxIdleConns(9) }", "func f() { d.SetMaxOpenConns(9) }", "pool_unlimited"),
    ("a.go", "func f() { d.SetMaxOpenConns(9) }", "func f() { d.SetMaxOpenConns(9); d.SetMaxIdleConns(9) }",
     "pool_closes_idle"),
    ("a.go", "func f() { d.SetMaxOpenConns(c.Most) }", "func f() { d.SetMaxOpenConns(c.Most); d.SetMaxIdleConns(1) }",
     "pool_closes_idle"),
    ("a.go", "func f() { d.SetConnMaxLifetime(301 * time.Second) }",
     "func f() { d.SetConnMaxLifetime(5 * time.Minute) }", "go_lifetime"),
    ("a.go", "const life = 600\nfunc f() { d.SetConnMaxLifetime(life) }",
     "const life = 600\nfunc f() { d.SetConnMaxLifetime(life * time.Second) }", "go_nanoseconds"),
    ("a.go", "func f() { d.SetConnMaxIdleTime(time.Duration(999_999)) }",
     "func f() { d.SetConnMaxIdleTime(1_000_000) }", "go_nanoseconds"),
    ("a.go", "func f() { d.SetConnMaxLifetime(100_000) }",
     "func f() { d.SetConnMaxLifetime(100 * time.Microsecond) }", "go_nanoseconds"),
    ("a.go", "func f() { d.SetConnMaxLifetime(600) }", "func f() { d.SetConnMaxLifetime(-1) }", "go_nanoseconds"),
    ("a.go", 'func f() { d.SetConnMaxLifetime(time.Duration(getEnv("LIFE", 600))) }',
     'func f() { d.SetConnMaxLifetime(getEnvSeconds("LIFE", 600)) }', "go_nanoseconds"),
    ("a.go", "func f() { d.SetConnMaxIdleTime(time.Duration(c.Idle)) }",
     "func f() { d.SetConnMaxIdleTime(time.Duration(c.Idle) * time.Second) }", "go_no_unit"),
    ("a.go", "func f() { d.SetConnMaxLifetime(time.Duration(c.Life)) }", "func f() { d.SetConnMaxLifetime(c.Life) }",
     "go_no_unit"),
    ("a.go", 'func f() { g, _ := xorm.NewEngineGroup("mysql", dsns); g.SetMaxOpenConns(9) }',
     'func f() { g, _ := xorm.NewEngineGroup("mysql", dsns); g.DB().SetMaxOpenConns(9) }', "go_of_each_pool"),
    ("a.go", 'func f() { g, _ := xorm.NewEngineGroup("mysql", dsns); g.SetMaxOpenConns(9) }',
     'func f() { g, _ := xorm.NewEngineGroup("mysql", dsns); m := g.Master(); m.SetMaxOpenConns(9) }',
     "go_of_each_pool"),
    ("a.go", "func f() { db.Use(dbresolver.Register(c).SetMaxOpenConns(9)) }",
     "func f() { db.Use(dbresolver.Register(c)); db.SetMaxOpenConns(9) }", "go_of_each_pool"),
    ("a.js", f"{MYSQL2}createPool({{connectionLimit: 9}})", f"{MYSQL2}createPool({{queueLimit: 1}})",
     "pool_queue_unlimited"),
    ("a.js", f"{MYSQL2}createPool({{connectionLimit: 0}})", f"{MYSQL2}createPool({{connectionLimit: 1}})",
     "pool_unlimited"),
    ("a.js", f"{SEQUELIZE}pool: {{min: 6, max: 5}}}})", f"{SEQUELIZE}pool: {{min: 6}}}})", "pool_least_above_most"),
    ("a.js", f"{KNEX}pool: {{min: 2, max: 1}}}})", f"{KNEX}pool: {{max: 1}}}})", "pool_least_above_most"),
    ("a.js", f"{MARIADB}createPool({{idleTimeout: 28800}})", f"{MARIADB}createPool({{idleTimeout: 28799}})",
     "pool_idle_over_server"),
    ("a.js", f"{KNEX}pool: {{max: 9}}}})", f"{KNEX}pool: {{min: 0}}}})", "pool_keeps_for_ever"),
    ("a.js", f"{MYSQL2}createPool({{conectionLimit: 9}})", f"{MYSQL2}createPool({{connectTimeout: 9}})",
     "pool_not_read"),
    ("a.js", f"{TYPEORM}extra: {{waitForConnection: true}}}})", f"{TYPEORM}extra: {{connectionTimeout: 9}}}})",
     "pool_not_read"),
    ("a.js", f"{ADAPTER}new PrismaClient()", f"{ADAPTER}new PrismaClient({{adapter}})", "prisma_adapter_unused"),
    ("my.cnf", "[mysqld]\nmax_connections=9\nthread_cache_size=10", "[mysqld]\nmax_connections=9\nthread_cache_size=9",
     "server_thread_cache"),
    ("my.cnf", "[mysqld]\nback_log=9\n!includedir /etc/my.d", "[mysqld]\nback_log=9", "pool_elsewhere"),
    ("a.txt", "Connection_errors_max_connections\t1", "Connection_errors_max_connections\t0", "server_refused"),
    ("a.txt", "Threads_connected\t1\nmax_connections\t", "max_connections\t1", "server_counters"),
    ("my.cnf", "[mysqld]\nwait_timeout=1799", "[mysqld]\nwait_timeout=1800", "server_wait_timeout"),
    ("database.yml", "production: {adapter: mysql2, max_connections: -1}",
     "production: {adapter: mysql2, max_connections: 9}", "pool_unlimited"),
    ("schema.prisma", f"{PRISMA}url = \"mysql://h/d\"\n}}", f"{PRISMA}url = \"mysql://h/d?connection_limit=5\"\n}}",
     "pool_of_cpus"),
    ("schema.prisma", f"{PRISMA}url = \"mysql://h/d?pool_timeout=0\"\n}}",
     f"{PRISMA}url = \"mysql://h/d?pool_timeout=1\"\n}}", "pool_waits"),
    ("a.php", "<?php new PDO('mysql:', $u, $p, [PDO::ATTR_PERSISTENT => true]);",
     "<?php new PDO('mysql:', $u, $p, [PDO::ATTR_PERSISTENT => false]);", "php_persists"),
    ("database.php", "<?php return ['driver' => 'mysql', 'host' => 'h'];",
     "<?php return ['driver' => 'mysql', 'host' => 'h', 'options' => [PDO::ATTR_PERSISTENT => true]];", "php_connects"),
    ("database.php", f"<?php use Illuminate\\Support\\Str; return {POOL_OF_PHP};", f"<?php return {POOL_OF_PHP};",
     "php_pool_not_read"),
    ("doctrine.yaml", "doctrine.dbal: {driver: pdo_mysql}",
     "doctrine.dbal: {driver: pdo_mysql, options: {!php/const PDO::ATTR_PERSISTENT: true}}", "php_connects"),
    ("proxysql.cnf", "mysql_variables={multiplexing=false} mysql_servers=({address=\"a\"})",
     "mysql_servers=({address=\"a\"})\nmysql_variables={multiplexing=true}", "proxy_no_multiplexing"),
    ("maxscale.cnf", "[a]\ntype=server", "[a]\ntype=server\nmax_routing_connections=9", "proxy_passes"),
    ("maxscale.cnf", "[a]\ntype=server\npersistpoolmax=9\npersistmaxtime=28800s",
     "[a]\ntype=server\npersistpoolmax=9\npersistmaxtime=28799s", "pool_outlives_server"),
    ("a.rs", "MySqlPoolOptions::new().test_before_acquire(false).idle_timeout(None).max_lifetime(None)",
     "MySqlPoolOptions::new().max_lifetime(None)", "pool_outlives_server"),
    ("a.rs", "// deadpool mysql\nfn f() { Pool::builder(m) }",
     "// deadpool mysql\nfn f() { Pool::builder(m).max_size(9) }", "pool_of_cpus"),
    ("Rocket.toml", "[default.databases.a]\nurl = 'mysql://h/d'",
     "[default.databases.a]\nurl = 'mysql://h/d'\nmax_connections = 9", "pool_of_cpus"),
    ("appsettings.json", '{"A": "Server=h;Uid=u;Pooling=false"}', '{"A": "Server=h;Uid=u;Pooling=true"}', "pool_off"),
    ("appsettings.json", '{"A": "Server=h;User Id=u"}', '{"A": "Server=h;User Id=u;Port=3306"}',
     "pool_database_unknown"),
    ("a.go", 'package a\nimport ("github.com/lib/pq"; "github.com/go-sql-driver/mysql")\nfunc f() { sql.Open(d, u) }',
     'package a\nimport "github.com/go-sql-driver/mysql"\nfunc f() { sql.Open(d, u) }', "pool_database_unknown"),
    ("a.go", 'package a\nfunc f() { d, _ := sql.Open("mysql", u); defer d.Close(); d.Ping() }',
     'package a\nfunc f() { d, _ := sql.Open("mysql", u); defer d.Close(); d.Query(q) }', "go_only_pings"),
    ("application.properties", "quarkus.datasource.db-kind=mysql",
     "quarkus.datasource.db-kind=mysql\nquarkus.datasource.jdbc.max-size=9", "pool_of_version"),
    ("database.yml", "production: {adapter: mysql2}", None, "pool_threads"),  # each process of Rails has threads
    ("www.conf", "[www]\npm.max_children=9",
     "[www]\npm.max_children=9\nphp_admin_value[mysqli.max_persistent] = 1", "php_workers"),
]  # fmt: skip


def codes(folder: Path, name: str, text: str) -> set[str]:
    (folder / name).write_text(text)
    (checked,) = check_pools(read_pools(folder / name, is_named=False).pools)
    for finding in checked.findings:
        assert sentence(finding).endswith(".")
    return {finding.code for finding in checked.findings}


@pytest.mark.costly
@pytest.mark.parametrize(("name", "bad", "good", "code"), BORDERS)
def test_a_rule_has_its_border(tmp_path: Path, name: str, bad: str, good: str | None, code: str) -> None:
    assert code in codes(tmp_path, name, bad)
    assert good is None or code not in codes(tmp_path, name, good)


@pytest.mark.parametrize(
    ("base", "profile", "is_found"),
    [
        ("max-active: 20", "{max-active: 8, min-idle: 9}", True),
        ("max-active: 8", "{min-idle: 9}", False),
        ("min-idle: 9", "{max-active: 8}", False),
    ],
)
def test_settings_of_different_documents_are_not_compared(
    tmp_path: Path, base: str, profile: str, *, is_found: bool
) -> None:
    of_profile = f"spring.config.activate.on-profile: prod\nspring.datasource.druid: {profile}\n"
    text = f"spring.datasource: {{url: '{MYSQL}', druid: {{{base}}}}}\n---\n{of_profile}"
    (tmp_path / "a.yml").write_text(text)
    of_base, of_prod = check_pools(read_pools(tmp_path / "a.yml").pools)
    assert "pool_least_above_most" not in {each.code for each in of_base.findings}
    assert ("pool_least_above_most" in {each.code for each in of_prod.findings}) == is_found


def test_every_rule_is_tested() -> None:
    modules = (findings.__name__, libraries.__name__)
    of_a_pool = {record.code for record in records_of(Finding) if record.__module__.startswith(modules)}
    together = {  # test_check_together, test_deployments
        "server_too_small", "pools_above_limit", "workloads_above_limit", "pool_of_threads",
    }  # fmt: skip
    of_traffic = {"pool_below_traffic", "pool_below_need"}  # test_config_from_traffic
    of_variables = {
        "pool_from_variable",
        "pool_only_defaults",
        "pool_of_parameters",
        "pool_beside_bean",
    }  # test_variables
    assert of_a_pool - {code for *_, code in BORDERS} == together | of_traffic | of_variables


@pytest.mark.costly
def test_the_servers_wait_timeout_decides(tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("create_engine(u, pool_recycle=600)")
    for wait_timeout, warned in ((600, True), (601, False)):
        (checked,) = check_pools(read_pools(tmp_path / "db.py").pools, ServerFacts(wait_timeout_seconds=wait_timeout))
        assert ("pool_outlives_server" in {finding.code for finding in checked.findings}) == warned


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "text", "period"),
    [
        (PROPERTIES, "maxLifetime=0\nkeepaliveTime=30000", 30),
        ("c3p0.properties", "c3p0.idleConnectionTestPeriod=90", 90),
        ("druid.properties", "maxEvictableIdleTimeMillis=90000000\ntimeBetweenEvictionRunsMillis=90000", 90),
    ],
)
def test_a_check_of_idle_connections_must_be_in_time(tmp_path: Path, name: str, text: str, period: int) -> None:
    (tmp_path / name).write_text(text)
    for wait_timeout, warned in ((period, True), (period + 1, False)):
        (checked,) = check_pools(read_pools(tmp_path / name).pools, ServerFacts(wait_timeout_seconds=wait_timeout))
        assert ("pool_outlives_server" in {finding.code for finding in checked.findings}) == warned


def test_the_times_of_a_library_are_its_settings() -> None:
    for library in LIBRARIES.values():
        assert {*library.waits, *library.ages} <= set(library.defaults)


ABANDONED = "d.setRemoveAbandonedOnBorrow(true); d.setRemoveAbandonedTimeout({}); }} static final {} T = {}; }}"
SHOWN = "removeAbandonedOnBorrow ends connections that are borrowed and not used for longer than {} s, "


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        ("druid.properties", "minIdle=9\nmaxActive=8", "minIdle 9 is more than maxActive 8: the library does"),
        ("a.yml", f"{KEEP_ALIVE}time-between-eviction-runs-millis: 99, keep-alive-between-time-millis: 99}}",
         "timeBetweenEvictionRunsMillis 99 is not less than keepAliveBetweenTimeMillis 99: the"),
        ("druid.properties", "maxActive=9\nmaxWait=60", "maxWait 60 is in ms. If 60 s is meant, write 60000."),
        ("database.yml", "production: {adapter: mysql2, checkout_timeout: 5000}",
         "checkout_timeout 5,000 is in s. If 5,000 ms is meant, write 5."),
        ("a.properties", "quarkus.datasource.jdbc.acquisition-timeout=5000",
         "acquisitionTimeout 5,000 is in s. If 5,000 ms is meant, write 5."),
        ("A.java", OF_DBCP2 + ABANDONED.format("Duration.ofMinutes(5)", "int", "1"), SHOWN.format(300)),
        ("A.java", OF_DBCP2 + ABANDONED.format("T", "Duration", "Duration.ofMinutes(5)"), SHOWN.format(300)),
        ("A.java", OF_DBCP2 + ABANDONED.format("T", "int", "90"), SHOWN.format(90)),
        ("a.yml", "spring.datasource.dbcp2: {remove-abandoned-on-borrow: true, remove-abandoned-timeout: 5m}",
         SHOWN.format(300)),
        ("a.yml", "spring.datasource.dbcp2: {remove-abandoned-on-borrow: true, remove-abandoned-timeout: 90}",
         SHOWN.format(90)),
    ],
)  # fmt: skip
def test_a_finding_is_shown_with_its_numbers(tmp_path: Path, name: str, text: str, warning: str) -> None:
    (tmp_path / name).write_text(text)
    (checked,) = check_pools(read_pools(tmp_path / name).pools)
    assert any(sentence(finding).startswith(warning) for finding in checked.findings)


@pytest.mark.parametrize(
    ("settings", "findings"),
    [
        ("maxActive=3\ninitialSize=5\nminIdle=5", ["pool_least_above_most"]),
        ("maxActive=0\ninitialSize=5\nminIdle=5", ["pool_no_size"]),
        ("maxActive=3\nmaxEvictableIdleTimeMillis=30\nminEvictableIdleTimeMillis=90", ["pool_wrong_unit"]),
    ],
)
def test_a_mistake_has_a_single_finding(tmp_path: Path, settings: str, findings: list[str]) -> None:
    assert codes(tmp_path, "druid.properties", f"maxWait=99\n{settings}") == set(findings)
    (checked,) = check_pools(read_pools(tmp_path / "druid.properties").pools)
    assert [each.code for each in checked.findings] == findings


@pytest.mark.costly
def test_the_servers_own_limit_is_what_a_pool_is_compared_with(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("create_engine(u, pool_size=200, max_overflow=0, pool_pre_ping=True)")
    for limit, warned in ((200, True), (2000, False)):
        done = poolsize_here("config", "--check", "db.py", "--size", "9", "--max-connections", str(limit), "--json")
        (pool,) = json.loads(done.stdout)["files"][0]["pools"]
        assert any("may open 200" in line and f"admits {limit:,}" in line for line in pool["warnings"]) == warned


@pytest.mark.costly
def test_the_right_age_of_djangos_connections_depends_on_the_server(poolsize_here: Command, tmp_path: Path) -> None:
    settings = json.loads(poolsize_here("config", "--for", "django", "--size", "4", "--json").stdout)["settings"]
    (why,) = [setting["why"] for setting in settings if setting["name"] == "CONN_MAX_AGE"]
    assert "WSGI (gunicorn sync or gthread, mod_wsgi, uWSGI): 1800" in why
    assert "Under ASGI (Uvicorn, Daphne, Hypercorn): 0" in why
    (tmp_path / "settings.py").write_text("D = {'CONN_HEALTH_CHECKS': True}")
    done = poolsize_here("config", "--check", "settings.py")
    assert "CONN_MAX_AGE 0, the default, is right under ASGI. Under WSGI" in " ".join(done.stdout.split())
    assert "Caution" not in done.stdout


def test_a_file_of_asgi_is_not_compared_with_what_wsgi_needs(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("D = {'CONN_MAX_AGE': 0}\nASGI_APPLICATION = 'shop.asgi.application'")
    done = poolsize_here("config", "--check", "settings.py", "--size", "4")
    assert "No known problem in these settings." in done.stdout
    assert "recommend" not in done.stdout


@pytest.mark.costly
def test_a_pool_of_unknown_settings_has_no_defaults(tmp_path: Path) -> None:
    texts = {
        "a.py": "create_engine(u, **options)", "b.js": f"{MYSQL2}createPool(options)",
        "c.js": f"{MYSQL2}createPool({{...options}})", "d.js": f"{MYSQL2}createPool(process.env.URL)",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (checked,) = check_pools(read_pools(tmp_path / name).pools)
        assert [each.code for each in checked.findings] == ["pool_incomplete"]
        assert checked.most_connections is None


def test_a_pool_with_further_settings_elsewhere_is_not_called_fine_as_a_whole(
    poolsize_here: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.js").write_text(f"{MYSQL2}createPool({{connectionLimit: 9, queueLimit: 20, ...options}})")
    text = " ".join(poolsize_here("config", "--check", "a.js").stdout.split())
    assert "No known problem in the settings of this file; the check does not cover others." in text


@pytest.mark.parametrize(
    ("name", "likely"),
    [("conectionLimit", "connectionLimit"), ("connection_limit", "connectionLimit"), ("maxidle", "maxIdle"),
     ("acquireTimeout", None)],
)  # fmt: skip
def test_a_misspelled_name_is_shown_with_the_name_that_is_meant(tmp_path: Path, name: str, likely: str | None) -> None:
    (tmp_path / "a.js").write_text(f"{MYSQL2}createPool({{host: 'h', user: 'u', {name}: 5, queueLimit: 9}})")
    (checked,) = check_pools(read_pools(tmp_path / "a.js").pools)
    (caution,) = [sentence(each) for each in checked.findings if each.code == "pool_not_read"]
    assert caution.startswith(f"mysql2 ignores {name}: ")
    assert caution.endswith(f", perhaps {likely}." if likely else ", or no such setting.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (PROPERTIES, "maximumPoolSize=9\nminimumPoolSize=9"),
        ("a.js", f"{KNEX}pool: {{max: 9, softIdleTimeoutMillis: 9000}}}})"),
    ],
)
def test_the_name_of_another_librarys_setting_has_no_hint(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (checked,) = check_pools(read_pools(tmp_path / name).pools)
    (caution,) = [sentence(each) for each in checked.findings if each.code == "pool_not_read"]
    assert caution.endswith(", or no such setting.")


@pytest.mark.parametrize("name", ["connectTimeout", "multipleStatements", "bigNumberStrings", "namedPlaceholders"])
def test_an_option_of_a_connection_is_no_misspelled_setting(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.js").write_text(f"{MYSQL2}createPool({{{name}: 5, connectionLimit: 5}})")
    assert read_pools(tmp_path / "a.js").pools[0].unread == ()


@pytest.mark.parametrize("overflow", ["-1", "settings.MORE"])
def test_an_unknown_or_unlimited_overflow_has_no_sum(tmp_path: Path, overflow: str) -> None:
    (tmp_path / "db.py").write_text(f"create_engine(u, pool_size=5, max_overflow={overflow})")
    (checked,) = check_pools(read_pools(tmp_path / "db.py").pools)
    assert checked.most_connections is None


JAVA = "class A {{ static final long IDLE = 60_000L; void f() {{ var c = new HikariConfig(); c.setJdbcUrl(u); {} }} }}"
GO = 'package a\nfunc a() {\n\tdb, _ := sql.Open("mysql", d)\n\tdb.SetConnMaxLifetime(180 * time.Second)\n}'


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("A.java", JAVA.format("c.setMaxLifetime(IDLE * 10);"), "maxLifetime IDLE * 10 (600000) 1"),
        ("A.java", JAVA.format("c.setMaxLifetime(unknown * 10);"), "maxLifetime unknown * 10 (unknown) 1"),
        ("a.go", GO, "SetConnMaxLifetime 180 * time.Second 4"),
        ("db.py", "create_engine(u, pool_recycle=30 * 60)", "pool_recycle 30 * 60 (1800) 1"),
        ("db.py", "create_engine(u, max_overflow=2)", "max_overflow 2 1 pool_size 5 (default)"),
        ("db.py", "create_engine(u, pool_size=2)", "pool_size 2 1 max_overflow 10 (default)"),
        ("db.py", "create_engine(u, max_overflow=2, **more)", "max_overflow 2 1 No"),
    ],
)
def test_the_table_shows_computed_numbers_and_the_default_part_of_a_size(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, row: str
) -> None:
    (tmp_path / name).write_text(text)
    assert f"value line {row} " in f"{' '.join(poolsize_here('config', '--check', name).stdout.split())} "


def test_a_server_too_small_for_the_recommended_pools(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\nmax_connections = 30\n")
    words = ["config", "--check", "my.cnf", "--size", "33", "--json"]
    done = poolsize_here(*words)
    (pool,) = json.loads(done.stdout)["files"][0]["pools"]
    assert any("max_connections 30 is too small" in line and "43" in line for line in pool["warnings"])  # 33 + 10
