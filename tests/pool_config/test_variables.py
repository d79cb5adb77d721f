"""`poolsize config --check` on values from environment variables: other files set these, or only defaults are known."""

import json
from pathlib import Path

import pytest

from poolsize.pool_config.check import checked_file
from poolsize.pool_config.files.programs import in_environment, read_files
from poolsize.pool_config.settings import ServerFacts
from poolsize.present.text.sentences.findings import sentence
from tests.conftest import Command

GO = """\
package main
import (
	"database/sql"
	_ "github.com/go-sql-driver/mysql"
)
func number(name string, otherwise int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return otherwise
}
func main() {
	db, _ := sql.Open("mysql", dsn)
	size := number("SHOP_POOL", 2)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxLifetime(180 * time.Second)
}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: app
          image: shop:1
          env:
            - name: SHOP_POOL
              value: "25"
"""
COMPOSE = """\
services:
  db: {image: "mysql:9", environment: {SHOP_POOL: 99}}
  elsewhere: {build: ./elsewhere, environment: {SHOP_POOL: 98}}
  web: {image: shop, environment: {SHOP_POOL: "${SHOP_POOL:-97}"}}
  worker: {image: shop, environment: [SHOP_POOL=10]}
  app:
    build: {context: .}
    environment:
      SHOP_POOL: 25
"""
VALUES = "replicaCount: 3\nextraEnvVars:\n  - name: SHOP_POOL\n    value: '25'\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  SHOP_POOL: '25'\n"


SPRING = "spring.datasource:\n  url: jdbc:mysql://h/x\n  hikari.maximum-pool-size: ${SHOP_HIKARI_MAX_POOL_SIZE:10}\n"


@pytest.mark.costly
def test_a_variable_for_hikari_of_the_projects_own_is_no_further_pool(poolsize_here: Command, tmp_path: Path) -> None:
    variables = "environment: {DB_PORT: 3306, SHOP_HIKARI_MAX_POOL_SIZE: '${SHOP_HIKARI_MAX_POOL_SIZE:-30}'}"
    write(tmp_path, application__yml=SPRING, compose__yml=f"services:\n  app:\n    image: shop\n    {variables}\n")
    for words, connections in ((".", 30), ("compose.yml", 30), ("application.yml", 10)):
        done = poolsize_here("config", "--check", words, "--json")
        assert json.loads(done.stdout)["connections"] == connections


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def go(limits: str) -> str:
    return f'package main\nimport _ "github.com/go-sql-driver/mysql"\n{limits}\n'


def engine(size: str) -> str:
    return f"create_engine(u, max_overflow=0, pool_size={size})\n"


def node(size: str) -> str:
    return f"import mysql2 from 'mysql2'\nmysql2.createPool({{host: h, connectionLimit: {size}}})\n"


def java(size: str, field: str = "") -> str:
    return f"""
class A {{
  {field}
  void a() {{
    HikariConfig c = new HikariConfig();
    c.setJdbcUrl("jdbc:mysql://h/x");
    c.setMaximumPoolSize({size});
  }}
}}
"""


SOURCES = {
    "helper.go": GO,
    "getenv.go": go("""
func main() {
	size := 2
	if v := os.Getenv("SHOP_POOL"); v != "" { size, _ = strconv.Atoi(v) }
	db.SetMaxOpenConns(size)
}"""),
    "or.go": go("""
func main() {
	size, _ := strconv.Atoi(cmp.Or(os.Getenv("SHOP_POOL"), "2"))
	db.SetMaxOpenConns(size)
}"""),
    "tag.go": go("""
type C struct { Max int `env:"SHOP_POOL" envDefault:"2"` }
func main() { db.SetMaxOpenConns(c.Max) }"""),
    "get.py": engine("int(os.environ.get('SHOP_POOL', 2))"),
    "or.py": f"N = int(os.getenv('SHOP_POOL') or 2)\n{engine('N')}",
    "decouple.py": engine("config('SHOP_POOL', cast=int, default=2)"),
    "pydantic.py": f"""
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="SHOP_")
    pool: int = 2
{engine("Settings().pool")}""",
    "alias.py": f"""
class Settings(BaseSettings):
    size: int = Field(2, validation_alias="SHOP_POOL")
{engine("Settings().size")}""",
    "or.js": node("Number(process.env.SHOP_POOL) || 2"),
    "ternary.js": node("process.env.SHOP_POOL ? parseInt(process.env['SHOP_POOL'], 10) : 2"),
    "get.ts": node("config.get('SHOP_POOL', 2)"),
    "Get.java": java('Integer.parseInt(System.getenv().getOrDefault("SHOP_POOL", "2"))'),
    "OrElse.java": java('Optional.ofNullable(System.getenv("SHOP_POOL")).map(Integer::parseInt).orElse(2)'),
    "Value.java": java("size", '@Value("${SHOP_POOL:2}") private int size;'),
    "A.kt": """
fun a() {
  val c = HikariConfig()
  c.jdbcUrl = "jdbc:mysql://h/x"
  c.maximumPoolSize = System.getenv("SHOP_POOL")?.toInt() ?: 2
}
""",
    "application.yml": "spring.datasource.hikari.maximum-pool-size: ${SHOP_POOL:2}\n",
    "application.properties": "spring.datasource.hikari.maximum-pool-size=${SHOP_POOL:2}\n",
    "application.conf": """
db.default {
  url = "jdbc:mysql://h/x"
  hikaricp { maximumPoolSize = 2 }
  hikaricp { maximumPoolSize = ${?SHOP_POOL} }
}
""",
    "database.yml": 'production:\n  adapter: mysql2\n  pool: <%= ENV.fetch("SHOP_POOL") { 2 } %>\n',
    "databases.php": """<?php return ['default' => [
    'driver' => 'mysql', 'pool' => ['max_connections' => (int) env('SHOP_POOL', 2)]
]];
""",
    "main.rs": """
fn a() {
    let n = std::env::var("SHOP_POOL").ok().and_then(|v| v.parse().ok()).unwrap_or(2);
    MySqlPoolOptions::new().max_connections(n);
}
""",
    "try.rs": """
fn a() {
    let n = env::var("SHOP_POOL").unwrap_or_else(|_| "2".to_string());
    MySqlPoolOptions::new().max_connections(n.parse()?);
}
""",
}


@pytest.mark.costly
@pytest.mark.parametrize("name", SOURCES)
def test_a_variable_that_a_file_sets_counts_in_every_language(tmp_path: Path, name: str) -> None:
    write(tmp_path, **{name: SOURCES[name]})
    for text, expected in (("", 2), ("SHOP_POOL=25\n", 25)):
        (tmp_path / ".env").write_text(text)
        (file,) = in_environment(read_files([tmp_path])[0])
        (pool,) = file.pools
        setting = pool.settings[pool.library.sizes[0]]
        assert (setting.value, setting.variables) == (expected, ("SHOP_POOL",))


@pytest.mark.costly
def test_a_value_is_computed_with_the_variable(tmp_path: Path) -> None:
    write(tmp_path, main__py=engine("2 * int(os.environ['SHOP_POOL'])"), __env="SHOP_POOL=25\n")
    (file,) = in_environment(read_files([tmp_path])[0])
    assert file.pools[0].settings["pool_size"].value == 50


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "text", "line", "workload"),
    [
        ("deployment.yaml", DEPLOYMENT, 13, " (shop)"),
        ("values.yaml", VALUES, 4, ""),
        ("config.yaml", CONFIG_MAP, 5, ""),
        (".env", "# local\nSHOP_POOL=25\n", 2, ""),
        (".env.production", "SHOP_POOL=25\n", 1, ""),
        ("local.env", "SHOP_POOL='25'\n", 1, ""),
    ],
)
def test_the_file_that_sets_the_variable_is_named(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, line: int, workload: str
) -> None:
    for file, written in (("main.go", GO), (name, text)):
        (tmp_path / file).write_text(written.replace("SHOP_POOL", "SHOP_CONNS"))
    done = poolsize_here("config", "--check", ".")
    text = " ".join(done.stdout.split())
    assert (
        f"SetMaxOpenConns is 25 and SetMaxIdleConns is 25: {name}, line {line}{workload}, sets SHOP_CONNS to 25."
        in text
    )
    assert "No known problem" not in text
    if name == "deployment.yaml":
        assert "may open 75 connections in 3 processes" in text


def test_without_a_file_that_sets_the_variable_the_answer_is_that_of_the_default(
    poolsize_here: Command, tmp_path: Path
) -> None:
    write(tmp_path, main__go=GO)
    text = " ".join(poolsize_here("config", "--check", "main.go", "--size", "2").stdout.split())
    assert "SetMaxOpenConns is 2 and SetMaxIdleConns is 2 only by default: no file of this check sets SHOP_POOL" in text
    assert "All settings of the pool in this file are as recommended, by the defaults of SHOP_POOL." in text


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("A.java", java("size", '@Value("${shop.size}") int size;'), "size, from shop.size"),
        ("A.java", java("size", '@Value("${SHOP_POOL}") int size;'), "size, from SHOP_POOL"),
        ("A.java", java("size", "int size;"), "size"),
        ("db.py", f"SIZE = int(os.environ['SHOP_POOL'])\n{engine('SIZE')}", "SIZE, from SHOP_POOL"),
        ("db.py", engine("int(os.environ['SHOP_POOL'])"), "int(os.environ['SHOP_POOL'])"),
    ],
)
def test_a_value_that_no_file_has_is_named_with_the_variable_that_has_it(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, value: str
) -> None:
    (tmp_path / name).write_text(text)
    shown = " ".join(poolsize_here("config", "--check", name).stdout.split())
    assert f"the file does not contain its value ({value})." in shown


@pytest.mark.parametrize(
    ("sizes", "more", "shown"),
    [
        ("size=4, more=2", "", ["pool_size is 4 and max_overflow is 2 only by default: calls may give make(size) and"]),
        ("*, size=4, more", "", ["pool_size is 4 only by default: calls may give make(size) another value, and are"]),
        ("size=None, more=None", "", ["pool_size is 3 only by default: calls may give make(size) another value, and"]),
        ("size=4, more=SHOP_MORE", 'SHOP_MORE = int(os.getenv("SHOP_MORE", 2))',
         ["max_overflow is 2 only by default: no file of this check sets SHOP_MORE", "calls may give make(size) and"]),
        ("size, more", "", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["make", "Pool"])
def test_the_default_of_a_parameter_is_shown_as_one(
    poolsize_here: Command, tmp_path: Path, sizes: str, more: str, shown: list[str], name: str
) -> None:
    engine = "create_engine(u, pool_size=size or 3, max_overflow=more, pool_recycle=9)"
    head = "class Pool:\n  def __init__(self, u" if name == "Pool" else "def make(u"
    write(tmp_path, db__py=f"import os\n{more}\n{head}, {sizes}):\n    {engine}\n")
    text = " ".join(poolsize_here("config", "--check", "db.py").stdout.split())
    assert all(each.replace("make", name) in text for each in shown), text
    assert shown or "only by default" not in text


@pytest.mark.costly
def test_of_several_values_the_largest_of_services_that_may_be_the_program_counts(
    poolsize_here: Command, tmp_path: Path
) -> None:
    write(tmp_path, main__go=GO, compose__yaml=COMPOSE)
    done = poolsize_here("config", "--check", "main.go", "compose.yaml", "--json")
    values = json.loads(done.stdout)
    (problem,) = values["problems"]
    assert "is 25 if SHOP_POOL is 25, as in compose.yaml, line 9 (app)." in problem["message"]
    assert problem["message"].endswith("Other places set less: 10 in compose.yaml, line 5 (worker).")
    assert values["files"][0]["pools"][0]["most_connections"] == 25


@pytest.mark.costly
@pytest.mark.parametrize("text", ["${SHOP_POOL:-25}", "${OTHER:-25}"])
def test_a_variable_set_by_a_reference_has_its_default(tmp_path: Path, text: str) -> None:
    spring = "spring.datasource.url=jdbc:mysql://h/x\nspring.datasource.hikari.maximum-pool-size=${SHOP_POOL:10}\n"
    for name, source in (("spring", spring), ("go", GO)):
        (tmp_path / name).mkdir()
        file = "application.properties" if name == "spring" else "main.go"
        (tmp_path / name / file).write_text(source)
        write(tmp_path / name, __env=f"SHOP_POOL={text}\n")
    of_go, of_spring = in_environment(read_files([tmp_path])[0])
    assert of_go.pools[0].settings["SetMaxOpenConns"].value == 25
    assert of_spring.pools[0].settings["maximumPoolSize"].value == 25


def test_a_variable_of_a_dockerfile_counts_where_no_other_file_sets_it(tmp_path: Path) -> None:
    write(tmp_path, main__go=GO)
    (tmp_path / "Dockerfile").write_text("FROM mysql\nENV SHOP_POOL=1\nFROM shop\nENV OTHER=1 \\\n  SHOP_POOL=25\n")
    for text, expected in (("", 25), ("SHOP_POOL=10\n", 10)):
        (tmp_path / ".env").write_text(text)
        (file,) = in_environment(read_files([tmp_path])[0])
        assert file.pools[0].settings["SetMaxOpenConns"].value == expected


def test_a_folder_to_build_may_have_any_name(tmp_path: Path) -> None:
    write(tmp_path, main__go=GO, compose__yaml='services: {a: {build: "a\\0b", environment: {SHOP_POOL: 25}}}\n')
    assert in_environment(read_files([tmp_path])[0])


def test_true_and_false_of_php_are_no_variables(tmp_path: Path) -> None:
    write(tmp_path, a__php="<?php $db['default'] = array('dbdriver' => 'mysqli', 'pconnect' => FALSE);")
    (file,) = in_environment(read_files([tmp_path])[0])
    assert file.pools[0].settings["pconnect"].variables == ()
    assert not file.asks_for


@pytest.mark.costly
def test_a_variable_is_that_of_the_nearest_program(tmp_path: Path) -> None:
    for name, size in (("a", 5), ("b", 7)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, main__go=GO, __env=f"SHOP_POOL={size}\n")
    files = in_environment(read_files([tmp_path])[0])
    assert [file.pools[0].settings["SetMaxOpenConns"].value for file in files] == [5, 7]


@pytest.mark.costly
def test_a_number_of_the_projects_own_is_not_counted_beside_the_pool_that_asks_for_it(
    poolsize_here: Command, tmp_path: Path
) -> None:
    env = "DB_URL=mysql://h/x\nDB_POOL_SIZE=25\n"
    write(tmp_path, main__go=GO.replace("SHOP_POOL", "DB_POOL_SIZE"), __env=env)
    values = json.loads(poolsize_here("config", "--check", ".", "--json").stdout)
    assert values["connections"] == 25


MYSQL_GO = """
func open() {
	db, _ := global.DB.DB()
	db.SetMaxOpenConns(c.MaxOpenConns)
	db.SetConnMaxLifetime(LIFETIME)
}"""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("lifetime", "codes"),
    [
        ("time.Duration(c.Timeout)", {"go_nanoseconds"}),
        ("time.Duration(c.Timeout) * time.Second", {"go_lifetime"}),
        ("c.Timeout", {"pool_not_followed"}),
        ("time.Duration(c.Password)", {"pool_not_followed", "go_no_unit"}),
        ("time.Duration(s.cfg.MySQL.Timeout)", {"go_nanoseconds"}),
        ("time.Duration(c.Redis.Timeout)", {"pool_not_followed", "go_no_unit"}),
        ("time.Duration(c.RedisDB.Timeout)", {"pool_not_followed", "go_no_unit"}),
        ("time.Duration(c.Reports.Timeout) * time.Second", {"pool_not_followed"}),
    ],
)
def test_a_field_in_go_has_the_value_of_the_key_of_its_name(tmp_path: Path, lifetime: str, codes: set[str]) -> None:
    write(tmp_path, main__go=go(MYSQL_GO.replace("LIFETIME", lifetime)))
    keys = "  max_open_conns: 40\n  timeout: 3600\n  password: 3600\n"
    (tmp_path / "local.yaml").write_text(f"mysql:\n  host: h\n  port: 3306\n{keys}")
    (file,) = in_environment(read_files([tmp_path])[0])
    checked = checked_file(file, ServerFacts(), None)
    (pool,) = checked.pools
    assert pool.most_connections == 40
    assert {finding.code for finding in pool.findings} - {"pool_closes_idle", "pool_from_variable"} == codes


def test_a_field_in_go_has_no_value_where_two_places_have_its_key(tmp_path: Path) -> None:
    write(tmp_path, main__go=go(MYSQL_GO))
    place = "  host: h\n  port: 3306\n  max_open_conns: 40\n"
    (tmp_path / "local.yaml").write_text(f"shop-mysql:\n{place}log-mysql:\n{place}")
    files = in_environment(read_files([tmp_path])[0])
    assert {file.path.name: len(file.pools) for file in files} == {"local.yaml": 2, "main.go": 1}
    assert "SetMaxOpenConns" in {each.name for file in files for pool in file.pools for each in pool.not_followed}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("code", "other", "most"),
    [
        (
            'viper.GetInt("shop.mysql.max_open_conns")',
            "log: {mysql: {host: h, port: 3306, max_open_conns: 7}}",
            [40, 7],
        ),
        ('config.V.GetInt64("shop.mysql.maxOpenConns")', "", [40]),
        ('viper.GetInt("audit.mysql.max_open_conns")', "", [None, 40]),
        ('redis.Get("shop.mysql.max_open_conns")', "", [None, 40]),
    ],
)
def test_a_key_that_viper_reads_is_that_of_its_configuration(
    tmp_path: Path, code: str, other: str, most: list[int | None]
) -> None:
    opened = f"func f() {{\n\tmost := {code}\n{MYSQL_GO.replace('c.MaxOpenConns', 'int(most)').partition('{')[2]}"
    write(tmp_path, main__go=go(opened.replace("\tdb.SetConnMaxLifetime(LIFETIME)\n", "")))
    (tmp_path / "shop.yaml").write_text(f"shop: {{mysql: {{host: h, port: 3306, max_open_conns: 40}}}}\n{other}\n")
    files = in_environment(read_files([tmp_path])[0])
    checked = [checked_file(file, ServerFacts(), None) for file in files]
    assert [pool.most_connections for file in checked for pool in file.pools] == most


@pytest.mark.costly
@pytest.mark.parametrize(
    ("default", "keys", "most"),
    [
        ("300", "", [300]),
        ("most", "", [300]),
        ("300", "max_open_conns: 40", [300, 40]),
        ('env.Int("SHOP_POOL", 300)', "", [300, None]),
    ],
)
def test_a_field_in_go_has_the_default_of_another_file(
    tmp_path: Path, default: str, keys: str, most: list[int | None]
) -> None:
    write(tmp_path, main__go=go(MYSQL_GO.replace("\tdb.SetConnMaxLifetime(LIFETIME)\n", "")))
    settings = f'const most = 300\nfunc d() *C {{ return &C{{Driver: "mysql", MaxOpenConns: {default}}} }}'
    write(tmp_path, config__go=go(settings))
    (tmp_path / "local.yaml").write_text(f"mysql: {{host: h, port: 3306, {keys}}}\n")
    files = in_environment(read_files([tmp_path])[0])
    checked = [checked_file(file, ServerFacts(), None) for file in files]
    assert [pool.most_connections for file in checked for pool in file.pools] == most


@pytest.mark.costly
def test_a_duration_in_go_without_a_unit_is_shown_in_nanoseconds(poolsize_here: Command, tmp_path: Path) -> None:
    text = MYSQL_GO.replace("c.MaxOpenConns", "9").replace("LIFETIME", 'time.Duration(env.Int("LIFE", 600))')
    write(tmp_path, main__go=go(text), __env="LIFE=3600\n")
    text = " ".join(poolsize_here("config", "--check", ".").stdout.split())
    assert "SetConnMaxLifetime is 3,600 ns: .env, line 1, sets LIFE" in text


@pytest.mark.costly
@pytest.mark.parametrize(
    ("conf", "code", "most"),
    [
        ("maxOpen = 50", 'beego.AppConfig.String("maxOpen")', 50),
        ("[mysql]\nmaxOpen = 50", 'beego.AppConfig.String("mysql::maxOpen")', 50),
        ("runmode = prod\n[dev]\nmaxOpen = 5\n[prod]\nmaxOpen = 50", 'beego.AppConfig.String("maxOpen")', 50),
        ("runmode = Prod\nmaxOpen = 100\n[prod]\nmaxOpen = 50", 'beego.AppConfig.String("maxOpen")', 50),
        ("maxOpen = 50", 'web.AppConfig.DefaultInt("maxOpen", 9)', 50),
        ("maxopen = 50", 'web.AppConfig.DefaultInt("maxOpen", 9)', 50),
        ("[MySQL]\nMaxOpen = 50", 'web.AppConfig.DefaultInt("mysql::maxopen", 9)', 50),
        ("maxIdle = 50", 'web.AppConfig.DefaultInt("maxOpen", 9)', 9),
        ("maxOpen = ${MOST||50}", 'beego.AppConfig.String("maxOpen")', None),
    ],
)
def test_a_key_of_beego_is_that_of_its_configuration(tmp_path: Path, conf: str, code: str, most: int | None) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/app.conf").write_text(f"appname = shop\nmysqlport = 3306\n{conf}\n")
    opened = f"""func init() {{
    var c Config
    c.Most, _ = strconv.Atoi({code})
    orm.RegisterDataBase("default", "mysql", dsn, 10, c.Most)
}}"""
    write(tmp_path, main__go=go(opened))
    (file,) = in_environment(read_files([tmp_path])[0])
    assert [pool.settings["SetMaxOpenConns"].value for pool in file.pools] == [most]


def bean(size: str) -> str:
    return f"""
class A {{
  @Bean DataSource replica({size}) {{
    HikariConfig c = new HikariConfig();
    c.setJdbcUrl("jdbc:mysql://h/x");
    c.setMaximumPoolSize(size);
    return new HikariDataSource(c);
  }}
}}
"""


ASKED = '@Value("${shop.replica.maximum-pool-size:10}") int size'
REPLICA = "shop.replica:\n  jdbc-url: jdbc:mysql://h/x\n  maximum-pool-size: {}\n"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("files", "connections"),
    [
        ({}, 10),
        ({"application.yml": REPLICA.format(40)}, 40),
        ({"application.yml": REPLICA.format(4)}, 4),
        ({"application.yml": REPLICA.format(4), "application-prod.yml": REPLICA.format(30)}, 30),
        ({"application.properties": "shop.replica.maximum-pool-size=40\n"}, 40),
        ({"application.yml": REPLICA.format("${REPLICA:40}")}, 40),
        ({"application.yml": REPLICA.replace("replica", "other").format(40)}, 50),
    ],
)
def test_a_key_of_springs_files_is_the_value_of_the_source_that_asks_for_it_and_no_further_pool(
    poolsize_here: Command, tmp_path: Path, files: dict[str, str], connections: int
) -> None:
    for name, text in {"A.java": bean(ASKED), **files}.items():
        (tmp_path / name).write_text(text)
    done = poolsize_here("config", "--check", ".", "--json")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout
    text = " ".join(poolsize_here("config", "--check", ".").stdout.split())
    is_default = connections in {10, 50}
    assert ("maximumPoolSize is 10 only by default: no file of this check sets shop.replica" in text) == is_default
    assert (", sets shop.replica.maximum-pool-size to" in text or "if shop.replica" in text) != is_default


DRUID = """
@Configuration
@ConfigurationProperties(prefix = "druid")
public class A {
  private String url;
  private int maxActive = 20;
  private boolean testOnBorrow;
  @Bean DataSource a() {
    DruidDataSource a = new DruidDataSource();
    a.setUrl(url);
    a.setMaxActive(maxActive);
    a.setTestOnBorrow(testOnBorrow);
    return a;
  }
  public void setMaxActive(int maxActive) { this.maxActive = maxActive; }
}
"""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("source", "properties", "connections", "is_ignored"),
    [
        (DRUID, "druid.max-active=60\ndruid.test-on-borrow=true\n", 60, False),
        (DRUID, "other.max-active=60\n", 20, False),
        (DRUID.replace('"druid"', '"shop.db"'), "shop.db.maxActive=60\n", 60, False),
        (DRUID.replace('"druid"', '"shop.db"'), "druid.max-active=60\n", 28, True),
        (DRUID.replace("= 20;", ";").replace("private int", '@Value("${druid.max-active}") int'),
         "druid.max-active=60\n", 60, False),
    ],
)  # fmt: skip
def test_the_keys_that_a_class_binds_are_its_pool_s(
    poolsize_here: Command, tmp_path: Path, source: str, properties: str, connections: int, is_ignored: bool
) -> None:
    (tmp_path / "A.java").write_text(source)
    (tmp_path / "application.properties").write_text(f"druid.url=jdbc:mysql://h/x\n{properties}")
    done = poolsize_here("config", "--check", ".", "--json")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout
    assert ("ignores max-active" in " ".join(done.stdout.split())) == is_ignored


SETTINGS = """
class Base(BaseSettings):
    POOL: int = 12
    DSN: str = "mysql+pymysql://h/x"
class Settings(Base):
    OVERFLOW: int = Field(default=8)
    OTHER: int = 3
settings = Settings()
"""
IMPORTED = """
from shop.settings import settings
e = create_engine(str(settings.DSN), pool_size=settings.POOL, max_overflow=settings.OVERFLOW)
"""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("source", "settings", "env", "connections"),
    [
        (IMPORTED, SETTINGS, "", 20),
        (IMPORTED, SETTINGS, "POOL=30\n", 38),
        (IMPORTED.replace("from shop.settings", "from .settings"), SETTINGS, "", 20),
        (IMPORTED.replace("shop.settings import settings", "shop import settings as s").replace("(settings", "(s")
         .replace("=settings", "=s.settings"), SETTINGS, "", 20),
        (IMPORTED, SETTINGS.replace("int = 12", "int"), "", None),
        (IMPORTED, SETTINGS.replace("BaseSettings", "Model"), "", None),
        (IMPORTED.replace("shop.settings", "shop.other"), SETTINGS, "", None),
        (IMPORTED.replace("import settings", "import others as settings"), SETTINGS, "", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_named", [False, True])
def test_a_field_of_settings_that_python_imports_has_the_default_of_the_other_file(
    poolsize_here: Command,
    tmp_path: Path,
    source: str,
    settings: str,
    env: str,
    connections: int | None,
    is_named: bool,
) -> None:
    write(tmp_path, engine__py=source, settings__py=settings, __env=env)
    names = ["engine.py", "settings.py", *([".env"] if env else [])] if is_named else ["."]
    done = poolsize_here("config", "--check", *names, "--json")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout


ROUTED = """
class A {
  @Value("${spring.datasource.reader.url}") private String url;
  @Bean DataSource a() {
    HikariDataSource a = new HikariDataSource();
    a.setJdbcUrl(url);
    a.setMaximumPoolSize(20);
    return a;
  }
}
"""
OF_READER = "spring.datasource.reader.url=jdbc:mysql://h/x\n"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("files", "connections"),
    [
        ({"application.properties": OF_READER}, 20),
        ({"application.yml": "spring:\n  jpa.show-sql: true\n  datasource.reader.url: jdbc:mysql://h/x\n"}, 20),
        ({"application.properties": OF_READER.replace("reader", "writer")}, 30),
        ({"application.properties": f"{OF_READER}spring.datasource.reader.hikari.maximum-pool-size=5\n"}, 25),
        ({"application.properties": OF_READER, "../../b/application.properties": OF_READER}, 30),
    ],
)
def test_a_url_that_a_bean_reads_has_no_pool_by_default(
    poolsize_here: Command, tmp_path: Path, files: dict[str, str], connections: int
) -> None:
    for folder in ("a/java", "a/resources", "b"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a/java/A.java").write_text(ROUTED)
    for name, text in files.items():
        (tmp_path / "a/resources" / name).write_text(text)
    done = poolsize_here("config", "--check", ".", "--json")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout


UNPOOLED = """
class A {
  @Bean @ConfigurationProperties(prefix = "spring.datasource")
  public DataSource a() { return new DriverManagerDataSource(); }
}
"""
SETTERS = """
class A {
  @Value("${spring.datasource.url}") private String url;
  @Bean DataSource a() { var a = new DriverManagerDataSource(); a.setUrl(url); return a; }
}
"""
OF_SPRING = "spring.datasource.url: jdbc:mysql://h/x\n"
EXCLUDED = "spring.autoconfigure.exclude: [org.a.B, org.springframework.boot.jdbc.DataSourceAutoConfiguration]\n"
NO_POOL = "Spring's DriverManagerDataSource"


@pytest.mark.parametrize(
    ("source", "settings", "pools"),
    [
        (UNPOOLED, OF_SPRING, [(NO_POOL, True)]),
        (UNPOOLED, EXCLUDED + OF_SPRING, [(NO_POOL, True)]),
        (SETTERS, EXCLUDED + OF_SPRING, [(NO_POOL, True)]),
        (SETTERS.replace("setUrl(url)", 'setUrl("jdbc:mysql://h/x")'), "", [(NO_POOL, True)]),
        (UNPOOLED, OF_SPRING.replace("mysql", "postgresql"), [(NO_POOL, False)]),
        (UNPOOLED.replace("spring", "shop"), OF_SPRING, [(NO_POOL, False), ("HikariCP", True)]),
        ("", EXCLUDED + OF_SPRING, [("Data source of a bean", True)]),
        ("", EXCLUDED.replace(".Data", ".XAData") + OF_SPRING, [("HikariCP", True)]),
        ("", f"{EXCLUDED}{OF_SPRING}spring.datasource.hikari.maximum-pool-size: 20", [("HikariCP", True)]),
        ("", f"{EXCLUDED}---\nspring.config.activate.on-profile: a\n{OF_SPRING}", [("Data source of a bean", True)]),
    ],
)
def test_a_data_source_without_a_pool_has_not_the_one_of_spring(
    tmp_path: Path, source: str, settings: str, pools: list[tuple[str, bool]]
) -> None:
    (tmp_path / "A.java").write_text(source)
    (tmp_path / "application.yml").write_text(settings)
    files = in_environment(read_files([tmp_path])[0])
    assert [(pool.library.title, pool.database_known) for file in files for pool in file.pools] == pools
    (checked, *_) = [pool for file in files for pool in checked_file(file, ServerFacts(), None).pools]
    assert checked.most_connections == (20 if "size: 20" in settings else 10 if pools[0][0] == "HikariCP" else None)


OF_XML = """
<beans><bean name="a" class="com.alibaba.druid.pool.DruidDataSource">
  <property name="url" value="${spring.datasource.url}"/><property name="maxActive" value="40"/>
</bean></beans>
"""
BEANS_SIZE = OF_XML.replace('"40"', '"${spring.datasource.maxActive}"')
DIRECT = f"{OF_SPRING}spring.datasource.max-active: 60\n"
SMALLER = f"{OF_SPRING}spring.datasource.max-idle: 6\n"


@pytest.mark.parametrize(
    ("bean", "settings", "titles"),
    [
        (OF_XML, DIRECT, ["Druid", "Data source of a bean"]),
        (OF_XML, SMALLER, ["Druid", "Data source of a bean"]),
        (OF_XML, OF_SPRING, ["Druid"]),
        (BEANS_SIZE, DIRECT, ["Druid", "Tomcat JDBC Pool (Spring Boot 1)"]),
        (OF_XML.replace("spring.", "shop."), DIRECT, ["Druid", "Tomcat JDBC Pool (Spring Boot 1)"]),
    ],
)
def test_settings_of_spring_boot_1_beside_a_bean_are_no_pool(
    tmp_path: Path, bean: str, settings: str, titles: list[str]
) -> None:
    (tmp_path / "a.xml").write_text(bean)
    (tmp_path / "application.yml").write_text(settings)
    files = in_environment(read_files([tmp_path])[0])
    assert [pool.library.title for file in files for pool in file.pools] == titles
    *_, checked = [pool for file in files for pool in checked_file(file, ServerFacts(), None).pools]
    notes = [sentence(each) for each in checked.findings if each.code == "pool_beside_bean"]
    name = "max-idle" if settings is SMALLER else "max-active"
    assert [each.partition(":")[0] for each in notes] == [f"spring.datasource.{name}"] * ("Data" in titles[-1])


OF_VALUES = """
@Configuration
class A {
  @Value("${db.url}") String url;
  @Value("${db.maxActive}") int most;
  @Bean DruidDataSource a() { var a = new DruidDataSource(); a.setUrl(url); a.setMaxActive(most); return a; }
}
"""


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        (OF_VALUES, ["Druid"]),
        (OF_VALUES.replace("db.maxActive", "db.size"), ["Druid", "Pool of the project's own code"]),
    ],
)
def test_numbers_that_a_bean_reads_are_no_further_pool(tmp_path: Path, source: str, titles: list[str]) -> None:
    (tmp_path / "A.java").write_text(source)
    (tmp_path / "a.properties").write_text("db.url=jdbc:mysql://h/x\ndb.maxActive=7\ndb.initialSize=2\n")
    files = in_environment(read_files([tmp_path])[0])
    assert [pool.library.title for file in files for pool in file.pools] == titles


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  application.yml: |\n    "


@pytest.mark.costly
@pytest.mark.parametrize(
    ("other", "text", "connections"),
    [
        ("b/src/application.yml", REPLICA.format(30), 60),
        ("deploy/a.yml", CONFIG_MAP + REPLICA.format(30).replace("\n", "\n    "), 30),
    ],
)
def test_the_pool_of_another_service_at_the_key_that_a_source_asks_for_counts(
    poolsize_here: Command, tmp_path: Path, other: str, text: str, connections: int
) -> None:
    own = {"a/src/A.java": bean(ASKED), "a/src/application.yml": REPLICA.format(30)}
    for name, content in {**own, other: text}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    done = poolsize_here("config", "--check", ".", "--json")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout


@pytest.mark.costly
@pytest.mark.parametrize(
    ("asked", "files", "most"),
    [
        ("shop.db.connections", {"application.yml": "shop.db.connections: 40"}, 40),
        ("shop.db.connections", {"application.properties": "shop.db.connections = ${MOST:40}"}, 40),
        ("shop.db.pool-size", {"application.yml": "shop: {db: {poolSize: 40}}"}, 40),
        ("shop.db.poolSize", {"application.yml": "shop.db.pool_size: 4", "b.yml": "shop.db.pool-size: 40"}, 40),
        ("shop.db.connections", {"application.yml": "shop.db.connections: many"}, 10),
        ("shop.db.connections", {"application.yml": "shop.log.connections: 40"}, 10),
    ],
)
def test_a_key_of_springs_files_is_any_number_by_relaxed_binding(
    tmp_path: Path, asked: str, files: dict[str, str], most: int
) -> None:
    (tmp_path / "A.java").write_text(bean(f'@Value("${{{asked}:10}}") int size'))
    for name, text in files.items():
        (tmp_path / name).write_text(f"a.url: jdbc:mysql://h/x\n{text}\n")
    (file,) = in_environment(read_files([tmp_path])[0])
    (pool,) = checked_file(file, ServerFacts(), None).pools
    assert pool.most_connections == most
    is_default = "pool_only_defaults" in {finding.code for finding in pool.findings}
    assert is_default == (most == 10)
