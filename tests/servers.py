"""Servers that the tests start: private servers, whose account may do everything there."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pymysql

from poolsize.server.private_server import ACCOUNT, PrivateServer, private_server


@contextmanager
def administered_server(
    mysqld: Path | None, options: Mapping[str, str], max_connections: int
) -> Iterator[PrivateServer]:
    """A private server that a test administers: it makes accounts and schemas there, and sets global variables."""
    with private_server(mysqld, options, max_connections) as server:
        socket = str(server.directory / "socket")
        with closing(pymysql.connect(unix_socket=socket, user="root")) as connection, connection.cursor() as cursor:
            cursor.execute(f"GRANT ALL ON *.* TO {ACCOUNT}@'127.0.0.1' WITH GRANT OPTION")
        yield server
