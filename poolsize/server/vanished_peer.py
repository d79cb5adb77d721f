"""Ends a connection whose other machine vanished: no packet says so, and a reader would wait for minutes or hours."""

import socket
from typing import Any

VANISHED_SECONDS = 20
"""Time without an answer to any packet after which the other machine counts as gone."""
PROBE_SECONDS = 5
"""Time between packets that ask whether the other machine is there, while the connection is idle."""
OPTIONS = {
    "TCP_KEEPIDLE": PROBE_SECONDS,
    "TCP_KEEPALIVE": PROBE_SECONDS,  # macOS's name for the same
    "TCP_KEEPINTVL": PROBE_SECONDS,
    "TCP_KEEPCNT": VANISHED_SECONDS // PROBE_SECONDS,
    "TCP_USER_TIMEOUT": 1000 * VANISHED_SECONDS,
}
"""Option of a socket -> value. A system that lacks an option keeps its own times, which are minutes to hours."""


def notice_vanishing(connection: Any) -> None:
    """Let a PyMySQL connection fail with "server_gone" soon after its server's machine vanished."""
    own_socket = connection._sock  # PyMySQL has no public name for it
    if own_socket.family == socket.AF_UNIX:
        return
    own_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in OPTIONS.items():
        if option := getattr(socket, name, None):
            own_socket.setsockopt(socket.IPPROTO_TCP, option, value)
