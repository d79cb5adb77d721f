"""Facts of the database server: its version, its settings, and the connections that are open on it."""

from dataclasses import dataclass
from importlib import resources
from typing import Any, Protocol


class Cursor(Protocol):
    """The part of a database cursor (PEP 249) that this module uses."""

    def execute(self, query: str, args: Any = None) -> Any:
        """Run a statement."""

    def fetchall(self) -> Any:
        """Return every row of the last statement."""


@dataclass(frozen=True)
class Server:
    """A MySQL or MariaDB server.

    address: host and port as the server reports them, an IPv6 address in brackets.
    flavor: "MySQL", "MariaDB" or "Percona Server".
    version: as the server reports it, e.g. "10.11.6-MariaDB".
    max_connections: connections that the server admits, without the connection reserved for an administrator.
    max_user_connections: connections that each account may have, or 0 for no such limit.
    thread_handling: "one-thread-per-connection"; with a thread pool, "pool-of-threads" (MariaDB, Percona) or
        "loaded-dynamically" (MySQL Enterprise, RDS).
    durable: whether a commit waits until the redo log is on the disk. buffer_pool_bytes: size of InnoDB's cache.
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
        """Name and version, e.g. "MariaDB 10.11.6"."""
        return f"{self.flavor} {self.version.split('-')[0]}"

    @property
    def thread_pool(self) -> bool:
        """Whether a thread pool serves the connections."""
        return self.thread_handling in {"pool-of-threads", "loaded-dynamically"}

    @property
    def limit(self) -> tuple[str, int]:
        """The variable that limits an account's connections, and its value."""
        if 0 < self.max_user_connections < self.max_connections:
            return "max_user_connections", self.max_user_connections
        return "max_connections", self.max_connections

    def free_connections(self, other_connections: int, own_connections: int) -> int:
        """Return how many connections the server admits for a pool, at least 0.

        other_connections: connections of other programs. own_connections: those that poolsize needs beside the pool.
        """
        free = self.max_connections - other_connections - own_connections
        of_account = self.max_user_connections - own_connections if self.max_user_connections else free
        return max(0, min(free, of_account))


def host_and_port(host: str, port: int | str) -> str:
    """Return HOST:PORT, with an IPv6 address in brackets, as a URL needs it: [::1]:3306."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def query(name: str) -> str:
    """Return the SQL text of facts/queries/NAME.sql."""
    return resources.files("poolsize.facts").joinpath(f"queries/{name}.sql").read_text("utf-8")


def read_server(cursor: Cursor) -> Server:
    """Return the server's facts, read through a cursor; the account needs no privilege."""
    cursor.execute(query("variables"))
    variables = dict(cursor.fetchall())
    return Server(
        address=host_and_port(variables.get("hostname", ""), variables.get("port", "")),
        flavor=_flavor(variables),
        version=variables["version"],
        max_connections=int(variables["max_connections"]),
        max_user_connections=int(variables.get("max_user_connections", 0)),
        thread_handling=variables.get("thread_handling", "one-thread-per-connection"),
        durable=variables.get("innodb_flush_log_at_trx_commit") == "1",
        buffer_pool_bytes=int(variables.get("innodb_buffer_pool_size", 0)),
    )


def difference_between(before: Server, now: Server, *, with_address: bool = True) -> str | None:
    """Return the first difference that makes figures of two servers incomparable, in words; None without any."""
    fields = ("flavor", "version", "thread_handling", "durable", "buffer_pool_bytes")
    for field in (*(("address",) if with_address else ()), *fields):
        was, is_now = getattr(before, field), getattr(now, field)
        if was != is_now:
            return f"{field} was {was} when the run began, and is {is_now} on this server"
    return None


def read_cipher(cursor: Cursor) -> str | None:
    """Return the cipher that encrypts the cursor's connection, or None without encryption."""
    cursor.execute(query("cipher"))
    return dict(cursor.fetchall()).get("Ssl_cipher") or None


def open_connections(cursor: Cursor) -> int:
    """Return the number of connections that are open on the server now, of all accounts."""
    cursor.execute(query("connected"))
    return int(dict(cursor.fetchall())["Threads_connected"])


def connection_bytes(cursor: Cursor) -> int:
    """Return the memory of an idle connection: its thread's stack, a connection buffer and a result buffer.

    Source: MySQL 9 Reference Manual, "How MySQL Uses Memory".
    """
    cursor.execute(query("connection_memory"))
    sizes = {name: int(value) for name, value in cursor.fetchall()}
    return sizes["thread_stack"] + 2 * sizes["net_buffer_length"]


def connection_ids(cursor: Cursor) -> set[int]:
    """Return the server's ids of the open connections that the account may see."""
    cursor.execute(query("connections"))
    return {int(row[0]) for row in cursor.fetchall()}


def account_connections(cursor: Cursor, account: str) -> set[int]:
    """Return the server's ids of an account's open connections; another account's need the privilege PROCESS."""
    cursor.execute(query("connections"))
    return {int(row[0]) for row in cursor.fetchall() if row[1] == account}


def _flavor(variables: dict[str, str]) -> str:
    description = variables["version"] + " " + variables.get("version_comment", "")
    for flavor in ("MariaDB", "Percona Server"):
        if flavor.split(maxsplit=1)[0].lower() in description.lower():
            return flavor
    return "MySQL"
