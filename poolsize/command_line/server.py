"""The server that a command reads: the encryption of its connection, and its facts."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import CA_DEFAULT, CA_HELP, MODE_DEFAULT, MODE_HELP, read_ssl_mode
from poolsize.sweep.readers import read_optional

if TYPE_CHECKING:  # pymysql stays out of `poolsize recommend --cores 8`
    from poolsize.facts.inspection import Inspection


OF_ENCRYPTION = ("ssl_mode", "ssl_ca")
"""The options' parameters, which a sweep declares for itself."""


def encryption_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options of encryption."""
    for flag, name, metavar, text in (
        ("--ssl-ca", "ssl_ca", "FILE", f"{CA_HELP}  [default: {CA_DEFAULT}]"),
        ("--ssl-mode", "ssl_mode", "MODE", f"{MODE_HELP}  [default: {MODE_DEFAULT}]"),
    ):
        command = click.option(flag, name, metavar=metavar, help=text)(command)
    return command


def encrypted(url: str | None, options: dict[str, Any]) -> str | None:
    """Return the URL with the encryption that the options ask for; None where no server is asked. Raises BadInput."""
    mode = read_optional("ssl_mode", options["ssl_mode"], read_ssl_mode)
    if mode is None and not options["ssl_ca"]:
        return url
    if not url:
        name = next(name for name in OF_ENCRYPTION if options[name])
        raise BadInput(f"`{name}` {options[name]}: it also needs `url` (or POOLSIZE_URL)")
    from poolsize.server.connection import encrypted_url  # a formula starts without SQLAlchemy

    return encrypted_url(url, mode, options["ssl_ca"])


def inspected(url: str) -> "Inspection":
    """Return the facts of the server at a URL, read through its own connection. Raises BadInput and WorkFailed."""
    import pymysql

    from poolsize.facts.inspection import inspect_server
    from poolsize.server.connection import FACTS_SECONDS, asking, database_url
    from poolsize.server.encryption import is_local

    parts = database_url(url)
    with asking(parts, FACTS_SECONDS) as (connection, cursor):
        return inspect_server(
            cursor,
            connection.thread_id(),
            connection.get_server_info(),
            by_loopback=is_local(parts),
            denied=pymysql.MySQLError,
        )
