"""Pools that a project's own names configure, and pools that the text beside them shows to be MySQL's."""

from pathlib import Path

import pytest

from poolsize.pool_config.all_pools import pools_of_process
from poolsize.pool_config.check import check_pools, checked_file
from poolsize.pool_config.files.programs import read_files
from poolsize.pool_config.files.reading import NoPools, read_pools
from poolsize.pool_config.settings import ServerFacts

ENV = "DB_HOST=db\nDB_PASSWORD=secret\n"
SERVICE = "services:\n  web:\n    image: web\n    environment:\n"
SIZES: tuple[tuple[str, str, list[tuple[str, int | None]]], ...] = (
    # Go: YAML
    ("a.yml", "store:\n  mysql-main:\n    maxConns: 30\n    maxIdleConns: 30\n", [("own Go code", 30)]),
    ("a.yml", "mysql:\n  path: 10.0.0.1\n  max-open-conns: 80\n  max-idle-conns: 8\n", [("own Go code", 80)]),
    ("a.yml", "data:\n  driver: mysql\n  source: u:secret@tcp(db)/d\n  max_open_conn: 7\n", [("own Go code", 7)]),
    # Go: defaults of fields that another file sets
    ("a.go", 'package mysql\nfunc (c *Config) SetDefault() {\n\tc.MaxOpenConns = 40\n\tc.MaxIdleConns = 25\n}\n',
     [("own Go code", 40)]),
    ("a.go", 'package a\ntype mysql struct {\n\tMaxOpenConn int `env:"M" envDefault:"30"`\n}\n', [("own Go code", 30)]),
    ("a.go", 'package mysql\nvar d = Config{MaxOpenConnections: 20, MaxLifetime: time.Hour}\n', [("own Go code", 20)]),
    ("a.go", "package a\nconst (\n\tMYSQL_MAX_OPEN_CONNS = 10\n\tMYSQL_CONN_MAX_LIFETIME = 5 * time.Minute\n)\n",
     [("own Go code", 10)]),
    ("a.yaml", "database:\n  default:\n    link: mysql:u:secret@tcp(db:3306)/d\n    maxOpen: 80\n",
     [("own Go code", 80)]),
    # JavaScript: an object that another file hands to the driver
    ("a.js", "module.exports = {HOST: process.env.H, USER: 'u', CONNECTION_LIMIT: process.env.L || 14}",
     [("its size", 14)]),
    # Python and others: YAML
    ("a.yml", "mysql:\n  pool_size: 10\n  max_overflow: 15\n", [("own Python code", 25)]),
    ("a.yml", "mysql:\n  host: db\n  max_connections: 600\n  stale_timeout: 9\n", [("its size", 600)]),
    ("a.ini", "[app:main]\nsqlalchemy.url = mysql://db/d\nsqlalchemy.pool_size = 5\nsqlalchemy.max_overflow = 3\n",
     [("own Python code", 8)]),
    # a group of the pool below the address
    ("a.yml", "database:\n  type: mysql\n  host: db\n  pool:\n    max: 20\n    min: 5\n", [("its size", 20)]),
    ("a.yml", "mysql:\n  host: db\n  pool:\n    size: 20\n    max_overflow: 10\n", [("own Python code", 30)]),
    ("a.yml", "database:\n  driver: mysql\n  host: db\n  pool:\n    maxOpenConns: 5\n", [("own Go code", 5)]),
    ("a.json", '{"database": {"type": "mysql", "host": "db", "pool": {"maxSize": 9}}}', [("its size", 9)]),
    # the environment
    # as in wsantin/fastapi-mysql, .env.example
    (".env", "SQLALCHEMY_DATABASE_URI=mysql://u:secret@db/d\nSQLALCHEMY_ENGINE_OPTIONS_POOL_RECYCLE=280\n",
     [("own Python code", None)]),
    ("compose.yml", (f"{SERVICE}      SPRING_APPLICATION_JSON: '{{\"spring.datasource.url\": \"jdbc:mysql://db/d\", "
     "\"spring\": {\"datasource.hikari\": {\"maximum-pool-size\": 25}}}'\n"), [("HikariCP", 25)]),
    (".env", f"{ENV}DB_DIALECT=mysql\nDB_POOL_SIZE=12\n", [("its size", 12)]),
    (".env", f"{ENV}DATABASE_URL=mysql://u:secret@db/d\nDB_MAX_CONNECTIONS='9'\n", [("its size", 9)]),
    (".env", "MYSQL_HOST=db\nMYSQL_CONNECTION_LIMIT=30\n", [("its size", 30)]),
    ("compose.yml", f"{SERVICE}      MYSQL_HOST: db\n      DB_POOL_SIZE: ${{SIZE:-14}}\n", [("its size", 14)]),
    ("compose.yml", f"{SERVICE}      DATABASE_URL: mysql://u:secret@db/d?connection_limit=6\n", [("Prisma", 6)]),
    (".env", "A_URL=jdbc:postgresql://db/d\nB_URL=mysql://u:secret@db/d?connection_limit=6\n", [("Prisma", 6)]),
    ("compose.yml", f"{SERVICE}      - SHOP_DATABASE_TYPE=mysql\n      - SHOP_DATABASE_MAX_OPEN_CONN=250\n",
     [("own Go code", 250)]),
    (".env", "A_DB_URL=mysql://u:secret@db/a\nA_DB_POOL_SIZE=4\nB_DB_HOST=b\nB_DB_POOL_SIZE=5\nREDIS_DB_POOL_SIZE=9\n",
     [("its size", 4), ("its size", 5)]),
    ("compose.yml", f"{SERVICE}      SHOP__database__DB_TYPE: mysql\n      SHOP__database__MAX_OPEN_CONNS: 90\n",
     [("own Go code", 90)]),
    (".env", "A__SQL_ALCHEMY_CONN=mysql://u:secret@db/a\nA__SQL_ALCHEMY_POOL_SIZE=20\nA__SQL_ALCHEMY_MAX_OVERFLOW=30\n",
     [("own Python code", 50)]),
    (".env", f"{ENV}DB_TYPE=mysql\nDB_POOL_SIZE=5\nTEST_DB_HOST=db\nTEST_DB_POOL_SIZE=5\n", [("its size", 5)]),
    (".env", "DATABASE_URL=mysql://u:secret@db/d\nDATABASE_MAX_CONNS=32\nDATABASE_MIN_CONNS=4\n", [("its size", 32)]),
    ("compose.yml", f"{SERVICE}      - F_HIKARI_MAXIMUM_POOL_SIZE=10\n      - F_HIKARI_JDBC_URL=jdbc:mariadb://db/f\n",
     [("HikariCP", 10)]),
    (".env", f"{ENV}DB_PORT=3306\nHIKARI_MAX_POOL_SIZE=20\nHIKARI_MIN_IDLE=10\n", [("HikariCP", 20)]),
    ("compose.yml", f"{SERVICE}      - DSN=mysql://u:secret@tcp(db:3306)/d?max_conns=40&max_idle_conns=8\n",
     [("own Go code", 40)]),
    # the library or the driver shows elsewhere
    # cdavisong/aDVance-ERP: aDVanceERP.Core/Modelos/DB/ConfServidorMySQL.cs
    ("a.cs", 'class ConfMySQL { string F() { return $"Server={H};Database={D};User Id={U};Max Pool Size=90;"; } }',
     [("MySqlConnector", 90)]),
    ("a.ts", ("import { registerAs } from '@nestjs/config'\n"
              "export default registerAs('d', () => ({ type: 'mysql', host: 'h', username: 'u', database: 'd' }))"),
     [("TypeORM", 10)]),
    ("a.py", "import aiomysql.sa as s\nasync def f():\n    e = await s.create_engine(user='u', maxsize=8)",
     [("aiomysql", 8)]),
    ("a.py", "from aiomysql.sa import create_engine\nasync def f():\n    await create_engine(db='d')",
     [("aiomysql", 10)]),
    ("a.py", "import mariadb\nq = mariadb.ConnectionPool(pool_name='q', pool_size=12)", [("MariaDB Conn", 12)]),
    ("a.py", "import mariadb\nc = mariadb.connect(pool_name='q', host='db')", [("MariaDB Conn", 5)]),
    # as in SangonomiyaKoko/KokomiPJ_API_Main, app/db/mysql.py
    ("a.py", ("import aiomysql\nclass MySQLConnectionPool:\n    async def f(self):\n"
     "        self.pool = await aiomysql.create_pool(host='db', minsize=10, maxsize=20)\npool = MySQLConnectionPool()"),
     [("aiomysql", 20)]),
    # as in veops/cmdb, cmdb-api/settings.example.py
    ("a.py", ("SQLALCHEMY_DATABASE_URI = f'mysql+pymysql://{USER}@db/d'\nSQLALCHEMY_BINDS = {\n"
     "    'a': SQLALCHEMY_DATABASE_URI, 'b': {'url': URL, 'pool_size': 2}, 'c': 'postgresql://db/d'}\n"
     "SQLALCHEMY_ENGINE_OPTIONS = {'pool_size': 3, 'pool_recycle': 300}\n"),
     [("Flask-SQLAlchemy", 13), ("Flask-SQLAlchemy", 15), ("Flask-SQLAlchemy", 12)]),
    ("a.py", "SQLALCHEMY_DATABASE_URI = 'sqlite:///a.db'\nSQLALCHEMY_BINDS = {'a': 'mysql://db/d', 'b': URL}\n",
     [("Flask-SQLAlchemy", 15)]),
    ("a.py", ("SQLALCHEMY_DATABASE_URI = 'mysql://db/d'\nSQLALCHEMY_POOL_SIZE = 20\n"
     "SQLALCHEMY_BINDS = {'a': 'mysql://db/e'}\n"), [("Flask-SQLAlchemy 2", 30), ("Flask-SQLAlchemy 2", 30)]),
    (
        "a.go",
        ('package a\nfunc f(c C) {\n\tif c.Kind == sqliteKind {\n\t\tdb, _ = sql.Open("sqlite3", c.File)\n\t\t'
         'db.SetMaxOpenConns(1)\n\t} else {\n\t\tdsn := fmt.Sprintf("%s:%s@tcp(%s)/%s", c.A, c.B, c.C, c.D)\n\t\t'
         'db, _ = sql.Open(c.Kind, dsn)\n\t\tdb.SetMaxOpenConns(45)\n\t}\n}\n'),
        [("Go's database/sql", 45)],
    ),
)  # fmt: skip
"""Name and text of a file -> a part of the title, and the most connections, of each pool."""

NO_POOLS = (
    ("a.yml", "data:\n  pluginName: postgres\n  maxConns: 30\n"),
    ("a.yml", "mysql:\n  type: sqlite\n  max_open_conns: 30\n"),
    ("a.yml", "http:\n  maxConns: 30\n"),
    ("a.yml", "mysql:\n  max_connections: 600\n"),
    ("a.yml", "mysql:\n  host: db\n  port: 5432\n  max_connections: 600\n"),
    (".env", "MYSQL_HOST=db\nMYSQL_MAX_CONNECTIONS=300\n"),
    (".env", f"{ENV}DB_DIALECT=postgres\nDB_POOL_SIZE=12\n"),
    (".env", f"{ENV}HIKARI_MAX_POOL_SIZE=12\nDB_URL=jdbc:postgresql://db/d\n"),
    (".env", f"{ENV}HIKARI_MAX_POOL_SIZE=12\n"),
    (".env", "MYSQL_HOST=db\nPOSTGRES_DB_HOST=p\nPOSTGRES_DB_POOL_SIZE=12\nSHOP_MYSQL_MAX_CONNECTIONS=300\n"),
    ("a.yml", "mysql:\n  host: db\n  max_connections:\n"),
    ("a.yml", "database:\n  type: postgres\n  host: db\n  pool:\n    max: 20\n"),
    (".env", "DB_HOST=db\nDB_PORT=3306\nDB_MAX_SIZE=20\n"),
    ("a.yml", "redis:\n  host: db\n  port: 3306\n  pool:\n    max: 20\n"),
    ("a.yml", "store:\n  address: db:5432\n  maxOpenConns: 30\n"),
    (".env", "DB_HOST=db\nDB_PORT=5432\nDB_POOL_SIZE=5\n"),
    (".env", "SQL_DSN=postgresql://u:secret@h/d\nSQL_MAX_OPEN_CONNS=40\n"),
    ("Dockerfile", "FROM a\nENV DB_HOST=postgres\nENV DB_POOL_SIZE=20\n"),
    ("compose.yml", f"{SERVICE}      - DATABASE_URL=postgres://u:secret@db/d?connection_limit=6\n"),
    ("a.go", "package a\n// mysql or postgres\nfunc (c *Config) SetDefault() {\n\tc.MaxOpenConns = 40\n}\n"),
    ("a.go", "package mysql\nvar d = Client{MaxConns: 20}\n"),
    ("a.go", 'package mysql\ntype Config struct {\n\tMaxOpenConns int `json:"max_open_conns"`\n}\n'),
    ("a.js", "module.exports = {host: 'h', user: 'u', connectionLimit: 14, client: 'pg'}"),
    ("a.js", "module.exports = {name: 'n', connectionLimit: 14}"),
    ("a.js", "module.exports = {type: 'mysql', host: 'h', username: 'u', database: 'd'}"),
    ("a.ts", "import { PoolConfig } from 'pg'\nexport const o: PoolConfig = { host: 'h', max: 5 }"),
    ("a.py", "from aiopg.sa import create_engine\nasync def f():\n    await create_engine(database='d')"),
)
"""The same of other databases, of servers, and of what is no pool."""


@pytest.mark.parametrize(("name", "text", "expected"), SIZES)
def test_sizes(tmp_path: Path, name: str, text: str, expected: list[tuple[str, int | None]]) -> None:
    (tmp_path / name).write_text(text)
    pools = check_pools(read_pools(tmp_path / name).pools)
    assert [each.most_connections for each in pools] == [size for _, size in expected]
    assert all(part in each.pool.library.title for each, (part, _) in zip(pools, expected, strict=True))


@pytest.mark.parametrize(("name", "text"), NO_POOLS)
def test_no_pools(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NoPools):
        read_files([tmp_path / name])


def test_a_url_in_the_environment_is_that_of_the_pool_in_the_source(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DATABASE_URL=mysql+pymysql://u:secret@db/d\n")
    (tmp_path / "db.py").write_text("engine = create_engine(os.environ['DATABASE_URL'], **options())\n")
    files, _ = read_files([tmp_path])
    assert [(file.path.name, len(file.pools)) for file in files] == [(".env", 0), ("db.py", 1)]


LIFETIMES = (
    ("a.yml", "store:\n  engine: mysql\n  maxOpenConns: 6\n  maxIdleConns: 6\n  connMaxLifetime: {}\n", "10h", "2h"),
    ("a.yml", "store:\n  engine: mysql\n  maxOpenConns: 6\n  connMaxLifetime: {}\n", "9h", "3600000000000"),
    (".env", "DB_TYPE=mysql\nDB_POOL_SIZE=6\nDB_MAX_OVERFLOW=0\nDB_POOL_RECYCLE={}\n", 36000, 3600),
    (".env", "DB_HOST=db\nDB_PORT=3306\nDB_POOL_SIZE=6\nDB_POOL_RECYCLE={}\n", 36000, 3600),
    ("a.yml", "store:\n  port: 3306\n  maxOpenConns: 6\n  maxIdleConns: 6\n  connMaxLifetimeSecond: {}\n", 36000, 3600),
    ("a.yml", "store:\n  address: db:3306\n  maxOpenConns: 6\n  connMaxLifetime: {}\n", 0, 600),
    (".env", "DB_PORT=3306\nDB_MAX_OPEN_CONNS=6\nDB_CONN_MAX_LIFETIME_MINUTES={}\n", "${LIFE:-600}", 60),
)  # fmt: skip
"""Name and text of a file with a lifetime of the project's own -> one above wait_timeout, and one that may be below."""


@pytest.mark.costly
@pytest.mark.parametrize(("name", "text", "long", "short"), LIFETIMES)
def test_a_stated_lifetime_above_the_servers(tmp_path: Path, name: str, text: str, long: object, short: object) -> None:
    codes = []
    for lifetime in (long, short):
        (tmp_path / name).write_text(text.format(lifetime))
        (pool,) = check_pools(read_pools(tmp_path / name).pools)
        codes.append("pool_outlives_server" in {finding.code for finding in pool.findings})
    assert codes == [True, False]


def test_an_unknown_lifetime_is_not_for_ever(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text(
        "class A { void a(int life) { var ds = new HikariDataSource(); ds.setMaximumPoolSize(5); "
        "ds.setMaxLifetime(life * 1000L); } }"
    )
    (pool,) = check_pools(read_pools(tmp_path / "A.java").pools)
    assert [finding.code for finding in pool.findings] == ["pool_not_followed"]


def test_a_variable_and_the_source_that_reads_it_are_one_pool(tmp_path: Path) -> None:
    source = "createPool({host: 'db', connectionLimit: Number(process.env.DB_POOL_SIZE) || 10})"
    (tmp_path / "db.js").write_text(f"const mysql = require('mysql2'); mysql.{source}")
    (tmp_path / ".env").write_text(f"{ENV}DB_DIALECT=mysql\nDB_POOL_SIZE=12\n")
    files = [checked_file(read_pools(tmp_path / name), ServerFacts(), None) for name in ("db.js", ".env")]
    assert [file.path.name for file, _ in pools_of_process(files)] == ["db.js"]


@pytest.mark.costly
def test_of_values_and_of_defaults_of_one_program_the_values_count(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text("package mysql\nvar d = Config{MaxOpenConns: 90, ConnectionMaxLifetime: 60}\n")
    (tmp_path / "a.yml").write_text("mysql:\n  max-open-connections: 12\n  max-connection-life-time: 10s\n")
    files = [checked_file(read_pools(tmp_path / name), ServerFacts(), None) for name in ("a.go", "a.yml")]
    assert [file.path.name for file, _ in pools_of_process(files)] == ["a.yml"]
    lifetimes = [each.pool.value("connMaxLifetime") for file in files for each in file.pools]
    assert lifetimes == [60, 10_000]  # a number alone has no unit
