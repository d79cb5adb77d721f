"""Files of Rails, Prisma, PHP, Rust, .NET and proxies: the values that they have, and the pools that are none."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from poolsize.errors import BadInput
from poolsize.pool_config.all_pools import pools_of_process
from poolsize.pool_config.check import check_pools, checked_file
from poolsize.pool_config.files.documents import documents_of, text_at
from poolsize.pool_config.files.programs import in_environment, read_files
from poolsize.pool_config.files.rails import ruby_number
from poolsize.pool_config.files.reading import read_pools
from poolsize.pool_config.pool import Value
from poolsize.pool_config.settings import ServerFacts
from tests.conftest import Command, in_ci


def settings_in(folder: Path, name: str, text: str) -> list[dict[str, Value]]:
    (folder / name).write_text(text)
    return [{key: each.value for key, each in pool.settings.items()} for pool in read_pools(folder / name).pools]


CASES: tuple[tuple[str, str, list[dict[str, Value]]], ...] = (
    (
        "database.yml",
        "a: &a\n  adapter: mysql2\n  pool: 5\n  checkout_timeout: 5\nproduction:\n  <<: *a\n  pool: 25\n",
        [{"pool": 25, "checkout_timeout": 5}],
    ),
    (
        "database.yml",
        "production:\n  url: mysql2://u:secret@h/d?pool=12\n  pool: 3\n  max_connections: 4\n",
        [{"max_connections": 4}],
    ),
    (
        "database.yml",
        ('<% size = ENV.fetch("SIZE", 7) -%>\nproduction:\n<% if true %>\n  adapter: mysql2_makara\n<% end %>\n'
         "  pool: <%= size %>\n  password: <%= ENV['P'] || \"a: #\" %>\n"),
        [{"pool": 7}],
    ),
    (
        "schema.prisma",
        'datasource db {\n  provider = "mysql" // or mariadb\n  url = "mysql://u:secret@h/d?connection_limit=5&x=1"\n}\n',
        [{"connection_limit": 5}],
    ),
    (".env", 'A=1\nexport URL="mysql://u:secret@h/d?connection_limit=7&pool_timeout=20"\n',
     [{"connection_limit": 7, "pool_timeout": 20}]),
    (".env.production", "URL=trilogy://u:secret@h/d?pool=4\n", [{"pool": 4}]),
    ("www.conf", "[www]\npm.max_children = $PM_MAX\n[b]\npm.max_children = 5 ; most\n",
     [{"pm.max_children": None}, {"pm.max_children": 5}]),
    ("a.php", "<?php $m = new mysqli('p:' . $host, $user, 'secret');", [{"p:": True}]),
    ("a.php", "<?php $d = new PDO('mysql:host=h'); $d->setAttribute(PDO::ATTR_PERSISTENT, true);",
     [{"ATTR_PERSISTENT": True}]),
    ("a.php", "<?php // mysql_pconnect()\n$link = @mysql_pconnect($host, $user, 'secret') or die();",
     [{"mysql_pconnect": True}]),
    ("a.php", "<?php $db['default'] = array('dbdriver' => 'mysqli', 'pconnect' => TRUE);", [{"pconnect": True}]),
    (
        "a.php",
        ("<?php return ['a' => ['driver' => env('D', 'mysql'), 'pool' => ['max_connections' => (int) env('M', 32), "
         "'max_idle_time' => (float) env('T', 60), 'heartbeat' => -1]]];"),
        [{"max_connections": 32, "max_idle_time": 60, "heartbeat": -1}],
    ),
    (
        "a.php",
        "<?php return ['driver' => 'mysql', 'pool' => ['max_connections' => 9, 'heartbeat_interval' => 45]];",
        [{"max_connections": 9, "heartbeat": 45}],
    ),
    ("a.php", "<?php return ['driver' => 'mysql', 'pool' => ['max_connections' => , 'min_connections' => ( ]];",
     [{"max_connections": None, "min_connections": None}]),
    (
        "a.php",
        ("<?php use Swoole\\Database\\{PDOConfig, MysqliPool as Pool};\n"
         "$a = new PDOPool((new PDOConfig)->withOptions([1 => false, 2 => 3]), (int) env('SIZE', 32));\n"
         "$b = new Pool($config, $this->size); $c = new \\Swoole\\Database\\MysqliPool($config);"),
        [{"size": 32}, {"size": None}, {}],
    ),
    ("a.php", "<?php return ['dsn' => 'mysql:host=h', 'persistent' => env('P', true)];", [{"persistent": True}]),
    (
        "doctrine.yaml",
        "doctrine: {dbal: {driver: pdo_mysql, persistent: '%env(bool:P)%', connections: {a: {persistent: true}}}}",
        [{"persistent": None}, {"persistent": True}],
    ),
    (
        "app.ini",
        "NAME = a\n[database]\nDB_TYPE = mysql\nHOST = h:3306\nMAX_OPEN_CONNS = 100\nCONN_MAX_LIFETIME = 3s ; short\n",
        [{"maxOpenConns": 100, "connMaxLifetime": 3000}],
    ),
    ("knexfile.ts", "import type { Knex } from 'knex'\nexport default { production: { ...shared, pool: { max: 20 } } }",
     [{"max": 20}]),
    (
        "a.rs",
        ('const MOST: u32 = 20;\nfn f() { MySqlPoolOptions::new().max_connections(MOST)'
         '.min_connections(env::var("MIN").unwrap_or("3".to_string()).parse().unwrap())'
         ".acquire_timeout(Duration::from_millis(1500)).max_lifetime(Some(Duration::from_secs(60 * 5))) }"),
        [{"max_connections": 20, "min_connections": 3, "acquire_timeout": 1.5, "max_lifetime": 300}],
    ),
    ("a.rs", "fn f() { PoolOptions::<MySql>::new().max_connections(c.size.unwrap_or(7)) }", [{"max_connections": 7}]),
    ("a.rs", "use mysql_async::*; fn f() { PoolConstraints::new(0, 3).unwrap() }", [{"min": 0, "max": 3}]),
    ("a.rs", "use r2d2_mysql::*; fn f(size: u32) { Pool::builder().max_size(size) }", [{"max_size": None}]),
    ("a.rs", "use deadpool_diesel::mysql; fn f() { PoolConfig { max_size: 16, ..Default::default() } }",
     [{"max_size": 16}]),
    (
        "appsettings.json",
        '{ // of .NET\n\t"A": "Server=h;Uid=u;Pwd=secret;MinimumPoolSize=10;Max Pool Size=#{S}#;Connect Timeout=30"}',
        [{"MinimumPoolSize": 10, "MaximumPoolSize": None, "ConnectionTimeout": 30}],
    ),
    (
        "Web.config",
        ('<configuration><connectionStrings>\n<add name="A" connectionString="server=h;user id=u;password=secret;'
         'Max Pool Size=50" providerName="MySql.Data.MySqlClient" />\n<add name="B" connectionString="server=h;uid=u;'
         'pwd=secret;Max Pool Size=9" providerName="System.Data.SqlClient" />\n</connectionStrings><appSettings>'
         '<add key="C" value="server=h;uid=u;pwd=secret;charset=utf8;pooling=false" /></appSettings></configuration>'),
        [{"MaximumPoolSize": 50}, {"Pooling": False}],
    ),
    (
        "a.cs",
        'class A { MySqlConnection F() { var s = $"server={h};port={p};" +\n"MaxPoolSize=30;" + "Pooling=" + x; } }',
        [{"MaximumPoolSize": 30, "Pooling": None}],
    ),
    (
        "a.cs",
        ("class A { const int Most = 5; void F(uint p) { b = new MySqlConnectionStringBuilder {\n"
         "MaximumPoolSize = Most, MinimumPoolSize = p }; } }"),
        [{"MaximumPoolSize": 5, "MinimumPoolSize": None}],
    ),
    (
        "proxysql.cfg",
        ('mysql_variables : { max_connections=2048; mysql-free_connections_pct=20 }\n/* ( */ mysql_servers = (\n'
         '{ hostname="a#1" max_connections=100 }, # }\n{ address="b", hostgroup=2 } )\n'
         'mysql_users: ({username="u" password="secret" max_connections=3})'),
        [
            {"max_connections": 100, "mysql-max_connections": 2048, "free_connections_pct": 20},
            {"mysql-max_connections": 2048, "free_connections_pct": 20},
        ],
    ),
    (
        "proxysql.conf",
        ('mysql_variables= { max_connections=2048 }\nmysql_servers = ({ address="a" max_connections=60 })\n'
         'mysql_servers_ssl_params = ({ hostname="a" port=3306 })\n'
         'mysql_users = ({ username="u" password="secret" max_connections=3 })'),
        [{"max_connections": 60, "mysql-max_connections": 2048}],
    ),
    ("config.toml", '[mysql]\ndsn = "u:secret@tcp(h)/d" # shop\nmax_open_conns = 100\n', [{"maxOpenConns": 100}]),
    (
        "Rocket.toml",
        ('[default.databases.a]\nurl = "mysql://u:secret@h/d"\n[release]\n'
         'databases = { a = { url = "mysql://u:secret@h/d", max_connections = 64 } }'),
        [{}, {"max_connections": 64}],
    ),
    ("a.ts", "new PrismaClient({ datasources: { db: { url: 'mysql://u:secret@h/d?connection_limit=3' } } })",
     [{"connection_limit": 3}]),
    ("maxscale.cnf", ("[s]\ntype = server\npersistpoolmax=10\npersistmaxtime=5m\n[t]\ntype=service\nmax_connections=9\n"
     "[u]\ntype=service\nservers=q, r\nmax_connections=8\n[v]\ntype=service\nservers=q, s\nidle_session_pool_time=-2s"),
     [{"persistpoolmax": 10, "persistmaxtime": 300, "max_connections": 9, "idle_session_pool_time": -2}]),
    # jessewkun/dagger: config/release.toml
    ("release.toml", '[db.main]\ndriver = "mysql"\nmax_conn = 50\nmax_idle_conn = 25\nconn_max_life = 3600\n',
     [{"maxOpenConns": 50, "maxIdleConns": 25, "connMaxLifetime": 3600}]),
    (  # chelizichen/Sgrid: src/configuration/db.go
        "db.go",
        ('package a\nimport "gorm.io/driver/mysql"\nfunc f() {\n\tdb, err := gorm.Open(mysql.Open(dsn), &c)\n'
         "\tdb.Use(dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{mysql.Open(slave)}}))\n"
         "\tsqlDB, err := db.DB()\n\tsqlDB.SetMaxOpenConns(100)\n}\n"),
        [{"SetMaxOpenConns": 100}, {}],
    ),
    (  # lwzphper/go-mall: pkg/db/mysql/mysql.go
        "mysql.go",
        ('package a\nimport "gorm.io/driver/mysql"\nfunc (o *C) Reset() { o.Idle = 0 }\n'
         "func WithIdle(n int) Option { return func(o *C) { o.Idle = n } }\n"
         "func d() *C { return &C{Idle: 100, Life: 30 * time.Minute} }\nfunc f(o *C) {\n"
         "\tdb.SetMaxIdleConns(o.Idle)\n\tdb.SetConnMaxLifetime(time.Second * o.Life)\n}\n"),
        [{"SetMaxIdleConns": 100, "SetConnMaxLifetime": None}],
    ),
    (  # 18721889353/sunshine: internal/database/mysql.go
        "mysql.go",
        ('package a\nimport "example.org/sgorm/mysql"\nfunc f() *sgorm.DB {\n\topts := []mysql.Option{\n'
         "\t\tmysql.WithMaxIdleConns(c.Idle),\n\t\tmysql.WithMaxOpenConns(100),\n\t}\n}\n"),
        [{"maxIdleConns": None, "maxOpenConns": 100}],
    ),
    (  # ZYallers/easyswoole3: App/Config/Mysql.php
        "Mysql.php",
        ("<?php return ['a' => ['host' => getenv('mysql_host'), 'port' => 3306, 'user' => 'u', 'password' => 'secret', "
         "'pool' => ['maxnum' => 8, 'minnum' => 2, 'idletime' => 30, 'checktime' => 60000]], "
         "'b' => ['host' => 'h', 'port' => '6379', 'user' => 'u', 'pool' => ['maxnum' => 5]]];"),
        [{"connectionLimit": 8, "minConnections": 2, "idleTimeout": 30}],
    ),
    # Sotatek-HuongBui2/sleepfi: ormconfig.js
    ("ormconfig.js", "module.exports = {type: 'mysql', replication: {master: {}, slaves: [{}, {}]}, entities: []}",
     [{}, {}, {}]),
    (  # TsMask/mask_api_midwayjs: src/config/config.default.ts
        "config.default.ts",
        ("export default () => ({ typeorm: { dataSource: { default: { type: 'mysql', host: 'h', username: 'u', "
         "database: 'd' } } }, redis: { client: { host: 'h' } } })"),
        [{}],
    ),
    (  # hpb-project/srng-service: db/init.go
        "a.go",
        ('package a\nimport "github.com/astaxie/beego/orm"\nfunc f() {\nmost := beego.AppConfig.DefaultInt("m", 512)\n'
         'orm.RegisterDataBase("default", "mysql", dsn, 50, most)\norm.RegisterDataBase("log", "mysql", dsn)\n'
         'orm.RegisterDataBase("b", "sqlite3", "b.db", 5, 6)\n}'),
        [{"SetMaxIdleConns": 50, "SetMaxOpenConns": 512}, {}],
    ),
    (
        "a.go",
        ('package a\nfunc f() { orm.RegisterDataBase("a", "mysql", dsn, orm.MaxOpenConnections(30), '
         'orm.ConnMaxLifetime(4*time.Minute))\norm.RegisterDataBase("b", "mysql", dsn)\n'
         'orm.SetMaxOpenConns("b", 20) }'),
        [{"SetMaxOpenConns": 30, "SetConnMaxLifetime": 240}, {"SetMaxOpenConns": 20}],
    ),
    (  # a group of xorm has the engines that it is made of
        "a.go",
        ('package a\nfunc f() {\na, _ := xorm.NewEngine("mysql", dsn)\nb, _ := xorm.NewEngine("mysql", dsn)\n'
         "group, _ := xorm.NewEngineGroup(a, []*xorm.Engine{b})\ngroup.SetMaxOpenConns(20)\n"
         'c, _ := xorm.NewEngine("mysql", dsn)\n}'),
        [{"SetMaxOpenConns": 20}, {}],
    ),
    (  # CatsMiaow/nestjs-project-performance: src/config/envs/development.ts
        "development.ts",
        ("import type { MySqlDriver } from '@mikro-orm/mysql';\nexport const config = { env: 'development', mikro: { "
         "debug: true, host: process.env['H'] ?? 'h', pool: { min: 0, max: 5, idleTimeoutMillis: 10000 } } };"),
        [{"min": 0, "max": 5, "idleTimeoutMillis": 10_000}],
    ),
    (
        "config.default.js",
        ("exports.sequelize = { dialect: 'mysql', host: 'h', pool: { max: 30 } };\n"
         "exports.mysql = { client: { host: 'h', user: 'u', connectionLimit: 15 }, app: true };"),
        [{"max": 30}, {"connectionLimit": 15}],
    ),
    (
        "a.js",
        ("const mysql = require('mysql2');\nconst options = { dev: { host: 'h', user: 'u',\nconnectionLimit: 10 } };\n"
         "module.exports = mysql.createPool(options[process.env.E]);"),
        [{}, {"connectionLimit": 10}],
    ),
    ("datasource.json", '{"db": {"connector": "mysql", "host": "h", "connectionLimit": 4}}', [{"connectionLimit": 4}]),
    (
        "a.js",
        ("new Sequelize('mysql://u:secret@h/a', { pool: { max: 3 } });\nnew Sequelize('postgres://u:secret@h/c');\n"
         "const url = `mysql://${u}:${p}@h/b`;\nnew Sequelize(url);"),
        [{}, {"max": 3}],
    ),
    # Ad-13/nodejs-express-mysql-typescript: src/database/mysql/databaseConfig.ts
    ("a.ts", "import { PoolOptions } from 'mysql2';\nexport const config: PoolOptions = { host: 'h', maxIdle: 3 };",
     [{"maxIdle": 3}]),
    # edenreich/rust-easyadmin: database/connection.rs
    ("a.rs", "use r2d2_diesel::*; fn f() { Pool::new(ConnectionManager::<MysqlConnection>::new(url)).expect() }", [{}]),
    ("a.toml", '[[db]]\ndriver = "mysql"\nmax_open_conns = 20\n[[db]]\ndriver = "mysql"\nmax_open_conns = 30\n',
     [{"maxOpenConns": 20}, {"maxOpenConns": 30}]),
    (
        "a.go",
        ('package a\nfunc f(c Config) {\n\tcache := &redis.Pool{MaxIdle: 3}\n\tdb, _ := sql.Open("mysql", dsn)\n'
         "\tdb.SetMaxIdleConns(c.MaxIdle)\n}\n"),
        [{"SetMaxIdleConns": None}],
    ),
    (
        "a.go",
        ('package a\nfunc f(c Config) {\n\tcaches := []*redis.Pool{{MaxIdle: 3}}\n\tdb, _ := sql.Open("mysql", dsn)\n'
         "\tdb.SetMaxIdleConns(c.MaxIdle)\n}\n"),
        [{"SetMaxIdleConns": None}],
    ),
    (
        "a.go",
        ('package a\nimport "example.org/mysql"\nfunc f() {\n\tmysql.New(mysql.WithMaxOpenConns(100))\n'
         "\tredis.New(redis.WithMaxIdleConns(3))\n}\n"),
        [{"maxOpenConns": 100}],
    ),
    ("a.php", ("<?php return ['mysql' => ['host' => 'h', 'user' => 'u', 'pool' => ['maxnum' => 8]], 'amqp' => ["
     "'default' => ['host' => 'h', 'user' => 'u', 'pool' => ['max_connections' => 9]]], 'b' => ["
     "'host' => 'h', 'port' => env('P', 3306), 'user' => 'u', 'pool' => ['maxnum' => 7]]];"),
     [{"connectionLimit": 8}, {"connectionLimit": 7}]),
    (
        "Web.config",
        ('<configuration><connectionStrings><add name="A" providerName="System.Data.EntityClient" connectionString="'
         "metadata=res://*/M.csdl;provider=MySql.Data.MySqlClient;provider connection string=&quot;server=h;user id=u;"
         'password=secret;Max Pool Size=50&quot;" />\n<add name="B" providerName="System.Data.EntityClient" '
         'connectionString="metadata=res://*/MySql.csdl;provider=System.Data.SqlClient;'
         "provider connection string='server=h;uid=u;Max Pool Size=9'\" /></connectionStrings></configuration>"),
        [{"MaximumPoolSize": 50}],
    ),
    ("config.yaml", "app: {dbHost: mysql, dbPoolSize: 20, max_overflow: 5, poolTimeout: 3, maxConnections: 900}",
     [{"pool_size": 20, "max_overflow": 5, "pool_timeout": 3}]),
    ("config.yaml", "pool: {mysql: {host: mysql, pool: {size: 9}}}", [{"connectionLimit": 9}]),
    ("a.ts", ("import { MikroORM } from '@mikro-orm/mysql';\nconst log = { dbName: 'logs' };\n"
     "const orm = { dbName: 'd', host: 'h' };"), [{}]),
    ("a.ts", ("import { MySqlDriver } from '@mikro-orm/mysql';\nimport '@mikro-orm/postgresql'"
     ";\nconst a = { driver: PostgreSqlDriver, pool: { max: 50 } };\n"
     "const b = { driver: MySqlDriver, pool: { max: 5 } };\nconst c = { pool: { max: 7 } };"), [{"max": 5}]),
    ("a.rs", "use mysql::*; fn f() { PoolOpts::default().with_constraints(PoolConstraints::new_const::<5, 15>()) }",
     [{"min": 5, "max": 15}]),
    ("a.rs", "use mysql as my; fn f() { my::Pool::new_manual(1, 4, url) }", [{"min": 1, "max": 4}]),
    ("a.rs", "use mysql_async::Pool; fn f() { Pool::from_url(url) }", [{}]),
    ("a.rs", 'use mysql::*; fn f() { Pool::new("mysql://u@h/d?pool_min=1&pool_max=5") }', [{"min": 1, "max": 5}]),
    # epfl-dlab/secvm-server: config/hikari.properties
    ("hikari.properties", "jdbcUrl=jdbc:mysql://h/d\nusername=u\npassword=secret\ndataSource.cachePrepStmts=true\n",
     [{}]),
    (  # conductor-oss/conductor: docker/server/config/config-mysql.properties
        "config-mysql.properties",
        ("db=mysql\njdbc.url=jdbc:mysql://h/d\nflow.mysql.connection.pool.size.max=10\n"
         "flow.mysql.connection.pool.idle.min=2\n"),
        [{"connectionLimit": 10, "minConnections": 2}],
    ),
    ("config.yaml", "app: {dbHost: mysql, dbPort: 3306, dbPoolSize: 20, maxConnections: 900}",
     [{"connectionLimit": 20}]),
    # kubeflow/pipelines: manifests/kustomize/base/installs/generic/pipeline-install-config.yaml
    ("config.yaml", "data: {dbHost: mysql, ConMaxLifeTimeSec: '120', maxConnections: 900}",
     [{"connMaxLifetime": 120_000}]),
    (".env", "MYSQL_HOST=h\nMYSQL_CONN_MAX_LIFETIME=5m\n", [{"connMaxLifetime": 300_000}]),
    (".env", "KC_DB=mariadb\nKC_DB_URL_HOST=h\nKC_DB_POOL_MAX_SIZE=40\n", [{"connectionLimit": 40}]),
    # 111s-hue/ecommerce-after-sales-multi-agent-platform: .env.production.example
    (".env.production.example", "DATABASE_URL=mysql+pymysql://u:secret@h/d\nREDIS_URL=redis://h\n", [{}]),
    (".env", "DATABASE_URL=mysql+pymysql://h/d\nSQLALCHEMY_URL=mysql+pymysql://h/d\nTEST_DATABASE_URL=mysql+pymysql://h/t\n",
     [{}]),
    # BennyLopesWeb/coreflow-beautyos: docker-compose.mysql.yml
    ("docker-compose.mysql.yml", ("services:\n  mysql:\n    image: mysql:8\n    environment: {MYSQL_USER: u}\n  api:\n"
     "    environment:\n      DATABASE_URL: mysql+pymysql://u:secret@h/d?charset=utf8mb4\n"), [{}]),
    # wangdisdu/easy-mcp: docker/docker-compose.mysql.yml
    ("compose.yml", "services:\n  a:\n    environment:\n      - DB_URL=mysql+aiomysql://u:secret@h/d\n", [{}]),
    (".env", "DATABASE_URL=mysql+pymysql://u:secret@h/d\nDB_POOL_SIZE=5\nDB_MAX_OVERFLOW=10\n",
     [{"pool_size": 5, "max_overflow": 10}]),
    (  # jhyao/SOF_analysis: data/config/models_config.py
        "models_config.py",
        ("db = {'host': 'h', 'max_connections': 20}\ntry:\n    db.update(**models_config_my.db)\nfinally:\n"
         "    pool = PooledMySQLDatabase(db.get('database'), max_connections=db.get('max_connections', 10))\n"
         "    pool_async = peewee_async.PooledMySQLDatabase(d, max_connections=db.get('max_connections'))\n"),
        [{"max_connections": 20}, {"maxsize": 20}],
    ),
    ("a.py", ("c = {'url': 'postgresql://h/d', 'size': 7}\na = create_engine(c.get('url'))\n"
     "b = create_engine(u, pool_size=os.environ.get('size', 6))\n"), [{"pool_size": 6}]),
    ("a.py", ("c = {'size': 20}\nc['size'] = 5\na = create_engine('mysql://h/d', pool_size=c['size'])\n"
     "b = create_engine('mysql://h/d', pool_size=c.get('size', 9))\n"), [{"pool_size": 20}, {"pool_size": 20}]),
    (".env", "DB_TYPE=mysql\nDB_HOST=h\nDB_MAX_OPEN=10\nDB_MAX_IDLE=9\nDB_LIFE_TIME=120\nDB_IDLE_TIME=90\n",
     [{"maxOpenConns": 10, "maxIdleConns": 9, "connMaxLifetime": 120, "connMaxIdleTime": 90}]),
    (".env", "DB_DRIVER=mysql\nDB_MAX_CONNECTIONS=25\nDB_MIN_CONNECTIONS=5\n",
     [{"connectionLimit": 25, "minConnections": 5}]),
    (".env", "MM_SQLSETTINGS_DRIVERNAME=mysql\nMM_SQLSETTINGS_MAXOPENCONNS=300\n", [{"maxOpenConns": 300}]),
    (  # Feng-jia-hqx/self-newapi: docker-compose-mysql.yml
        "docker-compose-mysql.yml",
        ("services:\n  api:\n    environment:\n      - SQL_DSN=root:secret@tcp(10.0.0.4:3306)/api\n"
         "      - SQL_MAX_IDLE_CONNS=100\n      - SQL_MAX_OPEN_CONNS=1000\n      - SQL_MAX_LIFETIME=300\n"
         "      - REDIS_POOL_SIZE=10\n"),
        [{"maxOpenConns": 1000, "maxIdleConns": 100, "connMaxLifetime": 300}],
    ),
    (  # xinnan-tech/xiaozhi-esp32-server: main/xiaozhi-server/docker-compose_all.yml
        "docker-compose_all.yml",
        ("services:\n  web:\n    environment:\n      - SPRING_DATASOURCE_DRUID_URL=jdbc:mysql://db:3306/voice\n"
         "      - SPRING_DATASOURCE_DRUID_PASSWORD=secret\n"),
        [{}],
    ),
    (
        ".env",
        ("SPRING_DATASOURCE_DRUID_MASTER_URL=jdbc:mysql://a/d\nSPRING_DATASOURCE_DRUID_SLAVE_URL=jdbc:mysql://b/d\n"
         "SPRING_DATASOURCE_DRUID_MAX_ACTIVE=9\n"),
        [{"maxActive": 9}, {"maxActive": 9}],
    ),
    ("a.js", ("const { Sequelize } = require('sequelize');\nconst o = { dialect: 'mysql' };\n"
              "o.pool = { max: 17, min: 2 };\nnew Sequelize('d', 'u', 'secret', o);\n"), [{"max": 17, "min": 2}]),
    ("a.js", ("const mysql = require('mysql2');\nfunction f() {\n  const c = { host: 'h' };\n"
              "  Object.assign(c, { queueLimit: 50 }, { connectionLimit: 9 });\n  return mysql.createPool(c);\n}\n"),
     [{"queueLimit": 50, "connectionLimit": 9}]),
    ("database.yml", "production:\n  adapter:\tmysql2\n  pool: \t7\t# of Puma\n  'host':\t\"h\"\n", [{"pool": 7}]),
    ("database.yml", "production: {adapter: mysql2, pool: {{ .Pool }}}\n", [{"pool": None}]),
    ("airflow.cfg", ("[core]\nexecutor = LocalExecutor\n[database]\nsql_alchemy_conn = mysql://u:secret@h/airflow\n"
                     "sql_alchemy_pool_size = 5\nsql_alchemy_max_overflow = 10\n"),
     [{"pool_size": 5, "max_overflow": 10}]),
    (
        "two.go",
        ('package a\nfunc f() {\n\troot, _ := sql.Open("mysql", x)\n\tdefer root.Close()\n'
         '\ta, _ := sql.Open("mysql", y)\n\ta.SetMaxOpenConns(10)\n\tb, _ := xorm.NewEngineGroup("mysql", z)\n'
         '\tg, _ := gorm.Open(mysql.New(mysql.Config{Conn: a}))\n}\n'),
        [{"SetMaxOpenConns": 10}, {}],
    ),
    (
        "main.go",
        ('package main\nfunc main() {\n\ta, _ := sql.Open("mysql", x)\n\tdefer a.Close()\n'
         '\tb, _ := sql.Open("mysql", y)\n\tb.SetMaxOpenConns(10)\n\tdefer b.Close()\n}\n'),
        [{"SetMaxOpenConns": 10}, {}],
    ),
    (
        "chosen.go",
        ('package a\nfunc f() {\n\td := "sqlite"\n\tif big {\n\t\td = "mysql"\n\t}\n\ta, _ := sql.Open(d, x)\n'
         '\tif d == "sqlite" {\n\t\ta.SetMaxOpenConns(1)\n\t}\n\tb, _ := sql.Open("mysql", y)\n'
         "\tb.SetMaxOpenConns(10)\n}\n"),
        [{"SetMaxOpenConns": 10}, {}],
    ),
    (  # what closes a pool, and what does not
        "closes.go",
        ('package a\nfunc f() error {\n\ta, err := sql.Open("mysql", x)\n\tdefer a.Close()\n\treturn err\n}\n'
         'func g() (*sql.DB, error) {\n\tb, err := sql.Open("mysql", x)\n\tif err != nil {\n\t\tb.Close()\n\t}\n'
         "\trows, err := b.Query(q)\n\tdefer rows.Close()\n\treturn b, err\n}\n"
         'func h() {\n\tc, _ := sql.Open("mysql", x)\n\tc.Close()\n\tc, _ = sql.Open("mysql", y)\n}\n'
         'func run() {\n\td, _ := sql.Open("mysql", x)\n\tdefer func() { d.Close() }()\n}\n'),
        [{}, {}, {}],
    ),
    (  # a pool that another function closes, or only a branch
        "kept.go",
        ('package a\nfunc f() (*sql.DB, func()) {\n\ta, _ := sql.Open("mysql", x)\n'
         "\treturn a, func() { a.Close() }\n}\n"
         'func g() *sql.DB {\n\tb, _ := sql.Open("mysql", y)\n\tif err := b.Ping(); err == nil {\n\t\treturn b\n'
         "\t} else {\n\t\tb.Close()\n\t}\n\treturn nil\n}\n"
         'func h() {\n\tc, _ := sql.Open("mysql", z)\n\tc.SetMaxOpenConns(10)\n}\n'),
        [{"SetMaxOpenConns": 10}, {}, {}],
    ),
    (
        "all_closed.go",
        'package a\nfunc f() {\n\ta, _ := sql.Open("mysql", x)\n\tdefer a.Close()\n\tserve(a)\n}\n',
        [{}],
    ),
    (
        "resolver.go",
        ('package a\nimport "gorm.io/driver/mysql"\nfunc f() {\n\tr := dbresolver.Register(c)\n\tr.SetMaxOpenConns(5)\n'
         "\tdb.Use(r)\n\tdb.Use(dbresolver.Register(c).Register(d).SetMaxOpenConns(6))\n}\n"),
        [{"SetMaxOpenConns": 5}, {"SetMaxOpenConns": 6}],
    ),
    (  # without sources, the pool that uses the resolver is its source
        "replicas.go",
        ('package a\nfunc f() {\n\tdb, _ := gorm.Open(mysql.Open(x))\n\tr := dbresolver.Register(dbresolver.Config{\n'
         "\t\t// Sources: s,\n\t\tReplicas: s})\n\tr.SetMaxOpenConns(5)\n\tdb.Use(r)\n"
         "\tlog, _ := gorm.Open(mysql.Open(y))\n\tlog.Use(dbresolver.Register(d))\n}\n"),
        [{"SetMaxOpenConns": 5}, {}],
    ),
    (
        "sources.go",
        ('package a\nfunc f() {\n\tdb, _ := gorm.Open(mysql.Open(x))\n\tr := dbresolver.Register(dbresolver.Config{\n'
         "\t\tSources: s, Replicas: s})\n\tr.SetMaxOpenConns(5)\n\tdb.Use(r)\n}\n"),
        [{"SetMaxOpenConns": 5}, {}],
    ),
    (  # 15509188010/Easy: dev.php
        "dev.php",
        ("<?php return ['SETTING' => ['max_wait_time' => 3], 'MYSQL' => ['host' => 'h', 'port' => 3300, 'user' => 'u', "
         "'password' => 'secret', 'timeout' => 5, 'maxIdleTime' => 15, 'getObjectTimeout' => 3, 'maxObjectNum' => 20, "
         "'minObjectNum' => 5]];"),
        [{"idleTimeout": 15, "poolTimeout": 3, "connectionLimit": 20, "minConnections": 5}],
    ),
    (  # dawnco/swoole-server: wmi/config/config.sample.php
        "config.php",
        ("<?php return ['redis' => ['default' => ['host' => 'h', 'port' => '6379', 'user' => 'u', 'poolMax' => 41]], "
         "'mysql' => ['a' => ['host' => 'h', 'port' => '3306', 'user' => 'u', 'timeout' => 9, 'poolMax' => 40]]];"),
        [{"connectionLimit": 40}],
    ),
    ("config.yaml", "mysql: {host: h, port: 3306, timeout: 5000, poolSize: 10}", [{"connectionLimit": 10}]),
    (  # hexu6788/HSQL: code/HSQL/HSQL/DatabaseHelper/ConnectionStringBuilder.cs
        "a.cs",
        ("class A { string F(bool p, int most = 100) { return new MySqlConnectionStringBuilder { Pooling = p, "
         "MaximumPoolSize = (uint)most }.ToString(); }\nstring G(bool pooling, int most = 100) { return new "
         "SqlConnectionStringBuilder { Pooling = pooling, MaxPoolSize = most }.ToString(); } }"),
        [{"Pooling": None, "MaximumPoolSize": None}],
    ),
    ("a.cs", ('class A { void F() { new MySqlConnection("Server=h;Uid=u;Max Pool Size=40"); }\n'
     'void G() { new MySqlConnection(@"Server=h;Uid=u;Max Pool Size=40"); }\n'
     'void H() { new MySqlConnection("Server=h;Uid=u;Max Pool Size=41"); }\n'
     'void I(string n) { new MySqlConnection($"Server=h;Database={n};Max Pool Size=42"); }\n'
     'void J(string n) { new MySqlConnection($"Server=h;Database={n};Max Pool Size=42"); } }'),
     [{"MaximumPoolSize": 40}, {"MaximumPoolSize": 41}, {"MaximumPoolSize": 42}, {"MaximumPoolSize": 42}]),
    ("a.cs", ("class A { uint Most { get; init; } = 90; void F() { o.MaxPoolSize = 3; "
     "new MySqlConnectionStringBuilder { MaximumPoolSize = Most }; } }"), [{"MaximumPoolSize": 90}]),
    ("a.rs", ("use mysql::*; fn f() { r2d2::Pool::builder().connection_timeout(Duration::new(5, 0))"
     ".idle_timeout(Some(std::time::Duration::new(60, 0))).build(m) }"),
     [{"connection_timeout": 5, "idle_timeout": 60}]),
    ("config.yaml", ("database:\n  shop:\n    max_idle_conns: 10\n    max_open_conns: 100\n"
     "    conn_max_lifetime: 1h30m\n    master: {host: h, port: 3306}\n"
     "  orders: {max_open_conns: 50, master: {host: h, port: 5432}}\n"),
     [{"maxIdleConns": 10, "maxOpenConns": 100, "connMaxLifetime": 5_400_000}]),
    ("a.ts", ("const limited = (url) => { const u = new URL(url); u.searchParams.set('connection_limit', '9'); "
     "return u.toString(); };\nnew PrismaClient({ datasources: { db: { url: limited(process.env.URL) } } })"),
     [{"connection_limit": 9}]),
    ("a.js", ("const mysql = require('mysql2');\nconst connectionLimit = process.env.E === 'production' ? 10 : 4;\n"
     "mysql.createPool({ host: 'h', connectionLimit });"), [{"connectionLimit": 10}]),
    ("A.java", ('class A { void f(boolean p) { HikariConfig c = new HikariConfig(); c.setJdbcUrl("jdbc:mysql://h"); '
     "c.setMaximumPoolSize(p ? 20 : 5); } }"), [{"maximumPoolSize": 20}]),
    # oburakergen/faldioapp: backend/config/database.js
    ("database.js", ("module.exports = ({ env }) => ({ connection: { client: 'mysql', connection: { host: env('H'), "
     "pool: { min: 2, max: 50 } } } });"), [{}]),
)  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize(("name", "text", "settings"), CASES)
def test_settings_in_files_of_further_kinds(
    poolsize_here: Command, tmp_path: Path, name: str, text: str, settings: list[dict[str, Value]]
) -> None:
    assert settings_in(tmp_path, name, text) == settings
    done = poolsize_here("config", "--check", name, "--json")
    assert "secret" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["files"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("database.yml", "production: {adapter: postgresql, pool: 5}"),
        ("database.yml", "production: {adapter: mysql2, url: 'postgres://h/d', pool: 5}"),
        ("schema.prisma", 'datasource db {\n  provider = "postgresql"\n  url = env("URL")\n}'),
        (".env", "URL=postgresql://h/d?connection_limit=5"),
        (".env", "URL=mysql://h/d"),
        ("nginx.conf", "server {\n  listen 80;\n}"),
        ("a.php", "<?php return ['driver' => 'mysql', 'pool' => []]; // ATTR_PERSISTENT"),
        ("a.php", "<?php // mysql\n$a = ['b' => ['driver' => 'pgsql', 'options' => [PDO::ATTR_PERSISTENT => true]]];"),
        ("a.php", "<?php // mysql\n$a = ['dsn' => 'pgsql:host=h', 'options' => [PDO::ATTR_PERSISTENT => true]];"),
        ("a.php", "<?php use Swoole\\Database\\PDOPool; new PDOPool((new PDOConfig)->withDriver('pgsql'), 3);"),
        ("a.php", "<?php class PDOPool {} $mysql = new PDOPool($config, 3);"),
        (
            "a.php",
            (
                "<?php return ['mysql' => ['host' => 'h'], 'amqp' => ['default' => ['host' => 'h', 'port' => 5672, "
                "'user' => 'u', 'pool' => ['max_connections' => 1000]]]];"
            ),
        ),
        (
            "a.php",
            (
                "<?php return ['mysql' => ['host' => 'h'], 'smtp' => ['host' => 'h', 'port' => 25, 'username' => 'u', "
                "'pool' => ['size' => 3]], 'a' => ['mq' => ['host' => 'h', 'user' => 'u', 'pool' => ['size' => 3]]]];"
            ),
        ),
        ("a.php", "<?php return ['mysql' => ['host' => 'h', 'user' => 'u', 'pool' => ['connections' => 1]]];"),
        ("a.ts", "import { MikroORM } from '@mikro-orm/core';\nconst a = { pool: { max: 5 } };"),
        (
            "Web.config",
            (
                '<configuration><connectionStrings><add name="A" connectionString="Server=sql01;Database=d;UID=u;'
                'PWD=secret;Max Pool Size=100" /></connectionStrings></configuration>'
            ),
        ),
        ("a.ts", "new PrismaClient({ datasourceUrl: 'postgresql://h/d?connection_limit=5' })"),
        (
            "a.ts",
            "import { defineConfig } from '@mikro-orm/postgresql'; defineConfig({ dbName: 'd', pool: { max: 5 } })",
        ),
        ("a.ini", "[postgres]\nhost = h\nmax_open_conns = 5"),
        ("airflow.cfg", "[database]\nsql_alchemy_conn = postgresql://h/d\nsql_alchemy_max_overflow = 5"),
        ("haproxy.cfg", "global\n  maxconn 4096\nlisten mysql\n  server a 10.0.0.1:3306 check maxconn 100"),
        ("a.yaml", "mysql: {max_connections: 400, innodb_buffer_pool_size: 1G}"),
        ("a.yaml", "app: {dbHost: mysql, maxConnections: 900}"),
        ("a.rs", "fn f() { PgPoolOptions::new().max_connections(5) } // not mysql"),
        ("a.rs", "use sea_orm::*; fn f() { ConnectOptions::new(postgres_url).max_connections(5) }"),
        ("a.rs", "fn f() { r2d2::Pool::builder().max_size(5).build(ConnectionManager::<PgConnection>::new(u)) }"),
        ("a.rs", "use mysql::Conn; fn f() { scoped_threadpool::Pool::new(4) }"),
        ("Rocket.toml", "[default.databases.a]\nurl = 'a.sqlite'\nmax_connections = 9"),
        ("appsettings.json", r'{"A": "Server=(localdb)\\mssqllocaldb;Database=d;Uid=u;Max Pool Size=200"}'),
        ("appsettings.json", '{"A": "Server=h;Database=d;Trusted_Connection=True", "B": "Data Source=app.db"}'),
        ("a.cs", 'class A { string s = "server=h;uid=sa;pwd=sa;max pool size=10"; SqlConnection mySqlConnection; }'),
        ("a.cs", 'o.UseNpgsql("Host=h;Username=u;Maximum Pool Size=20");'),
        ("proxysql.cnf", 'pgsql_servers = ({address="a" max_connections=5})\nmysql_variables = {threads=4}'),
    ],
)
def test_pools_of_other_databases_are_none(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / name)


@pytest.mark.parametrize(
    ("adapter", "url", "known"),
    [
        ("mysql2", "ENV['DATABASE_URL']", True),
        ("sqlite3", "ENV.fetch('SHOP_DB')", False),
        ("mysql2", "ENV['REDIS_URL']", None),
        ("mysql2", "ENV['POSTGRES_DB_URL']", None),
    ],
)
def test_an_adapter_that_only_the_url_names_is_that_of_the_other_environments(
    tmp_path: Path, adapter: str, url: str, known: bool | None
) -> None:
    text = (
        f"development: {{adapter: mysql2}}\ntest: {{adapter: {adapter}}}\nproduction: {{pool: 7, url: <%= {url} %>}}\n"
    )
    (tmp_path / "database.yml").write_text(text)
    pools = [pool for pool in read_pools(tmp_path / "database.yml").pools if pool.alternative == "profile production"]
    assert [pool.database_known for pool in pools] == [known] * (known is not None)
    (tmp_path / "database.yml").write_text("test: {adapter: sqlite3}\nproduction: {pool: 7, url: <%= ENV['DB_URL'] %>}")
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_pools(tmp_path / "database.yml")


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        # kggg/officeoa: models/base.go
        ("a.go", 'package a\nimport _ "mysql"\nfunc f() { orm.SetMaxOpenConns("default", 30) }', "30"),
        # MziBin/CSharpStudyWorkspace: CourseManageModels/MYSQLConfig.cs
        ("A.cs", 'class MYSQL { string F() => $"Server={S};User={U};Max Pool Size={MaxPoolSize}"; }', "{MaxPoolSize}"),
        ("A.cs", 'class MYSQL { string F() => $"Server={S};User={U};Max Pool Size={(n ?? 5)}"; }', "{}"),
    ],
)  # fmt: skip
def test_a_size_is_shown_as_the_file_writes_it(tmp_path: Path, name: str, text: str, shown: str) -> None:
    (tmp_path / name).write_text(text)
    (pool,) = read_pools(tmp_path / name).pools
    assert [pool.settings[size].text for size in pool.library.sizes] == [shown]


def test_knex_reads_no_pool_inside_of_the_connection(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("require('knex')({ client: 'mysql', connection: { host: 'h', pool: { max: 50 } } })")
    (checked,) = check_pools(read_pools(tmp_path / "a.js").pools)
    assert (checked.most_connections, [each.name for each in checked.pool.unread]) == (10, ["connection.pool"])
    assert "pool_not_read" in {finding.code for finding in checked.findings}


def test_the_driver_of_one_pool_of_swoole_says_nothing_of_a_pool_of_mysqli(tmp_path: Path) -> None:
    uses = "use Swoole\\Database\\PDOPool; use Swoole\\Database\\MysqliPool;"
    php = f"<?php {uses} new PDOPool((new PDOConfig)->withDriver('pgsql'), 3); new MysqliPool($config, 9);"
    assert settings_in(tmp_path, "a.php", php) == [{"size": 9}]


@pytest.mark.parametrize("other", ["PASSPORT=3306", "MAIL_HOST=mysql-alerts.example.org", "KC_DB=postgres"])
def test_a_variable_of_another_service_does_not_name_the_database(tmp_path: Path, other: str) -> None:
    (tmp_path / ".env").write_text(f"DB_HOST=pg1\n{other}\nDB_POOL_SIZE=5\n")
    assert not read_pools(tmp_path / ".env").pools
    (tmp_path / ".env").write_text("DB_HOST=h\nDB_PORT=3306\nDB_POOL_SIZE=5\n")
    assert len(read_pools(tmp_path / ".env").pools) == 1


def test_a_framework_s_pool_counts_once_beside_a_variable_of_its_file(tmp_path: Path) -> None:
    own = "SPRING_DATASOURCE_URL=jdbc:mysql://h/d\nHIKARI_MAX_POOL_SIZE=20\n"
    (tmp_path / ".env").write_text(f"{own}SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE=20\n")
    (pool,) = read_pools(tmp_path / ".env").pools
    assert pool.settings["maximumPoolSize"].value == 20


@pytest.mark.parametrize(
    ("made", "change"),
    [
        ("dict(pool_size=5)", "options.update(pool_recycle=60)"),
        ("BASE.copy()", "options['pool_recycle'] = 60"),
        ("{'pool_size': 9}", "options |= {'pool_size': 5, 'pool_recycle': 60}"),
        ("elsewhere()", "options.update(pool_size=5); options.setdefault('pool_recycle', 60)"),
    ],
)
def test_options_that_change_after_they_are_made(tmp_path: Path, made: str, change: str) -> None:
    function = f"def f():\n    options = {made}\n    {change}\n    return create_engine('mysql://h/d', **options)\n"
    (settings,) = settings_in(tmp_path, "a.py", f"BASE = {{'pool_size': 5}}\n{function}")
    assert settings == {"pool_size": 5, "pool_recycle": 60}


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (("application.yml", ".env"), [30]),
        (("application.yml", "Dockerfile"), [40]),
        (("application.yml", ".env", "Dockerfile", "compose.yml"), [50]),
        (("application.yml", ".env", "compose.env.yml"), [30]),
    ],
)
def test_what_runs_the_application_replaces_the_pool_of_its_file(
    tmp_path: Path, names: Sequence[str], sizes: list[int]
) -> None:
    size = "SPRING_DATASOURCE_HIKARI_MAXIMUM-POOL-SIZE"
    service = f"services:\n  web:\n    environment:\n      {size}: "
    texts = {
        "application.yml": "spring.datasource.hikari.maximum-pool-size: 20\n",
        ".env": f"{size}=30\nPOOL=30\n",
        "Dockerfile": f"FROM a\nENV POOL=90 {size}=40\n",
        "compose.yml": f"{service}50\n",
        "compose.env.yml": f"{service}${{POOL:-60}}\n",
    }
    for name in names:
        (tmp_path / name).write_text(texts[name])
    files = [checked_file(each, ServerFacts(), None) for each in in_environment(read_files([tmp_path])[0])]
    assert [pool.most_connections for _, pool in pools_of_process(files)] == sizes


@pytest.mark.parametrize(
    ("line", "is_known"),
    [
        ("connMaxLifetime: ${L:-3600000000000}", False), ("connMaxLifetime: ${L:-36000s}", True),
        ("connMaxLifetimeMs: 36000000", True), ("connMaxLifetimeSecs: 36000", True), ("connMaxLifetime: 36000", False),
    ],
)  # fmt: skip
def test_a_lifetime_of_own_go_code_is_compared_where_its_unit_is_known(
    poolsize_here: Command, tmp_path: Path, line: str, is_known: bool
) -> None:
    (tmp_path / "config.yaml").write_text(f"store:\n  engine: mysql\n  maxOpenConns: 6\n  {line}\n")
    done = poolsize_here("config", "--check", str(tmp_path / "config.yaml"))
    assert (done.returncode == 3) == is_known, done.stdout


def test_a_constant_given_to_the_driver_is_no_size_of_the_pool(tmp_path: Path) -> None:
    java = (
        'class A { void f() { HikariConfig c = new HikariConfig(); c.setJdbcUrl("jdbc:mysql://h/d"); '
        "c.addDataSourceProperty(MAXIMUM_POOL_SIZE, 5); c.setMaximumPoolSize(7); } }"
    )
    assert [each["maximumPoolSize"] for each in settings_in(tmp_path, "A.java", java)] == [7]


def test_a_url_that_may_come_from_elsewhere_is_not_the_whole(tmp_path: Path) -> None:
    for url, is_whole in (("'mysql://h/d'", True), ("process.env.URL ?? 'mysql://h/d'", False)):
        (tmp_path / "a.ts").write_text(f"const db = new PrismaClient({{ datasourceUrl: {url} }});")
        (pool,) = read_pools(tmp_path / "a.ts").pools
        assert pool.complete == is_whole


RUBY = {
    'ENV.fetch("A") { 5 }': 5, "ENV.fetch('A', '5')": 5, 'ENV["A"] || 5': 5, "ENV['A'].presence || 5": 5,
    "ENV.fetch('A') { ENV.fetch('B') { 7 } }": 7, "Integer(ENV.fetch('A', '5')) + 2": 7, "(ENV['A'] || 5).to_i * 2": 10,
    'ENV["A"]&.to_i || 10': 10, "ENV['A'] || ENV['B'] || 9": 9, "ENV.fetch('A') do 5 end": 5, 'ENV["A"]': None,
    'ENV.fetch("A")': None, "Settings.pool": None, "[ENV.fetch('A', 5), 3].max": None, "ENV['A'] ? 5 : 6": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "only_pings"),
    [
        ("func f() error {{ db := {}; defer db.Close(); return db.PingContext(c) }}", True),
        (
            "func f() (err error) {{ db, _ := {}; if err = db.Ping(); err != nil {{ log(err) }}; db.Close(); return }}",
            True,
        ),
        ("func (c C) f() {{ db, _ := {}; defer func() {{ db.Close() }}(); log(`db`, db.Ping()) }}", True),
        ("func main() {{ on(func() {{ db, _ := {}; defer db.Close(); db.Ping() }}) }}", True),
        ("func main() {{ db, _ := {}; defer db.Close(); db.Ping() }}", False),
        ("func run() {{ db, _ := {}; defer db.Close(); db.Ping(); serve(db) }}", False),
        ("func run() {{ db, _ := {}; defer db.Close(); pool.Ping(db) }}", False),
        ("func f() *sql.DB {{ db, _ := {}; defer db.Close(); db.Ping(); return db }}", False),
        ("func f() {{ db, _ := {}; defer db.Close(); db.Ping(); s.db = db }}", False),
        ("func f() {{ db, _ := {}; defer db.Close(); on(func() {{ db.Ping(); db.Exec(q) }}) }}", False),
        ("func f() {{ db, _ := {}; if err := db.Ping(); err != nil {{ db.Close() }} }}", False),
        ("func f() {{ db, _ := {}; defer db.Close() }}", False),
        ("var db *sql.DB\nfunc f() {{ db, _ = {}; defer db.Close(); db.Ping() }}", False),
        ("func f() *S {{ return &S{{db: {}}} }}", False),
        ("func run() {{ db, _ := {}; defer db.Close(); for {{ db.Ping() }} }}", False),
        ("func f() {{ for {{ db, _ := {}; db.Ping(); db.Close() }} }}", False),
        ("func f() {{ db, _ := {}; defer db.Close(); go db.Ping() }}", False),
        ("func run() {{ db, _ := {}; defer db.Close(); on(func() {{ db.Ping() }}); serve() }}", False),
        ("func f() H {{ db, _ := {}; defer db.Close(); return H{{p: func() error {{ return db.Ping() }}}} }}", False),
    ],
)
def test_a_pool_of_go_that_a_function_only_pings(tmp_path: Path, code: str, *, only_pings: bool) -> None:
    (tmp_path / "a.go").write_text(f"package a\n{code.format('sql.Open(`mysql`, d)')}\n")
    (checked,) = check_pools(read_pools(tmp_path / "a.go").pools)
    cautions = {"pool_unlimited", "pool_closes_idle", "go_lifetime"}
    assert {each.code for each in checked.findings} == ({"go_only_pings"} if only_pings else cautions)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a:\t"x\ty"\t# z\n', "x\ty"),
        ('a: "x\t# y"\n', "x\t# y"),
        ("a: 'it''s\t: y'\n", "it's\t: y"),
        ("b: it's\t# z\na:\t'x,\ty'\n", "x,\ty"),
        ('{b: "\\"", a: "x:\ty"}', "x:\ty"),
        ("a: |\n  x\ty\n", "x\ty\n"),
    ],
)
def test_a_tab_in_a_value_of_yaml_is_kept(text: str, value: str) -> None:
    (document,) = documents_of(text)
    assert text_at(document, "a") == value


@pytest.mark.costly
def test_names_that_name_each_other_are_refused_at_once(tmp_path: Path) -> None:
    assignments = "a = b + b\n" * 9 + "b = a + a\n" * 9
    (tmp_path / "a.go").write_text(f"package p\nfunc f() {{\n{assignments}db.SetMaxOpenConns(a)\n}}\n")
    with pytest.raises(BadInput, match="name each other"):
        read_pools(tmp_path / "a.go")


@pytest.mark.parametrize("code", RUBY)
def test_numbers_in_ruby(code: str) -> None:
    assert ruby_number(code) == RUBY[code]


def test_environments_of_rails_are_alternatives(tmp_path: Path) -> None:
    text = """d: &d {adapter: mysql2}
test: {<<: *d, pool: 5}
production: {a: {<<: *d, pool: 9}, primary: {<<: *d, pool: 8}}
"""
    (tmp_path / "database.yml").write_text(text)
    counted = pools_of_process([checked_file(read_pools(tmp_path / "database.yml"), ServerFacts(), None)])
    assert sorted(checked.most_connections or 0 for _, checked in counted) == [8, 9]


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ("debug-mysql", "production-mysql", 9),  # sy159/snowgo: config/mysql.toml
        ("mysql.dev", "mysql.prod", 9),
        ("mysql.test_data_1", "mysql.test_data_2", 17),
        ("mysql.master", "mysql.slave", 17),
    ],
)
def test_environments_of_an_own_configuration_are_alternatives(
    tmp_path: Path, first: str, second: str, counted: int
) -> None:
    (tmp_path / "a.toml").write_text(f"[{first}]\nhost='h'\nmaxOpenConns=8\n[{second}]\nhost='h'\nmaxOpenConns=9\n")
    pools = pools_of_process([checked_file(read_pools(tmp_path / "a.toml"), ServerFacts(), None)])
    assert sum(checked.most_connections or 0 for _, checked in pools) == counted


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("exports.a = {{development: a, production: b}};\nexports.b = {{development: c, production: d}};", 35),
        ("module.exports = {{development: a, production: b}};\nexports.k = {{development: a, production: b}};", 20),
        ("exports.a = {{development: {0}, production: {1}}};\nexports.b = {{test: {2}, production: {3}}};", 35),
        ("module.exports = {{'a': {{development: {0}, production: {1}}}, 'b': {{test: {2}, production: {3}}}}};", 35),
        ("module.exports = {{development: {0}, production: {1}}};", 20),
    ],
)
def test_environments_of_two_databases_are_two_pools(tmp_path: Path, text: str, counted: int) -> None:
    options = [f"{{dialect: 'mysql', database: 's', pool: {{max: {size}}}}}" for size in (4, 20, 3, 15)]
    named = [f"const {name} = {each};" for name, each in zip("abcd", options, strict=True) if f": {name}" in text]
    (tmp_path / "a.js").write_text("\n".join([*named, text.format(*options)]))
    pools = pools_of_process([checked_file(read_pools(tmp_path / "a.js"), ServerFacts(), None)])
    assert sum(checked.most_connections or 0 for _, checked in pools) == counted


@pytest.mark.parametrize(
    ("change", "size", "is_whole"),
    [
        ("options.update(pool_size=50)", 50, True), ("options.update({'pool_size': 50}, **more)", 50, False),
        ("options.setdefault('pool_size', 50)", 50, True), ("return {**options, 'pool_size': 50}", None, False),
    ],
)  # fmt: skip
def test_options_that_a_function_of_flask_sqlalchemy_changes(
    tmp_path: Path, change: str, size: int | None, is_whole: bool
) -> None:
    (tmp_path / "a.py").write_text(
        "from flask_sqlalchemy import SQLAlchemy\nSQLALCHEMY_DATABASE_URI = 'mysql://h/d'\n"
        f"class Own(SQLAlchemy):\n    def apply_pool_defaults(self, app, options):\n        {change}\n"
    )
    (pool,) = read_pools(tmp_path / "a.py").pools
    assert (pool.value("pool_size") if pool.has("pool_size") else None, pool.complete) == (size, is_whole)


def test_inline_tables_of_toml_have_their_own_lines(tmp_path: Path) -> None:
    rows = [f'{{engine="mysql", max_open_conns={size}}},' for size in (3, 4)]
    (tmp_path / "a.toml").write_text(
        "[w]\na=[\n" + "\n".join(rows) + "]\n[[b]]\n[[b]]\n" + rows[0][1:-2].replace(", ", "\n")
    )
    pools = read_pools(tmp_path / "a.toml").pools
    assert [pool.settings["maxOpenConns"].line for pool in pools] == [3, 4, 8]


@pytest.mark.costly
def test_thousands_of_inline_tables_are_read(tmp_path: Path) -> None:
    tables = ",\n".join(["{b=1}"] * 8_000)
    text = f'[db]\nhost="mysql"\nmax_open_conns=3\n[w]\na=[\n{tables}]\n'
    assert settings_in(tmp_path, "a.toml", text) == [{"maxOpenConns": 3}]


def test_a_function_of_flask_sqlalchemy_2_shows_its_version(tmp_path: Path) -> None:
    python = """from flask_sqlalchemy import SQLAlchemy as SA
class SQLAlchemy(SA):
    def apply_pool_defaults(self, app, options):
        SA.apply_pool_defaults(self, app, options)
        options["pool_pre_ping"] = True
db = SQLAlchemy()
"""  # cnicodeme/flask-bootstrap: database.py
    (tmp_path / "database.py").write_text(python)
    (checked,) = check_pools(read_pools(tmp_path / "database.py").pools)
    assert (checked.pool.value("pool_pre_ping"), checked.most_connections) == (True, 20)
    assert "flask_old_names" in {finding.code for finding in checked.findings}


def test_the_variables_and_the_file_of_a_configmap_are_of_the_same_pool(tmp_path: Path) -> None:
    text = """apiVersion: v1
kind: ConfigMap
metadata: {name: sims}
data:
  SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE: "20"
  application-k8s.yml: |
    spring.datasource:
      url: jdbc:mysql://h/d
      hikari.maximum-pool-size: ${SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE:20}
"""  # GodF007/nsrs-git: nsrs-deploy/v1.0.0/k8s/base/configmap.yaml
    (tmp_path / "configmap.yaml").write_text(text)
    counted = pools_of_process([checked_file(read_pools(tmp_path / "configmap.yaml"), ServerFacts(), None)])
    assert [checked.most_connections for _, checked in counted] == [20]


def test_the_servers_of_a_proxy_have_a_limit_each(poolsize_here: Command, tmp_path: Path) -> None:
    servers = ", ".join(f'{{address="{name}", max_connections=100}}' for name in "abc")
    (tmp_path / "proxysql.cnf").write_text(f"mysql_servers = ({servers})")
    done = poolsize_here("config", "--check", "proxysql.cnf", "--json")
    assert (done.returncode, json.loads(done.stdout)["connections"]) == (0, 100)


def test_a_schema_whose_url_is_elsewhere_has_an_unknown_size(tmp_path: Path) -> None:
    (tmp_path / "schema.prisma").write_text('datasource db {\n  provider = "mysql"\n  url = env("URL")\n}')
    (checked,) = check_pools(read_pools(tmp_path / "schema.prisma").pools)
    assert {finding.code for finding in checked.findings} == {"pool_of_cpus", "pool_incomplete"}
    assert checked.most_connections is None


@pytest.mark.parametrize(
    ("version", "default"),
    [
        ("6.2.1", "the machine: physical CPUs * 2 + 1. This"),
        ("^7.1.0", "the driver adapter (Prisma 7 or later). This"),
        ("7", "the driver adapter (Prisma 7 or later). This"),
        ("6.x", "the machine: physical CPUs * 2 + 1. This"),
        (">=5", "the machine: physical CPUs * 2 + 1 (from Prisma 7 on, the"),
    ],
)
def test_the_version_of_prisma_decides_its_default(
    poolsize_here: Command, tmp_path: Path, version: str, default: str
) -> None:
    (tmp_path / "schema.prisma").write_text('datasource db {\n  provider = "mysql"\n  url = env("URL")\n}')
    (tmp_path / "package.json").write_text(f'{{"dependencies": {{"@prisma/client": "{version}"}}}}')
    text = " ".join(poolsize_here("config", "--check", "schema.prisma").stdout.split())
    assert f"The default of Prisma depends on {default}" in text


HOSTILE = [
    ("database.yml", "a:\n  adapter: mysql2\n  pool: " + "<%= " * 100_000),
    ("database.yml", "a:\n  adapter: mysql2\n  pool: " + "<%= ENV.fetch('A') { " * 20_000),
    ("proxysql.cnf", "mysql_servers = (" + '{a="' * 100_000),
    ("a.php", "<?php mysql ATTR_PERSISTENT " + "'a' => [" * 20_000),
    ("a.rs", "MySqlPoolOptions::new()" + ".max_connections(5)" * 20_000),
    ("a.cs", "MySqlConnection " + '"Server=h;" + ' * 20_000),
    ("appsettings.json", '{"a=": ' + "[" * 100_000),
    (".env", "A=mysql://" + "?connection_limit=5&" * 50_000),
    ("b.php", "<?php use Swoole\\Database\\PDOPool; " + "new PDOPool((" * 20_000),
]


@pytest.mark.costly
@pytest.mark.parametrize(("name", "text"), in_ci(HOSTILE, HOSTILE[1], HOSTILE[3], HOSTILE[7]))
def test_hostile_files_are_read_or_refused(poolsize_here: Command, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = poolsize_here("config", "--check", name)
    assert done.returncode in {0, 2, 3}
    assert done.stderr.count("\n") <= 1
