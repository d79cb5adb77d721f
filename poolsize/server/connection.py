"""Connections to the database under test, outside any pool: its URL, and the kinds of its errors."""

import re
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import host_and_port
from poolsize.facts.ssl_mode import SslMode
from poolsize.server.bounded import OWN, WORKLOAD, BoundedConnection, Bounds
from poolsize.server.encryption import connect_arguments, with_encryption, with_known_keys
from poolsize.server.guarded import MALFORMED

ACCEPTED = ("mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql")
SESSION_SETTINGS = "SET SESSION wait_timeout = 604800, lock_wait_timeout = 30"
"""poolsize's own connections are idle during steps, and must not wait long for locks of another transaction."""
ACCESS_DENIED = {1044, 1045, 1698}
FACTS_SECONDS = 60
"""The longest time that a command other than a sweep takes to read a server's facts."""
ERROR_KINDS = {
    ER.CON_COUNT_ERROR: "too_many_connections",
    1203: "too_many_connections",
    1205: "lock_wait_timeout",
    1213: "deadlock",
    1053: "server_gone",
    2003: "server_gone",
    2006: "server_gone",
    2013: "server_gone",
    MALFORMED: "malformed_answer",
}
DENIED = {1044, 1045, 1142, 1143, 1227, 1370, 1290, 1792, 1836}
"""Errors of a missing privilege; the last three of a server or a transaction that is read-only."""


class NoAnswer(BadInput):
    """No server answers at the URL, or it has no room now. reason: in the server's or the driver's words."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ServerGone(WorkFailed):
    """The server went away, or the connection to it, which was open before."""


def database_url(text: str) -> URL:
    """Return the URL of a MySQL or MariaDB server, for PyMySQL and without a schema.

    Raises BadInput for a text that is not a URL, for another database, and for keys behind the question mark that a URL
    does not have; the error does not show the password.
    """
    url = _parsed(text)
    return with_known_keys(URL.create("mysql+pymysql", url.username, url.password, url.host, url.port, None, url.query))


def encrypted_url(text: str, mode: SslMode | None, ca: str | Path | None) -> str:
    """Return the text of a URL with this encryption in place of its own; None keeps its own. Raises BadInput."""
    if mode is None and ca is None:
        return text
    schema = schema_in(text)
    url = with_encryption(database_url(text), mode, None if ca is None else str(ca))
    return url.set(database=schema).render_as_string(hide_password=False)


@contextmanager
def naming_url(parameter: str) -> Iterator[None]:
    """Name another parameter, such as "`host`", in an error about a URL that this parameter gave."""
    try:
        yield
    except BadInput as error:
        raise BadInput(str(error).replace("`url`", parameter)) from error


def schema_in(text: str) -> str | None:
    """Return the schema that the text of a URL names, or None. Raises BadInput as database_url does."""
    return _parsed(text).database or None


def _parsed(text: str) -> URL:
    if text.strip().lower().startswith("jdbc:"):
        raise BadInput("`url`: write mysql://USER:PASSWORD@HOST:3306/, without jdbc:")
    account, at, place = text.partition("://")[2].partition("@")
    ambiguous = "@" in place or (at and set(account) & set("/?"))  # where does the password end?
    try:
        url = None if ambiguous else make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None:  # the text may hold the password anywhere, so the error shows nothing of it
        raise BadInput(
            "`url` is not a URL: write mysql://USER:PASSWORD@HOST:3306/, "
            "with %40 for @, %3A for :, %2F for / and %3F for ? in the password"
        )
    if url.port is not None and not 1 <= url.port <= 65_535:
        shown = f" {url.port}" if at else ""  # without an account, the number may be a password
        raise BadInput(f"`url`: port{shown}: give 1 to 65535")
    if url.drivername not in ACCEPTED:
        place = host_and_port(url.host, url.port) if url.host and url.port else url.host or ""
        raise BadInput(
            f"`url` {url.drivername}://{place}: poolsize measures MySQL and MariaDB through PyMySQL; write "
            "mysql://USER:PASSWORD@HOST:3306/"
        )
    return url


def given_host(url: URL) -> str | None:
    """Return host and port that the URL names, an IPv6 address in brackets; None for a socket."""
    return host_and_port(url.host, url.port or 3306) if url.host and "unix_socket" not in url.query else None


def connect(url: URL, schema: str | None = None, bounds: Bounds = WORKLOAD) -> Any:
    """Return a new PyMySQL connection that autocommits.

    schema: the current schema, or None. bounds: of each statement; the default is for those of a workload.
    Raises BadInput when the server refuses the account, or is not encrypted as the URL asks; its kind NoAnswer when no
    server can be reached.
    """
    bare, encryption = connect_arguments(url)
    _, arguments = bare.get_dialect()().create_connect_args(bare.set(database=schema))
    try:
        return BoundedConnection(
            bounds=bounds, **arguments, **encryption, autocommit=True, init_command=SESSION_SETTINGS
        )
    except pymysql.MySQLError as error:
        raise _refused(url, error) from None
    except (TypeError, ValueError, OSError) as error:
        raise BadInput(f"`url`: PyMySQL refuses a part of the URL ({error}): correct it, or leave it out") from None


@contextmanager
def asking(url: URL, seconds: float = inf) -> Iterator[tuple[Any, Any]]:
    """Yield a connection and its cursor, to ask the server for facts. Raises what connect and naming_failures raise.

    seconds: the longest time that all questions together may take.
    """
    with closing(connect(url, bounds=OWN)) as connection, naming_failures(), connection.cursor() as cursor:
        connection.end_within(seconds)
        yield connection, cursor


@contextmanager
def naming_failures() -> Iterator[None]:
    """Raise the errors of a server that answered before as WorkFailed; as ServerGone where the server is gone."""
    try:
        yield
    except NoAnswer as error:
        raise ServerGone(f"the server went away ({error.reason})") from None
    except pymysql.MySQLError as error:
        failure = ServerGone if error_kind(error) == "server_gone" else WorkFailed
        raise failure(f"the server failed ({error_kind(error)}): {error.args[-1]}") from None


def error_kind(error: BaseException) -> str:
    """Return the kind of a failed transaction's error: "deadlock", "server_gone", "mysql_1146_no_such_table", ...

    The error is PyMySQL's, or SQLAlchemy's, which holds PyMySQL's.
    """
    error = getattr(error, "orig", None) or error
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    if number is None:
        return type(error).__name__
    name = next((name.lower() for name, known in vars(ER).items() if known == number), "")
    return ERROR_KINDS.get(number, f"mysql_{number}_{name}".removesuffix("_"))


def way_to_privilege(error: pymysql.MySQLError, grant: str) -> str:
    """Return the way out of a missing privilege: `grant`, unless the server took the user for its anonymous account."""
    if "''@'" not in str(error.args[-1]):  # its host may be the client's, not the account's
        return grant
    return "this is the server's anonymous account: drop it (SELECT CURRENT_USER() shows its name), or correct the user"


def is_denied(kind: str) -> bool:
    """Return whether errors of a kind are refusals: a privilege is missing, or the server is read-only."""
    number = re.match(r"mysql_(\d+)", kind)
    return number is not None and int(number[1]) in DENIED


def _refused(url: URL, error: pymysql.MySQLError) -> BadInput:
    """Return the error that names why the server refused the connection, and the way out, without the password."""
    place = host_and_port(url.host or "localhost", url.port or 3306)
    account = f"{url.username or 'nobody'}@{place}"
    number, text = (*error.args, "", "")[:2]
    if unencrypted := _unencrypted(url, number, getattr(error, "original_exception", None)):
        return unencrypted
    if number in ACCESS_DENIED:
        message = f"`url`: the server refuses {account} ({text}): check the user and the password"
        hidden = "; or an anonymous account hides yours: DROP USER ''@'localhost'"
        return BadInput(message + hidden if "@'localhost'" in str(text) else message)
    kind = error_kind(error)
    if kind == "malformed_answer":
        return BadInput(f"`url`: {place} answers, but not as MySQL or MariaDB do ({text}): check host and port")
    if kind == "server_gone" or number == CR.CR_CONNECTION_ERROR:
        message = f"`url`: no server answers at {account} ({text}): check host and port, and that it runs"
        return NoAnswer(message, str(text))
    message = f"`url`: connecting as {account} failed: {text or error}"
    if number == ER.CON_COUNT_ERROR:
        message += "; the server keeps one connection for an account with CONNECTION_ADMIN or SUPER: use it"
    return NoAnswer(message, str(text)) if kind == ERROR_KINDS[ER.CON_COUNT_ERROR] else BadInput(message)


def _unencrypted(url: URL, number: object, cause: Exception | None) -> BadInput | None:
    """Return the error that names why the connection could not be encrypted, or None where that was not the reason."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return BadInput(
            f"`url`: the certificate of {url.host} can't be verified ({cause.verify_message}): `ssl_ca` names its "
            "authority's file, and with `ssl_mode` verify-ca the host's name does not count"
        )
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
        return BadInput(f"`url`: {url.host} and this machine found no common encryption ({cause.reason or cause})")
    if number == CR.CR_SSL_CONNECTION_ERROR:
        return BadInput(
            f"`url`: {url.host} does not encrypt connections, so the data would be sent in clear: set up TLS there, or "
            "accept that with `ssl_mode` off, or ?ssl-mode=off in the URL"
        )
    return None
