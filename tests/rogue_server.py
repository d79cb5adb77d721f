"""A MySQL server that lies: it speaks the protocol up to a phase, and then breaks it.

`with rogue_server(Phase.SILENCE) as port:` runs it on 127.0.0.1 for a while. The port also has what clients sent.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

PASSWORD = "correct-horse-battery"  # noqa: S105 (of nobody)
USER = "shop"
SALT = b"abcdefghijklmnopqrst"
CAPABILITIES = 0x0F_F7FF & ~0x0800  # all of a common server, without TLS and compression
TLS = 0x0800
MOST = 2**24 - 1
OK, EOF = b"\0\0\0\2\0\0\0", b"\xfe\0\0\2\0"
MORE_RESULTS = b"\0\0\0\x0a\0\0\0"
TRICKLE_SECONDS = 0.3
FACTS = {"version": "8.0.36", "version_comment": "Rogue", "max_connections": "151"}


class Phase(StrEnum):
    """Where the server begins to lie."""

    SILENCE = auto()
    TRICKLED_GREETING = auto()
    GARBAGE = auto()
    SHORT_GREETING = auto()
    EMPTY_GREETING = auto()
    ENDLESS_GREETING = auto()
    REFUSAL = auto()
    TLS_SILENCE = auto()
    TLS_TRICKLE = auto()
    AUTHENTICATION_SILENCE = auto()
    ENDLESS_AUTHENTICATION = auto()
    EMPTY_AUTHENTICATION = auto()
    CLEAR_PASSWORD = auto()
    CLEAR_PASSWORD_OVER_TLS = auto()
    DIALOG = auto()
    OLD_PASSWORD = auto()
    CACHED_KEY = auto()
    SWITCHED_KEY = auto()
    SHA256_KEY = auto()
    LOGIN_SILENCE = auto()
    QUERY_SILENCE = auto()
    ERROR = auto()
    LONG_ERROR = auto()
    SHORT_ERROR = auto()
    EMPTY_ANSWER = auto()
    LOAD_LOCAL = auto()
    BAD_COLUMN = auto()
    BAD_TEXT = auto()
    BAD_NUMBER = auto()
    TRUNCATED_ROW = auto()
    NO_VARIABLES = auto()
    FEW_VARIABLES = auto()
    ODD_VARIABLES = auto()
    OTHER_COLUMNS = auto()
    ENDLESS_ROWS = auto()
    ENDLESS_DECIMALS = auto()
    ENDLESS_COLUMNS = auto()
    ENDLESS_PACKET = auto()
    ENDLESS_RESULTS = auto()
    HALF_RESULT = auto()
    TRICKLED_RESULT = auto()
    CLOSE_SILENCE = auto()
    CLOSE_FLOOD = auto()


class Rogue(int):
    """The port of a rogue server.

    received: everything that clients sent. decrypted: what they encrypted with its key. reached: whether it lies now.
    """

    received: bytearray
    decrypted: list[bytes]
    reached: threading.Event

    def has_password(self) -> bool:
        """Whether a client sent the password in clear, or for the server's own key."""
        return any(PASSWORD.encode() in text for text in (bytes(self.received), *self.decrypted))

    def url(self, host: str = "127.0.0.1", query: str = "") -> str:
        """The server's URL."""
        return f"mysql://{USER}:{PASSWORD}@{host}:{int(self)}/{query}"


@cache
def own_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def own_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "all.pem"
        trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
        context.load_cert_chain(file)
    return context


def text(value: bytes) -> bytes:
    """A string with its length."""
    length = bytes([len(value)]) if len(value) < 251 else b"\xfd" + struct.pack("<I", len(value))[:3]
    return length + value


def column(name: str, kind: int = 253) -> bytes:
    names = b"".join(map(text, (b"def", b"", b"", b"", name.encode(), b"")))
    return names + struct.pack("<BHIBHBxx", 12, 45, 1024, kind, 0, 0)


def error(message: bytes) -> bytes:
    return b"\xff" + struct.pack("<H", 1105) + b"#HY000" + message


@dataclass
class Talk:
    """One client's connection."""

    sock: socket.socket
    rogue: Rogue
    ended: threading.Event
    number: int = 0

    def send(self, *packets: bytes) -> None:
        """Send packets."""
        for packet in packets:
            self.sock.sendall(struct.pack("<I", len(packet))[:3] + bytes([self.number % 256]) + packet)
            self.number += 1

    def receive(self) -> bytes:
        """The next packet; empty at the end."""
        header = self._exactly(4)
        self.number = header[3] + 1
        return self._exactly(int.from_bytes(header[:3], "little"))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                raise ConnectionError
            self.rogue.received += part
            data += part
        return data

    def trickle(self, data: bytes) -> None:
        """Send a byte now and then."""
        for byte in data:
            self.sock.sendall(bytes([byte]))
            if self.ended.wait(TRICKLE_SECONDS):
                return

    def greet(self, plugin: bytes = b"mysql_native_password", capabilities: int = CAPABILITIES) -> None:
        """Send the greeting."""
        self.send(greeting(plugin, capabilities))

    def login(self) -> None:
        """Let the client in."""
        self.greet()
        self.receive()
        self.send(OK)

    def table(self, rows: list[tuple[str | None, ...]], names: tuple[str, ...] = ("Variable_name", "Value")) -> None:
        """Send a result."""
        self.send(bytes([len(names)]), *map(column, names), EOF)
        self.send(*(b"".join(b"\xfb" if value is None else text(value.encode()) for value in row) for row in rows), EOF)

    def answer(self, reply: Callable[["Talk", str], None]) -> None:
        """Answer statements: those that only set something with OK, others by the function."""
        while True:
            packet = self.receive()
            command, statement = packet[:1], packet[1:].decode(errors="replace")
            if command == b"\1":
                return
            if command != b"\3" or statement.lstrip().upper().startswith(("SET", "DO")):
                self.send(OK)
            else:
                self.rogue.reached.set()
                reply(self, statement)


def greeting(plugin: bytes, capabilities: int) -> bytes:
    low, high = capabilities & 0xFFFF, capabilities >> 16
    return (
        b"\x0a8.0.36\0" + struct.pack("<I", 7) + SALT[:8] + b"\0"
        + struct.pack("<HBHHB", low, 45, 2, high, 21) + bytes(10) + SALT[8:] + b"\0" + plugin + b"\0"
    )  # fmt: skip


def switch(plugin: bytes) -> bytes:
    return b"\xfe" + plugin + b"\0" + SALT + b"\0"


def give_key(talk: Talk) -> None:
    """Send the server's own key, and decrypt what comes back."""
    pem = own_key().public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    talk.send(b"\1" + pem)
    secret = own_key().decrypt(talk.receive(), padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))  # noqa: S303
    talk.rogue.decrypted.append(bytes(byte ^ SALT[place % len(SALT)] for place, byte in enumerate(secret)))
    talk.send(OK)


def facts(talk: Talk, statement: str) -> None:
    """Few variables, no other rows, and one number for every question."""
    if "SHOW" in statement:
        talk.table([(name, value) for name, value in FACTS.items() if f"'{name}'" in statement])
    elif "performance_schema" in statement or "information_schema" in statement:
        talk.table([], ("ID", "USER", "HOST", "COMMAND", "TIME"))
    else:
        talk.table([("1",)], ("1",))


def endless(talk: Talk, packet: bytes) -> None:
    while not talk.ended.is_set():
        talk.send(packet)


def lie(phase: Phase, talk: Talk) -> None:
    """Talk with a client."""
    if phase in LIES_BEFORE_LOGIN:
        talk.rogue.reached.set()
        LIES_BEFORE_LOGIN[phase](talk)
    else:
        talk.login()
        if phase is Phase.LOGIN_SILENCE:
            talk.rogue.reached.set()
            return
        talk.answer(LIES_IN_ANSWERS[phase])
    if phase is Phase.CLOSE_FLOOD:
        endless(talk, bytes(1000))


def _switched(plugin: bytes, then: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def talk_on(talk: Talk) -> None:
        talk.greet()
        talk.receive()
        talk.send(switch(plugin))
        talk.receive()
        then(talk)

    return talk_on


def _full(talk: Talk) -> None:
    talk.send(b"\1\4")
    talk.receive()
    give_key(talk)


def _cached_key(talk: Talk) -> None:
    talk.greet(b"caching_sha2_password")
    talk.receive()
    _full(talk)


def _sha256_key(talk: Talk) -> None:
    talk.greet(b"sha256_password")
    talk.receive()
    give_key(talk)


def _over_tls(talk: Talk) -> None:
    talk.greet(capabilities=CAPABILITIES | TLS)
    talk.receive()
    talk.sock = own_tls().wrap_socket(talk.sock, server_side=True)
    talk.receive()
    talk.send(switch(b"mysql_clear_password"))
    talk.receive()
    talk.send(OK)


def _after_tls_request(then: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def talk_on(talk: Talk) -> None:
        talk.greet(capabilities=CAPABILITIES | TLS)
        talk.receive()
        then(talk)

    return talk_on


def _dialog(talk: Talk) -> None:
    talk.send(b"\xfedialog\0\2Password: ")
    talk.receive()
    talk.send(OK)


def _after_response(then: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def talk_on(talk: Talk) -> None:
        talk.greet()
        talk.receive()
        then(talk)

    return talk_on


LIES_BEFORE_LOGIN: dict[Phase, Callable[[Talk], None]] = {
    Phase.SILENCE: lambda _: None,
    Phase.TRICKLED_GREETING: lambda talk: talk.trickle(struct.pack("<I", 5000) + b"\x0a" + b"8" * 5000),
    Phase.GARBAGE: lambda talk: talk.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(range(256)) * 100_000),
    Phase.SHORT_GREETING: lambda talk: talk.send(b"\x0a8"),
    Phase.EMPTY_GREETING: lambda talk: talk.send(b""),
    Phase.ENDLESS_GREETING: lambda talk: endless(talk, bytes(MOST)),
    Phase.REFUSAL: lambda talk: talk.send(error(b"\x1b]0;owned\x07 go\r\naway")),
    Phase.TLS_SILENCE: _after_tls_request(lambda _: None),
    Phase.TLS_TRICKLE: _after_tls_request(lambda talk: talk.trickle(b"\x16\3\3\x0f\xff" + bytes(4095))),
    Phase.AUTHENTICATION_SILENCE: _after_response(lambda _: None),
    Phase.ENDLESS_AUTHENTICATION: _after_response(lambda talk: endless(talk, b"\1\3")),
    Phase.EMPTY_AUTHENTICATION: _after_response(lambda talk: talk.send(b"")),
    Phase.CLEAR_PASSWORD: _switched(b"mysql_clear_password", lambda talk: talk.send(OK)),
    Phase.CLEAR_PASSWORD_OVER_TLS: _over_tls,
    Phase.DIALOG: _after_response(_dialog),
    Phase.OLD_PASSWORD: _switched(b"mysql_old_password", lambda talk: talk.send(OK)),
    Phase.CACHED_KEY: _cached_key,
    Phase.SWITCHED_KEY: _switched(b"caching_sha2_password", _full),
    Phase.SHA256_KEY: _sha256_key,
}


def _rows_of_ones(talk: Talk, _: str) -> None:
    talk.send(b"\2", column("Variable_name"), column("Value"), EOF)
    endless(talk, text(b"a") * 2)


def _decimals(talk: Talk, _: str) -> None:
    """Of all types, the one whose values need most memory for their bytes."""
    talk.send(b"\xfc" + struct.pack("<H", 1000), *[column("a", 246)] * 1000, EOF)
    endless(talk, text(b"1") * 1000)


def _columns(talk: Talk, _: str) -> None:
    talk.send(b"\xfe" + struct.pack("<Q", 2**63))
    endless(talk, column("a"))


def _half(talk: Talk, _: str) -> None:
    talk.send(b"\2", column("Variable_name"), column("Value"), EOF, text(b"version") + text(b"8.0"))
    talk.ended.wait()


def _silence(talk: Talk, _: str) -> None:
    talk.ended.wait()


def _trickled(talk: Talk, _: str) -> None:
    talk.send(b"\2", column("Variable_name"), column("Value"), EOF)
    talk.trickle(struct.pack("<I", 5000)[:3] + bytes([talk.number]) + b"\xfc" + b"8" * 5000)


LIES_IN_ANSWERS: dict[Phase, Callable[[Talk, str], None]] = {
    Phase.QUERY_SILENCE: _silence,
    Phase.ERROR: lambda talk, _: talk.send(error(b"\x1b[2J\x1b]0;owned\x07 no\r\nno")),
    Phase.LONG_ERROR: lambda talk, _: talk.send(error(b"x" * 1_000_000)),
    Phase.SHORT_ERROR: lambda talk, _: talk.send(b"\xff"),
    Phase.EMPTY_ANSWER: lambda talk, _: talk.send(b""),
    Phase.LOAD_LOCAL: lambda talk, _: talk.send(b"\xfb/etc/passwd"),
    Phase.BAD_COLUMN: lambda talk, _: talk.send(b"\1", b"\xfb\xfb\xfb"),
    Phase.BAD_TEXT: lambda talk, _: talk.send(b"\1", column("a"), EOF, text(b"\xff\xfe"), EOF),
    Phase.BAD_NUMBER: lambda talk, _: talk.send(b"\1", column("a", 8), EOF, text(b"many"), EOF),
    Phase.TRUNCATED_ROW: lambda talk, _: talk.send(b"\1", column("a"), EOF, b"\xfd\xff\xff", EOF),
    Phase.NO_VARIABLES: lambda talk, _: talk.table([]),
    Phase.FEW_VARIABLES: facts,
    Phase.ODD_VARIABLES: lambda talk, _: talk.table(
        [("version", "\x1b[2J" + "9" * 100_000), ("max_connections", "9" * 5000), ("Uptime", "-1"), ("Questions", None)]
    ),
    Phase.OTHER_COLUMNS: lambda talk, _: talk.table([("a", "b", "c"), (None, None, None)], ("a", "b", "c")),
    Phase.ENDLESS_ROWS: _rows_of_ones,
    Phase.ENDLESS_DECIMALS: _decimals,
    Phase.ENDLESS_COLUMNS: _columns,
    Phase.ENDLESS_PACKET: lambda talk, _: endless(talk, bytes(MOST)),
    Phase.ENDLESS_RESULTS: lambda talk, _: endless(talk, MORE_RESULTS),
    Phase.HALF_RESULT: _half,
    Phase.TRICKLED_RESULT: _trickled,
    Phase.CLOSE_SILENCE: facts,
    Phase.CLOSE_FLOOD: facts,
}


@contextmanager
def rogue_server(phase: Phase) -> Iterator[Rogue]:
    """Run a server that lies in this phase. Connections stay open until its end, whatever clients do."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        rogue = Rogue(listening.getsockname()[1])
        rogue.received, rogue.decrypted, rogue.reached = bytearray(), [], threading.Event()
        socks: list[socket.socket] = []

        def talk(sock: socket.socket) -> None:
            with suppress(OSError, ValueError):  # the client has gone, or sent nothing that the key decrypts
                lie(phase, Talk(sock, rogue, ended))

        def accept() -> None:
            with suppress(OSError):  # at the end
                while True:
                    sock, _ = listening.accept()
                    socks.append(sock)
                    threading.Thread(target=talk, args=(sock,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield rogue
        finally:
            ended.set()
            for sock in socks:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()
