"""Peers of a master that do not know the sweep's secret, and a wire to a master on which somebody listens.

    python -m tests.strangers ADDRESS PORT NUMBER RECORDED    let so many strangers connect

RECORDED: a file with what a real worker has sent, which some strangers repeat. It prints a JSON object: connections,
messages (of the master to a stranger), answers (all bytes that the strangers were sent, in hex).
"""

import itertools
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgpack  # type: ignore[import-untyped]  # it publishes no types
import zmq

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
"""How a peer of ZeroMQ 3.1 begins that wants to speak CURVE."""
ANSWER_SECONDS = 1.0
"""How long a stranger listens before it leaves."""
WORKER_RECONNECT_MS = 30_000
"""Longer than a stranger stays: each connects once."""


@dataclass
class Wiretap:
    """What passed on a wire. sent: what the worker sent, by connection. answered: what the master answered."""

    sent: list[bytearray] = field(default_factory=list)
    answered: bytearray = field(default_factory=bytearray)

    @property
    def all_bytes(self) -> bytes:
        """All bytes, in both directions."""
        return b"".join(self.sent) + bytes(self.answered)


@contextmanager
def wiretap(master_port: int, address: str = "127.0.0.1") -> Iterator[tuple[int, Wiretap]]:
    """Yield a port that leads to the master's port, and what passes there. address: at which both are reached."""
    tap, ended = Wiretap(), threading.Event()
    with socket.create_server((address, 0)) as listening:
        listening.settimeout(0.2)

        def accept() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    worker, _ = listening.accept()
                    threading.Thread(target=_forward, args=(worker, master_port, tap, ended), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1], tap
        finally:
            ended.set()
            thread.join()


def _forward(worker: socket.socket, master_port: int, tap: Wiretap, ended: threading.Event) -> None:
    """Pass bytes between a worker and the master, until one of them closes its side."""
    sent = bytearray()
    tap.sent.append(sent)
    with worker, suppress(OSError), socket.create_connection(("127.0.0.1", master_port)) as master:
        while not ended.is_set():
            for readable in select.select([worker, master], [], [], 0.2)[0]:
                if not (data := readable.recv(65536)):
                    return
                (sent if readable is worker else tap.answered).extend(data)
                (master if readable is worker else worker).sendall(data)


class Strangers:
    """Strangers that connect to a master, each in another way.

    answers: all bytes that they were sent. messages: of the master, to a stranger that speaks as a worker.
    """

    def __init__(self, address: str, port: int, recorded: Path) -> None:
        """recorded: the file with what a real worker has sent, as soon as it is there."""
        self.answers = bytearray()
        self.connections = self.messages = 0
        self._place = (address, port)
        self._recorded = recorded
        self._context = zmq.Context()
        self._workers: list[zmq.Socket[bytes]] = []
        self._ways = itertools.cycle((self._garbage, self._greeting, self._repetition, self._silence, self._worker))

    def connect(self, number: int) -> None:
        """Let so many strangers connect, one after the other, and listen to them for a while."""
        open_sockets: list[socket.socket] = []
        for connect in itertools.islice(self._ways, number):
            self.connections += 1
            with suppress(OSError):  # the master has closed the connection
                connect(open_sockets)
            self._listen(open_sockets, 0.0)
        self._listen(open_sockets, ANSWER_SECONDS)
        self._listen_as_workers()
        for opened in open_sockets:
            opened.close()

    def _open(self, open_sockets: list[socket.socket]) -> socket.socket:
        opened = socket.create_connection(self._place, timeout=ANSWER_SECONDS)
        open_sockets.append(opened)
        return opened

    def _garbage(self, open_sockets: list[socket.socket]) -> None:
        self._open(open_sockets).sendall(os.urandom(2000))

    def _greeting(self, open_sockets: list[socket.socket]) -> None:
        self._open(open_sockets).sendall(GREETING + b"\x04\xc8\x05HELLO" + os.urandom(194))

    def _repetition(self, open_sockets: list[socket.socket]) -> None:
        recorded = self._recorded.read_bytes() if self._recorded.exists() else GREETING
        self._open(open_sockets).sendall(recorded)

    def _silence(self, open_sockets: list[socket.socket]) -> None:
        self._open(open_sockets)

    def _worker(self, _: list[socket.socket]) -> None:
        """Say what a worker of Locust says, in clear and by CURVE with keys of the stranger's own."""
        for encrypts in (False, True):
            worker = self._context.socket(zmq.DEALER)
            self._workers.append(worker)
            worker.linger = 0
            worker.reconnect_ivl = WORKER_RECONNECT_MS
            name = f"stranger_{self.connections}_{encrypts}"
            worker.identity = name.encode()
            if encrypts:
                worker.curve_publickey, worker.curve_secretkey = zmq.curve_keypair()
                worker.curve_serverkey = zmq.curve_keypair()[0]
            worker.connect(f"tcp://{self._place[0]}:{self._place[1]}")
            for kind, data in (("client_ready", "2.47.0"), ("spawning_complete", {"user_classes_count": {}})):
                with suppress(zmq.Again):  # the master may have refused it before it said everything
                    worker.send(msgpack.dumps((kind, data, name)), zmq.NOBLOCK)

    def _listen_as_workers(self) -> None:
        """Take what the master sends to the strangers that speak as workers, and close their sockets."""
        poller = zmq.Poller()
        for worker in self._workers:
            poller.register(worker, zmq.POLLIN)
        for worker, _ in poller.poll(int(1000 * ANSWER_SECONDS)):
            with suppress(zmq.Again):
                while True:
                    self.answers.extend(worker.recv(zmq.NOBLOCK))
                    self.messages += 1
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def _listen(self, open_sockets: list[socket.socket], seconds: float) -> None:
        for readable in select.select(open_sockets, [], [], seconds)[0] if open_sockets else ():
            data = b""
            with suppress(OSError):
                data = readable.recv(65536)
            self.answers.extend(data)
            if not data:
                readable.close()
                open_sockets.remove(readable)


if __name__ == "__main__":
    address, port, number, recorded = sys.argv[1:]
    strangers = Strangers(address, int(port), Path(recorded))
    while strangers.connections < int(number):
        strangers.connect(250)
    report = {"connections": strangers.connections, "messages": strangers.messages}
    print(json.dumps(report | {"answers": strangers.answers.hex()}))
