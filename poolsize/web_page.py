"""A page of an application: its address, whether it answers, and its text. No proxy stands between.

The application is not trusted: a page has a deadline as a whole, a largest length, and no way to another server.
"""

import io
import re
import socket
import ssl
import threading
import time
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from poolsize.bounds import LONGEST_NAME_SHOWN

MOST_BYTES = 2_000_000
"""The longest answer that is read by default, its headers included."""
MOST_ERROR_BYTES = 10_000
"""The longest text of an error that is read."""
MOST_REDIRECTS, REDIRECTS = 5, {301, 302, 303, 307, 308}
PORTS = {"http": 80, "https": 443}
"""Scheme of a page -> its default port."""
HOST = re.compile(r"[^\x00-\x20\x7f-\x9f/\\<>\"%]+(%[\w.-]+)?")
"""A name or an address; an IPv6 address may name a network interface after %."""


@dataclass(frozen=True)
class PageAddress:
    """The address of a page. port: given, or the scheme's. target: path and query, as a request has them.

    authorization: the value of the header for the URL's user and password, or None. shown: the address for people,
    without user, password and query.
    """

    scheme: str
    host: str
    port: int
    target: str
    shown: str
    authorization: str | None = field(default=None, repr=False)

    def leads_to(self, location: str) -> "PageAddress":
        """Return the address that a redirect names, with the user and password of this address.

        Raises ValueError for another server, and for what is not the address of a page. The error holds no secret.
        """
        try:
            other = page_address(urljoin(self.shown, location))
        except ValueError:
            raise ValueError("the page redirects to an address that poolsize does not read") from None
        if (other.scheme, other.host, other.port) != (self.scheme, self.host, self.port):
            raise ValueError(
                f"the page redirects to another server, {other.shown[:LONGEST_NAME_SHOWN]}: name the page itself"
            )
        return replace(other, authorization=self.authorization)


def page_address(url: str) -> PageAddress:
    """Return the address in a URL of http or https. Raises ValueError otherwise; the error does not show the URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:  # UnicodeError, too: a label that is empty or too long
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in PORTS or not HOST.fullmatch(host) or port == 0:
        raise ValueError("this is not the URL of a page; write a URL such as http://127.0.0.1:8080")
    if "@" in parts.path + parts.query + parts.fragment:  # or a part of the password would count as the host
        raise ValueError("the URL has an @ after the host; write @ as %40, and a / of a password as %2F")
    userinfo, at, server = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    basic = b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~")
    return PageAddress(
        scheme=parts.scheme,
        host=host,
        port=port or PORTS[parts.scheme],
        target=(path or "/") + (f"?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}" if parts.query else ""),
        shown=f"{parts.scheme}://{server}{path}",
        authorization=f"Basic {basic}" if at else None,
    )


@dataclass(frozen=True)
class WebPage:
    """What a page answered. failure: why it did not answer with a status below 400, or None. text: also of an error."""

    failure: str | None
    text: str = ""


def read_page(address: PageAddress, seconds: float, most_bytes: int = MOST_BYTES) -> WebPage:
    """Return what a page answers. seconds: the longest time from the look-up of its name to its last byte.

    The exchange has a thread of its own, a greenlet in Locust's process: so the deadline holds in a look-up as well,
    and the caller, who only waits, hears signals. A look-up can't be ended: an earlier exchange must be over before the
    next begins, or look-ups would pile up.
    """
    deadline = time.monotonic() + seconds
    exchange, earlier = _Exchange(address, seconds, most_bytes), _latest.get(address)
    if earlier is not None and not earlier.is_over.wait(seconds):
        return exchange.page
    _latest[address] = exchange
    threading.Thread(target=exchange.run, daemon=True).start()
    try:
        exchange.is_over.wait(max(0.0, deadline - time.monotonic()))
        return exchange.page
    finally:
        exchange.end()
        if exchange.is_over.is_set():
            _latest.pop(address, None)


class _Exchange:
    """One page's exchange. page: so far. is_over: set once nothing of it goes on."""

    def __init__(self, address: PageAddress, seconds: float, most_bytes: int) -> None:
        self.page = WebPage(f"the page did not answer completely within {seconds:g} s")
        self.is_over = threading.Event()
        self._address = address
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._socket: socket.socket | None = None
        self._is_late = False

    def run(self) -> None:
        try:
            page = self._read()
        except TimeoutError:
            page = self.page
        except OSError as error:
            page = WebPage(str(error) or type(error).__name__)
        except Exception as error:  # a page of strangers can make a library raise anything
            page = WebPage(f"the server does not answer in HTTP ({type(error).__name__})")
        finally:
            self._close()
        if not self._is_late:
            self.page = page
        self.is_over.set()

    def end(self) -> None:
        """Let an exchange that is late end soon: its socket reads the end of the stream."""
        self._is_late = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self) -> WebPage:
        address = self._address
        for _ in range(1 + MOST_REDIRECTS):
            response = self._response(address)
            location = response.headers.get("Location")
            if response.status >= 400:
                self.page = WebPage(f"status {response.status}")  # so far: a body that stalls hides no status
                with suppress(Exception):
                    return replace(self.page, text=response.read(MOST_ERROR_BYTES).decode(errors="replace"))
                return self.page
            if response.status not in REDIRECTS or location is None:
                return _page_of(response, self._most_bytes)
            try:
                address = address.leads_to(location)
            except ValueError as error:
                return WebPage(str(error))
        return WebPage(f"the page redirects more than {MOST_REDIRECTS} times")

    def _response(self, address: PageAddress) -> HTTPResponse:
        self._close()
        connection = HTTPConnection(address.host, address.port)
        connection.default_port = PORTS[address.scheme]
        connection.response_class = partial(_BoundedResponse, self._most_bytes)  # type: ignore[assignment]
        connection.sock = self._open(address)
        headers = {"Connection": "close", "User-Agent": "poolsize"}
        if address.authorization is not None:
            headers["Authorization"] = address.authorization
        connection.request("GET", address.target, headers=headers)
        return connection.getresponse()

    def _open(self, address: PageAddress) -> socket.socket:
        opened = self._socket = socket.create_connection((address.host, address.port), self._seconds)
        if self._is_late:  # the look-up or the connection came too late, and nothing else would end a handshake
            raise TimeoutError
        if address.scheme == "https":
            encrypted = _tls().wrap_socket(opened, server_hostname=address.host, do_handshake_on_connect=False)
            opened = self._socket = encrypted
            encrypted.do_handshake()
        return opened

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()


_latest: dict[PageAddress, _Exchange] = {}


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class _BoundedResponse(HTTPResponse):
    """A response of at most so many bytes: http.client alone reads a header or a trailer without end."""

    def __init__(self, most_bytes: int, sock: socket.socket, *args: Any, **keywords: Any) -> None:
        super().__init__(sock, *args, **keywords)
        self.fp = io.BufferedReader(_Bounded(self.fp, most_bytes))


class _Bounded(io.RawIOBase):
    """A stream of at most so many bytes. Raises OSError for a longer one."""

    def __init__(self, stream: io.BufferedReader, most_bytes: int) -> None:
        self._stream = stream
        self._most_bytes = self._left = most_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        number = self._stream.readinto1(buffer)
        self._left -= number
        if self._left < 0:
            raise OSError(f"its answer is longer than {self._most_bytes // 10**6} MB")
        return number

    def close(self) -> None:
        self._stream.close()
        super().close()


def _page_of(response: HTTPResponse, most_bytes: int) -> WebPage:
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        return WebPage("its answer is compressed, which poolsize did not ask for")
    body = response.read(most_bytes)
    if response.length:
        return WebPage("its answer ends too early")
    return WebPage(None, body.decode("utf-8-sig", errors="replace"))
