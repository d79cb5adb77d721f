"""Facts of the database server: its version, its settings, and its open connections."""

from collections.abc import Mapping
from importlib import resources
from typing import Any, TypeAlias

from poolsize.bounds import LARGEST_NUMBER
from poolsize.errors import BadInput, WorkFailed
from poolsize.record import Name, Whole, record

LONGEST_VALUE = 256
"""Letters that are kept of a server's text; those that poolsize reads are no longer."""
Cursor: TypeAlias = Any
"""A database cursor (PEP 249)."""


@record
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

    address: Name
    flavor: Name
    version: Name
    max_connections: Whole
    max_user_connections: Whole
    thread_handling: Name
    durable: bool
    buffer_pool_bytes: Whole

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


def quoted(name: str) -> str:
    """Return the name of a schema or a table as SQL takes it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def query(name: str, package: str = "poolsize.facts") -> str:
    """Return the SQL text of queries/NAME.sql in a package."""
    return resources.files(package).joinpath(f"queries/{name}.sql").read_text("utf-8")


def read_pairs(cursor: Cursor, name: str, package: str = "poolsize.facts") -> dict[str, str]:
    """Return variable -> its value, for those variables of a query that the server has. name: of the query's file."""
    cursor.execute(query(name, package))
    return {
        text_of(row[0]): text_of(row[1])
        for row in cursor.fetchall()
        if len(row) == 2 and row[0] is not None and row[1] is not None
    }


def only_row(cursor: Cursor, columns: int) -> tuple[Any, ...]:
    """Return the only row of a statement. Raises WorkFailed where the answer has another form."""
    rows = cursor.fetchall()
    if len(rows) != 1 or len(rows[0]) != columns or None in rows[0]:
        raise WorkFailed("the server answers a simple question in another form than MySQL and MariaDB do")
    return tuple(rows[0])


def number_of(values: Mapping[str, str], name: str) -> int | None:
    """Return the whole number that a variable has; None where the server lacks it, or has something else there."""
    try:
        number = int(values[name])
    except (KeyError, ValueError):
        return None
    return number if 0 <= number <= LARGEST_NUMBER else None


def text_of(value: Any) -> str:
    """Return a value of a server as text, cut where it is longer than poolsize's own figures need."""
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))[:LONGEST_VALUE]


def read_server(cursor: Cursor) -> Server:
    """Return the server's facts, read through a cursor; the account needs no privilege.

    Raises BadInput for a server that lacks what every MySQL and MariaDB has.
    """
    variables = read_pairs(cursor, "variables")
    max_connections = number_of(variables, "max_connections")
    if max_connections is None or not variables.get("version"):
        missing = "version" if max_connections is not None else "max_connections"
        raise BadInput(
            f"`url`: the server does not show the variable {missing}, which every MySQL and MariaDB has: if it is a "
            "proxy, give the URL of the database itself"
        )
    description = f"{variables['version']} {variables.get('version_comment', '')}".lower()
    flavors = {"mariadb": "MariaDB", "percona": "Percona Server"}
    return Server(
        address=host_and_port(variables.get("hostname", ""), variables.get("port", "")),
        flavor=next((name for word, name in flavors.items() if word in description), "MySQL"),
        version=variables["version"],
        max_connections=max_connections,
        max_user_connections=number_of(variables, "max_user_connections") or 0,
        thread_handling=variables.get("thread_handling", "one-thread-per-connection"),
        durable=variables.get("innodb_flush_log_at_trx_commit") == "1",
        buffer_pool_bytes=number_of(variables, "innodb_buffer_pool_size") or 0,
    )


def difference_between(before: Server, now: Server, *, with_address: bool = True) -> str | None:
    """Return the first difference that makes figures of two servers incomparable, in words; None if there is none."""
    fields = ("flavor", "version", "thread_handling", "durable", "buffer_pool_bytes")
    for field in (*(("address",) if with_address else ()), *fields):
        was, is_now = getattr(before, field), getattr(now, field)
        if was != is_now:
            return f"{field} was {was} when the run began, and is {is_now} on this server"
    return None


def read_cipher(cursor: Cursor) -> str | None:
    """Return the cipher that encrypts the cursor's connection, or None without encryption."""
    return read_pairs(cursor, "cipher").get("Ssl_cipher") or None


def open_connections(cursor: Cursor) -> int:
    """Return the number of open connections of all accounts, with the cursor's own; 1 where the server does not say."""
    return max(1, number_of(read_pairs(cursor, "connected"), "Threads_connected") or 1)


def connection_bytes(cursor: Cursor) -> int | None:
    """Return the memory of an idle connection: its thread's stack, a connection buffer and a result buffer.

    None where the server does not say. Source: MySQL 9 Reference Manual, "How MySQL Uses Memory".
    """
    sizes = read_pairs(cursor, "connection_memory")
    stack, buffer = number_of(sizes, "thread_stack"), number_of(sizes, "net_buffer_length")
    return None if stack is None or buffer is None else stack + 2 * buffer


def connection_ids(cursor: Cursor, account: str | None = None) -> set[int]:
    """Return the server's ids of the open connections that this account may see, or of these an account's.

    The connections of another account need the privilege PROCESS.
    """
    cursor.execute(query("connections"))
    rows = [row for row in cursor.fetchall() if len(row) > 1 and isinstance(row[0], int)]
    return {number for number, user, *_ in rows if account in {None, user}}
