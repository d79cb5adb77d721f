"""The wire between master and workers: encrypted, and closed to everybody who does not know the sweep's secret.

Locust's own wire is in clear, and its master takes every peer for a worker. Here each socket of Locust speaks CURVE,
the encryption of ZeroMQ (https://rfc.zeromq.org/spec/26/). Both key pairs follow from the sweep's secret. The master's
public key is never sent, so a peer without the secret can't begin a handshake. The master drops such a peer before it
reads a message, and counts it.
"""

import os
import sys
from functools import cache
from typing import Any

import gevent
import zmq.green as zmq
from locust.rpc.zmqrpc import BaseSocket
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from poolsize.errors import BadInput
from poolsize.sweep.secret import VARIABLE, SweepSecret

HANDSHAKE_MS = 10_000
"""Time after which the master drops a peer that has not finished its handshake."""
REFUSALS = 3
"""Failed handshakes, before any success, after which a worker gives up: the master has another secret."""
WAY_OUT = f"set {VARIABLE} to the secret of the master"
ENDED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


class Wire:
    """The encryption of each socket that Locust opens in this process.

    secret: of the sweep; workers that this process forks inherit it. strangers: connections so far of peers that did
    not know the secret.
    """

    def __init__(self) -> None:
        """Draw or read the secret. Raises BadInput for a secret that is too short."""
        self.secret = SweepSecret.of_this_process()
        self.strangers = 0
        self._process = os.getpid()

    def encrypt_all(self) -> None:
        """Let each socket that Locust opens from now on speak CURVE."""
        open_plainly = BaseSocket.__init__

        def open_encrypted(opened: BaseSocket, sock_type: int, ipv4_only: bool) -> None:
            open_plainly(opened, sock_type, ipv4_only)  # type: ignore[no-untyped-call]  # Locust has no types here
            self._encrypt(opened.socket, is_master=sock_type == zmq.ROUTER)

        BaseSocket.__init__ = open_encrypted  # type: ignore[method-assign]  # Locust has no hook for its sockets

    def _encrypt(self, socket: Any, *, is_master: bool) -> None:
        """Encrypt a socket. Ends a worker without a secret that was not forked: it could not reach any master."""
        master, worker = z85.encode(self.secret.key("master")), z85.encode(self.secret.key("worker"))
        own = master if is_master else worker
        socket.curve_secretkey, socket.curve_publickey = own, zmq.curve_public(own)
        socket.handshake_ivl = HANDSHAKE_MS
        if is_master:
            socket.curve_server = True
        elif not self.secret.is_given and os.getpid() == self._process:
            sys.stderr.write(f"poolsize: error: this worker has no secret: {WAY_OUT}\n")
            sys.exit(BadInput.exit_code)
        else:
            socket.curve_serverkey = zmq.curve_public(master)
        gevent.spawn(self._watch, socket, is_master=is_master)

    def _watch(self, socket: Any, *, is_master: bool) -> None:
        """Follow the handshakes of a socket until it is closed: a master counts those of strangers.

        A worker that its master refuses before it was ever admitted ends; Locust would try for minutes. ZeroMQ itself
        does not try again where the other side speaks no CURVE.
        """
        monitor, failed = socket.get_monitor_socket(ENDED | zmq.EVENT_MONITOR_STOPPED), 0
        while (event := int(recv_monitor_message(monitor)["event"])) != zmq.EVENT_MONITOR_STOPPED:
            succeeded = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            if is_master:
                self.strangers += not succeeded
            elif succeeded:
                return
            elif (failed := failed + 1) == REFUSALS or event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                sys.stderr.write(f"poolsize: error: the master refuses this worker: {WAY_OUT}\n")
                sys.stderr.flush()
                os._exit(BadInput.exit_code)  # a greenlet's sys.exit would not end Locust's wait


@cache
def wire() -> Wire:
    """Return the wire of this process and of the workers that it forks."""
    return Wire()
