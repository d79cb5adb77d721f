"""The encryption of connections (TLS): what a database's URL asks for, and what PyMySQL needs for that."""

import codecs
import ipaddress
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymysql.charset import charset_by_name
from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import SslMode, read_ssl_mode
from poolsize.files import opened

KEYS = ("ssl-mode", "ssl-ca", "ssl-cert", "ssl-key")
"""What a URL may say of encryption, behind its question mark."""
OTHER_KEYS = ("charset", "unix_socket")
"""What else it may say there. PyMySQL knows more keys; some name another server, or a file to read."""


def is_local(url: URL) -> bool:
    """Return whether the URL names a server on this machine: by a socket, localhost, or a loopback address."""
    if "unix_socket" in url.query or url.host in {None, "localhost"}:
        return True
    try:
        return ipaddress.ip_address(str(url.host)).is_loopback
    except ValueError:
        return False


def with_encryption(url: URL, mode: SslMode | None, ca: str | None) -> URL:
    """Return the URL with these in place of its own mode and authority; None keeps its own."""
    given = {"ssl-mode": mode and mode.value, "ssl-ca": ca}
    return url.update_query_dict({key: value for key, value in given.items() if value})


def with_known_keys(url: URL) -> URL:
    """Return the URL with its keys of encryption as in KEYS; underscores, as in my.cnf, mean the same.

    Raises BadInput for a key that no URL has, for keys that contradict each other, and for an unknown character set.
    """
    query: dict[str, str] = {}
    for key, value in _query(url).items():
        known = key.replace("_", "-") if key.startswith("ssl") else key
        if known.startswith("ssl") and known not in KEYS:
            raise BadInput(f"`url`: {key} is not among the keys of encryption: write {', '.join(KEYS)}")
        if known not in (*KEYS, *OTHER_KEYS):
            known_keys = ", ".join((*OTHER_KEYS, *KEYS))
            raise BadInput(f"`url`: a URL has no option {key[:64]}: leave it out, or write {known_keys}")
        query[known] = value
    if (charset := query.get("charset")) is not None:
        try:
            codecs.lookup(charset_by_name(charset).encoding)
        except (AttributeError, LookupError):  # PyMySQL does not know it, or Python does not
            raise BadInput(f"`url`: charset={charset}: PyMySQL has no such character set: write utf8mb4") from None
    if "ssl-key" in query and "ssl-cert" not in query:
        raise BadInput("`url`: ssl-key belongs to a certificate: name its file by ssl-cert")
    url = url.set(query=query)
    ssl_mode(url)
    return url


def _query(url: URL) -> dict[str, str]:
    """Return the URL's keys and values; of a key that it has twice, the last value."""
    return {key: values[-1] for key, values in url.normalized_query.items()}


def ssl_mode(url: URL) -> SslMode:
    """Return the URL's mode: its own; else verify-ca with an authority, required off this machine, else preferred.

    With a certificate of the client's own it is at least required. Raises BadInput for a mode that does not exist, and
    for files of certificates that the mode does not use.
    """
    query = _query(url)
    files = [key for key in KEYS[1:] if query.get(key)]
    if text := query.get("ssl-mode"):
        try:
            mode = read_ssl_mode(text)
        except ValueError as error:
            raise BadInput(f"`url`: ssl-mode={text}: {error}") from None
        if mode in {SslMode.OFF, SslMode.PREFERRED} and files:
            raise BadInput(f"`url`: ssl-mode {mode} uses no {files[0]}: write required, or leave {files[0]} out")
        return mode
    if "ssl-ca" in files:
        return SslMode.VERIFY_CA
    return SslMode.PREFERRED if is_local(url) and not files else SslMode.REQUIRED


def connect_arguments(url: URL) -> tuple[URL, Mapping[str, Any]]:
    """Return the URL without its keys of encryption, and PyMySQL's arguments in their place.

    Raises BadInput for a file that does not exist or holds no certificate.
    """
    mode, bare = ssl_mode(url), url.difference_update_query(KEYS)
    if mode is SslMode.OFF:
        return bare, {"ssl_disabled": True}
    if mode is SslMode.PREFERRED:
        return bare, {}  # PyMySQL's own default
    query = _query(url)
    ca, cert, key = query.get("ssl-ca"), query.get("ssl-cert"), query.get("ssl-key")
    with _reading("`ssl_ca`", ca):
        context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # certificates that servers make for themselves lack extensions
    context.check_hostname = mode is SslMode.VERIFY_IDENTITY
    context.verify_mode = ssl.CERT_REQUIRED if mode.verifies else ssl.CERT_NONE
    if cert:
        with _reading("`url`: ssl-cert", cert, key):
            context.load_cert_chain(cert, key)
    return bare, {"ssl": context}


@contextmanager
def _reading(named: str, file: str | None, key: str | None = None) -> Iterator[None]:
    try:
        for path in (file, key):
            if path:
                opened(Path(path)).close()  # OpenSSL would wait for a file such as a FIFO
        yield
    except OSError as error:
        no_pem = isinstance(error, ssl.SSLError)
        reason = "it holds no certificate or key in PEM format" if no_pem else error.strerror
        raise BadInput(f"{named} {file}{f' with ssl-key {key}' if key else ''}: {reason}") from None
