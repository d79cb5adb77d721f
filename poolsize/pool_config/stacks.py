"""The stacks that poolsize writes a configuration for."""

from dataclasses import dataclass
from typing import Any

from poolsize.errors import BadInput, did_you_mean
from poolsize.pool_config.check import CONNECTOR_PYTHON_LARGEST, HIKARICP_LEAST_MS
from poolsize.pool_config.settings import PoolSettings


@dataclass(frozen=True)
class Stack:
    """A library, framework, proxy or server that is configured.

    title: for people. file: usual name of its configuration file; its template is templates/`template`.j2.
    largest_pool: that the library accepts; None for any. shared_by_all: whether all processes share what it configures.
    has_wait_limit: whether a borrower gets an error after a time. workers_are_processes: whether each connection has a
    process of its own. least_check_seconds: shortest interval at which idle connections are pinged.
    """

    title: str
    file: str
    template: str
    largest_pool: int | None = None
    shared_by_all: bool = False
    has_wait_limit: bool = True
    workers_are_processes: bool = False
    least_check_seconds: int = 0

    @property
    def comment(self) -> str:
        """What begins a comment in the file."""
        return COMMENTS.get(self.file.rsplit(".", 1)[-1], "#")

    def literal(self, value: Any) -> str:
        """Return a value as the file writes it: only Python writes True and False with capitals."""
        if isinstance(value, bool) and not self.file.endswith(".py"):
            return str(value).lower()
        return str(value)


HIKARICP_LEAST_SECONDS = HIKARICP_LEAST_MS["keepaliveTime"] // 1000
COMMENTS = {"go": "//", "js": "//", "conf": ";", "sql": "--"}
"""Ending of a file's name -> what begins a comment; elsewhere "#"."""

STACKS = {
    "sqlalchemy": Stack("SQLAlchemy", "database.py", "sqlalchemy.py"),
    "sqlalchemy-async": Stack("SQLAlchemy with asyncio (asyncmy)", "database.py", "sqlalchemy-async.py"),
    "flask-sqlalchemy": Stack("Flask-SQLAlchemy", "config.py", "flask-sqlalchemy.py"),
    "django": Stack("Django, and the threads of its server", "settings.py", "django.py", has_wait_limit=False),
    "asyncmy": Stack("asyncmy", "database.py", "asyncmy.py"),
    "aiomysql": Stack("aiomysql", "database.py", "aiomysql.py"),
    "mysql-connector-python": Stack(
        "MySQL Connector/Python",
        "database.py",
        "mysql-connector-python.py",
        largest_pool=CONNECTOR_PYTHON_LARGEST,
        has_wait_limit=False,
    ),
    "peewee": Stack("peewee", "database.py", "peewee.py"),
    "dbutils": Stack("DBUtils PooledDB", "database.py", "dbutils.py", has_wait_limit=False),
    "hikaricp": Stack(
        "HikariCP, properties", "hikari.properties", "hikaricp.properties", least_check_seconds=HIKARICP_LEAST_SECONDS
    ),
    "spring-boot": Stack(
        "Spring Boot with HikariCP, YAML",
        "application.yml",
        "spring-boot.yml",
        least_check_seconds=HIKARICP_LEAST_SECONDS,
    ),
    "druid": Stack("Druid", "druid.properties", "druid.properties"),
    "dbcp2": Stack("Apache Commons DBCP 2", "dbcp2.properties", "dbcp2.properties"),
    "c3p0": Stack("c3p0", "c3p0.properties", "c3p0.properties"),
    "tomcat-jdbc": Stack("Tomcat JDBC Pool", "tomcat-jdbc.properties", "tomcat-jdbc.properties"),
    "go": Stack("Go, database/sql with go-sql-driver/mysql", "database.go", "database.go"),
    "node-mysql2": Stack("Node.js, mysql2", "database.js", "database.js"),
    "php-fpm": Stack(
        "PHP-FPM with persistent connections",
        "www.conf",
        "php-fpm.conf",
        has_wait_limit=False,
        workers_are_processes=True,
    ),
    "proxysql": Stack("ProxySQL, by its admin interface", "proxysql.sql", "proxysql.sql", shared_by_all=True),
    "maxscale": Stack("MaxScale", "maxscale.cnf", "maxscale.cnf", shared_by_all=True),
    "my.cnf": Stack("The MySQL or MariaDB server itself", "poolsize.cnf", "my.cnf", shared_by_all=True),
}
"""Name -> stack."""


def find_stack(name: str) -> Stack:
    """Return the stack of a name. Raises BadInput for an unknown name."""
    if name not in STACKS:
        near = did_you_mean(name, STACKS)
        raise BadInput(f"`stack` {name}: no such stack{near or '; poolsize config --list shows all'}")
    return STACKS[name]


def fits(stack: Stack, settings: PoolSettings) -> bool:
    """Return whether the library accepts a pool of this size."""
    return stack.largest_pool is None or settings.size <= stack.largest_pool


def require_fits(stack: Stack, settings: PoolSettings) -> None:
    """Raise BadInput for settings that the library does not accept, and for processes that share no pool."""
    if not fits(stack, settings):
        raise BadInput(
            f"{stack.title} accepts pools of up to {stack.largest_pool} connections, and {settings.size} are "
            "recommended: use more processes (`instances`, `processes`), or another pool"
        )
    if settings.idle_check_seconds < stack.least_check_seconds:
        raise BadInput(
            f"the server's wait_timeout is {settings.wait_timeout_seconds} s, and HikariCP checks idle connections "
            f"every {stack.least_check_seconds} s at the most often: set wait_timeout to 60 s or more"
        )
    if stack.workers_are_processes and settings.service.processes > 1:
        raise BadInput(
            f"`processes` {settings.service.processes}: the workers of PHP-FPM are its processes, and their number is "
            "the answer: give `instances` only"
        )
