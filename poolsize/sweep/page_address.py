"""The address of a page of an application: what is sent, what may be shown, and to which addresses a page may lead."""

import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from poolsize.bounds import LONGEST_NAME_SHOWN

PORTS = {"http": 80, "https": 443}
"""Scheme of a page -> its default port."""
_HOST = re.compile(r"[^\x00-\x20\x7f-\x9f/\\<>\"%]+(%[\w.-]+)?")
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
    parts, host, port = _server(url)
    user, at, server = parts.netloc.rpartition("@")
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~")
    return PageAddress(
        scheme=parts.scheme,
        host=host,
        port=port or PORTS[parts.scheme],
        target=(path or "/") + (f"?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}" if parts.query else ""),
        shown=f"{parts.scheme}://{server}{path}",
        authorization=_basic(user) if at else None,
    )


def _server(url: str) -> tuple[SplitResult, str, int | None]:
    """Return the parts of a URL, its host and its port. Raises ValueError, which does not show the URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:  # UnicodeError, too: a label that is empty or too long
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in PORTS or not _HOST.fullmatch(host) or port == 0:
        raise ValueError("this is not the URL of a page; write a URL such as http://127.0.0.1:8080")
    if "@" in parts.path + parts.query + parts.fragment:  # or a part of the password would count as the host
        raise ValueError("the URL has an @ after the host; write @ as %40, and a / of a password as %2F")
    return parts, host, port


def _basic(userinfo: str) -> str:
    user, _, password = userinfo.partition(":")
    return f"Basic {b64encode(f'{unquote(user)}:{unquote(password)}'.encode()).decode()}"
