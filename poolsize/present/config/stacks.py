"""The stacks that poolsize writes a configuration for."""

from dataclasses import dataclass
from typing import Any

from poolsize.answer.pool_settings import PoolSettings
from poolsize.errors import BadInput, did_you_mean

CONNECTOR_PYTHON_LARGEST = 32
"""mysql.connector.pooling.CNX_POOL_MAXSIZE."""


@dataclass(frozen=True)
class Stack:
    """A library, framework, proxy or server that is configured.

    title: for people. file: usual name of its configuration file; its template is templates/`template`.j2.
    largest_pool: that the library accepts; None for any. of_all: whether it configures all clients together.
    """

    title: str
    file: str
    template: str
    largest_pool: int | None = None
    of_all: bool = False

    @property
    def comment(self) -> str:
        """What begins a comment in the file."""
        return COMMENTS.get(self.file.rsplit(".", 1)[-1], "#")

    def literal(self, value: Any) -> str:
        """Return a value as the file writes it: only Python writes True and False with capitals."""
        if isinstance(value, bool) and not self.file.endswith(".py"):
            return str(value).lower()
        return str(value)


COMMENTS = {"go": "//", "js": "//", "conf": ";", "sql": "--"}
"""Ending of a file's name -> what begins a comment; elsewhere "#"."""

STACKS = {
    "sqlalchemy": Stack("SQLAlchemy", "database.py", "sqlalchemy.py"),
    "sqlalchemy-async": Stack("SQLAlchemy with asyncio (asyncmy)", "database.py", "sqlalchemy-async.py"),
    "flask-sqlalchemy": Stack("Flask-SQLAlchemy", "config.py", "flask-sqlalchemy.py"),
    "django": Stack("Django, and the threads of its server", "settings.py", "django.py"),
    "asyncmy": Stack("asyncmy", "database.py", "asyncmy.py"),
    "aiomysql": Stack("aiomysql", "database.py", "aiomysql.py"),
    "mysql-connector-python": Stack(
        "MySQL Connector/Python", "database.py", "mysql-connector-python.py", largest_pool=CONNECTOR_PYTHON_LARGEST
    ),
    "peewee": Stack("peewee", "database.py", "peewee.py"),
    "dbutils": Stack("DBUtils PooledDB", "database.py", "dbutils.py"),
    "hikaricp": Stack("HikariCP, properties", "hikari.properties", "hikaricp.properties"),
    "spring-boot": Stack("Spring Boot with HikariCP, YAML", "application.yml", "spring-boot.yml"),
    "druid": Stack("Druid", "druid.properties", "druid.properties"),
    "dbcp2": Stack("Apache Commons DBCP 2", "dbcp2.properties", "dbcp2.properties"),
    "c3p0": Stack("c3p0", "c3p0.properties", "c3p0.properties"),
    "tomcat-jdbc": Stack("Tomcat JDBC Pool", "tomcat-jdbc.properties", "tomcat-jdbc.properties"),
    "go": Stack("Go, database/sql with go-sql-driver/mysql", "database.go", "database.go"),
    "node-mysql2": Stack("Node.js, mysql2", "database.js", "database.js"),
    "php-fpm": Stack("PHP-FPM with persistent connections", "www.conf", "php-fpm.conf"),
    "proxysql": Stack("ProxySQL, by its admin interface", "proxysql.sql", "proxysql.sql", of_all=True),
    "maxscale": Stack("MaxScale", "maxscale.cnf", "maxscale.cnf", of_all=True),
    "my.cnf": Stack("The MySQL or MariaDB server itself", "poolsize.cnf", "my.cnf", of_all=True),
}
"""Name -> stack."""


def find_stack(name: str) -> Stack:
    """Return the stack of a name. Raises BadInput for an unknown name."""
    if name not in STACKS:
        raise BadInput(f"`stack` {name}: no such stack{did_you_mean(name, STACKS) or ''}; `poolsize config --list`")
    return STACKS[name]


def require_fits(stack: Stack, settings: PoolSettings) -> None:
    """Raise BadInput for a pool that is larger than the library accepts."""
    if stack.largest_pool is not None and settings.size > stack.largest_pool:
        raise BadInput(
            f"{stack.title} accepts pools of up to {stack.largest_pool} connections, and {settings.size} are "
            "recommended: use more processes (`instances`, `processes`), or another pool"
        )
