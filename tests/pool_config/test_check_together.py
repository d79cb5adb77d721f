"""`poolsize config --check` on files and folders: the sum of their pools, the problems, and the exit code."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from poolsize.pool_config.check import checked_file
from poolsize.pool_config.files.programs import in_environment, read_files
from poolsize.pool_config.settings import ServerFacts
from tests.conftest import Command

ENGINE = "create_engine(u, pool_size={}, max_overflow=0, pool_recycle=1800)\n"
FLEET = ("--instances=6", "--processes=4")
SPRING = "spring:\n  datasource:\n    hikari:\n      maximum-pool-size: {}\n"


def checked(run: Command, *words: str, code: int) -> dict[str, Any]:
    done = run("config", "--check", *words, "--json")
    assert done.returncode == code, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    keys = {"files", "connections", "connections_in_deploy", "counts", "limit", "limit_is_default", "problems"}
    assert values.keys() == keys
    return values


@pytest.mark.costly
def test_the_limit_holds_for_the_sum_of_all_processes(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text(f"import x\n{ENGINE.format(200)}")
    words = ["db.py", *FLEET, "--max-connections=1000"]
    values = checked(poolsize_here, *words, code=3)
    assert (values["connections"], values["connections_in_deploy"], values["limit"]) == (4800, 6400, 990)
    (problem,) = values["problems"]
    message = problem.pop("message")
    assert problem == {"file": "db.py", "line": 2, "setting": "pool_size", "severity": "warning"}
    for number in ("6,400 connections", "4,800", "leaves 990", "The largest pool that fits has 30 connections"):
        assert number in message
    text = poolsize_here("config", "--check", *words).stdout
    assert message in " ".join(text.split())
    assert "No known problem" not in text


@pytest.mark.parametrize(("file", "files"), [(".env", 1), ("shop/.env", 1), ("other/.env", 2)])
def test_a_url_is_that_of_the_source_below_its_folder_only(
    poolsize_here: Command, tmp_path: Path, file: str, files: int
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "shop/db.py").write_text(ENGINE.format(10))
    (tmp_path / file).write_text("DATABASE_URL=mysql+aiomysql://u@h/b\n")
    done = poolsize_here("config", "--check", "shop/db.py", file)
    assert done.stdout.count("SQLAlchemy (") == files, done.stdout


@pytest.mark.parametrize(("size", "code"), [(30, 0), (31, 3)])
def test_the_largest_pool_that_fits_is_no_problem(poolsize_here: Command, tmp_path: Path, size: int, code: int) -> None:
    (tmp_path / "db.py").write_text(ENGINE.format(size))
    checked(poolsize_here, "db.py", *FLEET, "--max-connections=1000", code=code)


@pytest.mark.parametrize(
    ("words", "in_deploy"),
    [
        ((), 10),
        (("--instances=6",), 80),
        (("--instances=6", "--surge=0%"), 60),
        (("--instances=6", "--surge=100%"), 120),
        (("--instances=6", "--max-instances=12"), 150),
    ],
)
def test_a_deploy_at_the_autoscalers_maximum_counts(
    poolsize_here: Command, tmp_path: Path, words: tuple[str, ...], in_deploy: int
) -> None:
    (tmp_path / "db.py").write_text(ENGINE.format(10))
    values = checked(poolsize_here, "db.py", "--max-connections=200", *words, code=0)
    assert values["connections_in_deploy"] == in_deploy


def test_without_a_limit_the_default_holds(poolsize_here: Command, tmp_path: Path) -> None:
    """A fleet of 12 pools of 20 connections, with MySQL's default of 151."""
    (tmp_path / "a.properties").write_text("spring.datasource.hikari.maximum-pool-size=20\n")
    values = checked(poolsize_here, "a.properties", "--instances=12", code=3)
    assert (values["connections"], values["connections_in_deploy"], values["limit"]) == (240, 300, 141)
    assert "MySQL's default limit, 151, less --reserve, leaves 141" in values["problems"][0]["message"]
    assert values["limit_is_default"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), "--instances, --processes and --max-connections"),
        (("--max-connections=200",), "--instances and --processes"),
        (("--instances=2",), None),
        (("Procfile",), None),
    ],
)
def test_a_limit_that_is_not_checked_is_named(
    poolsize_here: Command, tmp_path: Path, words: tuple[str, ...], options: str | None
) -> None:
    (tmp_path / "db.py").write_text(ENGINE.format(10))
    (tmp_path / "Procfile").write_text("web: gunicorn -w 4 shop:app\n")
    text = " ".join(poolsize_here("config", "--check", "db.py", *words).stdout.split())
    named = f"Not checked: the server's limit for all processes together. Give {options}."
    assert (named in text, "No known problem." in text) == (options is not None, options is None)


@pytest.mark.costly
def test_a_proxys_limit_is_its_servers(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "maxscale.cnf").write_text("[a]\ntype=server\nmax_routing_connections=9\n")
    text = poolsize_here("config", "--check", "maxscale.cnf").stdout
    assert "the server's limit for all processes together. Give --max-connections." in " ".join(text.split())
    assert "Not checked" not in poolsize_here("config", "--check", "maxscale.cnf", "--max-connections=99").stdout


@pytest.mark.costly
def test_the_server_among_the_files_has_the_limit(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("spring.datasource.hikari.maximum-pool-size=20\n")
    (tmp_path / "my.cnf").write_text("[mysqld]\nmax_connections = 310\n")
    values = checked(poolsize_here, "a.properties", "my.cnf", "--instances=12", code=0)
    assert values["limit"] == 300
    assert not values["limit_is_default"]
    checked(poolsize_here, "a.properties", "my.cnf", "--instances=12", "--max-connections=309", code=3)


@pytest.mark.costly
def test_a_bean_has_the_numbers_of_the_properties_file_that_its_xml_names(
    poolsize_here: Command, tmp_path: Path
) -> None:
    numbers = "jdbc.maxActive=21\njdbc.maxWait=900\n"
    (tmp_path / "jdbc.properties").write_text(f"jdbc.url=jdbc:mysql://db/shop\n{numbers}")
    bean = '<bean id="a" class="com.alibaba.druid.pool.DruidDataSource"><property name="url" value="${jdbc.url}"/>'
    values = '<property name="maxActive" value="${jdbc.maxActive}"/><property name="maxWait" value="${other}"/></bean>'
    configurer = '<bean class="a.Configurer"><property name="location" value="classpath:jdbc.properties"/></bean>'
    (tmp_path / "beans.xml").write_text(f"<beans>{configurer}{bean}{values}</beans>")
    for words in (["."], ["beans.xml"]):
        (file,) = checked(poolsize_here, *words, code=0)["files"]
        (pool,) = file["pools"]
        assert (pool["library"], pool["most_connections"]) == ("Druid", 21)
        assert (pool["settings"]["maxActive"]["value"], pool["settings"]["maxWait"]["value"]) == (21, None)


@pytest.mark.costly
def test_files_of_a_server_only_have_no_pool_and_the_text_says_so(poolsize_here: Command, tmp_path: Path) -> None:
    service = "services:\n  db:\n    image: mariadb:11\n    command: --wait_timeout=600\n"
    (tmp_path / "compose.yml").write_text(service)
    assert "no pool of an application" in poolsize_here("config", "--check", "compose.yml").stdout
    (tmp_path / "a.properties").write_text("spring.datasource.hikari.maximum-pool-size=20\n")
    done = poolsize_here("config", "--check", "compose.yml", "a.properties")
    assert "no pool of an application" not in done.stdout


@pytest.mark.costly
@pytest.mark.parametrize(("most", "size"), [(0, 1), (5, 3), (5, 20), (10, 1)])
def test_a_limit_that_the_reserve_uses_up_leaves_no_connection(
    poolsize_here: Command, tmp_path: Path, most: int, size: int
) -> None:
    (tmp_path / "a.properties").write_text(f"spring.datasource.hikari.maximum-pool-size={size}\n")
    (tmp_path / "my.cnf").write_text(f"[mysqld]\nmax_connections = {most}\n")
    values = checked(poolsize_here, "a.properties", "my.cnf", code=3)
    assert (values["limit"], values["limit_is_default"]) == (0, False)
    message = values["problems"][-1]["message"]
    assert message.startswith(f"The pool may open {size} connection")
    assert message.endswith("leaves 0 connections for them. No pool fits: the reserve (--reserve) uses up the limit.")


def test_less_than_a_connection_for_each_pool_does_not_fit(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ENGINE.format(1) * 2)
    (problem,) = checked(poolsize_here, "a.py", "--instances=80", "--max-connections=130", code=3)["problems"]
    message = problem["message"]
    assert "may open 200 connections: 2 in each of 100 processes." in message
    assert "Usually they may open 160, in 80 processes." in message
    assert message.endswith("Not even 1 connection in each pool fits: there are 200 pools.")


@pytest.mark.costly
def test_several_files_and_folders_are_checked_each_once(poolsize_here: Command, tmp_path: Path) -> None:
    for name in ("shop/a.py", "shop/api/b.py", "other.py", *(f"shop/{name}/c.py" for name in (
        ".git", "node_modules", "venv", "target", "build", "vendor", "tests"
    ))):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(ENGINE.format(5))
    (tmp_path / "shop/no_pool.py").write_text("x = 1\n")
    (tmp_path / "shop/readme.txt").write_text(ENGINE.format(5))
    (tmp_path / "shop/link.py").symlink_to(tmp_path / "other.py")
    (tmp_path / "shop/again").symlink_to(tmp_path / "shop")
    values = checked(poolsize_here, "shop/a.py", "shop", "--check", "other.py", "./shop", code=0)
    assert [file["file"] for file in values["files"]] == ["shop/a.py", "other.py", "shop/api/b.py"]
    assert values["connections"] == 15


@pytest.mark.costly
def test_a_file_in_a_folder_that_can_not_be_read_is_named(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ENGINE.format(5))
    (tmp_path / "b.py").write_text("print 'a pool of Python 2'\n")
    done = poolsize_here("config", "--check", ".")
    assert done.returncode == 0
    assert "up to 5 connections" in done.stdout
    assert done.stderr.startswith("poolsize: not checked: b.py: no Python")
    assert poolsize_here("config", "--check", "a.py", "b.py").returncode == 2


@pytest.mark.costly
def test_a_named_file_without_pools_is_named_beside_files_with_pools(poolsize_here: Command, tmp_path: Path) -> None:
    """As a shell's `src/*.py` names them."""
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text(ENGINE.format(5))
    done = poolsize_here("config", "--check", "a.py", "b.py")
    assert done.returncode == 0
    assert "up to 5 connections" in done.stdout
    assert done.stderr.startswith("poolsize: not checked: a.py has no settings of a pool")
    assert poolsize_here("config", "--check", "a.py", "a.py").returncode == 2


@pytest.mark.costly
def test_a_file_of_a_folder_without_a_word_of_pools_is_not_parsed(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ENGINE.format(5))
    (tmp_path / "b.py").write_text("print 'of Python 2'\n")
    assert poolsize_here("config", "--check", ".").stderr == ""
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "c.yml").symlink_to("c.yml")
    assert poolsize_here("config", "--check", ".").stderr.startswith("poolsize: not checked: c.yml can't be read")


def test_a_folder_without_pools_is_refused(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x = 1\n")
    done = poolsize_here("config", "--check", "src")
    assert (done.returncode, done.stdout) == (2, "")
    assert "src: no file in this folder has settings of a pool" in done.stderr


def test_a_folder_without_pools_has_the_errors_of_its_files(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print 'mysql of Python 2'\n")
    done = poolsize_here("config", "--check", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "knows and can read; not checked: a.py: no Python" in done.stderr
    for name in "bcd":
        (tmp_path / f"{name}.py").write_text("print 'mysql of Python 2'\n")
    several = poolsize_here("config", "--check", ".").stderr
    assert [several.count(words) for words in ("not checked: ", "; b.py: no", "; c.py: no", "; d.py: no")] == [1] * 4


OF_DRUID = "package {}; class A {{ void f() {{ var d = new DruidDataSource(); d.setUrl(u); d.setMaxActive({}); }} }}"


@pytest.mark.parametrize(
    ("folder", "package", "more", "answer"),
    [
        ("src/com/shop/test", "com.shop.test", "", 6),
        ("src/com/shop/test", "com.shop.test", "src/A.java", 4),
        ("src/com/shop/test/db", "com.shop.test.db", "", 6),
        ("src/test/java/com/shop", "com.shop", "", "src/test"),
        ("src/test", "test", "", "src/test"),
        ("com/shop/test", "com.shop.more.test", "", "com/shop/test"),
    ],
)
def test_a_package_of_java_with_the_name_of_tests_is_read_where_nothing_else_has_a_pool(
    poolsize_here: Command, tmp_path: Path, folder: str, package: str, more: str, answer: int | str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "A.java").write_text(OF_DRUID.format(package, 6))
    if more:
        (tmp_path / more).write_text(OF_DRUID.format("a", 4))
    done = poolsize_here("config", "--check", ".", "--json")
    if isinstance(answer, int):
        assert json.loads(done.stdout)["connections"] == answer
    else:
        assert (
            f"can read; not read because of their names: {answer} (to check such a file or folder, name it)"
            in done.stderr
        )


@pytest.mark.parametrize(
    ("tests", "named"), [(1, "a1_test.go (to"), (4, "a1_test.go, a2_test.go, a3_test.go and 1 other (to")]
)
def test_a_test_of_go_is_named_where_nothing_else_has_a_pool(
    poolsize_here: Command, tmp_path: Path, tests: int, named: str
) -> None:
    for number in range(1, tests + 1):
        (tmp_path / f"a{number}_test.go").write_text(
            'package a\nfunc f() {\n\tdb, _ := sql.Open("mysql", d)\n\tdb.SetMaxOpenConns(7)\n}\n'
        )
    (tmp_path / "a0_test.go").write_text("package a\n")
    done = poolsize_here("config", "--check", ".")
    assert f"not read because of their names: {named} check such a file or folder, name it)" in done.stderr
    assert checked(poolsize_here, "a1_test.go", code=3)["connections"] == 7


RAILS = "production: {{adapter: mysql2, pool: {}}}\n"
VARIABLE = "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE={}\n"


@pytest.mark.parametrize(
    ("name", "copied", "text"),
    [
        ("database.yml.sample", "database.yml", RAILS),
        ("database.example.yml", "database.yml", RAILS),
        ("application.yml.DIST", "application.yml", SPRING),
        ("application-local.example.yml", "application-local.yml", SPRING),
        ("hikari.properties.template", "hikari.properties", "maximumPoolSize={}\n"),
        (".env.template", ".env", VARIABLE),
        ("env.example", ".env", VARIABLE),
        ("example.env", ".env", VARIABLE),
        ("database.yml.sample", "config/database.yml", RAILS),
    ],
)
def test_a_template_counts_as_the_file_to_which_people_copy_it(
    poolsize_here: Command, tmp_path: Path, name: str, copied: str, text: str
) -> None:
    (tmp_path / name).write_text(text.format(7))
    assert checked(poolsize_here, ".", code=0)["connections"] == 7
    assert f"({name}, a template" in poolsize_here("config", "--check", name).stdout
    (tmp_path / copied).parent.mkdir(exist_ok=True)
    (tmp_path / copied).write_text(text.format(5))
    (file,) = checked(poolsize_here, ".", code=0)["files"]
    assert (file["file"], file["pools"][0]["most_connections"]) == (copied, 5)


def test_templates_of_the_same_file_are_alternatives(poolsize_here: Command, tmp_path: Path) -> None:
    for size, ending in ((5, "sample"), (6, "dist")):
        (tmp_path / f"database.yml.{ending}").write_text(RAILS.format(size))
    assert checked(poolsize_here, ".", code=0)["connections"] == 6


@pytest.mark.parametrize("name", ["db.py", "settings.py"])
def test_an_example_of_source_is_not_read_beside_the_source(poolsize_here: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name.replace(".", ".example.")).write_text(ENGINE.format(7))
    assert checked(poolsize_here, ".", code=0)["connections"] == 7
    (tmp_path / name).write_text(ENGINE.format(5))
    assert checked(poolsize_here, ".", code=0)["connections"] == 5


@pytest.mark.parametrize("size", ["{{ pool }}", "{{ .Values.pool }}", "<%= ENV['POOL'] %>", "${POOL}"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("database.yml", "production:\n  adapter: mysql2\n  pool: {}\n"),
        ("application.yml", SPRING),
        (".env", VARIABLE),
    ],
)
def test_a_number_that_a_template_leaves_open_is_not_known(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, size: str
) -> None:
    (tmp_path / f"{name}.example").write_text(text.format(size))
    (file,) = checked(poolsize_here, ".", code=0)["files"]
    assert file["pools"][0]["most_connections"] is None


@pytest.mark.parametrize("name", ["db.go.tmpl", "database.yml.tmpl", "db.py.sample", "notes.sample"])
def test_a_template_of_source_is_not_read(poolsize_here: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(ENGINE.format(5))
    assert "poolsize reads" in poolsize_here("config", "--check", name).stderr


@pytest.mark.costly
def test_a_profile_is_no_further_pool(poolsize_here: Command, tmp_path: Path) -> None:
    profile = "---\nspring.config.activate.on-profile: prod\nspring.datasource.hikari.maximum-pool-size: 50\n"
    (tmp_path / "application.yml").write_text(SPRING.format(10) + profile)
    (tmp_path / "application-test.yml").write_text(SPRING.format(3))
    (tmp_path / "reports.yml").write_text("hikari:\n  maximum-pool-size: 7\n")
    values = checked(poolsize_here, ".", "--max-connections=100", code=0)
    assert (len(values["files"]), values["connections"]) == (3, 57)
    text = poolsize_here("config", "--check", ".", "--max-connections=60").stdout
    assert "The pools of each process may together have 50 connections." in " ".join(text.split())


@pytest.mark.costly
@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("db-reader.js", "db-writer.js"), "require('mysql2').createPool({{connectionLimit: {}}})\n"),
        (("hikari-orders.properties", "hikari-users.properties"), "maximumPoolSize={}\n"),
        (("db.js", "db.ts"), "require('mysql2').createPool({{connectionLimit: {}}})\n"),
    ],
)
def test_files_that_are_no_profiles_have_pools_of_their_own(
    poolsize_here: Command, tmp_path: Path, names: tuple[str, str], text: str
) -> None:
    for name, size in zip(names, (100, 90), strict=True):
        (tmp_path / name).write_text(text.format(size))
    done = poolsize_here("config", "--check", *names, "--max-connections=1000", "--json")
    assert json.loads(done.stdout)["connections"] == 190


@pytest.mark.parametrize(
    ("folder", "names", "connections"),
    [
        ("config", ("default.js", "test.js"), 18),
        ("config", ("default.js", "orders.js"), 30),
        ("src", ("default.js", "test.js"), 30),
    ],
)
def test_a_file_of_an_environment_replaces_that_of_another(
    poolsize_here: Command, tmp_path: Path, folder: str, names: tuple[str, str], connections: int
) -> None:
    """The files of node-config, in each of which two pools have a line."""
    pool = "module.exports = {{db: {{dialect: 'mysql', host: 'h', replication: {{}}, pool: {{max: {}}}}}}}\n"
    (tmp_path / folder).mkdir()
    for name, size in zip(names, (6, 9), strict=True):
        (tmp_path / folder / name).write_text("\n" * size + pool.format(size))
    assert checked(poolsize_here, folder, code=0)["connections"] == connections


PRISMA = 'datasource db {\n  provider = "mysql"\n  url = env("URL")\n}\n'
ADAPTER = "const adapter = new PrismaMariaDb({host: 'h', connectionLimit: 7});\n"
LIMITED = "new PrismaClient({datasources: {db: {url: limited(process.env.MYSQL_URL)}}});\n"


@pytest.mark.parametrize(
    ("schema", "source", "places"),
    [
        ("prisma", f"{ADAPTER}new PrismaClient({{ adapter }})", ["PrismaMariaDb, line 1"]),
        ("prisma", LIMITED, ["PrismaClient, line 1"]),
        ("prisma", f"{ADAPTER}new PrismaClient()", ["datasource db", "PrismaMariaDb, line 1"]),
        ("prisma", f"{LIMITED}new PrismaClient()", ["datasource db", "further PrismaClient, line 1"]),
        ("other/prisma", LIMITED, ["datasource db", "PrismaClient, line 1"]),
    ],
)
def test_a_client_with_an_adapter_or_a_url_replaces_the_pool_of_the_schema(
    poolsize_here: Command, tmp_path: Path, schema: str, source: str, places: list[str]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/db.ts").write_text(source)
    (tmp_path / schema).mkdir(parents=True)
    (tmp_path / schema / "schema.prisma").write_text(PRISMA)
    values = json.loads(poolsize_here("config", "--check", ".", "--json").stdout)
    assert sorted(pool["place"] for file in values["files"] for pool in file["pools"]) == sorted(places)


@pytest.mark.parametrize(
    ("other", "has_schema"),
    [
        ("export const prisma = new PrismaClient();", True),
        ("export const prisma = new PrismaClient({ log: ['query'] });", True),
        ("class Service extends PrismaClient implements OnModuleInit {}", True),
        (f"{ADAPTER}new PrismaClient()", True),
        (f"{LIMITED}new PrismaClient()", True),
        ("import { adapter } from './a';\nnew PrismaClient({ adapter });", False),
        ("class Service extends PrismaClient { constructor() { super({ adapter }); } }", False),
        ("import { prisma } from './prisma';", False),
    ],
)
def test_a_client_beside_that_of_a_script_has_the_pool_of_the_schema(
    poolsize_here: Command, tmp_path: Path, other: str, *, has_schema: bool
) -> None:
    (tmp_path / "schema.prisma").write_text(PRISMA)
    (tmp_path / "db.ts").write_text(other)
    (tmp_path / "import.ts").write_text(LIMITED)
    values = json.loads(poolsize_here("config", "--check", ".", "--json").stdout)
    places = {pool["place"] for file in values["files"] for pool in file["pools"]}
    assert "PrismaClient, line 1" in places
    assert ("datasource db" in places) == has_schema


def test_the_limit_of_a_url_that_a_function_makes_is_not_followed(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.ts").write_text(LIMITED)
    text = " ".join(poolsize_here("config", "--check", "db.ts").stdout.split())
    assert "connection_limit is not checked: the file does not contain its value (limited(process.env." in text
    assert "CPUs" not in text


OPTIONS = "{ dialect: 'mysql', pool: { max: 15, min: 0 } }"
MADE = "import c from './db.config';\nnew Sequelize('d', 'u', 'p', "
MIKRO = "import { defineConfig } from '@mikro-orm/mysql';\nimport c from './db.config';\n"
IMPORTS = [
    ("db.config.js", f"module.exports = {OPTIONS};", f"{MADE}{{ dialect: c.dialect, pool: {{ max: c.pool.max }} }});",
     {"made.js": [(15, 2)]}),
    ("db.config.js", f"const size = 15;\nmodule.exports = {OPTIONS.replace('15', 'size')};",
     "const c = require('./db.config.js');\nconst size = 4;\nnew Sequelize('d', 'u', 'p', {...c, pool: c.pool});",
     {"made.js": [(15, 1)]}),
    ("db.config.json", '{"host": "h", "user": "u", "connectionLimit": 15}',
     "const mysql = require('mysql2');\nconst c = require('./db.config.json');\nmysql.createPool({...c});",
     {"made.js": [(15, 2)]}),
    ("db.config.ts", "const c = { dbName: 'd', user: 'u' };\nexport default c;",
     f"{MIKRO}export default defineConfig({{ ...c, host: 'h' }});", {"made.js": [(10, 0)]}),
    ("db.config.js", f"module.exports = (e) => ({OPTIONS});",
     f"{MADE}{{ dialect: 'mysql', pool: {{ max: c.max }} }});",
     {"db.config.js": [(15, 1)], "made.js": [(None, 2)]}),
    ("db.config.js", f"module.exports = {OPTIONS}; )", f"{MADE}{{ dialect: 'mysql', pool: {{ max: c.pool.max }} }});",
     {"db.config.js": [(15, 1)], "made.js": [(None, 2)]}),
    ("db.config.js", f"module.exports = new Sequelize('d', 'u', 'p', {OPTIONS});",
     f"{MADE}{{ dialect: 'mysql', pool: {{ max: 7, min: c.min }} }});",
     {"db.config.js": [(15, 1)], "made.js": [(7, 2)]}),
    ("db.config.js", f"module.exports = {{ production: {OPTIONS} }};", f"{MADE}{{ ...c[process.env.NODE_ENV] }});",
     {"db.config.js": [(15, 1)]}),
]  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize(("name", "configuration", "made", "pools"), IMPORTS)
def test_a_configuration_that_the_source_of_the_pool_imports_is_no_further_pool(
    tmp_path: Path, name: str, configuration: str, made: str, pools: dict[str, list[tuple[int | None, int]]]
) -> None:
    (tmp_path / name).write_text(configuration)
    (tmp_path / "made.js").write_text(f"{made}\n")
    files = [checked_file(file, ServerFacts(), None) for file in in_environment(read_files([tmp_path])[0])]
    sizes = {
        file.path.name: [
            (each.most_connections, max((setting.line for setting in each.pool.settings.values()), default=0))
            for each in file.pools
        ]
        for file in files
    }
    assert sizes == pools


OTHERWISE = "{ client: 'mysql2', connection: {}, pool: { min: 0, max: 7 } }"


@pytest.mark.parametrize(
    ("source", "in_module", "connections", "named"),
    [
        (f"let own; try {{ own = require('./own') }} catch {{}}\nknex(own ? (own.a || own.b) : {OTHERWISE})", 12, 12,
         "without ./own"),
        (f"import own from './own'\nconst options = own.live ?? {OTHERWISE}\nknex(options)", 3, 7, "without ./own"),
        (f"const own = require('./of_others')\nknex(own || ({OTHERWISE}))", 3, 10, "without ./of_others"),
        (f"const own = require('./own')\nknex(own.isLive ?\n{OTHERWISE}\n: {OTHERWISE.replace('7', '5')})", 3, 10,
         "alternative in line 4"),
    ],
)  # fmt: skip
def test_options_for_where_a_module_is_not_there_are_no_further_pool(
    poolsize_here: Command, tmp_path: Path, source: str, in_module: int, connections: int, named: str
) -> None:
    (tmp_path / "db.js").write_text(f"const knex = require('knex')\n{source}")
    (tmp_path / "own.js").write_text(f"module.exports = {{ live: {OTHERWISE.replace('7', str(in_module))} }}")
    assert checked(poolsize_here, ".", code=0)["connections"] == connections
    assert named in poolsize_here("config", "--check", "db.js").stdout


def test_a_name_holds_a_pool_or_a_cluster(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.js").write_text(
        "const mysql = require('mysql2');\nconst options = {host: 'h', user: 'u', connectionLimit: live ? 9 : 4};\n"
        "if (nodes) {\n  db = mysql.createPoolCluster();\n"
        "  nodes.forEach((host) => db.add(host, Object.assign({}, options, {host})));\n"
        "} else {\n  db = mysql.createPool(options);\n}\n"
    )
    values = json.loads(poolsize_here("config", "--check", "db.js", "--json").stdout)
    assert [pool["place"] for pool in values["files"][0]["pools"]] == [
        "db, createPoolCluster, add, line 5", "db, createPool, line 7"
    ]  # fmt: skip
    assert values["connections"] == 9


def test_a_name_of_two_values_is_shown_with_both(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.js").write_text(
        "const connectionLimit = live ? 9 : 4;\nrequire('mysql2').createPool({connectionLimit});\n"
    )
    assert "live ? 9 : 4     2" in poolsize_here("config", "--check", "db.js").stdout


@pytest.mark.costly
@pytest.mark.parametrize("ending", ["yml", "yaml", "properties"])
def test_files_of_profiles_are_no_further_pools(poolsize_here: Command, tmp_path: Path, ending: str) -> None:
    line = "spring.datasource.hikari.maximum-pool-size" + ("={}\n" if ending == "properties" else ": {}\n")
    for name, size in (("application", 10), ("application-prod", 50), ("application-eu-test", 3)):
        (tmp_path / f"{name}.{ending}").write_text(line.format(size))
    assert checked(poolsize_here, ".", code=0)["connections"] == 50


@pytest.mark.costly
def test_a_pool_of_unknown_size_is_left_out_of_the_sum(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ENGINE.format(5) + "create_engine(u, **options)\n")
    text = " ".join(poolsize_here("config", "--check", "a.py", "--instances=2").stdout.split())
    assert (
        "may open 10 connections in 2 processes, and 15 in a rolling deploy. MySQL's default limit, 151, less" in text
    )
    assert "The pools of all processes together may open" in text
    assert text.endswith("Not counted: 1 pool of unknown size.")
    (tmp_path / "c.go").write_text("package a\nfunc f() { d.SetMaxIdleConns(9) }\n")
    text = poolsize_here("config", "--check", "a.py", "c.go", "--instances=2").stdout
    assert " ".join(text.split()).endswith("Not counted: 1 pool of unknown size and 1 pool without a limit.")
    (tmp_path / "b.py").write_text("create_engine(u, **options)\n")
    values = checked(poolsize_here, "b.py", "--instances=2", code=0)
    assert values["connections"] is None
    assert [problem["severity"] for problem in values["problems"]] == ["reason"]


@pytest.mark.costly
def test_problems_have_their_line_and_a_departure_from_advice_is_no_failure(
    poolsize_here: Command, tmp_path: Path
) -> None:
    (tmp_path / "application.yml").write_text(SPRING.format(9) + "      minimum-idle: 5\n")
    (problem,) = checked(poolsize_here, "application.yml", code=0)["problems"]
    assert (problem["line"], problem["setting"], problem["severity"]) == (5, "minimumIdle", "reason")
    (tmp_path / "hikari.properties").write_text("maximumPoolSize=9\nmaximum-pool-size=9\nleakDetectionThreshold=soon\n")
    problems = checked(poolsize_here, "hikari.properties", code=3)["problems"]
    assert [(problem["line"], problem["setting"]) for problem in problems] == [
        (3, "leakDetectionThreshold"), (2, "maximum-pool-size")
    ]  # fmt: skip


def test_a_default_has_no_line(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("create_engine(u)")
    problems = checked(poolsize_here, "db.py", code=3)["problems"]
    assert [(each["line"], each["setting"]) for each in problems] == [(None, "pool_recycle"), (None, "pool_size")]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["a.py"], "a.py: only --check takes files"),
        (["--check", "a.py", "--app-threads=3"], "--app-threads also needs the recommended connections"),
        (["--check", "--json", "."], "--check --json: name a file or a folder right after --check, as in --check . "),
        (["--check", "a.py", "--reserve=200"], "--reserve 200: keep fewer than --max-connections 151"),
    ],
)
def test_what_a_check_can_not_use_is_refused(
    poolsize_here: Command, tmp_path: Path, words: list[str], line: str
) -> None:
    (tmp_path / "a.py").write_text(ENGINE.format(5))
    done = poolsize_here("config", *(["--for", "go", "--size=9"] if words == ["a.py"] else []), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr


@pytest.mark.costly
def test_a_bootstrap_file_sets_the_same_pool_as_the_applications_file(poolsize_here: Command, tmp_path: Path) -> None:
    for name, size in (("application.yml", 20), ("bootstrap.yml", 50), ("bootstrap-prod.yml", 30)):
        (tmp_path / name).write_text(f"spring.datasource.hikari.maximum-pool-size: {size}\n")
    assert json.loads(poolsize_here("config", "--check", ".", "--json").stdout)["connections"] == 50


def lines_of(run: Command, folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the lines that a check of a folder with these files prints."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return run("config", "--check", str(folder)).stdout.splitlines()


GO_POOL = (
    'package db\nimport _ "github.com/go-sql-driver/mysql"\n'
    'func Open(c *Config) {{\n  db, _ := sql.Open("mysql", c.DSN())\n  db.SetMaxOpenConns({})\n}}\n'
)


@pytest.mark.parametrize(
    ("name", "text", "size"),
    [
        ("app.yml", "database:\n  driver: mysql\n  max_conn: 12\n", 12),
        ("app.ini", "[database]\nhost = h\ndriver = mysql\nmax_conn = 12\n", 12),
        ("app.yml", "redis:\n  driver: redis\n  max_conn: 12\n", 0),
        ("db.js", "module.exports = { host: 'h', user: 'u', maxConn: 12, database: 'shop' }\n", 0),
    ],
)
def test_a_size_of_the_projects_own_is_that_of_the_field_in_go_with_its_name(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, size: int
) -> None:
    lines = lines_of(poolsize_here, tmp_path, {"db.go": GO_POOL.format("c.MaxConn"), name: text})
    of_go = f"Go's database/sql (db.go, db, line 5){f', up to {size} connections' if size else ''}"
    assert of_go in lines, lines
    assert not size or sum(line.endswith("connections") for line in lines) == 1


@pytest.mark.parametrize(("limit", "pools"), [("c.MaxOpenConns", 1), ("c.Conf().MaxOpenConns", 1), ("30", 2)])
def test_a_file_in_go_that_passes_the_fields_of_a_limit_on_has_no_pool(
    poolsize_here: Command, tmp_path: Path, limit: str, pools: int
) -> None:
    """A limit that is a number has nothing to do with the fields."""
    passes = "package conf\nvar m = &mysql.Config{MaxOpenConns: o.MaxOpenConns, MaxIdleConns: o.MaxIdleConns}\n"
    lines = lines_of(poolsize_here, tmp_path, {"pkg/db.go": GO_POOL.format(limit), "conf/db.go": passes})
    assert sum(" (" in line and ".go, " in line for line in lines) == pools, lines


NEST = (
    "TypeOrmModule.forRoot({ type: 'mysql', database: 'shop', username: 'u', autoLoadEntities: true,"
    " extra: { connectionLimit: 10, queueLimit: 5 } })\n"
)
OPTIONS_OF_TYPEORM = (
    "const options = { type: 'mysql', database: 'a', username: 'u', migrations: ['m'] }\n"
    "export const a = new DataSource(options)\n"
)
DATA_SOURCE = "export default new DataSource({ type: 'mysql', database: 'shop', username: 'u', migrations: ['m'] })\n"


@pytest.mark.parametrize(
    ("files", "connections"),
    [
        ({"app.module.ts": NEST, "data-source.ts": DATA_SOURCE}, 10),
        ({"app.module.ts": NEST, "typeorm.config.ts": DATA_SOURCE}, 10),
        ({"app.module.ts": NEST, "orders.ts": DATA_SOURCE}, 20),
        ({"orders.ts": DATA_SOURCE, "data-source.ts": DATA_SOURCE}, 20),
        ({"main.ts": OPTIONS_OF_TYPEORM, "data-source.ts": DATA_SOURCE}, 20),
        ({"a/package.json": "", "b/package.json": "", "a/app.module.ts": NEST, "b/data-source.ts": DATA_SOURCE}, 20),
    ],
)
def test_the_data_source_of_the_typeorm_command_is_no_pool_of_the_nestjs_application(
    poolsize_here: Command, tmp_path: Path, files: Mapping[str, str], connections: int
) -> None:
    head = "import { DataSource } from 'typeorm'\n"
    lines_of(poolsize_here, tmp_path, {name: text and head + text for name, text in files.items()})
    done = poolsize_here("config", "--check", str(tmp_path), "--json", "--max-connections=500")
    assert json.loads(done.stdout)["connections"] == connections, done.stdout


def test_options_that_no_driver_of_node_has_are_named(poolsize_here: Command, tmp_path: Path) -> None:
    options = "connectionLimit: 5, queueLimit: 9, timeout: 9, reconnect: true"
    pools = {f"{driver}.js": f"require('{driver}').createPool({{ {options} }})\n" for driver in ("mysql", "mysql2")}
    nest = "TypeOrmModule.forRoot({ type: 'mysql', username: 'u', database: 'd', extra: { OPTIONS } })\n"
    pools["app.module.ts"] = nest.replace("OPTIONS", options)
    text = "\n".join(lines_of(poolsize_here, tmp_path, pools))
    assert text.count(" ignores timeout: ") == text.count(" ignores reconnect: ") == 3, text
