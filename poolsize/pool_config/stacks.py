"""The stacks that poolsize writes a configuration for: PoolSettings -> text to paste, and data."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from poolsize.errors import BadInput, did_you_mean
from poolsize.facts.ports import TIME_WAIT_SECONDS
from poolsize.files import templates
from poolsize.pool_config.libraries.java import HIKARICP
from poolsize.pool_config.libraries.python import CONNECTOR_PYTHON
from poolsize.pool_config.reasons import sources
from poolsize.pool_config.settings import CALLER_TIMEOUT_SECONDS, SURVEY, PoolSettings, seconds_text
from poolsize.units import count, milliseconds, percent

if TYPE_CHECKING:
    from poolsize.answer.verdict import Verdict

COMMENTS = {".go": "//", ".js": "//", ".conf": ";", ".sql": "--"}
"""Ending of a file's name -> what begins a comment; elsewhere "#"."""
WIDTH = 100
"""Columns; longer comments are wrapped."""
EPHEMERAL_PORTS = 60_999 - 32_768 + 1
"""Linux's default, net.ipv4.ip_local_port_range (the kernel's ip-sysctl documentation)."""


@dataclass(frozen=True)
class Stack:
    """A library, framework, proxy or server that is configured.

    name: its template is templates/`name`.j2. title: for people. file: usual name of its configuration file.
    largest_pool: that the library accepts; None for any. is_proxy: whether it is a pool that all processes share.
    is_server: whether it is the server. has_wait_limit: whether a request gets an error after a time.
    worker: what holds a connection for a whole request, so that its number is the pool size; "" for a pool that more
    requests share. workers_are_processes: whether it is a process. least_check_seconds: shortest interval at which
    idle connections are pinged. other_form_of: the stack whose library this also is, or "". random_order: whether
    waiting requests are served in random order.
    """

    name: str
    title: str
    file: str
    largest_pool: int | None = None
    is_proxy: bool = False
    is_server: bool = False
    has_wait_limit: bool = True
    worker: str = ""
    workers_are_processes: bool = False
    least_check_seconds: int = 0
    other_form_of: str = ""
    random_order: bool = False

    @property
    def shared_by_all(self) -> bool:
        """Whether all processes share what it configures."""
        return self.is_proxy or self.is_server

    def accepts(self, pool_size: int) -> bool:
        """Return whether the library accepts a pool of this size."""
        return self.largest_pool is None or pool_size <= self.largest_pool

    def words(self, text: str) -> str:
        """Return sentences on the pools of processes in this stack's words: the pool of PHP-FPM is an instance's."""
        if not self.workers_are_processes:
            return text
        return text.replace(" and --processes", "").replace("processes", "instances").replace("process", "instance")


_HIKARICP_CHECKS = HIKARICP.least["keepaliveTime"] // 1000
STACKS = {
    stack.name: stack
    for stack in (
        Stack("sqlalchemy", "SQLAlchemy", "database.py"),
        Stack("sqlalchemy-async", "SQLAlchemy with asyncio (asyncmy)", "database.py", other_form_of="sqlalchemy"),
        Stack("flask-sqlalchemy", "Flask-SQLAlchemy", "config.py"),
        Stack(
            "django", "Django, and the threads of its server (gunicorn)", "settings.py", has_wait_limit=False,
            worker="thread",
        ),
        Stack("asyncmy", "asyncmy", "database.py"),
        Stack("aiomysql", "aiomysql", "database.py"),
        Stack(
            "mysql-connector-python", "MySQL Connector/Python", "database.py",
            largest_pool=CONNECTOR_PYTHON.largest["pool_size"], has_wait_limit=False, worker="thread",
        ),
        Stack("peewee", "peewee", "database.py"),
        Stack("dbutils", "DBUtils PooledDB", "database.py", has_wait_limit=False),
        Stack("hikaricp", "HikariCP, properties", "hikari.properties", least_check_seconds=_HIKARICP_CHECKS),
        Stack(
            "spring-boot", "Spring Boot with HikariCP, YAML", "application.yml", least_check_seconds=_HIKARICP_CHECKS,
            other_form_of="hikaricp",
        ),
        Stack("druid", "Druid", "druid.properties"),
        Stack("dbcp2", "Apache Commons DBCP 2", "dbcp2.properties"),
        Stack("c3p0", "c3p0", "c3p0.properties"),
        Stack("tomcat-jdbc", "Tomcat JDBC Pool", "tomcat-jdbc.properties"),
        Stack("go", "Go, database/sql with go-sql-driver/mysql", "database.go", random_order=True),
        Stack("node-mysql2", "Node.js, mysql2", "database.js"),
        Stack(
            "php-fpm", "PHP-FPM with persistent connections", "www.conf", has_wait_limit=False, worker="worker",
            workers_are_processes=True,
        ),
        Stack("proxysql", "ProxySQL, by its admin interface", "proxysql.sql", is_proxy=True),
        Stack("maxscale", "MaxScale", "maxscale.cnf", is_proxy=True),
        Stack("my.cnf", "The MySQL or MariaDB server itself", "poolsize.cnf", has_wait_limit=False, is_server=True),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A setting of a configuration.

    unit: of a number, e.g. "ms"; None where it is not a number with a unit. why: its reason and its source.
    """

    name: str
    value: int | float | str | bool
    unit: str | None
    why: str


@dataclass(frozen=True)
class Configuration:
    """The configuration of a stack.

    text: to paste into a file, with the advice as comments; brief: without. advice: beyond the settings.
    """

    stack: Stack
    text: str
    brief: str
    settings: tuple[Setting, ...]
    advice: tuple[str, ...]


def find_stack(name: str) -> Stack:
    """Return the stack of a name. Raises BadInput for an unknown name."""
    if name in STACKS:
        return STACKS[name]
    titled = [stack.name for stack in STACKS.values() if name and name.lower() in stack.title.lower()]
    if not titled and (checked := _only_checked(name)):
        raise BadInput(f"`stack` {name}: poolsize checks {checked} (config --check FILE), and has nothing to write")
    near = did_you_mean(name, STACKS) or (f"; did you mean {' or '.join(titled)}?" if titled else "")
    raise BadInput(f"`stack` {name}: no such stack{near or '; poolsize config --list shows all'}")


def _only_checked(name: str) -> str:
    """Return the titles of the libraries with a name that are checked and not written; "" without any."""
    from poolsize.pool_config.libraries.table import LIBRARIES  # nothing else here needs all libraries

    words = {title: re.split(r"[^\w.-]+", title.lower()) for title, library in LIBRARIES.items() if not library.stack}
    return " and ".join(title for title, of_title in words.items() if name and name.lower() in of_title)


def configuration(stack: Stack, pool: PoolSettings) -> Configuration:
    """Return the configuration of a stack. Raises BadInput for settings that the library does not accept."""
    if not stack.shared_by_all:
        _require_fits(stack, pool)
    settings: list[Setting] = []
    reason, comment = "", COMMENTS.get(Path(stack.file).suffix, "#")

    def why(text: str) -> str:
        """Return the reason of the settings below as a comment."""
        nonlocal reason
        reason = " ".join(text.split())
        return f"{comment} {reason}"

    def value(name: str, recommended: Any, unit: str | None = None) -> str:
        """Return a value as the file writes it, and note the setting."""
        settings.append(Setting(name, recommended, unit, reason))
        text = str(recommended)  # only Python writes True and False with capitals
        return text.lower() if isinstance(recommended, bool) and not stack.file.endswith(".py") else text

    template = templates("poolsize.pool_config").get_template(f"{stack.name}.j2")
    lines = template.render(pool=pool, sources=sources(pool, stack), why=why, value=value).splitlines()
    brief = text = "".join(f"{_wrapped(line, comment)}\n" for line in lines)
    advice = () if stack.shared_by_all else tuple(_advice(stack, pool))
    if advice:
        beyond = (f"{comment} {line}" for line in ("Beyond these settings:", *advice))
        text += "".join(f"{_wrapped(line, comment)}\n" for line in ("", *beyond))
        brief += f"\n{comment} Advice beyond these settings: run this command with --why\n"
    for other in (each for each in STACKS.values() if each.other_form_of == stack.name):
        text += f"\n{comment} {other.title}: --for {other.name}\n"
        brief += f"{comment} {other.title}: --for {other.name}\n"
    return Configuration(stack, text, brief, tuple(settings), advice)


class ConfigurationValues(TypedDict):
    """The configuration of a pool.

    file: its usual name. pool_size: of a process. verdict: on the pool size of a run; null without a run. connections,
    connections_in_deploy: of all pools, usually and in a rolling deploy. advice: sentences. text: to paste.
    """

    stack: str
    file: str
    pool_size: int
    verdict: "Verdict | None"
    connections: int
    connections_in_deploy: int
    settings: tuple[Setting, ...]
    advice: tuple[str, ...]
    text: str


def configuration_values(configured: Configuration, pool: PoolSettings) -> ConfigurationValues:
    """Return a configuration as data for JSON."""
    return {
        "stack": configured.stack.name,
        "file": configured.stack.file,
        "pool_size": pool.size,
        "verdict": pool.of_run.verdict if pool.of_run else None,
        "connections": pool.plan.connections,
        "connections_in_deploy": pool.plan.connections_in_deploy,
        "settings": configured.settings,
        "advice": configured.advice,
        "text": configured.text,
    }


def _require_fits(stack: Stack, pool: PoolSettings) -> None:
    """Raise BadInput for settings that the library does not accept, and for processes that share no pool."""
    if not stack.accepts(pool.size):
        raise BadInput(
            f"{stack.title} accepts pools of up to {stack.largest_pool} connections, and {pool.size} are "
            "recommended: use more processes (`instances`, `processes`), or another pool"
        )
    if pool.idle_check_seconds < stack.least_check_seconds:
        raise BadInput(
            f"the server's wait_timeout is {pool.wait_timeout_seconds} s, and HikariCP checks idle connections "
            f"every {stack.least_check_seconds} s at the most often: set wait_timeout to 60 s or more"
        )
    if stack.workers_are_processes and pool.service.processes > 1:
        raise BadInput(
            f"`processes` {pool.service.processes}: the workers of PHP-FPM are its processes, and their number is "
            "the answer: give `instances` only"
        )


def _wrapped(line: str, comment: str) -> str:
    """Return a line; of a long comment, several lines with its indentation."""
    match = re.match(rf"(\s*){re.escape(comment)} (.+)$", line)
    if match is None or len(line) <= WIDTH:
        return line
    start = f"{match[1]}{comment} "
    return textwrap.fill(
        match[2], WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False, break_long_words=False
    )


def _advice(stack: Stack, pool: PoolSettings) -> Iterator[str]:
    if stack.has_wait_limit:
        own = "" if pool.caller_timeout_seconds != CALLER_TIMEOUT_SECONDS else "; give yours as --caller-timeout"
        yield (
            f"Timeout of the application's callers: {seconds_text(pool.caller_timeout_seconds)}. With a shorter "
            f"timeout, callers give up while their transaction still waits or runs{own}."
        )
    if pool.usage.two_pools:
        short, long = pool.usage.two_pools
        yield (
            f"Two pools: {percent(short.kind.share)} of transactions take {milliseconds(short.kind.usage_ms)}, the "
            f"others {milliseconds(long.kind.usage_ms)}. With {short.pool_size} connections for the short and "
            f"{long.pool_size} for the long ones, short transactions don't wait behind long ones."
        )
    if not stack.worker:
        yield (
            f"Workers that take jobs from a queue: at most {pool.size} in a process with this pool. Each holds a "
            "connection while it works; further workers only wait for a connection."
        )
    yield (
        f"Keep connections open. A connection that the client closes holds its port for {TIME_WAIT_SECONDS} s "
        f"(TIME_WAIT): with Linux's {count(EPHEMERAL_PORTS, 'port')}, at most {EPHEMERAL_PORTS // TIME_WAIT_SECONDS} "
        "connections a second are possible from one address to one server."
    )
    if stack.file.endswith((".properties", ".yml")):
        yield (
            "Prepared statements: cachePrepStmts=true and useServerPrepStmts=true in the JDBC URL. About 20 % more "
            f"throughput was measured with such a cache, says {SURVEY}; measure it with your own statements."
        )
