"""Connections of poolsize's own, with bounds on what the server may take and send: time, bytes and packets."""

import select
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Thread
from time import monotonic, sleep
from typing import Any, NoReturn, TypeVar

import pymysql
from pymysql.constants import CR

from poolsize.server.guarded import HANDSHAKE_BYTES, HANDSHAKE_SECONDS, MALFORMED, GuardedConnection, naming_malformed

LOOK_SECONDS, LOOK_PACKETS = 0.25, 1000
"""How soon an exchange that is under way notices that all exchanges have to end."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Bounds:
    """What one exchange may take: a statement, from its first byte to the last byte of its result.

    seconds: of the whole exchange. received_bytes, packets: of the server's answer; each row is a packet.
    """

    seconds: float
    received_bytes: int
    packets: int


OWN = Bounds(60, 2 * 2**20, 100_000)
"""Of poolsize's own statements. A server that is saturated, or whose thread pool is full, answers late. The largest
answer lists the connections, each in some hundred bytes; a column of one byte becomes an object of a hundred."""
WORKLOAD = Bounds(24 * 3600, 64 * 2**20, 1_000_000)
"""Of the statements with which a workload makes and restores its tables: one statement may load a large table."""
HANDSHAKE = Bounds(HANDSHAKE_SECONDS, HANDSHAKE_BYTES, 1000)
CLOSING = Bounds(1, 0, 0)
LAST_SECONDS = 2
"""For all that a signal leaves to do on the server: to drop or restore tables, to close connections."""


class BoundedConnection(GuardedConnection):
    """A PyMySQL connection whose exchanges have bounds; set-up and close, too.

    PyMySQL's own limits are of each read, so that a server that sends a byte now and then is never late. Here the
    socket does not block, and every wait is in `_until`. Beyond a bound, the connection is closed, and OperationalError
    is raised. It works with sockets of gevent's as with Python's own.
    """

    _process_ends_at = inf
    _all_end_at = inf
    _ended: pymysql.err.OperationalError | None = None
    _is_connecting = False

    def __init__(self, *, bounds: Bounds, **arguments: Any) -> None:
        """Connect. bounds: of each statement. arguments: PyMySQL's. Raises pymysql.MySQLError."""
        self._of_statement = bounds
        super().__init__(**arguments)

    @classmethod
    def last_call(cls) -> None:
        """Let every exchange of this process end within LAST_SECONDS; a later call does not extend that."""
        cls._process_ends_at = min(cls._process_ends_at, monotonic() + LAST_SECONDS)

    def end_within(self, seconds: float) -> None:
        """Let this and all further exchanges end within so many seconds altogether."""
        self._all_end_at = monotonic() + seconds

    def connect(self, sock: Any = None) -> None:
        """Connect to the server. Raises pymysql.MySQLError."""
        self._begin(HANDSHAKE)
        self._ended = None  # of the connection before
        self._read_timeout = self._write_timeout = 0.0  # to PyMySQL, a socket that does not block
        try:
            reached = sock if sock or self.unix_socket else self._reached()
        except OSError as error:
            raise pymysql.err.OperationalError(
                CR.CR_CONN_HOST_ERROR, f"Can't connect to MySQL server on {self.host!r} ({error})"
            ) from error
        self._is_connecting = True
        try:
            super().connect(reached)
        finally:
            self._is_connecting = False

    def close(self) -> None:
        """Say goodbye, and close the socket."""
        self._begin(CLOSING)
        super().close()

    def _begin(self, bounds: Bounds) -> None:
        self._bounds, self._began_at = bounds, monotonic()
        self._bytes_left, self._packets_left = bounds.received_bytes, bounds.packets

    def _reached(self) -> Any:
        """Return a socket that is connected to the first address of the host that answers. Raises OSError.

        The system's look-up of the name has a deadline of its own, and hears no signal: it goes on in a thread.
        """
        looked_up: list[list[Any] | OSError] = []

        def look_up() -> None:
            try:
                looked_up.append(socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                looked_up.append(OSError(str(error)))

        thread = Thread(target=look_up, daemon=True)
        thread.start()
        deadline = monotonic() + min(self.connect_timeout, self._seconds_left())
        while thread.is_alive() and monotonic() < deadline:
            thread.join(min(LOOK_SECONDS, self._seconds_left()))
        (addresses,) = looked_up or [TimeoutError("its name is not looked up in time")]
        if isinstance(addresses, OSError):
            raise addresses
        failure = OSError("the name has no address")
        for *_, address in addresses:
            try:
                reached = socket.create_connection(address[:2], min(self.connect_timeout, self._seconds_left()))
            except OSError as error:
                failure = error
            else:
                reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return reached
        raise failure

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        return _Handshake(super()._create_ssl_ctx(sslp), self._until)

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if self._ended is not None:
            raise self._ended
        if self._sock is None:
            self._end(CR.CR_SERVER_GONE_ERROR, "the connection was closed before")
        if not self._is_connecting:  # whose own statements belong to a single exchange
            self._begin(self._of_statement)
        with naming_malformed(self):  # what the statement before left is read first
            super()._execute_command(command, sql)

    def _read_query_result(self, unbuffered: bool = False) -> int:
        with naming_malformed(self):
            rows: int = super()._read_query_result(unbuffered)
            return rows

    def _read_ok_packet(self) -> Any:
        with naming_malformed(self):
            return super()._read_ok_packet()

    def _read_packet(self, *packet_type: Any) -> Any:
        self._packets_left -= 1
        if self._packets_left < 0:
            self._end(MALFORMED, f"the server sent more than {self._bounds.packets:,} rows or packets at once")
        if self._packets_left % LOOK_PACKETS == 0:  # as long as data is there, nothing waits
            self._seconds_left()
            sleep(0)  # lets other greenlets run
        return super()._read_packet(*packet_type)

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            self._end(MALFORMED, f"the server sent more than {self._bounds.received_bytes:,} bytes at once")
        data = bytearray()
        while len(data) < num_bytes:
            part = self._moved(partial(self._sock.recv, num_bytes - len(data)), select.POLLIN)
            if not part:
                self._end(CR.CR_SERVER_LOST, "the server closed the connection")
            data += part
        return bytes(data)

    def _write_bytes(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[self._moved(partial(self._sock.send, unsent), select.POLLOUT) :]

    def _moved(self, move: Callable[[], Result], event: int) -> Result:
        """Return the result of a function that moves bytes; an exception in it closes the connection."""
        try:
            return self._until(move, event, self._sock)
        except OSError as error:
            self._end(CR.CR_SERVER_LOST, f"the connection was lost: {error.strerror or error}")
        except BaseException:  # also of a killed greenlet: the rest of the answer is still to come
            self._force_close()
            raise

    def _until(self, move: Callable[[], Result], event: int, sock: Any) -> Result:
        """Return the result of a function of a socket as soon as the socket lets it move on.

        event: what the function waits for. Raises OperationalError at the end of the exchange's time.
        """
        while True:
            try:
                return move()
            except BlockingIOError:
                awaited = event
            except ssl.SSLWantReadError:
                awaited = select.POLLIN
            except ssl.SSLWantWriteError:
                awaited = select.POLLOUT
            poll = select.poll()
            poll.register(sock, awaited)
            poll.poll(1000 * min(LOOK_SECONDS, self._seconds_left()))

    def _seconds_left(self) -> float:
        """Return the seconds until the exchange has to end. Raises OperationalError where none is left."""
        end = min(self._began_at + self._bounds.seconds, self._all_end_at)
        left = min(end, self._process_ends_at) - monotonic()
        if left <= 0:
            limit = f"{end - self._began_at:.0f} s" if end < self._process_ends_at else "the time that a signal leaves"
            self._end(CR.CR_SERVER_LOST, f"no complete answer within {limit}")
        return left

    def _end(self, number: int, reason: str) -> NoReturn:
        """Close the connection, in whose middle of an answer nothing else can be read. Raises OperationalError."""
        self._force_close()
        self._ended = pymysql.err.OperationalError(number, reason)
        raise self._ended


@dataclass(frozen=True)
class _Handshake:
    """A TLS context as PyMySQL uses it, whose handshake has the exchange's time, by `until` of BoundedConnection."""

    context: ssl.SSLContext
    until: Callable[[Callable[[], object], int, Any], object]

    @property
    def verify_mode(self) -> ssl.VerifyMode:
        return self.context.verify_mode

    def wrap_socket(self, sock: Any, server_hostname: str) -> ssl.SSLSocket:
        encrypted = self.context.wrap_socket(sock, server_hostname=server_hostname, do_handshake_on_connect=False)
        try:
            encrypted.settimeout(0.0)
            self.until(encrypted.do_handshake, select.POLLIN, encrypted)
        except BaseException:
            encrypted.close()
            raise
        return encrypted
