"""The database server: what it is, and the settings that decide how many connections it serves."""

from dataclasses import dataclass
from importlib import resources
from typing import Any, Protocol


class Cursor(Protocol):
    """The part of a database cursor (PEP 249) that is used here."""

    def execute(self, query: str, args: Any = None) -> Any:
        """Run one statement."""

    def fetchall(self) -> Any:
        """Every row of the last statement."""


@dataclass(frozen=True)
class Server:
    """A MySQL or MariaDB server.

    address: the host and port that it says it has. flavor: "MySQL", "MariaDB" or "Percona Server".
    max_connections: ordinary connections it admits.
    max_user_connections: those of one account, or 0 for no such limit.
    thread_handling: "one-thread-per-connection", or "pool-of-threads" (MariaDB, Percona) or
        "loaded-dynamically" (MySQL Enterprise, RDS) where a thread pool serves them.
    durable: whether a commit waits for the redo log to reach the disk.
    buffer_pool_bytes: InnoDB's cache.
    """

    address: str
    flavor: str
    version: str
    max_connections: int
    max_user_connections: int
    thread_handling: str
    durable: bool
    buffer_pool_bytes: int

    @property
    def title(self) -> str:
        """Name and version for people: MariaDB 10.11.6."""
        return f"{self.flavor} {self.version.split('-')[0]}"

    @property
    def thread_pool(self) -> bool:
        """Whether a thread pool serves the connections."""
        return self.thread_handling in {"pool-of-threads", "loaded-dynamically"}

    def free(self, taken: int, ours: int) -> int:
        """Connections left for a pool, when others have taken some and poolsize needs a few of its own."""
        everybody = self.max_connections - taken - ours
        account = self.max_user_connections - ours if self.max_user_connections else everybody
        return max(0, min(everybody, account))


def query(name: str) -> str:
    """The text of facts/queries/NAME.sql."""
    return resources.files("poolsize.facts").joinpath(f"queries/{name}.sql").read_text("utf-8")


def read_server(cursor: Cursor) -> Server:
    """Ask the server what it is; needs no privilege."""
    cursor.execute(query("variables"))
    variables = dict(cursor.fetchall())
    return Server(
        address=f"{variables.get('hostname', '')}:{variables.get('port', '')}",
        flavor=_flavor(variables),
        version=variables["version"],
        max_connections=int(variables["max_connections"]),
        max_user_connections=int(variables.get("max_user_connections", 0)),
        thread_handling=variables.get("thread_handling", "one-thread-per-connection"),
        durable=variables.get("innodb_flush_log_at_trx_commit") == "1",
        buffer_pool_bytes=int(variables.get("innodb_buffer_pool_size", 0)),
    )


def connected(cursor: Cursor) -> int:
    """Connections open on the server now, everybody's together."""
    cursor.execute(query("connected"))
    return int(dict(cursor.fetchall())["Threads_connected"])


def connections_in(cursor: Cursor, schema: str) -> int:
    """Connections whose current schema is this one."""
    cursor.execute(query("connections"))
    database_column = 3
    return sum(row[database_column] == schema for row in cursor.fetchall())


def _flavor(variables: dict[str, str]) -> str:
    said = variables["version"] + " " + variables.get("version_comment", "")
    for flavor in ("MariaDB", "Percona Server"):
        if flavor.split(maxsplit=1)[0].lower() in said.lower():
            return flavor
    return "MySQL"
