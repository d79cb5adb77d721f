"""ReadingSession: a connection to a server in production, which only reads, and what its account may read there."""

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

import pymysql
from sqlalchemy import URL

from poolsize.bounds import shown
from poolsize.facts.inspection import Platform, platform_of
from poolsize.facts.server import only_row, read_pairs, read_server, text_of
from poolsize.server.bounded import OWN, Bounds
from poolsize.server.connection import connect, naming_failures

SETTING_AT: Mapping[Platform, str] = {
    Platform.AURORA: "in the cluster's parameter group",
    Platform.RDS: "in the parameter group",
    Platform.CLOUD_SQL: "as a database flag",
    Platform.AZURE: "as a server parameter",
}
"""Platform -> where its users set a server variable; elsewhere in the server's configuration."""


class ReadingSession:
    """A connection to the server. queries: that it sent.

    Every method but `close` raises pymysql.MySQLError where the connection is lost.
    """

    def __init__(self, url: URL, bounds: Bounds = OWN) -> None:
        """Connect, and find out what the account may read. Raises BadInput, and WorkFailed for a failing server."""
        self._connection = connect(url, bounds=bounds)
        self.queries, self._own_seconds = 0, 0.0
        try:
            with naming_failures():
                self._prepare(url)
        except BaseException:
            self.close()
            raise

    def _prepare(self, url: URL) -> None:  # noqa: ARG002 (a session that knows the server's process looks for it)
        cursor = self._connection.cursor()
        cursor.execute("SELECT CONNECTION_ID(), CURRENT_USER(), USER()")
        own_id, account, user = only_row(cursor, 3)
        self._own_name, _, self._own_host = text_of(user).rpartition("@")
        self._own_id, self._account = int(own_id), "@".join(f"'{part}'" for part in text_of(account).rsplit("@", 1))
        self._variables, self.server = read_pairs(cursor, "inspection_variables"), read_server(cursor)
        self._platform = platform_of(self._variables, self._connection.get_server_info())
        self._has_schema = self._variables.get("performance_schema") == "ON"

    def _tried(self, statement: str, *columns: int) -> list[Any] | None:
        """Return a statement's rows; None where the server does not know its tables, or denies them."""
        try:
            return self._rows(statement, *columns)
        except pymysql.MySQLError:
            self._connection.ping(reconnect=False)  # a lost connection is no answer
            return None

    def _rows(self, statement: str, *columns: int, values: Mapping[str, Any] | None = None) -> list[Any]:
        """Return a statement's rows that have one of these numbers of columns. values: of its parameters."""
        self.queries += 1
        begun = monotonic()
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values)
            rows = [row for row in cursor.fetchall() if len(row) in columns]
        self._own_seconds += monotonic() - begun
        return rows

    def _grant(self, privilege: str) -> str:
        account = self._account if self._account.isprintable() else shown(self._account)
        return f"GRANT {privilege} TO {account}."

    @property
    def setting_at(self) -> str:
        """Where a server variable is set."""
        return (self._platform and SETTING_AT.get(self._platform)) or "in the server's configuration"

    def end_within(self, seconds: float) -> None:
        """Let all further statements end within so many seconds altogether."""
        self._connection.end_within(seconds)

    def close(self) -> None:
        """Close the connection."""
        with suppress(pymysql.MySQLError):  # closed by the server
            self._connection.close()
