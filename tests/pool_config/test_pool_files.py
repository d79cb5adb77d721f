"""`poolsize config --check` on the settings of real projects, written anew in their own notation."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from poolsize.answer.finding import Severity
from poolsize.errors import BadInput
from poolsize.pool_config.check import check_pools
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
        "django-dict-merge.py",
        "github.com/hhyo/Archery: archery/settings.py",
        1,
        {"CONN_MAX_AGE": 50},
        set(),
        set(),
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
        "go-branches.go",
        "github.com/cloudreve/Cloudreve: inventory/client.go",
        1,
        {"SetMaxIdleConns": 50, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 30},
        {"pool_closes_idle"},
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
        "go-minutes.go",
        "github.com/Cthulhu-tech/reditt_copy: server/src/utils/mysql/mysql.go",
        1,
        {"SetConnMaxLifetime": 180, "SetMaxOpenConns": 10, "SetMaxIdleConns": 10},
        set(),
        set(),
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
        "rails-defaults.yml",
        "github.com/lobsters/lobsters: config/database.yml",
        4,
        {},
        set(),
        {"pool_threads", "pool_defaults"},
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
        "rust-seaorm.rs",
        "github.com/ituserxxx/vue3-tailwindcss3-blog: project_server/rust_iot_server/src/db/mod.rs",
        1,
        {"max_connections": 100, "min_connections": 5, "acquire_timeout": 8, "idle_timeout": 8, "max_lifetime": 8},
        set(),
        set(),
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
        "rust-diesel-defaults.rs",
        "github.com/rust-work/ppshuai_wsserver: src/wsserver/src/db/mysql.rs",
        1,
        {},
        set(),
        {"pool_defaults"},
    ),
    RealFile(
        "php-webman-pool.php",
        "github.com/madong-inc/madong-admin: server/config/database.php",
        1,
        {"max_connections": 5, "min_connections": 1, "wait_timeout": 3, "max_idle_time": 60},
        set(),
        set(),
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
        "php-persistent-options.php",
        "github.com/thiendoanngoc/backend_service: dbconnections/2020/bittosolution.php",
        1,
        {"ATTR_PERSISTENT": True},
        set(),
        {"php_persists"},
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
        "fpm-template.conf",
        "github.com/wodby/php: 5.3/templates/zz-www.conf.tpl",
        1,
        {"pm": "dynamic", "pm.max_children": 48, "pm.start_servers": 2, "pm.max_requests": 500},
        set(),
        {"php_workers"},
    ),
    RealFile(
        "proxysql-two-servers.cnf",
        "github.com/dolthub/proxysql_example: proxysql.cnf",
        2,
        {"max_connections": 100},
        set(),
        set(),
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
        "dotnet-interpolated.cs",
        "github.com/FrankRays/C-FullList: entitynew/Models/YourContext.cs",
        1,
        {},
        set(),
        {"pool_defaults"},
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
        1,
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
        {"pool_shrinks", "pool_test_query"},
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
            assert found.name in lines[found.line - 1]


OWN_KEYS = "spring-yml-placeholder-own-keys.yml"
"""Settings of an application's own (github.com/openzipkin/zipkin: zipkin-server-shared.yml), which no library reads."""


def test_there_are_at_least_twenty_real_files() -> None:
    assert len({real.source for real in REAL_FILES}) >= 20
    assert {path.name for path in FILES.iterdir()} == {real.name for real in REAL_FILES} | {OWN_KEYS}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (OWN_KEYS, None, "has no settings of a pool that poolsize knows"),
        ("empty.yml", "", "has no settings"),
        ("pool.yml", "spring: [", "not YAML"),
        ("pool.py", "def (", "no Python"),
        ("pool.cnf", "max_connections = 5", "not an option file"),
        ("pool.txt", "pool = 5", "this file is none of them"),
        ("missing.yml", None, "can't be read"),
        ("missing", None, "can't be read"),
        ("folder.d", None, "no file in this folder"),
    ],
)
def test_a_file_without_a_pool_is_refused_by_name(
    poolsize_here: Command, tmp_path: Path, name: str, text: str | None, line: str
) -> None:
    path = FILES / name if name == OWN_KEYS else tmp_path / name
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
    for text, line in ((bomb, "can't be parsed within 3 s"), ("[" * 100_000, "nested too deeply")):
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
    "db.SetConnMaxLifetime(time.Duration(cfg.Life) * time.Second)": None, "db.SetConnMaxLifetime(time.Hour / 2)": None,
    "db.SetConnMaxLifetime(5*time.Minute + 30*time.Second)": None, "db.SetConnMaxLifetime(life)": None,
    "db.SetMaxOpenConns(2 * 8)": 16, "db.SetMaxOpenConns(-1)": -1, "db.SetMaxOpenConns(1_000)": 1000,
    "db.SetMaxOpenConns(max(4, 10))": None, "db.SetMaxOpenConns(10 + 5)": None,
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


JAVASCRIPT_VALUES = {
    "60_000": 60_000, "60 * 1000": 60_000, "-1": -1, "Number(process.env.POOL || '12')": 12, "env.A ?? 7": 7,
    "parseInt(process.env.POOL ?? '9', 10)": 9, "null": 0, "Number(process.env.MYSQL2_POOL)": None, "1e3": None,
    "Math.max(2, 20)": None, "x ? 5 : 10": None, "Infinity": None, "size": None,
}  # fmt: skip


@pytest.mark.parametrize("value", JAVASCRIPT_VALUES)
def test_values_in_javascript(tmp_path: Path, value: str) -> None:
    text = f"const m = require('mysql2'); m.createPool({{ connectionLimit: {value} }})"
    assert found_in(tmp_path, "a.ts", text) == [{"connectionLimit": JAVASCRIPT_VALUES[value]}]


@pytest.mark.parametrize(
    "text", ["require('mysql'); createPool({connectionLimit: 5})", "require('mysql2'); function createPool(a) {}"]
)
def test_other_libraries_in_javascript_are_none_of_mysql2(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.js").write_text(text)
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "a.js")


def test_a_pool_of_go_without_limits(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text('package a\nfunc f() { db, err := sql.Open("mysql", dsn) }')
    (checked,) = check_pools(read_pools(tmp_path / "a.go").pools)
    assert {finding.code for finding in checked.findings} == {
        "pool_unlimited", "pool_closes_idle", "go_lifetime"
    }  # fmt: skip
    (tmp_path / "b.go").write_text('package a\nfunc f() { db, err := sql.Open("sqlite3", dsn) }')
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "b.go")


PYTHON_VALUES = {
    "int(os.environ['X'], 10)": None, "max(20, 5)": None, "random.choice(3, 9)": None, "10 + 0": 10, "7 // 0": None,
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


@pytest.mark.parametrize("call", ["create_engine('sqlite://')", "create_engine(u, poolclass=NullPool)"])
def test_other_databases_and_pools_without_a_size_are_left_out(tmp_path: Path, call: str) -> None:
    (tmp_path / "a.py").write_text(call)
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "a.py")


def test_a_dictionary_that_spreads_itself_is_not_complete(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("options = {'pool_size': 4}\noptions = {**options, 'pool_recycle': 60}\n"
                                   "create_engine(u, **options)")  # fmt: skip
    (pool,) = read_pools(tmp_path / "a.py").pools
    assert ({name: each.value for name, each in pool.settings.items()}, pool.complete) == ({"pool_recycle": 60}, False)


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text", "pools"),
    [
        ("a.js", "require('mysql2');" + "createPool(" * 50_000, 50_000),
        ("a.py", "create_engine(u, pool_size=5)\n" * 10_000, 10_000),
        ("a.go", "db.SetMaxOpenConns(" * 26_000, 1),
    ],
)
def test_a_file_of_half_a_megabyte_is_read(tmp_path: Path, name: str, text: str, pools: int) -> None:
    """A reader whose time grew with the square of the length would take hours, and pytest's limit would end it."""
    (tmp_path / name).write_text(text)
    read = read_pools(tmp_path / name)
    assert len(read.pools) + read.more == pools
