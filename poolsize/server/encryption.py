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
    for key, value in url.query.items():
        known = key.replace("_", "-") if key.startswith("ssl") else key
        if known.startswith("ssl") and known not in KEYS:
            raise BadInput(f"`url`: {key} is not among the keys of encryption: write {', '.join(KEYS)}")
        if known not in (*KEYS, *OTHER_KEYS):
            known_keys = ", ".join((*OTHER_KEYS, *KEYS))
            raise BadInput(f"`url`: a URL has no option {key[:64]}: leave it out, or write {known_keys}")
        query[known] = value if isinstance(value, str) else value[-1]
    url = url.set(query=query)
    if "charset" in query and not _is_charset(query["charset"]):
        raise BadInput(f"`url`: charset={query['charset']}: PyMySQL has no such character set: write utf8mb4")
    if "ssl-key" in query and "ssl-cert" not in query:
        raise BadInput("`url`: ssl-key belongs to a certificate: name its file by ssl-cert")
    ssl_mode(url)
    return url


def _is_charset(name: str) -> bool:
    try:
        return codecs.lookup(charset_by_name(name).encoding) is not None
    except (AttributeError, LookupError):  # PyMySQL does not know it, or Python does not
        return False


def ssl_mode(url: URL) -> SslMode:
    """Return the URL's mode: its own; else verify-ca with an authority, required off this machine, else preferred.

    With a certificate of the client's own it is at least required. Raises BadInput for a mode that does not exist, and
    for files of certificates that the mode does not use.
    """
    files = [key for key in KEYS[1:] if _text(url, key)]
    if text := _text(url, "ssl-mode"):
        mode = _read(text)
        if mode in {SslMode.OFF, SslMode.PREFERRED} and files:
            raise BadInput(f"`url`: ssl-mode {mode} uses no {files[0]}: write required, or leave {files[0]} out")
        return mode
    if "ssl-ca" in files:
        return SslMode.VERIFY_CA
    return SslMode.PREFERRED if is_local(url) and not files else SslMode.REQUIRED


def _read(text: str) -> SslMode:
    try:
        return read_ssl_mode(text)
    except ValueError as error:
        raise BadInput(f"`url`: ssl-mode={text}: {error}") from None


def connect_arguments(url: URL) -> tuple[URL, Mapping[str, Any]]:
    """Return the URL without its keys of encryption, and PyMySQL's arguments in their place.

    Raises BadInput for a file that does not exist or holds no certificate.
    """
    mode, bare = ssl_mode(url), url.difference_update_query(KEYS)
    if mode is SslMode.OFF:
        return bare, {"ssl_disabled": True}
    if mode is SslMode.PREFERRED:
        return bare, {}  # PyMySQL's own default
    return bare, {"ssl": _context(mode, _text(url, "ssl-ca"), _text(url, "ssl-cert"), _text(url, "ssl-key"))}


def _context(mode: SslMode, ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    with _reading("`ssl_ca`", ca):
        _require_regular(ca)
        context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # certificates that servers make for themselves lack extensions
    context.check_hostname = mode is SslMode.VERIFY_IDENTITY
    context.verify_mode = ssl.CERT_REQUIRED if mode.verifies else ssl.CERT_NONE
    if cert:
        with _reading("`url`: ssl-cert", cert if key is None else f"{cert} with ssl-key {key}"):
            _require_regular(cert, key)
            context.load_cert_chain(cert, key)
    return context


def _require_regular(*files: str | None) -> None:
    """Raise OSError for a file that OpenSSL would wait for, such as a FIFO."""
    for file in files:
        if file:
            opened(Path(file)).close()


@contextmanager
def _reading(named: str, file: str | None) -> Iterator[None]:
    """Turn the errors of a file of certificates into BadInput."""
    try:
        yield
    except ssl.SSLError:
        raise BadInput(f"{named} {file}: it holds no certificate or key in PEM format") from None
    except OSError as error:
        raise BadInput(f"{named} {file}: {error.strerror}") from None


def _text(url: URL, key: str) -> str | None:
    value = url.query.get(key)
    return value if value is None or isinstance(value, str) else value[-1]
