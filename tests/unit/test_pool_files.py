"""`poolsize config --check` on the settings of real projects, written anew in their own notation."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from poolsize.answer.finding import Code, Severity
from poolsize.answer.pool_check import check_pools
from poolsize.errors import BadInput
from poolsize.pool_files.library import Value
from poolsize.pool_files.reading import read_pools
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
    traps: set[Code]
    departures: set[Code]


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
        {Code.POOL_ABOVE_SERVER},
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
        {Code.POOL_WAITS_FOR_EVER},
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
        {Code.POOL_REMOVES_ABANDONED},
        set(),
    ),
    RealFile(
        "go-branches.go",
        "github.com/cloudreve/Cloudreve: inventory/client.go",
        1,
        {"SetMaxIdleConns": 50, "SetMaxOpenConns": 100, "SetConnMaxLifetime": 30},
        {Code.POOL_CLOSES_IDLE},
        set(),
    ),
    RealFile(
        "go-env-two-pools.go",
        "github.com/QuantumNous/new-api: model/main.go",
        2,
        {"SetMaxIdleConns": 100, "SetMaxOpenConns": 1000, "SetConnMaxLifetime": 60},
        {Code.POOL_CLOSES_IDLE, Code.POOL_ABOVE_SERVER},
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
        "hikari-own-prefix.properties",
        "github.com/alibaba/nacos: distribution/conf/application.properties.example",
        1,
        {"connectionTimeout": 30000, "validationTimeout": 10000, "maximumPoolSize": 20, "minimumIdle": 2},
        set(),
        {Code.POOL_SHRINKS},
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
        {Code.POOL_SHRINKS},
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
        {Code.SERVER_WAIT_TIMEOUT},
        {Code.SERVER_THREAD_CACHE},
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
        {Code.POOL_SHRINKS, Code.POOL_TEST_QUERY},
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
        {Code.POOL_SHRINKS, Code.POOL_TEST_QUERY},
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
        {Code.POOL_SHRINKS},
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
        {Code.POOL_SHRINKS, Code.POOL_TEST_QUERY},
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
        {Code.POOL_SHRINKS, Code.POOL_TEST_QUERY},
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
        {Code.POOL_OUTLIVES_SERVER, Code.POOL_ABOVE_SERVER},
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
    checked = check_pools(read_pools(FILES / real.name))
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
        ("pool.yml", "spring: [", "no YAML"),
        ("pool.py", "def (", "no Python"),
        ("pool.cnf", "max_connections = 5", "no option file"),
        ("pool.toml", "pool = 5", "this file is none of them"),
        ("missing.yml", None, "can't be read"),
    ],
)
def test_a_file_without_a_pool_is_refused_by_name(
    poolsize_here: Command, tmp_path: Path, name: str, text: str | None, line: str
) -> None:
    path = FILES / name if name == OWN_KEYS else tmp_path / name
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
    with pytest.raises(BadInput, match="larger than 2 MB"):
        read_pools(tmp_path / "huge.yml")


def test_hostile_yaml_is_refused(tmp_path: Path) -> None:
    names = "abcdefghij"
    bomb = "a: &a {x: 1}\n" + "\n".join(
        f"{name}: &{name} {{{', '.join(f'{key}: *{before}' for key in names)}}}" for before, name in pairwise(names)
    )
    for text, line in ((bomb, "more than 50,000 values"), ("[" * 100_000, "nested too deeply")):
        (tmp_path / "a.yml").write_text(text)
        with pytest.raises(BadInput, match=line):
            read_pools(tmp_path / "a.yml")


def found_in(tmp_path: Path, name: str, text: str) -> list[dict[str, Value]]:
    (tmp_path / name).write_text(text)
    pools = read_pools(tmp_path / name)
    return [{setting: found.value for setting, found in pool.settings.items()} for pool in pools]


def test_mysql2_in_javascript(tmp_path: Path) -> None:
    text = """
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


def test_go_reads_hours_and_minutes(tmp_path: Path) -> None:
    text = "package a\nfunc (s *S) Open() { db.SetConnMaxLifetime(2 * time.Hour); db.SetConnMaxIdleTime(time.Minute) }"
    assert found_in(tmp_path, "a.go", text) == [{"SetConnMaxLifetime": 7200, "SetConnMaxIdleTime": 60}]
