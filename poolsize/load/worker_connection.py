"""A worker's PyMySQL connection, which takes less of the client's CPU time."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gevent
from pymysql.connections import MySQLResult
from pymysql.constants.COMMAND import COM_QUERY
from pymysql.constants.CR import CR_SERVER_LOST
from pymysql.err import OperationalError

from poolsize.server.guarded import HANDSHAKE_BYTES, HANDSHAKE_SECONDS, MALFORMED, GuardedConnection

READABLE = 1
CLOSING_SECONDS = 1
HEADER_BYTES = 4
END_PACKET_BYTES, END_PACKET = 9, b"\x05\x00\x00"
"""Length of the packet that ends a description of columns, and its first bytes, which say its length."""
KNOWN_COLUMNS = 16
"""Descriptions of columns that a connection keeps."""


@dataclass(frozen=True)
class Columns:
    """The columns of a result. packets: the bytes that describe them. encoding: the connection's. Others: PyMySQL's."""

    packets: bytes
    encoding: str
    fields: list[Any]
    converters: list[Any]
    description: tuple[Any, ...]


class WorkerResult(MySQLResult):  # type: ignore[misc]  # PyMySQL has no types
    """A PyMySQL result for which a connection parses equal descriptions of columns once.

    To parse the description of one column, and the packet that ends it, takes as long as all the rest of a point
    select's response.
    """

    def _get_descriptions(self) -> None:
        connection = self.connection
        ahead = connection.received()
        for known in connection.known_columns:
            if (
                ahead.startswith(known.packets)
                and len(known.fields) == self.field_count
                and known.encoding == connection.encoding
            ):
                connection.skip(known)
                self.fields, self.converters, self.description = known.fields, known.converters, known.description
                return
        super()._get_descriptions()
        size = sum(HEADER_BYTES + len(field.get_all_data()) for field in self.fields) + END_PACKET_BYTES
        if size <= len(ahead) and ahead.startswith(END_PACKET, size - END_PACKET_BYTES):
            connection.known_columns.appendleft(
                Columns(ahead[:size], connection.encoding, self.fields, self.converters, self.description)
            )


class WorkerConnection(GuardedConnection):
    """A PyMySQL connection without three costs of each statement.

    gevent's `sendall` first asks for the size of the socket's buffer. Its `recv_into` first reads a socket that can't
    hold the response yet. Together they are a fifth of the CPU time of a pooled point select, and threads do not have
    them. This class calls `send`, and waits for the response before it reads. The third cost is the description of a
    result's columns, see WorkerResult. PyMySQL's own methods do the rest.

    known_columns: the latest descriptions of columns on this socket.
    """

    known_columns: deque[Columns]
    _await_response: Callable[[], object] | None = None
    """Waits until the socket is readable; None before the first query on this socket."""

    def connect(self, sock: Any = None) -> None:
        """Connect to the server, within a time and a number of bytes. A second call watches the new socket.

        Statements have no such bounds, which would cost CPU time.
        """
        self._await_response = None
        self.known_columns = deque(maxlen=KNOWN_COLUMNS)
        left, read = HANDSHAKE_BYTES, super()._read_bytes

        def read_counted(number: int) -> bytes:
            nonlocal left
            left -= number
            if left < 0:
                raise OperationalError(
                    MALFORMED, f"the server sent more than {HANDSHAKE_BYTES:,} bytes before the login"
                )
            return bytes(read(number))

        late = OperationalError(CR_SERVER_LOST, f"no connection within {HANDSHAKE_SECONDS} s")
        self._read_bytes = read_counted
        try:
            with gevent.Timeout(HANDSHAKE_SECONDS, late):
                super().connect(sock)
        finally:
            del self._read_bytes

    def close(self) -> None:
        """Say goodbye, for which a frozen server may have no room, and close the socket."""
        with gevent.Timeout(CLOSING_SECONDS, exception=False):  # type: ignore[arg-type]  # "be silent", in its manual
            super().close()

    def received(self) -> bytes:
        """Return the bytes that are read from the socket and not used yet; reads some if no such bytes are left."""
        try:
            return bytes(self._rfile.peek())
        except OSError:
            return b""  # PyMySQL's own read meets the same error and reports it
        except BaseException:
            self._force_close()
            raise

    def skip(self, columns: Columns) -> None:
        """Take the packets of a description, which are received, as if they were read."""
        self._rfile.read(len(columns.packets))
        self._next_seq_id: int = (self._next_seq_id + len(columns.fields) + 1) % 256

    def _write_bytes(self, data: bytes) -> None:
        try:
            sent = self._sock.send(data)
        except OSError:
            sent = 0  # PyMySQL's own method meets the same error and reports it
        if sent < len(data):
            super()._write_bytes(data[sent:])

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        """Send a command. The server answers every query, so wait for its response.

        With a read timeout, PyMySQL's own read waits, which reports the timeout.
        """
        super()._execute_command(command, sql)
        if command != COM_QUERY or self._read_timeout is not None:
            return
        if self._await_response is None:
            hub = gevent.get_hub()
            self._await_response = partial(hub.wait, hub.loop.io(self._sock.fileno(), READABLE))
        try:
            self._await_response()
        except BaseException:  # of a killed greenlet: the response is still to come, and answers no later statement
            self._force_close()
            raise

    def _read_query_result(self, unbuffered: bool = False) -> Any:
        if unbuffered:
            return super()._read_query_result(unbuffered)
        self._result = None
        result = WorkerResult(self)
        result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return result.affected_rows
