"""Pages that misbehave: each path of a small server does one wrong thing, with raw sockets.

`rogue_page()` serves them in this process. As a program, `python tests/rogue_page.py PORT POOL_SIZE [deaf]`, it is an
application for a sweep, whose pages misbehave; `deaf` lets it ignore SIGTERM. The path names the page: `/good` and
`/metrics` are a health page and a metrics page as they should be, `/NAME` is one of PAGES, and `/later/NAME` is
`/metrics` for the first GOOD_REQUESTS requests, and then NAME.
"""

import signal
import socket
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

GOOD_REQUESTS = 2
"""A sweep reads the metrics once before a step."""
TRICKLE_SECONDS = 0.2
"""Between two bytes: each read of a client ends in time, and the page never."""
HEADER = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
METRICS = "hikaricp_connections_active 1\n"

Page = Callable[[socket.socket], None]
"""Answers a request on a connection, which is closed afterwards."""


def _answer(body: bytes, header: bytes = HEADER) -> Page:
    return lambda client: client.sendall(header + b"\r\n" + body)


def _trickle(beginning: bytes, each: bytes) -> Page:
    """A page that sends its beginning, and then few bytes at a time, without end."""

    def page(client: socket.socket) -> None:
        client.sendall(beginning)
        while True:
            time.sleep(TRICKLE_SECONDS)
            client.sendall(each)

    return page


def _flood(beginning: bytes, each: bytes) -> Page:
    """A page that sends its beginning, and then as much as the client takes, without end."""

    def page(client: socket.socket) -> None:
        client.sendall(beginning)
        while True:
            client.sendall(each)

    return page


def redirect(location: str) -> Page:
    """A page that leads to another address."""
    header = f"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: {location}\r\n"
    return _answer(b"", header.encode("latin-1"))


def _silence(_: socket.socket) -> None:
    time.sleep(3600)


def _metric(value: str) -> Page:
    """A metrics page with a good counter and one with this value."""
    return _answer(f"hikaricp_connections_pending 0\nhikaricp_connections_active {value}\n".encode())


def _gzip_bomb() -> Page:
    """A page of 200 MB in 200 kB, whose end is that of a shorter one."""
    pack = zlib.compressobj(9, wbits=31)
    head, megabyte = (pack.compress(bytes(2**20)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    body = head + 199 * megabyte + pack.flush()
    return _answer(body, HEADER + b"Content-Encoding: gzip\r\n")


STALLS: dict[str, Page] = {
    "silence": _silence,
    "trickled_header": _trickle(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
    "trickled_body": _trickle(HEADER + b"\r\n", b"#"),
    "trickled_chunks": _trickle(HEADER + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n#\r\n"),
    "stalled_body": _trickle(HEADER + b"Content-Length: 100\r\n\r\nhikaricp", b""),
    "endless_header": _flood(HEADER, b"X-More: x\r\n" * 1000),
    "endless_header_line": _flood(HEADER + b"X-Long: ", b"x" * 10_000),
    "endless_continue": _flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "endless_body": _flood(HEADER + b"\r\n", b"hikaricp_connections_active 1\n" * 1000),
    "endless_trailer": _flood(HEADER + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: x\r\n" * 1000),
}
"""Pages that do not end by themselves."""

BAD: dict[str, Page] = {
    "closed": lambda client: client.close(),
    "binary": _answer(bytes(range(256)) * 1000, b""),
    "binary_body": _answer(bytes(range(256)) * 1000),
    "utf16": _answer(METRICS.encode("utf-16"), HEADER + b"Content-Type: text/plain; charset=utf-16\r\n"),
    "unknown_charset": _answer(b"{}", HEADER + b"Content-Type: text/plain; charset=klingon\r\n"),
    "cut_off": _answer(b"hikaricp_connections_active 1", HEADER + b"Content-Length: 1000\r\n"),
    "huge_length": _answer(b"hikaricp", HEADER + b"Content-Length: 999999999999999999\r\n"),
    "bad_length": _answer(b"hikaricp", HEADER + b"Content-Length: many\r\n"),
    "bad_chunk": _answer(b"zz\r\nhikaricp\r\n", HEADER + b"Transfer-Encoding: chunked\r\n"),
    "huge_status": _answer(b"", b"HTTP/1.1 99999999999999999999 OK\r\n"),
    "status_500": _answer(b"", b"HTTP/1.1 500 \x1b]0;owned\x07\r\n"),
    "escape": _answer(b"", b"\x1b]0;owned\x07\r\n"),
    "gzip_bomb": _gzip_bomb(),
    "deep_json": _answer(b"[" * 500_000),
    "deep_druid": _answer(b'{"Content":' * 100_000),
    "huge_integer": _answer(b'{"Content": [{"ActiveCount": 1' + b"0" * 400 + b"}]}"),
    "longest_integer": _answer(b'{"Content": [{"ActiveCount": 1' + b"0" * 5000 + b"}]}"),
    "druid_nan": _answer(b'{"Content": [{"ActiveCount": NaN, "MaxActive": 1e400}]}'),
    "druid_text": _answer(b'{"Content": [{"ActiveCount": "3", "MaxActive": true, "WaitThreadCount": []}]}'),
    "druid_list": _answer(b'{"Content": [[], {}, null]}'),
    "many_labels": _answer(b"hikaricp_connections_active{" + b'a="b",' * 300_000 + b"} 1\n"),
    "many_samples": _answer(b"".join(b'hikaricp_connections_active{pool="%d"} 1\n' % n for n in range(40_000))),
    "bad_labels": _answer(b'hikaricp_connections_active{a="} 1\nhikaricp_connections_active{=,=} {\n'),
    "bad_type": _answer(b"# TYPE hikaricp_connections_active\n# HELP\n# TYPE\nhikaricp_connections_active 1 2 3 4\n"),
    "redirect_to_itself": redirect("/redirect_to_itself"),
    "redirect_to_a_bad_url": redirect("http://[::1/x"),
    "redirect_to_a_bad_port": redirect("http://127.0.0.1:99999/x"),
    "redirect_to_file": redirect("file:///etc/passwd"),
    "redirect_to_ftp": redirect("ftp://127.0.0.1/x"),
    "redirect_to_another_host": redirect("http://localhost.localdomain:1/x?token=hunter2"),
    "redirect_with_escape": redirect("http://\x1b]0;owned\x07/"),
    "redirect_to_binary": redirect("http://\xff\xfe\x80/\x01\x02"),
}
"""Pages that end, and are not a metrics page."""

UNUSABLE: dict[str, Page] = {
    "nan": _metric("NaN"),
    "infinite": _metric("+Inf"),
    "minus_infinite": _metric("-Inf"),
    "beyond_floats": _metric("1e400"),
    "huge": _metric("1e300"),
    "beyond_the_bounds": _metric("2e15"),
    "negative": _metric("-1"),
}
"""Metrics pages with a value that no pool can have, beside a good value."""

PAGES = STALLS | BAD | UNUSABLE


@dataclass
class RoguePage:
    """A server of these pages. requests: the heads of all requests.

    pool_size: on the good metrics page; None to leave it out.
    """

    port: int
    pool_size: int | None = None
    requests: list[bytes] = field(default_factory=list)
    pages: dict[str, Page] = field(default_factory=lambda: dict(PAGES))
    _later: Counter[str] = field(default_factory=Counter)

    def url(self, name: str, userinfo: str = "") -> str:
        """The URL of a page."""
        return f"http://{userinfo}127.0.0.1:{self.port}/{name}"

    def serve(self, client: socket.socket) -> None:
        """Answer the requests of a connection."""
        with closing(client), suppress(OSError):
            while request := _request(client):
                self.requests.append(request)
                page = self._page(request.split(b" ")[1].decode().partition("?")[0].removeprefix("/"))
                if page is not None:
                    page(client)
                    break
                size = "" if self.pool_size is None else f"hikaricp_connections_max {self.pool_size}\n"
                body = (METRICS + size).encode()
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def _page(self, path: str) -> Page | None:
        """The page of a path, or None for a good page, which keeps the connection."""
        if path.startswith("later/"):
            self._later[path] += 1
            path = path.removeprefix("later/") if self._later[path] > GOOD_REQUESTS else ""
        return self.pages.get(path)


def _request(client: socket.socket) -> bytes:
    """The head of the next request; empty at the connection's end."""
    head = b""
    while b"\r\n\r\n" not in head:
        if not (part := client.recv(65_536)):
            return b""
        head += part
    return head


def _accept(listener: socket.socket, rogue: RoguePage) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=rogue.serve, args=(client,), daemon=True).start()


@contextmanager
def rogue_page() -> Iterator[RoguePage]:
    """Serve the pages on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        rogue = RoguePage(listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, rogue), daemon=True).start()
        yield rogue
        listener.shutdown(socket.SHUT_RDWR)


def main(port: str, pool_size: str, deaf: str = "") -> None:
    """Serve as an application."""
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", int(port)), backlog=512) as listener:
        _accept(listener, RoguePage(int(port), int(pool_size)))


if __name__ == "__main__":
    main(*sys.argv[1:])
