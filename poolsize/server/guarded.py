"""PyMySQL's connection, whose password no server gets in clear that has not proved who it is.

It also ends when the server's machine vanished: no packet says so, and a reader would wait for minutes or hours.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR

MALFORMED = CR.CR_MALFORMED_PACKET
HANDSHAKE_SECONDS = 20
"""The longest time from the first packet to the server until the connection can be used."""
HANDSHAKE_BYTES = 2**20
"""A server needs some hundred bytes for that."""
CLEAR = (b"mysql_clear_password", b"dialog", b"mysql_old_password")
"""Methods of authentication in which the password is sent as it is, or nearly so."""
HASHED = (b"mysql_native_password", b"client_ed25519", b"caching_sha2_password", b"sha256_password")
"""Methods in which the password is not sent, or only over TLS or a Unix socket, as PyMySQL ensures."""
LONGEST_ERROR = 500
"""Letters of a server's error that are kept; MySQL's and MariaDB's own errors are no longer."""
VANISHED_SECONDS = 20
"""Time without an answer to any packet after which the other machine counts as gone."""
PROBE_SECONDS = 5
"""Time between packets that ask whether the other machine is there, while the connection is idle."""
SOCKET_OPTIONS = {
    "TCP_KEEPIDLE": PROBE_SECONDS,
    "TCP_KEEPALIVE": PROBE_SECONDS,  # macOS's name for the same
    "TCP_KEEPINTVL": PROBE_SECONDS,
    "TCP_KEEPCNT": VANISHED_SECONDS // PROBE_SECONDS,
    "TCP_USER_TIMEOUT": 1000 * VANISHED_SECONDS,
}
"""Option of a socket -> value. A system that lacks an option keeps its own times, which are minutes to hours."""


class GuardedConnection(Connection):  # type: ignore[misc]  # PyMySQL has no types
    """A PyMySQL connection that obeys a server less than PyMySQL's own.

    The server's key (RSA) is never used, which would encrypt the password for whoever sent the key: MySQL's client
    uses none either, unless told to. A method that sends the password as it is needs a Unix socket, or TLS with a
    verified certificate; MySQL's client refuses such a method on TLS, too, unless told otherwise. A packet that does
    not have the protocol's form is an OperationalError, as every other failure of the server.
    """

    def connect(self, sock: Any = None) -> None:
        """Connect to the server, as PyMySQL does. Raises pymysql.MySQLError."""
        self._secure = False  # PyMySQL keeps it from the connection before
        with naming_malformed(self):
            super().connect(sock)
        notice_vanishing(self._sock)

    @property
    def server_public_key(self) -> None:
        """No key."""
        return

    @server_public_key.setter
    def server_public_key(self, key: bytes | None) -> None:
        """Refuse a key, which PyMySQL sets just before it uses the key. Raises OperationalError."""
        if key is not None:
            raise _unsafe("under its own RSA key, which proves nothing: the connection must have TLS")

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        return super()._create_ssl_ctx(sslp) if sslp else _own_context()

    def _process_auth(self, plugin_name: bytes, auth_packet: Any, handler: Any = None) -> Any:
        method = plugin_name[:64].decode("ascii", "replace")
        proves_itself = self._secure and (self.unix_socket or self.ctx.verify_mode == ssl.CERT_REQUIRED)
        if plugin_name in CLEAR and not proves_itself:
            raise _unsafe(f"in clear ({method}): the connection must have TLS with a verified certificate")
        if plugin_name not in (*CLEAR, *HASHED):
            raise _unknown(f"PyMySQL lacks the method {method}")
        try:
            return super()._process_auth(plugin_name, auth_packet, handler)
        except RuntimeError as error:  # a package is missing
            raise _unknown(str(error)) from error


@cache
def _own_context() -> Any:
    """Return PyMySQL's own TLS context, which all connections of this process share that name no other.

    PyMySQL 1.2 makes one for each of them, on servers without TLS too. Each time it reads the system's certificate
    authorities, 50 ms of CPU time, and then verifies no certificate.
    """
    return Connection._create_ssl_ctx(None, {})


def _unsafe(how: str) -> pymysql.err.OperationalError:
    return pymysql.err.OperationalError(
        CR.CR_AUTH_PLUGIN_ERR, f"the server asks for the password {how} (`ssl_mode`, `ssl_ca`)"
    )


def _unknown(reason: str) -> pymysql.err.OperationalError:
    return pymysql.err.OperationalError(
        CR.CR_AUTH_PLUGIN_CANNOT_LOAD, f"the account's method of authentication can't be used: {reason}"
    )


def notice_vanishing(sock: socket.socket) -> None:
    """Let a connection fail with "server_gone" soon after its server's machine vanished."""
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in SOCKET_OPTIONS.items():
        if option := getattr(socket, name, None):
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


@contextmanager
def naming_malformed(connection: Any) -> Iterator[None]:
    """Raise what PyMySQL raises for a packet without the protocol's form as OperationalError, and end the connection.

    PyMySQL's own errors of that kind, which have no number, get the same number. A server's long error is cut.
    """
    try:
        yield
    except pymysql.MySQLError as error:
        parts = [part[:LONGEST_ERROR] if isinstance(part, str) else part for part in error.args]
        error.args = tuple(parts if parts and isinstance(parts[0], int) else [MALFORMED, *parts])
        raise
    except Exception as error:
        connection._force_close()  # PyMySQL has no public name for it
        reason = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        raise pymysql.err.OperationalError(
            MALFORMED, f"a packet does not have the protocol's form ({reason})"
        ) from error
