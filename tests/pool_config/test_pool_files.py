"""`poolsize config --check` on the settings of real projects, written anew in their own notation."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from poolsize.answer.finding import Severity
from poolsize.errors import BadInput
from poolsize.pool_config.check import check_pools
from poolsize.pool_config.files.programs import read_files
from poolsize.pool_config.files.reading import read_pools
from poolsize.pool_config.pool import Value
from tests.conftest import ROOT, Command

FILES = ROOT / "tests/data/pool_files"


@dataclass(frozen=True)
class RealFile:
    """A file with the settings of a public project.

    name: in FILES. source: of the settings. pools: number of pools, each with these settings.
    settings: by the library's names. traps: the codes of its warnings. departures: from the library's own advice.
    """

    name: str
    source: str
    pools: int
    settings: dict[str, Value]
    traps: set[str]
    departures: set[str]


REAL_FILES = (
    RealFile(
        "database-old-adapter.yml",
        "github.com/ABTech/tracker: config/database.yml.example",
        3,
        {},
        set(),
        {"pool_defaults", "pool_threads"},
    ),
    RealFile(
        "prisma-url-or-template.ts",
        "github.com/gkalabin/prosper: e2e/lib/db.ts",
        1,
        {},
        set(),
        {"pool_incomplete", "pool_of_cpus"},
    ),
    RealFile(
        "swoole-default-size.php",
        "github.com/gufengxiu10/anng-bot: core/lib/db/pool/Mysql.php",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "aiomysql-keyword-defaults.py",
        "github.com/HuanghaiCH/web_project: ocm.py",
        1,
        {"maxsize": 10, "minsize": 1},
        set(),
        {"pool_no_wait_limit"},
    ),
    RealFile(
        "appsettings-sqlsugar.json",
        "github.com/anjoy8/Blog.Core: Blog.Core.Api/appsettings.json",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "connector-spread-private.py",
        "github.com/KwokRoot/KwokPyLib: TestPyCommonLib/test3lib/db_util/db_util_mysql.py",
        1,
        {"pool_size": 10},
        set(),
        set(),
    ),
    RealFile(
        "databases-settings.py",
        "github.com/likeadmin-likeshop/likeadmin_python: server/like/dependencies/database.py",
        1,
        {"min_size": None, "max_size": None},
        set(),
        {"pool_no_wait_limit", "pool_not_followed"},
    ),
    RealFile(
        "dbutils-maxcached-below.py",
        "github.com/tomguo2000/mysql_mongo_banch_test: mysql_pymysql/POOL_1.py",
        1,
        {"maxconnections": 10, "mincached": 2, "maxcached": 5, "maxshared": 3, "blocking": True, "ping": 0},
        {"pool_closes_idle"},
        set(),
    ),
    RealFile(
        "dbutils-no-limit.py",
        "github.com/raoxisme/Python005-01: week03/Sample/mod3_conn_pool.py",
        1,
        {"maxconnections": 0, "mincached": 4, "maxcached": 0, "maxusage": 5, "blocking": True},
        {"pool_unlimited"},
        set(),
    ),
    RealFile(
        "dbutils-old-module.py",
        "github.com/wenhao90/stock: data/dbutils.py",
        1,
        {"maxconnections": 10, "mincached": 2, "maxcached": 5, "maxusage": None, "blocking": True},
        {"pool_closes_idle"},
        set(),
    ),
    RealFile(
        "django-dict-merge.py",
        "github.com/hhyo/Archery: archery/settings.py",
        1,
        {"CONN_MAX_AGE": 50},
        set(),
        set(),
    ),
    RealFile(
        "django-dj-database-url.py",
        "github.com/GolamRabbani20/saas-fundation: src/home/db.py",
        1,
        {"CONN_MAX_AGE": 300, "CONN_HEALTH_CHECKS": True},
        set(),
        set(),
    ),
    RealFile(
        "django-engine-of-setting.py",
        "github.com/jumpserver/jumpserver: apps/jumpserver/settings/base.py",
        1,
        {},
        set(),
        {"django_connects"},
    ),
    RealFile(
        "django-environ-item.py",
        "github.com/evis-market/web-interface-backend: src/app/conf/db.py",
        1,
        {"CONN_MAX_AGE": 600},
        set(),
        set(),
    ),
    RealFile(
        "django-environment-only.py",
        "github.com/pssalman/django-configuration: src/conf/settings/staging.py",
        1,
        {"CONN_MAX_AGE": None},
        set(),
        {"pool_not_followed"},
    ),
    RealFile(
        "django-function-update.py",
        "github.com/mozilla/addons-server: src/olympia/lib/settings_base.py",
        1,
        {"CONN_MAX_AGE": 300},
        set(),
        set(),
    ),
    RealFile(
        "django-pool-backend.py",
        "github.com/zhangzhang-bit/r0rpc: config/database.py",
        1,
        {"POOL_SIZE": 256, "MAX_OVERFLOW": 64, "RECYCLE": 600},
        {"pool_above_server"},
        set(),
    ),
    RealFile(
        "dotnet-interpolated.cs",
        "github.com/FrankRays/C-FullList: entitynew/Models/YourContext.cs",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "druid-camel-two-sources.yml",
        "github.com/yangzongzhuan/RuoYi-Vue: ruoyi-admin/src/main/resources/application-druid.yml",
        1,
        {
            "initialSize": 5,
            "minIdle": 10,
            "maxActive": 20,
            "maxWait": 60000,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "maxEvictableIdleTimeMillis": 900000,
            "validationQuery": "SELECT 1 FROM DUAL",
            "testWhileIdle": True,
            "testOnBorrow": False,
            "testOnReturn": False,
        },
        set(),
        set(),
    ),
    RealFile(
        "druid-kebab-inline-comments.yml",
        "github.com/macrozheng/mall: mall-admin/src/main/resources/application-dev.yml",
        1,
        {"initialSize": 5, "minIdle": 10, "maxActive": 20},
        {"pool_waits"},
        set(),
    ),
    RealFile(
        "druid-keep-alive.yml",
        "github.com/elunez/eladmin: eladmin-system/src/main/resources/config/application-prod.yml",
        1,
        {
            "initialSize": 20,
            "minIdle": 20,
            "maxActive": 50,
            "maxWait": 3000,
            "keepAlive": True,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "maxEvictableIdleTimeMillis": 900000,
            "testWhileIdle": True,
            "testOnBorrow": True,
            "testOnReturn": False,
            "validationQuery": "SELECT 1",
        },
        set(),
        {"pool_tests_on_borrow"},
    ),
    RealFile(
        "druid.properties",
        "github.com/88250/symphony: src/main/resources/druid.properties",
        1,
        {
            "validationQuery": "SELECT 1",
            "testWhileIdle": True,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "maxWait": 5000,
            "removeAbandoned": True,
            "removeAbandonedTimeout": 600,
        },
        {"pool_removes_abandoned"},
        {"pool_defaults"},
    ),
    RealFile(
        "dynamic-defaults.yml",
        "github.com/simon2011/dynamic-datasource: README.md",
        3,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "dynamic-druid.properties",
        "github.com/wuhengc/springboot-dynamic-datasource: README.md",
        1,
        {
            "initialSize": 5,
            "minIdle": 5,
            "maxActive": 20,
            "maxWait": 60000,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "validationQuery": "SELECT 1 FROM DUAL",
            "testWhileIdle": True,
            "testOnBorrow": False,
            "testOnReturn": False,
        },
        set(),
        set(),
    ),
    RealFile(
        "flask-base-class-used.py",
        "github.com/CTFd/CTFd: CTFd/config.py",
        1,
        {"max_overflow": 20, "pool_pre_ping": True},
        set(),
        {"flask_size_of_2"},
    ),
    RealFile(
        "flask-old-and-options.py",
        "github.com/GarryChen0402/FirstFlaskProject: app.py",
        1,
        {"pool_size": 20, "max_overflow": 30, "pool_timeout": 10, "pool_pre_ping": True, "pool_recycle": 3600},
        {"flask_old_names"},
        set(),
    ),
    RealFile(
        "flask-old-class.py",
        "github.com/git-xSPx/flask-blog-example: app/config.py",
        1,
        {"pool_recycle": 3600, "pool_size": 20},
        {"flask_old_names"},
        set(),
    ),
    RealFile(
        "flask-old-f-string.py",
        "github.com/Python000-class01/Python000-class01: Week_06/G20200389010098/layui/config.py",
        1,
        {"pool_recycle": 60},
        {"flask_old_names"},
        {"pool_defaults"},
    ),
    RealFile(
        "flask-old-thousands.py",
        "github.com/ralphdc/blog: config/Product.py",
        1,
        {"pool_size": 5000, "pool_timeout": 10, "pool_recycle": 1200, "max_overflow": 2000},
        {"flask_old_names", "pool_above_server"},
        set(),
    ),
    RealFile(
        "fpm-aligned.conf",
        "github.com/joshland/Observium-salt: observium/files/www.obs.php",
        1,
        {
            "pm": "dynamic",
            "pm.max_children": 50,
            "pm.start_servers": 2,
            "pm.min_spare_servers": 2,
            "pm.max_spare_servers": 5,
        },
        set(),
        {"php_workers"},
    ),
    RealFile(
        "fpm-no-section.conf",
        "github.com/laradock/laradock: php-fpm/xlaravel.pool.conf",
        1,
        {
            "pm": "dynamic",
            "pm.max_children": 20,
            "pm.start_servers": 2,
            "pm.min_spare_servers": 1,
            "pm.max_spare_servers": 3,
        },
        set(),
        {"php_workers"},
    ),
    RealFile(
        "fpm-template.conf",
        "github.com/wodby/php: 5.3/templates/zz-www.conf.tpl",
        1,
        {"pm": "dynamic", "pm.max_children": 48, "pm.start_servers": 2, "pm.max_requests": 500},
        set(),
        {"php_workers"},
    ),
    RealFile(
        "go-branches.go",
        "github.com/cloudreve/Cloudreve: inventory/client.go",
        1,
        {"SetMaxIdleConns": 50, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 30},
        {"pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-driver-variable.go",
        "github.com/cotcac/gin-gorm: models/connect.go",
        1,
        {"SetMaxIdleConns": 10, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 3600},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-env-two-pools.go",
        "github.com/QuantumNous/new-api: model/main.go",
        2,
        {"SetMaxIdleConns": 100, "SetMaxOpenConns": 1000, "SetConnMaxLifetime": 60},
        {"pool_closes_idle", "pool_above_server"},
        set(),
    ),
    RealFile(
        "go-exported-constants.go",
        "github.com/biqiangwu/flowerSalesSystem: internal/database/database.go",
        1,
        {"SetMaxOpenConns": 25, "SetMaxIdleConns": 10, "SetConnMaxLifetime": 300},
        {"pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-flag-pointers.go",
        "github.com/google/trillian: storage/mysql/provider.go",
        1,
        {"SetMaxOpenConns": 0, "SetMaxIdleConns": -1},
        {"go_lifetime", "pool_unlimited"},
        set(),
    ),
    RealFile(
        "go-gorm1-check-last.go",
        "github.com/mYahagi/go-api-sample: main.go",
        1,
        {"SetMaxIdleConns": 10, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 300},
        {"pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-gorm1-handle.go",
        "github.com/shirdonl/goWebActualCombat: chapter4/gorm2.go",
        1,
        {"SetMaxIdleConns": 10, "SetMaxOpenConns": 100},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-gorm2-handle.go",
        "github.com/Ericliu68/golang-notes: gorm_mysql.go",
        1,
        {"SetMaxIdleConns": 10, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 3600},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-hours.go",
        "github.com/zalopay-oss/go-advanced: examples/ch4/ch4.5/4-connection-pool/main.go",
        1,
        {"SetMaxOpenConns": 10, "SetMaxIdleConns": 10, "SetConnMaxLifetime": 36000},
        {"go_lifetime"},
        set(),
    ),
    RealFile(
        "go-idle-at-least.go",
        "github.com/openark/orchestrator: go/db/db.go",
        1,
        {"SetMaxOpenConns": None, "SetMaxIdleConns": None, "SetConnMaxLifetime": None},
        set(),
        {"pool_not_followed"},
    ),
    RealFile(
        "go-minutes.go",
        "github.com/Cthulhu-tech/reditt_copy: server/src/utils/mysql/mysql.go",
        1,
        {"SetConnMaxLifetime": 180, "SetMaxOpenConns": 10, "SetMaxIdleConns": 10},
        set(),
        set(),
    ),
    RealFile(
        "go-no-idle.go",
        "github.com/krionle/testgolang: tdb.go",
        1,
        {"SetMaxIdleConns": 0, "SetMaxOpenConns": 30},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-sqlx-open-only.go",
        "github.com/wenhao26/go: go_orm/sqlx_example.go",
        1,
        {"SetMaxOpenConns": 20},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-xorm-engine.go",
        "github.com/wr4javaee/GoColly-Demo: orm/mysql.go",
        1,
        {"SetMaxOpenConns": 2000, "SetMaxIdleConns": 100},
        {"go_lifetime", "pool_above_server", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "go-xorm-open-only.go",
        "github.com/YanJieMao/Iris-learn: database/orm/xorm/mysql/simple/datasource/datasource.go",
        1,
        {"SetMaxOpenConns": 10},
        {"go_lifetime", "pool_closes_idle"},
        set(),
    ),
    RealFile(
        "hibernate-c3p0-mariadb.properties",
        "github.com/echinopsii/net.echinopsii.ariane.community.environment: Virgo, DirectoryJPAProviderManagedService",
        1,
        {"minPoolSize": 5, "maxPoolSize": 40, "maxIdleTime": 300, "idleConnectionTestPeriod": 100},
        {"pool_waits"},
        set(),
    ),
    RealFile(
        "hikari-own-prefix.properties",
        "github.com/alibaba/nacos: distribution/conf/application.properties.example",
        1,
        {"connectionTimeout": 30000, "validationTimeout": 10000, "maximumPoolSize": 20, "minimumIdle": 2},
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "hikari-plain.properties",
        "github.com/xipki/xipki: assemblies/shared/conf/xipki/etc/ocsp/example/mysql.ocsp-db.properties",
        1,
        {
            "maximumPoolSize": 30,
            "minimumIdle": 10,
            "connectionTimeout": 10000,
            "idleTimeout": 600000,
            "maxLifetime": 1800000,
        },
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "maxscale-no-limit.cnf",
        "github.com/wentaotoyou/configs: maxscale.cnf",
        2,
        {},
        set(),
        {"proxy_passes"},
    ),
    RealFile(
        "mybatis-config.xml",
        "github.com/junit/mmo-server: tools/ftl/db/java/config.ftl",
        1,
        {"poolPingEnabled": True},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "mycnf-dashes.cnf",
        "github.com/mailcow/mailcow-dockerized: data/conf/mysql/my.cnf",
        1,
        {"max_connections": 500, "thread_cache_size": 8},
        set(),
        set(),
    ),
    RealFile(
        "mycnf-sections.cnf",
        "github.com/linuxserver/docker-mariadb: root/defaults/custom.cnf",
        1,
        {"max_connections": 100, "wait_timeout": 600, "thread_cache_size": 128},
        {"server_wait_timeout"},
        {"server_thread_cache"},
    ),
    RealFile(
        "node-drizzle-uri.ts",
        "github.com/earthbucks/earthbucks: ts/earthbucks-db/src/index.ts",
        1,
        {"connectionLimit": 10},
        set(),
        set(),
    ),
    RealFile(
        "node-knex-called.js",
        "github.com/NguyenMinhTam-max/testCircleCi: utils/dbUtils.js",
        1,
        {"min": 0, "max": 500},
        {"pool_above_server"},
        set(),
    ),
    RealFile(
        "node-knex-engine-of-setting.js",
        "github.com/NginxProxyManager/nginx-proxy-manager: backend/db.js",
        1,
        {},
        set(),
        {"pool_defaults", "pool_keeps_for_ever"},
    ),
    RealFile(
        "node-knexfile.js",
        "github.com/lucastgama/crud-nodejs: knexfile.js",
        1,
        {"min": 2, "max": 10},
        set(),
        {"pool_keeps_for_ever"},
    ),
    RealFile(
        "node-mariadb-commented.js",
        "github.com/theoyoth/rotoServer: roto-server/server/db.js",
        1,
        {"acquireTimeout": 300000},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "node-mariadb-import.ts",
        "github.com/lyndonbuckley/galera-health-check: src/server.ts",
        1,
        {"connectionLimit": 5, "acquireTimeout": 1000},
        set(),
        set(),
    ),
    RealFile(
        "node-sequelize-environment.js",
        "github.com/if414029/Backend_API: config/config.js",
        1,
        {"idle": 10000, "min": 20, "max": 30},
        set(),
        set(),
    ),
    RealFile(
        "node-sequelize-misspelled.js",
        "github.com/mathangetch/ORM-SEQ: config/dbconfig.js",
        1,
        {"max": 5, "min": 0, "idle": 10000},
        {"pool_not_read"},
        set(),
    ),
    RealFile(
        "node-strapi3.js",
        "github.com/acronhub/sls-strapi: app/config/database.js",
        1,
        {"min": 0, "max": 10, "idleTimeoutMillis": 30000, "createTimeoutMillis": 30000, "acquireTimeoutMillis": 30000},
        set(),
        set(),
    ),
    RealFile(
        "node-typeorm-module.ts",
        "github.com/One-Smart-Mate/service-m2: src/config/type.orm.config.ts",
        1,
        {"connectionLimit": 1000},
        {"pool_above_server", "pool_queue_unlimited"},
        set(),
    ),
    RealFile(
        "node-typeorm-single.ts",
        "github.com/kainesv86/console-world-be: src/module.config.ts",
        1,
        {"connectionLimit": 1},
        {"pool_queue_unlimited"},
        set(),
    ),
    RealFile(
        "own-code-db.properties",
        "github.com/didicenter/mybatis-project-generator: templates/mybatis/ftl/ProjectProperty.ftl",
        1,
        {
            "testWhileIdle": True,
            "testOnBorrow": True,
            "testOnReturn": False,
            "validationQuery": "SELECT 1",
            "timeBetweenEvictionRunsMillis": 30000,
            "maxActive": 100,
            "minIdle": 10,
            "maxWait": 10000,
            "initialSize": 10,
            "removeAbandonedTimeout": 60,
            "removeAbandoned": True,
            "minEvictableIdleTimeMillis": 30000,
        },
        set(),
        {"pool_own_names"},
    ),
    RealFile(
        "own-code-three-sources.yml",
        "github.com/lhrimperial/caiwei: framework-starter-multi-datasource/README.md",
        3,
        {"maxActive": 20, "initialSize": 1, "maxWait": 60000, "minIdle": 1},
        set(),
        {"pool_own_names"},
    ),
    RealFile(
        "php-persistent-attributes.php",
        "github.com/radioteria/myownradio-platform: config/database.php",
        1,
        {"ATTR_PERSISTENT": True},
        set(),
        {"php_persists"},
    ),
    RealFile(
        "php-persistent-options.php",
        "github.com/thiendoanngoc/backend_service: dbconnections/2020/bittosolution.php",
        1,
        {"ATTR_PERSISTENT": True},
        set(),
        {"php_persists"},
    ),
    RealFile(
        "php-think-orm-pool.php",
        "github.com/Z995/kundian-iot: config/think-orm.php",
        1,
        {"max_connections": 5, "min_connections": 1, "wait_timeout": 3, "max_idle_time": 60},
        set(),
        set(),
    ),
    RealFile(
        "php-webman-pool.php",
        "github.com/madong-inc/madong-admin: server/config/database.php",
        1,
        {"max_connections": 5, "min_connections": 1, "wait_timeout": 3, "max_idle_time": 60, "heartbeat": 50},
        set(),
        set(),
    ),
    RealFile(
        "proxysql-two-servers.cnf",
        "github.com/dolthub/proxysql_example: proxysql.cnf",
        2,
        {"max_connections": 100, "mysql-max_connections": 2048},
        set(),
        set(),
    ),
    RealFile(
        "rails-defaults.yml",
        "github.com/lobsters/lobsters: config/database.yml",
        4,
        {},
        set(),
        {"pool_threads", "pool_defaults"},
    ),
    RealFile(
        "rails-several-databases.yml",
        "github.com/basecamp/fizzy: config/database.mysql.yml",
        9,
        {"pool": 50},
        set(),
        {"pool_threads"},
    ),
    RealFile(
        "rust-diesel-defaults.rs",
        "github.com/rust-work/ppshuai_wsserver: src/wsserver/src/db/mysql.rs",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "rust-r2d2.rs",
        "github.com/libellis/survey-manager: survey-manager-infra/src/utils/mysql_pool.rs",
        1,
        {"max_size": 32},
        set(),
        set(),
    ),
    RealFile(
        "rust-seaorm-connect.rs",
        "github.com/SeaQL/sea-orm-tutorial: rocket-example/src/setup.rs",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "rust-seaorm.rs",
        "github.com/ituserxxx/vue3-tailwindcss3-blog: project_server/rust_iot_server/src/db/mod.rs",
        1,
        {"max_connections": 100, "min_connections": 5, "acquire_timeout": 8, "idle_timeout": 8, "max_lifetime": 8},
        set(),
        set(),
    ),
    RealFile(
        "rust-sqlx.rs",
        "github.com/gannonchan/learn-axum: src/db/mod.rs",
        1,
        {"max_connections": 5, "acquire_timeout": 6},
        set(),
        set(),
    ),
    RealFile(
        "shardingsphere-common.yaml",
        "github.com/tianzhuchen1988/JAVA-000: Week_08/README.md",
        2,
        {
            "connectionTimeout": 30000,
            "idleTimeout": 60000,
            "maxLifetime": 1800000,
            "maximumPoolSize": 50,
            "minimumIdle": 1,
        },
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "shardingsphere-spring.yml",
        "github.com/acgist/muses: boot-parent/boot-data/README.md",
        2,
        {"minimumIdle": 2, "maximumPoolSize": 10},
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "spring-boot-1-druid.yml",
        "github.com/hlr-codes/soa-codeCreater: template/genTemplate/test-applicationYML.ftl",
        1,
        {
            "maxActive": 200,
            "initialSize": 1,
            "maxWait": 60000,
            "minIdle": 1,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "validationQuery": "select 'x'",
            "testWhileIdle": True,
            "testOnBorrow": False,
            "testOnReturn": False,
        },
        {"pool_above_server", "pool_spring_boot_1"},
        set(),
    ),
    RealFile(
        "spring-boot-1-hikari.yml",
        "github.com/ExpediaDotCom/haystack: modelservice/templates/application_yaml.tpl",
        1,
        {"maximumPoolSize": 8, "minimumIdle": 0},
        {"pool_spring_boot_1"},
        {"pool_shrinks"},
    ),
    RealFile(
        "spring-boot-1-tomcat.properties",
        "github.com/rackilea/diplomski: javaFiles/fragment_126228.java",
        1,
        {"validationInterval": 0, "maxWait": 10000, "testOnBorrow": True},
        {"pool_needs_type"},
        {"pool_defaults", "pool_tests_on_borrow"},
    ),
    RealFile(
        "spring-c3p0-bean.xml",
        "github.com/rackilea/diplomski: javaFiles/fragment_336412.java",
        1,
        {"maxPoolSize": None, "minPoolSize": None, "testConnectionOnCheckout": None},
        {"pool_waits"},
        {"pool_not_followed"},
    ),
    RealFile(
        "spring-dbcp1-bean.xml",
        "github.com/rackilea/diplomski: javaFiles/fragment_243647.java",
        1,
        {
            "testOnBorrow": False,
            "testOnReturn": False,
            "testWhileIdle": False,
            "timeBetweenEvictionRunsMillis": 1800000,
            "maxActive": 1,
            "minEvictableIdleTimeMillis": 1800000,
        },
        {"pool_waits"},
        set(),
    ),
    RealFile(
        "spring-druid-filter-bean.xml",
        "github.com/1797974777GC/unionproject: src/main/resources/applicationContext-dao.xml",
        1,
        {
            "initialSize": 20,
            "minIdle": 10,
            "maxActive": 200,
            "maxWait": 10000,
            "timeBetweenEvictionRunsMillis": 60000,
            "minEvictableIdleTimeMillis": 300000,
            "testWhileIdle": True,
            "testOnBorrow": True,
            "testOnReturn": False,
            "validationQuery": "select 1",
        },
        {"pool_above_server"},
        {"pool_tests_on_borrow"},
    ),
    RealFile(
        "spring-properties-kebab.properties",
        "github.com/xuxueli/xxl-job: xxl-job-admin/src/main/resources/application.properties",
        1,
        {
            "minimumIdle": 10,
            "maximumPoolSize": 30,
            "idleTimeout": 30000,
            "maxLifetime": 900000,
            "connectionTimeout": 10000,
            "connectionTestQuery": "SELECT 1",
            "validationTimeout": 1000,
        },
        set(),
        {"pool_shrinks", "pool_test_query"},
    ),
    RealFile(
        "spring-properties-placeholders.properties",
        "github.com/apache/fineract: fineract-provider/src/main/resources/application.properties",
        1,
        {
            "minimumIdle": 3,
            "maximumPoolSize": 10,
            "idleTimeout": 60000,
            "connectionTimeout": 20000,
            "connectionTestQuery": "SELECT 1",
        },
        set(),
        {"pool_shrinks", "pool_test_query"},
    ),
    RealFile(
        "spring-yml-dotted-mixed-keys.yml",
        "github.com/continew-org/continew-admin: continew-server/src/main/resources/config/application-prod.yml",
        1,
        {
            "maximumPoolSize": 20,
            "connectionTimeout": 30000,
            "idleTimeout": 600000,
            "keepaliveTime": 30000,
            "maxLifetime": 1800000,
        },
        set(),
        set(),
    ),
    RealFile(
        "spring-yml-dynamic-camel.yml",
        "github.com/dromara/RuoYi-Vue-Plus: ruoyi-admin/src/main/resources/application-dev.yml",
        2,
        {
            "maximumPoolSize": 20,
            "minimumIdle": 10,
            "connectionTimeout": 30000,
            "validationTimeout": 5000,
            "idleTimeout": 600000,
            "maxLifetime": 1800000,
            "keepaliveTime": 30000,
        },
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "spring-yml-multidoc-profile.yaml",
        "github.com/apache/dolphinscheduler: dolphinscheduler-api/src/main/resources/application.yaml",
        1,
        {
            "connectionTestQuery": "select 1",
            "minimumIdle": 5,
            "validationTimeout": 3000,
            "maximumPoolSize": 50,
            "connectionTimeout": 30000,
            "idleTimeout": 600000,
            "leakDetectionThreshold": 0,
        },
        set(),
        {"pool_shrinks", "pool_test_query"},
    ),
    RealFile(
        "spring-yml-placeholder-own-keys.yml",
        "github.com/openzipkin/zipkin: zipkin-server-shared.yml",
        1,
        {"maxActive": 10},
        set(),
        {"pool_own_names"},
    ),
    RealFile(
        "spring-yml-two-pools.yml",
        "github.com/xkcoding/spring-boot-demo: demo-multi-datasource-jpa/src/main/resources/application.yml",
        2,
        {
            "minimumIdle": 5,
            "connectionTestQuery": "SELECT 1 FROM DUAL",
            "maximumPoolSize": 20,
            "idleTimeout": 30000,
            "maxLifetime": 60000,
            "connectionTimeout": 30000,
        },
        set(),
        {"pool_keepalive_off", "pool_shrinks", "pool_test_query"},
    ),
    RealFile(
        "sqlalchemy-async-kwargs.py",
        "github.com/fastapi-practices/fastapi_best_architecture: backend/database/db.py",
        1,
        {
            "pool_size": 10,
            "max_overflow": 20,
            "pool_timeout": 30,
            "pool_recycle": 3600,
            "pool_pre_ping": True,
            "pool_use_lifo": False,
        },
        set(),
        set(),
    ),
    RealFile(
        "sqlalchemy-branches.py",
        "github.com/NanmiCoder/MediaCrawler: database/db_session.py",
        2,
        {},
        {"pool_outlives_server"},
        {"pool_defaults"},
    ),
    RealFile(
        "sqlalchemy-constant-url.py",
        "github.com/Gabrielfernandes7/fastapi-learning: database.py",
        1,
        {"pool_size": 10, "max_overflow": 30},
        {"pool_outlives_server"},
        set(),
    ),
    RealFile(
        "sqlalchemy-flask-options.py",
        "github.com/Jack-R-Scaife/SmartBalancer: app/config.py",
        1,
        {"pool_size": 20, "max_overflow": 30, "pool_timeout": 50},
        set(),
        set(),
    ),
    RealFile(
        "sqlalchemy-recycle-off.py",
        "github.com/spideruci/spidersense-worker: src/sqlsession.py",
        1,
        {"max_overflow": 50, "pool_size": 1000, "pool_timeout": 30, "pool_recycle": -1},
        {"pool_outlives_server", "pool_above_server"},
        set(),
    ),
    RealFile(
        "sqlalchemy-settings-class.py",
        "github.com/insistence/RuoYi-Vue3-FastAPI: ruoyi-fastapi-backend/config/env.py",
        1,
        {
            "max_overflow": 10,
            "pool_size": 50,
            "pool_recycle": 3600,
            "pool_timeout": 30,
            "pool_pre_ping": True,
            "pool_use_lifo": True,
        },
        set(),
        set(),
    ),
    RealFile(
        "sqlalchemy-url-create.py",
        "github.com/mickaelyoshua7674/laos-finances: app/database.py",
        1,
        {"pool_size": 100, "max_overflow": 0},
        {"pool_outlives_server"},
        set(),
    ),
    RealFile(
        "tomcat-7-context.xml",
        "github.com/estivalet/magus: cartridges/server/servlet/config/tomcatserverxml.ftl",
        1,
        {"maxActive": 100, "maxIdle": 30, "maxWait": 10000},
        {"pool_old_tomcat"},
        set(),
    ),
    RealFile(
        "tomcat-hikari-context.xml",
        "github.com/0jun01/jsp_mvc_board: src/main/webapp/META-INF/context.xml",
        1,
        {
            "minimumIdle": 5,
            "maximumPoolSize": 10,
            "connectionTimeout": 30000,
            "idleTimeout": 600000,
            "maxLifetime": 1800000,
        },
        set(),
        {"pool_shrinks"},
    ),
    RealFile(
        "tomcat-jdbc-server.xml",
        "github.com/jelena93/dms: README.md",
        1,
        {
            "initialSize": 5,
            "maxActive": 55,
            "maxIdle": 21,
            "minIdle": 13,
            "timeBetweenEvictionRunsMillis": 34000,
            "minEvictableIdleTimeMillis": 55000,
            "validationInterval": 34,
            "testOnBorrow": True,
            "removeAbandoned": True,
            "removeAbandonedTimeout": 233,
        },
        {"pool_removes_abandoned"},
        set(),
    ),
    RealFile(
        "tomcat-several-databases.xml",
        "github.com/xeme126/learning: 01-Java/03-Tomcat8-DataSource.md",
        1,
        {
            "maxIdle": 3,
            "maxTotal": 9,
            "maxWaitMillis": 6000,
            "removeAbandonedOnBorrow": True,
            "testOnBorrow": True,
        },
        {"pool_closes_idle", "pool_removes_abandoned"},
        {"pool_tests_on_borrow"},
    ),
    RealFile(
        "tortoise-credentials.py",
        "github.com/maxlongwang/crawl: fundinfo/test/fastapitest/setting.py",
        1,
        {"minsize": 1, "maxsize": 5},
        set(),
        {"pool_no_wait_limit"},
    ),
    RealFile(
        "wildfly-ds.xml",
        "github.com/diegourban/javaee-sandbox: README.md",
        1,
        {"minPoolSize": 10, "maxPoolSize": 20},
        set(),
        set(),
    ),
)


@pytest.mark.parametrize("real", REAL_FILES, ids=lambda real: real.name)
def test_all_settings_of_a_real_file_are_found_and_judged(real: RealFile) -> None:
    checked = check_pools(read_pools(FILES / real.name, is_named=False).pools)
    assert len(checked) == real.pools
    for each in checked:
        assert {name: found.value for name, found in each.pool.settings.items()} == real.settings
        codes = {severity: {f.code for f in each.findings if f.severity is severity} for severity in Severity}
        assert codes[Severity.WARNING] == real.traps
        assert codes[Severity.REASON] == real.departures
        lines = (FILES / real.name).read_text().splitlines()
        for found in each.pool.settings.values():
            near = lines[found.line - 1 : found.line + 8]  # an attribute of an XML element has the element's line
            assert any(found.name in line for line in (near if real.name.endswith(".xml") else near[:1]))


def test_there_are_at_least_twenty_real_files() -> None:
    assert len({real.source for real in REAL_FILES}) >= 20
    assert {path.name for path in FILES.iterdir()} == {real.name for real in REAL_FILES}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("own.yml", "sample: {storage: {max-connections: 8}}", "has no settings of a pool that poolsize knows"),
        ("empty.yml", "", "has no settings"),
        ("pool.yml", "spring: [", "not YAML"),
        ("pool.py", "def (", "no Python"),
        ("pool.cnf", "max_connections = 5", "not an option file"),
        ("pool.doc", "pool = 5", "this file is none of them"),
        ("missing.yml", None, "can't be read"),
        ("missing", None, "can't be read"),
        ("folder.d", None, "no file in this folder"),
    ],
)
def test_a_file_without_a_pool_is_refused_by_name(
    poolsize_here: Command, tmp_path: Path, name: str, text: str | None, line: str
) -> None:
    path = tmp_path / name
    if name.endswith(".d"):
        path.mkdir()
    if text is not None:
        path.write_text(text)
    done = poolsize_here("config", "--check", str(path))
    assert done.returncode == 2
    assert done.stderr.startswith("poolsize: error: ")
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert name in done.stderr


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "huge.yml").write_text("# " + "x" * 3_000_000)
    with pytest.raises(BadInput, match="longer than 2 MiB"):
        read_pools(tmp_path / "huge.yml")


@pytest.mark.long
def test_hostile_yaml_is_refused(tmp_path: Path) -> None:
    names = "abcdefghij"
    bomb = "a: &a {x: 1}\n" + "\n".join(
        f"{name}: &{name} {{{', '.join(f'{key}: *{before}' for key in names)}}}" for before, name in pairwise(names)
    )
    for text, line in ((bomb, "can't be parsed within 3 s"), ("[" * 20_000, "nested too deeply")):
        (tmp_path / "a.yml").write_text(text)
        with pytest.raises(BadInput, match=line):
            read_pools(tmp_path / "a.yml")


def found_in(tmp_path: Path, name: str, text: str) -> list[dict[str, Value]]:
    (tmp_path / name).write_text(text)
    pools = read_pools(tmp_path / name, is_named=False).pools
    return [{setting: found.value for setting, found in pool.settings.items()} for pool in pools]


def test_mysql2_in_javascript(tmp_path: Path) -> None:
    text = """
    import mysql from "mysql2/promise";
    // createPool({ connectionLimit: 99 })
    const pool = mysql.createPool({
      host: "db", ssl: { connectionLimit: 3 },
      connectionLimit: Number(process.env.POOL ?? 12), queueLimit: 0, 'maxIdle': 5,
      waitForConnections: true,
    });
    """
    assert found_in(tmp_path, "db.js", text) == [
        {"connectionLimit": 12, "queueLimit": 0, "maxIdle": 5, "waitForConnections": True}
    ]


@pytest.mark.costly
def test_values_that_the_file_does_not_tell_are_unknown(tmp_path: Path) -> None:
    text = "engine = create_engine(url, pool_size=settings.POOL, max_overflow=int(os.environ.get('O', '3')) + 2 * 2)"
    assert found_in(tmp_path, "db.py", text) == [{"pool_size": None, "max_overflow": 7}]
    yaml = "spring.datasource.hikari: {maximum-pool-size: '${POOL}', max-lifetime: '${LIFE:${OTHER:900000}}'}"
    assert found_in(tmp_path, "a.yml", yaml) == [{"maximumPoolSize": None, "maxLifetime": 900_000}]


def test_durations_of_hikaricp_have_units(tmp_path: Path) -> None:
    assert found_in(tmp_path, "hikari.properties", "maxLifetime=30m\nconnectionTimeout=5s") == [
        {"maxLifetime": 1_800_000, "connectionTimeout": 5_000}
    ]


GO_VALUES = {
    "db.SetConnMaxLifetime(2 * time.Hour)": 7200, "db.SetConnMaxLifetime(time.Minute)": 60,
    "db.SetConnMaxLifetime(time.Duration(90) * time.Second)": 90, "db.SetConnMaxLifetime(180000000000)": 180,
    "db.SetConnMaxLifetime(time.Duration(cfg.Life) * time.Second)": None, "db.SetConnMaxLifetime(time.Hour / 2)": 1800,
    "db.SetConnMaxLifetime(600)": 6e-7, "db.SetConnMaxLifetime(time.Duration(600))": 6e-7,
    "db.SetConnMaxLifetime(0)": 0, 'db.SetConnMaxLifetime(seconds("LIFE", 600))': None,
    "db.SetConnMaxLifetime(5*time.Minute + 30*time.Second)": 330, "db.SetConnMaxLifetime(life)": None,
    "l := 600; if x { l = c.Life * int(time.Second) }; db.SetConnMaxLifetime(time.Duration(l))": None,
    "db.SetMaxOpenConns(2 * 8)": 16, "db.SetMaxOpenConns(-1)": -1, "db.SetMaxOpenConns(1_000)": 1000,
    "db.SetMaxOpenConns(max(4, 10))": None, "db.SetMaxOpenConns(10 + 5)": 15,
    "db.SetMaxOpenConns(runtime.NumCPU() * 2)": None, 'db.SetMaxOpenConns(env.Int("POOL", 12))': 12,
}  # fmt: skip


@pytest.mark.parametrize("line", GO_VALUES)
def test_values_in_go(tmp_path: Path, line: str) -> None:
    (settings,) = found_in(tmp_path, "a.go", f"package a\nfunc f() {{ {line} }}")
    assert list(settings.values()) == [GO_VALUES[line]]


def test_pools_in_go_are_told_apart_by_what_their_limits_are_set_of(tmp_path: Path) -> None:
    text = """package a
    type limits interface { SetMaxOpenConns(n int) }
    func (a *A) Open() { a.db.SetMaxOpenConns(5); a.log.SetMaxOpenConns(6) }
    func (b *B) Open() { b.db.SetMaxOpenConns(7) }
    func (b *B) Tune() { b.db.SetMaxIdleConns(7) }
    """
    pools = found_in(tmp_path, "a.go", text)
    assert pools == [{"SetMaxOpenConns": 5}, {"SetMaxOpenConns": 6}, {"SetMaxOpenConns": 7, "SetMaxIdleConns": 7}]


GO_NAMES = {
    "const most = 500\nfunc f() { db.SetMaxOpenConns(most) }": 500,
    "var ( a = 4; most = a * 5 )\nfunc f() { db.SetMaxOpenConns(most) }": 20,
    "const most = 500\nfunc f(most int) { db.SetMaxOpenConns(most) }": None,
    "const most = 9\nfunc f() { n := getEnvAsInt(KEY, most); db.SetMaxOpenConns(n) }": 9,
    "func f() { n := 9; if v > 0 { n = v }; db.SetMaxOpenConns(n) }": 9,
    "func f() { n := c.N; if n == 0 { n = 9 }; db.SetMaxOpenConns(n) }": 9,
    "func f() { n := c.N; if n > 9 { n = 9 }; db.SetMaxOpenConns(n) }": None,
    "func f() { n := 0; if v > 0 { n = v }; db.SetMaxOpenConns(n) }": None,
    "func f() { n := 9; if prod { n = 50 }; db.SetMaxOpenConns(n) }": None,
    "var c = Config{MaxOpen: 50}\nfunc f() { db.SetMaxOpenConns(c.MaxOpen) }": 50,
    "var c, d = Config{MaxOpen: 50}, Config{MaxOpen: 5}\nfunc f() { db.SetMaxOpenConns(c.MaxOpen) }": None,
    'type C struct { MaxOpen int `env:"X" envDefault:"12"` }\nfunc f(c C) { db.SetMaxOpenConns(c.MaxOpen) }': 12,
    'var n = flag.Int("n", 7, "help")\nfunc f() { db.SetMaxOpenConns(*n) }': 7,
    'var n int\nfunc f() { flag.IntVar(&n, "n", 7, "help"); db.SetMaxOpenConns(n) }': 7,
    'func f() { viper.SetDefault("db.max", 8); db.SetMaxOpenConns(viper.GetInt("db.max")) }': 8,
    "func f() { db.SetMaxOpenConns(most()) }\nfunc most() int { if x { return n }; return 25 }": 25,
    "func f() { orm.SetMaxOpenConns(\"default\", 30) }": 30,
    "func d(c *C) { if c.Most == 0 { c.Most = 9 } }\nfunc f(c *C) { db.SetMaxOpenConns(c.Most) }": 9,
    "func f(c *C) { if c.Most > 9 { c.Most = 9 }; db.SetMaxOpenConns(c.Most) }": None,
    "func f() { n, err := strconv.Atoi(os.Getenv(KEY)); if err != nil { n = 9 }; db.SetMaxOpenConns(n) }": 9,
    "const n = n2\nconst n2 = n\nfunc f() { db.SetMaxOpenConns(n) }": None,
}  # fmt: skip


@pytest.mark.parametrize("text", GO_NAMES)
def test_names_in_go(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, "a.go", f"package a\n{text}") == [{"SetMaxOpenConns": GO_NAMES[text]}]


def test_durations_of_go_by_name(tmp_path: Path) -> None:
    text = """package a
    const life = 2 * time.Minute
    func f() {
        minutes := getEnv("IDLE", 5)
        idle, err := time.ParseDuration("90s")
        db.SetConnMaxLifetime(life); db.SetConnMaxIdleTime(time.Duration(minutes) * time.Minute)
        other.SetConnMaxIdleTime(idle)
    }"""
    assert found_in(tmp_path, "a.go", text) == [
        {"SetConnMaxLifetime": 120, "SetConnMaxIdleTime": 300}, {"SetConnMaxIdleTime": 90}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "pools"),
    [
        ('db, _ := sql.Open("postgres", u); db.SetMaxOpenConns(5)', 0),
        (
            'p, _ := sql.Open("postgres", u); p.SetMaxOpenConns(5); m, _ := sql.Open("mysql", u); m.SetMaxOpenConns(6)',
            1,
        ),
        ("db, _ := gorm.Open(sqlite.Open(p), c); s, _ := db.DB(); s.SetMaxOpenConns(5)", 0),
        ("db, _ := gorm.Open(mysql.Open(p), c); s, _ := db.DB(); s.SetMaxOpenConns(5)", 1),
        (
            "d := mysql.Open(p); d = postgres.Open(p); db, _ := gorm.Open(d, c); s, _ := db.DB(); s.SetMaxOpenConns(5)",
            1,
        ),
        ("d := postgres.Open(p); db, _ := gorm.Open(d, c); s, _ := db.DB(); s.SetMaxOpenConns(5)", 0),
        ("db, _ := gorm.Open(mysql.Open(p), c)", 1),
        ('const driver = "mysql"; db := sqlx.MustConnect(driver, u)', 1),
        ("c, _ := mysql.NewConnector(&cfg); db := sql.OpenDB(c)", 1),
        ("db, _ := sql.Open(driver, u); db.SetMaxOpenConns(5)", 1),
        ("db, _ := sql.Open(driver, u)", 0),
        ('db, _ := sql.Open(d, u); if d == "sqlite3" { db.SetMaxOpenConns(1) }', 0),
        ('db, _ := sql.Open(d, u); if d == "sqlite3" { x() } else { db.SetMaxOpenConns(5) }', 1),
        ('db, _ := sql.Open(d, u); if d != "sqlite3" { db.SetMaxOpenConns(5) }', 1),
        ('switch d { case "a": o = mysql.Open(u); case "b": o = sqlite.Open(u) }; db, _ := gorm.Open(o, c)', 1),
        ('}; import "github.com/go-sql-driver/mysql"; func g() { db, _ := sql.Open(driver, u); os.Open(p)', 1),
        (
            '}; func g(d string) { if d == "postgres" { d = "pgx" }; db, _ := sql.Open(d, u); db.SetMaxOpenConns(5)',
            1,
        ),
        ("db.Use(dbresolver.Register(c).SetMaxIdleConns(10).SetMaxOpenConns(100))", 1),
        ('d := ""; switch t { case "p": d = "pgx"; case "m": d = "mysql" }; db, _ := sql.Open(d, u)', 1),
        ('d := ""; switch t { case "p": d = "pgx"; case "s": d = "sqlite" }; db, _ := sql.Open(d, u)', 0),
        ('db, _ := sql.Open(d, u); switch d { case "sqlite3": db.SetMaxOpenConns(1) }', 0),
    ],
)
def test_only_pools_that_may_be_mysql_s_are_read_in_go(tmp_path: Path, lines: str, pools: int) -> None:
    (tmp_path / "a.go").write_text(f"package a\nfunc f() {{ {lines} }}")
    if pools:
        assert len(read_pools(tmp_path / "a.go").pools) == pools
    else:
        with pytest.raises(BadInput, match="no settings of a pool"):
            read_pools(tmp_path / "a.go")


JAVASCRIPT_VALUES = {
    "60_000": 60_000, "60 * 1000": 60_000, "-1": -1, "Number(process.env.POOL || '12')": 12, "env.A ?? 7": 7,
    "parseInt(process.env.POOL ?? '9', 10)": 9, "null": 0, "Number(process.env.MYSQL2_POOL)": None, "1e3": None,
    "Math.max(2, 20)": None, "x ? 5 : 10": 10, "Infinity": None, "size": None,
}  # fmt: skip


@pytest.mark.parametrize("value", JAVASCRIPT_VALUES)
def test_values_in_javascript(tmp_path: Path, value: str) -> None:
    text = f"const m = require('mysql2'); m.createPool({{ connectionLimit: {value} }})"
    assert found_in(tmp_path, "a.ts", text) == [{"connectionLimit": JAVASCRIPT_VALUES[value]}]


MYSQL2 = "const mysql = require('mysql2/promise');\n"
CREATE_POOL = {
    "const c = {queueLimit: 1};\nmysql.createPool({...c, connectionLimit: 9})": {"queueLimit": 1, "connectionLimit": 9},
    "const c = {db: {connectionLimit: 9}};\nmysql.createPool(c.db)": {"connectionLimit": 9},
    "const c = {prod: {connectionLimit: 9}};\nmysql.createPool(c['prod'])": {"connectionLimit": 9},
    "const c = Object.freeze({connectionLimit: 9});\nmysql.createPool(Object.assign({}, c))": {"connectionLimit": 9},
    "const c = {};\nc.connectionLimit = 9;\nmysql.createPool(c)": {"connectionLimit": 9},
    "const connectionLimit = 9;\nmysql.createPool({connectionLimit})": {"connectionLimit": 9},
    "mysql.createPool({...(test ? {} : {connectionLimit: 9})})": {"connectionLimit": 9},
    "mysql.createPool({...(test ? {connectionLimit: 2} : {connectionLimit: 9})})": {"connectionLimit": 9},
    "mysql.createPool({connectionLimit: 2, ...(live && {connectionLimit: 9})})": {"connectionLimit": 9},
    "mysql.createPool({connectionLimit: 9, ...(test && {connectionLimit: f()})})": {"connectionLimit": 9},
    "mysql.createPool({...(test ? {connectionLimit: f()} : {connectionLimit: 9})})": {},
    "const c = {connectionLimit: 9};\nlet o; if (a) { o = Object.assign(c, a) } else { o = c }\nmysql.createPool(o)": {
        "connectionLimit": 9
    },
    "const f = (o) => { o = {connectionLimit: 9, ...o}; o = {...o, ...o}; mysql.createPool(o); }": {
        "connectionLimit": 9
    },
    "class A { constructor(s) { if (s) { this.p = mysql.createPoolCluster(); s.forEach(() => this.p.add('n', "
    "{connectionLimit: 9})) } else { this.p = null } } }": {"connectionLimit": 9},
    "const f = (connectionLimit) => mysql.createPool({connectionLimit})": {"connectionLimit": None},
    "mysql.createPool(`mysql://${u}@h/s?connectionLimit=9&maxIdle=${n}`)": {"connectionLimit": 9, "maxIdle": None},
    "mysql.createPool({uri: 'mysql://u:p@h/s?connectionLimit=9'})": {"connectionLimit": 9},
    "const c = mysql.createPoolCluster();\nc.add('MASTER', {connectionLimit: 9})": {"connectionLimit": 9},
    "const { LIMIT: n = 9 } = process.env;\nmysql.createPool({connectionLimit: n})": {"connectionLimit": 9},
    "const { LIMIT = 9 } = process.env;\nmysql.createPool({connectionLimit: LIMIT})": {"connectionLimit": 9},
    "function c() { return {connectionLimit: 9}; }\nmysql.createPool(c())": {"connectionLimit": 9},
    "const c = (a) => ({connectionLimit: 9});\nmysql.createPool({...c(1)})": {"connectionLimit": 9},
    "class A { c = {connectionLimit: 9}; f() { mysql.createPool(this.c) } }": {"connectionLimit": 9},
    "class A { constructor() { this.c = {connectionLimit: 9} } f() { mysql.createPool(this.c) } }": {
        "connectionLimit": 9
    },
    "mysql.createPool({connectionLimit: toInt(process.env.POOL, 9)})": {"connectionLimit": 9},
    "let n = parseInt(process.env.N); if (isNaN(n)) n = 9;\nmysql.createPool({connectionLimit: n})": {
        "connectionLimit": 9
    },
    "const c = c2, c2 = {...c};\nmysql.createPool(c)": {},
}


@pytest.mark.parametrize("text", CREATE_POOL)
def test_options_of_create_pool_in_every_form(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, "a.cjs", MYSQL2 + text) == [CREATE_POOL[text]]


DRIVERS = {
    "import { createPool } from 'mysql2/promise'; createPool({connectionLimit: 5})": ["mysql2"],
    "import * as m from 'promise-mysql'; await m.createPool({connectionLimit: 5})": ["mysqljs"],
    "import m = require('mysql'); m.createPool({connectionLimit: 5})": ["mysqljs"],
    "const p = new PrismaMariaDb({host, connectionLimit: Number(process.env.N ?? 5)})": ["MariaDB Connector/Node.js"],
    "const m = (await import('mariadb')).default; m.createPool({connectionLimit: 5})": ["MariaDB Connector/Node.js"],
    "require('mysql'); createPool({connectionLimit: 5})": ["mysqljs"],
    "const a = require('mysql'), b = require('mysql2'); b.createPool({}); a.createPool({})": ["mysql2", "mysqljs"],
    "const a = require('mysql2'), b = require('oracledb'); a.createPool({}); b.createPool({})": ["mysql2"],
    "import { drizzle } from 'drizzle-orm/mysql2'; drizzle(process.env.URL)": ["mysql2"],
    "require('mysql2'); function createPool(a) {}": [],
    "import { createPool } from './db'; import 'mysql2'; createPool({})": [],
}


@pytest.mark.parametrize("text", DRIVERS)
def test_the_driver_of_a_pool_is_the_module_that_creates_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ts").write_text(text)
    if DRIVERS[text]:
        assert [pool.library.title for pool in read_pools(tmp_path / "a.ts").pools] == DRIVERS[text]
    else:
        with pytest.raises(BadInput, match="no settings of a pool"):
            read_pools(tmp_path / "a.ts")


MAPPERS = {
    "new Sequelize('s', 'u', 'p', {dialect: 'mysql', pool: {max: 9}})": [{"max": 9}],
    "new Sequelize('mariadb://u:p@h/s', {pool: {max: 9}})": [{"max": 9}],
    "new Sequelize(process.env.URL, {dialect: MySqlDialect, pool})": [{}],
    "const o = {dialect: 'mysql', pool: {max: 9}};\nnew Sequelize('s', 'u', 'p', o)": [{"max": 9}],
    "const b = {dialect: 'mysql', host: 'h'};\nmodule.exports = {test: {...b, pool: {max: 9}}}": [{"max": 9}],
    "new Sequelize({dialect: 'mysql', replication: {read: [], write: {}}, pool: {max: 9}})": [{"max": 9}, {"max": 9}],
    "new Sequelize('postgres://h/s', {pool: {max: 9}})": [],
    "new Sequelize(url, {dialect: 'sqlite', pool: {max: 9}})": [],
    "export default {dialect: 'mysql', schema: './s.ts', dbCredentials: {url}}": [],
    "knex({client: 'mysql2', connection: url, pool: {min: 0, max: 9}})": [{"min": 0, "max": 9}],
    "knex({client: 'pg', connection: url, pool: {min: 0, max: 9}})": [],
    "const b = {client: 'mysql2', connection: url, pool: {max: 4}};\n"
    "module.exports = {development: b, production: {...b, pool: {max: 9}}}": [{"max": 4}, {"max": 9}],
    "import { defineConfig } from '@mikro-orm/mysql';\n"
    "defineConfig({dbName: 'd', host: 'h', ...(test ? {} : {pool: {min: 1, max: 9}})})": [{"min": 1, "max": 9}],
    "const client = env('C', 'mysql'), k = {mysql: {connection: {}, pool: {max: env.int('M', 9)}}};\n"
    "({connection: {client, ...k[client], acquireConnectionTimeout: 5}})": [{"max": 9, "acquireConnectionTimeout": 5}],
    "new DataSource({type: 'mysql', entities: [], extra: {connectionLimit: 9}})": [{"connectionLimit": 9}],
    "forRoot({...config.get('db'), autoLoadEntities: true, extra: {connectionLimit: 9}})": [{"connectionLimit": 9}],
    "new DataSource({type: 'mariadb', entities: [], poolSize: 9})": [{"connectionLimit": 9}],
    "new DataSource({type: 'postgres', entities: [], poolSize: 9})": [],
    "const field = {type: 'mysql', name: 'f'}": [],
    "import { mysqlOptions } from './options';\nnew Sequelize(mysqlOptions)": [],
}


@pytest.mark.parametrize("text", MAPPERS)
def test_pools_of_sequelize_knex_and_typeorm(tmp_path: Path, text: str) -> None:
    if MAPPERS[text]:
        assert found_in(tmp_path, "a.js", text) == MAPPERS[text]
    else:
        with pytest.raises(BadInput, match="no settings of a pool"):
            found_in(tmp_path, "a.js", text)


@pytest.mark.parametrize(
    ("choice", "levels", "settings"),
    [("live ? {} : {}", 14, {}), ("live ? {{...{}}} : {}", 6, {"connectionLimit": 9})],
)
def test_branches_that_agree_are_read(tmp_path: Path, choice: str, levels: int, settings: dict[str, Value]) -> None:
    """The first chain is longer than poolsize follows."""
    chain = "".join(f"const c{n} = {{...({choice.format(f'c{n + 1}', f'c{n + 1}')})}};\n" for n in range(levels))
    options = ", ".join(f"option{n}: {n}" for n in range(500))
    text = f"{MYSQL2}{chain}const c{levels} = {{{options}, connectionLimit: 9}};\nmysql.createPool(c0)"
    assert found_in(tmp_path, "a.js", text) == [settings]


def test_environments_in_json_are_alternatives(tmp_path: Path) -> None:
    text = """{ // both use the same server
    "development": {"dialect": "mysql", "database": "s", "pool": {"max": 5}},
    "production": {"dialect": "mysql", "database": "s", "pool": {"max": 50}},
    "test": {"dialect": "sqlite", "storage": ":memory:"},
    }"""
    assert found_in(tmp_path, "config.json", text) == [{"max": 5}, {"max": 50}]
    (tmp_path / "data.json").write_text(text)
    files, _ = read_files([tmp_path])
    assert [file.path.name for file in files] == ["config.json"]


@pytest.mark.costly
def test_no_url_of_a_source_is_kept(poolsize_here: Command, tmp_path: Path) -> None:
    texts = {
        "a.js": f"{MYSQL2}mysql.createPool('mysql://u:secret@h/s?connectionLimit=9&queueLimit=secret')",
        "b.js": f"{MYSQL2}mysql.createPool({{connectionLimit: limit('mysql://u:secret@h/s')}})",
        "c.js": "new Sequelize('mysql://u:secret@h/s', {pool: {max: limit('mysql://u:secret@h/s')}})",
        "a.go": 'package a\nfunc f() { r.Register(mysql.Open("u:secret@tcp(h)/s")).SetMaxOpenConns(5) }',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        for words in ([], ["--json"]):
            done = poolsize_here("config", "--check", name, *words)
            assert "secret" not in done.stdout + done.stderr


@pytest.mark.costly
def test_a_pool_of_go_without_limits(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text('package a\nfunc f() { db, err := sql.Open("mysql", dsn) }')
    (checked,) = check_pools(read_pools(tmp_path / "a.go").pools)
    assert {finding.code for finding in checked.findings} == {
        "pool_unlimited", "pool_closes_idle", "go_lifetime"
    }  # fmt: skip
    (tmp_path / "b.go").write_text('package a\nfunc f() { db, err := sql.Open("sqlite3", dsn) }')
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "b.go")


def test_go_zero_has_a_pool_for_each_data_source_of_mysql(tmp_path: Path) -> None:
    text = """package svc
    import "github.com/zeromicro/go-zero/core/stores/sqlx"
    func f(c Config) {
        orders(sqlx.NewMysql(c.Mysql.DataSource)); users(sqlx.NewMysql(c.Mysql.DataSource))
        logs(sqlx.NewSqlConn("mysql", c.Logs)); facts(sqlx.NewSqlConn("postgres", c.Facts))
    }"""
    (tmp_path / "a.go").write_text(text)
    checked = check_pools(read_pools(tmp_path / "a.go", is_named=False).pools)
    assert [(each.pool.place, each.most_connections) for each in checked] == [("line 4", 64), ("line 5", 64)]
    assert {finding.code for each in checked for finding in each.findings} == {"pool_defaults"}
    pinging = text.replace("logs(", "db, _ := sqlx.NewMysql(c.Mysql.DataSource).RawDB(); db.Ping(); logs(")
    assert found_in(tmp_path, "a.go", pinging) == [{}, {}]
    limited = text.replace("logs(", "db, _ := sqlx.NewMysql(dsn).RawDB(); db.SetMaxOpenConns(9); logs(")
    assert found_in(tmp_path, "a.go", limited) == [{"SetMaxOpenConns": 9}]


PYTHON_VALUES = {
    "int(os.environ['X'], 10)": None, "max(20, 5)": 20, "min(20, cpu_count() * 2)": None,
    "random.choice(3, 9)": None, "10 + 0": 10, "7 // 0": None,
    "getenv('A', '8')": 8, "env.int('A', default=6)": 6, "1e400": None, "10 ** 400": None, "-5": -5,
}  # fmt: skip


@pytest.mark.parametrize("value", PYTHON_VALUES)
def test_values_in_python(tmp_path: Path, value: str) -> None:
    assert found_in(tmp_path, "a.py", f"create_engine(u, pool_size={value})") == [{"pool_size": PYTHON_VALUES[value]}]


@pytest.mark.parametrize(
    "text",
    [
        "SQLALCHEMY_ENGINE_OPTIONS: dict = {'pool_size': 4}",
        "app.config['SQLALCHEMY_ENGINE_OPTIONS'] = dict(pool_size=4)",
        "app.config.update(SQLALCHEMY_ENGINE_OPTIONS={'pool_size': 4})",
        "async def options(): return {'pool_size': 4}\nSQLALCHEMY_ENGINE_OPTIONS = options()",
    ],
)
def test_flask_s_options_in_every_form(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, "a.py", text) == [{"pool_size": 4}]


CREATE, MYSQL_URL = "create_engine(u, pool_size={})", "'mysql+pymysql://a:x@h/s'"
OF_HELPERS = {
    "os.environ.get('X') or 10": 10, "20 if PROD else 5": 20, "20 if PROD else cpu_count()": None,
    "getattr(settings, 'X', 5)": 5, "config('X', default=5, cast=int)": 5, "env.int('X', 6)": 6, "cfg['x']": None,
    "int(os.environ.get('Y') or '4')": 4, "timedelta(minutes=5).total_seconds()": 300, "cpu_count() * 2": None,
}  # fmt: skip


@pytest.mark.parametrize("value", OF_HELPERS)
def test_values_of_helpers_in_python(tmp_path: Path, value: str) -> None:
    assert found_in(tmp_path, "a.py", CREATE.format(value)) == [{"pool_size": OF_HELPERS[value]}]


@pytest.mark.parametrize(
    "text",
    [
        "class S(BaseSettings):\n  n: int = 7\ns = S()\n" + CREATE.format("s.n"),
        "class S(BaseSettings):\n  n: int = Field(default=7)\n" + CREATE.format("S().n"),
        "class S:\n  n: int = 7\nclass T:\n  n: int = 9\ndef f(s: T): return S()\n" + CREATE.format("f(x).n"),
        "class A:\n  def __init__(self, n=7): self.n = n\n  def f(self): " + CREATE.format("self.n"),
        "n = 9\ndef f(n=7): " + CREATE.format("n"),
        "def number(name, default): return os.environ.get(name, default)\n" + CREATE.format("number('X', 7)"),
        "if PROD:\n  n = 7\nelse:\n  n = 5\n" + CREATE.format("n"),
        "n = 9\nn = 7\n" + CREATE.format("n") + "\nn = 8",
        "if A:\n  n = 9\nelse:\n  n = 7\n  " + CREATE.format("n"),
        "c = {}\nc['pool_size'] = 7\ncreate_engine(u, **c)",
        "c = dict(pool_size=7) | {}\nd = c.copy()\ncreate_engine(u, **{**d})",
        "c = {'db': {'pool_size': 7}}\n" + CREATE.format("c['db']['pool_size']"),
    ],
)
def test_values_that_the_file_has_elsewhere(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, "a.py", text) == [{"pool_size": 7}]


def test_a_parameter_without_a_default_hides_a_constant(tmp_path: Path) -> None:
    assert found_in(tmp_path, "a.py", "n = 9\ndef f(n): " + CREATE.format("n")) == [{"pool_size": None}]


@pytest.mark.parametrize(
    ("text", "library", "most", "codes"),
    [
        ("create_engine(URL)", "SQLAlchemy", 15, {"pool_outlives_server", "pool_defaults"}),
        ("create_async_engine(f'mysql+asyncmy://{u}:{p}@h')", "SQLAlchemy", 15,
         {"pool_outlives_server", "pool_defaults"}),
        ("D = {'default': {'ENGINE': 'django.db.backends.mysql'}}", "Django", None, {"django_connects"}),
        ("D = {'default': dj_database_url.config(default='mysql://u@h/d')}", "Django", None, {"django_connects"}),
        ("D = {'default': {'ENGINE': 'dj_db_conn_pool.backends.mysql'}}", "django-db-connection-pool", 20,
         {"pool_defaults"}),
        ("SQLALCHEMY_DATABASE_URI = 'mysql://u@h/d'", "Flask-SQLAlchemy", 15, {"pool_defaults", "flask_size_of_2"}),
        ("pool = MySQLConnectionPool()", "MySQL Connector/Python", 5, {"pool_defaults"}),
        ("mysql.connector.connect(pool_name='a', pool_size=7)", "MySQL Connector/Python", 7, set()),
        # the cases 20, 23, 39 and 40
        ("PooledMySQLDatabase('t', password='x', max_connections=16, stale_timeout=300)", "peewee", 16,
         {"pool_fails_at_once"}),
        (f"SQLALCHEMY_DATABASE_URI = {MYSQL_URL}\nSQLALCHEMY_POOL_SIZE = 30\nSQLALCHEMY_MAX_OVERFLOW = 3",
         "Flask-SQLAlchemy 2", 33, {"flask_old_names"}),
        ("aiomysql.create_pool(db=s.name, minsize=1, maxsize=50, pool_recycle=3600)", "aiomysql", 50,
         {"pool_no_wait_limit"}),
        ("PooledDB(creator=pymysql, maxconnections=3, maxcached=5, maxshared=3, blocking=True)", "DBUtils PooledDB", 5,
         {"pool_size_raised"}),
        ("PooledDB(creator=MySQLdb, mincached=1, maxcached=20)", "DBUtils PooledDB", None, {"pool_unlimited"}),
        ("class R(Retries, PooledMySQLDatabase): pass\nR('d', 8, 300, 5)", "peewee", 8, set()),
        ("connect('mysql+pool://u:p@h/d?max_connections=30&timeout=5')", "peewee", 30, set()),
        ("URL = os.getenv('U', f'mysql+pool://{u}@h/d?max_connections={n}&timeout=5')", "peewee", None,
         {"pool_not_followed"}),
        ("register_tortoise(app, db_url='mysql://h/d?maxsize=3')", "Tortoise ORM", 3, {"pool_no_wait_limit"}),
        ("import peewee_async\npeewee_async.PooledMySQLDatabase('d', pool_params={'maxsize': 6})", "peewee-async", 6,
         {"pool_no_wait_limit"}),
        ("from peewee_async import PooledMySQLDatabase as P\nP('d', max_connections=7)", "peewee-async", 7,
         {"pool_no_wait_limit"}),
        ("from asyncmy import create_pool as p\np(1, 4)", "asyncmy", 4, {"pool_no_wait_limit"}),
    ],
)  # fmt: skip
def test_pools_of_python(tmp_path: Path, text: str, library: str, most: int | None, codes: set[str]) -> None:
    (tmp_path / "a.py").write_text(text)
    (checked,) = check_pools(read_pools(tmp_path / "a.py").pools)
    assert (checked.pool.library.title, checked.most_connections) == (library, most)
    assert {finding.code for finding in checked.findings} == codes
    assert "://" not in str(checked.pool)


def test_each_class_of_flask_has_what_it_inherits(tmp_path: Path) -> None:
    text = """
class Base:
    SQLALCHEMY_DATABASE_URI = 'mysql://h/d'
    SQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 5}
class Development(Base):
    SQLALCHEMY_DATABASE_URI = 'sqlite://'
class Production(Base):
    SQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 50}
"""
    assert found_in(tmp_path, "a.py", text) == [{"pool_size": 50}]


@pytest.mark.parametrize(
    ("branches", "sizes"),
    [
        ("if u.startswith('sqlite'):\n  e = create_engine(u)\nelse:\n  e = create_engine(u, pool_size=10)", [10]),
        ("if 'sqlite' not in u:\n  e = create_engine(u, pool_size=10)\nelse:\n  e = create_engine(u)", [10]),
        ("if u.startswith('sqlite') and ':memory:' not in u:\n  e = create_engine(u, pool_size=10)", []),
        ("if not u.startswith('sqlite'):\n  e = create_engine(u, pool_size=10)", [10]),
        ("e = create_engine(u) if IS_SQLITE else create_engine(u, pool_size=10)", [10]),
        ("p = 'postgres:'\ne = create_engine(u) if 'sqlite' in u else create_engine(u, pool_size=10)", []),
        ("if DEBUG:\n  pass\nelse:\n  e = create_engine(u, pool_size=10)", []),
    ],
)
def test_a_branch_for_another_database_than_the_default_sqlite(tmp_path: Path, branches: str, sizes: list[int]) -> None:
    (tmp_path / "a.py").write_text(f"u = os.getenv('U', 'sqlite:///a.db')\n{branches}")
    pools = read_pools(tmp_path / "a.py").pools if sizes else []
    assert [pool.value("pool_size") for pool in pools] == sizes
    if not sizes:
        with pytest.raises(BadInput, match="no settings of a pool"):
            read_pools(tmp_path / "a.py")


@pytest.mark.parametrize(
    "call",
    [
        "create_engine('sqlite://')", "create_engine(u, poolclass=NullPool)", "create_engine(f'postgresql://{u}@h')",
        "create_engine(URL.create('oracle+oracledb', host=h))", "create_engine(os.getenv('U', 'mssql+pyodbc://'))",
        "u = 'postgresql://{}'.format(h)\ncreate_engine(u, pool_size=5)", "PooledDB(psycopg2, 5)",
        "D = {'default': {'ENGINE': 'django.db.backends.postgresql', 'CONN_MAX_AGE': 60}}",
        "D = {'default': dj_database_url.config(default='postgres://h', conn_max_age=60)}",
        "SQLALCHEMY_DATABASE_URI = 'postgresql://h'\nSQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 5}",
        "asyncpg.create_pool(maxsize=5)", "def create_engine(u): pass\ncreate_engine(u)",
        "class S(BaseSettings):\n  SQLALCHEMY_DATABASE_URI: str",
    ],
)  # fmt: skip
def test_other_databases_and_pools_without_a_size_are_left_out(tmp_path: Path, call: str) -> None:
    (tmp_path / "a.py").write_text(call)
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "a.py")


@pytest.mark.parametrize(
    ("before", "settings", "is_complete"),
    [("options = {'pool_size': 4}\n", {"pool_size": 4, "pool_recycle": 60}, True), ("", {"pool_recycle": 60}, False)],
)
def test_a_dictionary_that_spreads_itself(
    tmp_path: Path, before: str, settings: dict[str, Value], *, is_complete: bool
) -> None:
    (tmp_path / "a.py").write_text(f"{before}options = {{**options, 'pool_recycle': 60}}\ncreate_engine(u, **options)")
    (pool,) = read_pools(tmp_path / "a.py").pools
    assert ({name: each.value for name, each in pool.settings.items()}, pool.complete) == (settings, is_complete)


def test_a_pool_of_django_beside_its_connections(tmp_path: Path) -> None:
    text = "D = {'default': {'CONN_MAX_AGE': 60, 'POOL_OPTIONS': {'POOL_SIZE': 4, 'pool_size': 9}}}"
    assert found_in(tmp_path, "a.py", text) == [{"CONN_MAX_AGE": 60}, {"POOL_SIZE": 4}]


def test_a_profile_overrides_the_documents_without_one(tmp_path: Path) -> None:
    text = """
spring.datasource.hikari: {maximum-pool-size: 10, max-lifetime: 900000, data-source-properties: {maxLifetime: 1}}
---
spring: {config: {activate: {on-profile: prod}}, datasource: {hikari: {maximum-pool-size: 200}}}
---
spring: {config: {activate: {on-profile: dev}}, datasource: {hikari: {maximum-pool-size: 5}}}
"""
    sizes = [10, 200, 5]
    assert found_in(tmp_path, "a.yml", text) == [{"maximumPoolSize": size, "maxLifetime": 900_000} for size in sizes]


def test_merged_mappings_and_lists_in_yaml(tmp_path: Path) -> None:
    text = """
base: &base {maximum-pool-size: 7}
sources:
  - hikari: {<<: *base, max-lifetime: 900000}
"""
    assert {"maximumPoolSize": 7, "maxLifetime": 900_000} in found_in(tmp_path, "a.yml", text)


def test_names_of_dynamic_datasource_hold_only_there(tmp_path: Path) -> None:
    assert found_in(tmp_path, "a.yml", "spring.datasource.hikari: {max-pool-size: 5, minimum-idle: 1}") == [
        {"minimumIdle": 1}
    ]


def test_dbcp2_in_spring_boot_has_durations(tmp_path: Path) -> None:
    assert found_in(tmp_path, "a.yml", "spring.datasource.dbcp2: {max-total: 5, max-wait: 5s}") == [
        {"maxTotal": 5, "maxWaitMillis": 5_000}
    ]


def test_an_option_file_with_indentation_and_quotes(tmp_path: Path) -> None:
    text = (
        "[mysqld]\n  max_connections = '500'\n    back-log=3\n[client]\nwait_timeout = 1\n[DEFAULT]\nwait_timeout = 2\n"
    )
    assert found_in(tmp_path, "my.cnf", text) == [{"max_connections": 500, "back_log": 3}]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hikari.properties", "maximumPoolSize=\\u12"),
        ("hikari.properties", "maximumPoolSize=1e309\nmaxLifetime=nan\nidleTimeout=-Infinity"),
        ("hikari.properties", "maximumPoolSize=" + "9" * 500),
        ("druid.properties", "maxWait=${A}\nremoveAbandoned=true\nremoveAbandonedTimeout=${X}"),
        ("a.py", "create_engine(u, pool_size=1e308 * 10)"),
        ("a.py", "create_engine(u, pool_size=" + "-" * 3000 + "1)"),
        (
            "a.js",
            "require('mysql2'); createPool({connectionLimit: Infinity, queueLimit: 1e999, maxIdle: 9".ljust(400, "9"),
        ),
        ("a.go", "func f() { db.SetMaxOpenConns(" + "9" * 500 + ") }"),
        ("a.go", "func f() { db.SetMaxOpenConns("),
        ("my.cnf", "[mysqld]\nmax_connections = 1e999\nwait_timeout = inf"),
        ("a.yml", "hikari: {maximum-pool-size: .inf, max-lifetime: [1, 2]}"),
    ],
)
def test_odd_values_are_refused_or_unknown(poolsize_here: Command, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    for words in ([], ["--json"], ["--size", "9", "--json"]):
        done = poolsize_here("config", "--check", name, *words)
        assert done.returncode in {0, 2, 3}, done.stderr
        if done.stdout and "--json" in words:
            json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["a.js", "a.ts", "a.go"])
def test_a_damaged_source_that_may_have_a_pool_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("package a\n\ndb.SetMaxOpenConns(createPool(" * 10_000)
    with pytest.raises(BadInput, match=r"this is not (Go|JavaScript or TypeScript)|can't be parsed within"):
        read_pools(tmp_path / name)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text", "pools"),
    [
        ("a.js", "require('mysql2');" + "createPool({});" * 10_000, 10_000),
        ("a.ts", "require('mysql2');" + "createPool(" * 5_000 + ")" * 5_000, 5_000),
        ("a.json", '{"a":' * 20_000 + '{"dialect": "mysql", "host": "h"}' + "}" * 20_000, 1),
        ("a.py", "create_engine(u, pool_size=5)\n" * 4_000, 4_000),
        ("a.go", "func f() {" + "db.SetMaxOpenConns(5);" * 10_000 + "}", 1),
    ],
)
def test_a_long_file_is_read(tmp_path: Path, name: str, text: str, pools: int) -> None:
    """A reader whose time grew with the square of the length would take hours, and pytest's limit would end it."""
    (tmp_path / name).write_text(text)
    read = read_pools(tmp_path / name)
    assert len(read.pools) + read.more == pools
