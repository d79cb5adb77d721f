"""The server that a command reads: the encryption of its connection, and its facts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.options import read_by
from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import CA_DEFAULT, CA_HELP, MODE_DEFAULT, MODE_HELP, SslMode, read_ssl_mode

if TYPE_CHECKING:  # pymysql stays out of `poolsize recommend --cores 8`
    from poolsize.facts.inspection import Inspection


@dataclass(frozen=True)
class Encryption:
    """The encryption that the options ask for; None for the URL's own. ca: path of an authority's certificate."""

    mode: SslMode | None
    ca: str | None

    def of(self, url: str | None) -> str | None:
        """Return the URL with this encryption; None where no server is asked. Raises BadInput."""
        if self.mode is None and not self.ca:
            return url
        if not url:
            typed = f"`ssl_mode` {self.mode}" if self.mode else f"`ssl_ca` {self.ca}"
            raise BadInput(f"{typed}: it also needs `url` (or POOLSIZE_URL)")
        from poolsize.server.connection import encrypted_url  # a formula starts without SQLAlchemy

        return encrypted_url(url, self.mode, self.ca)


def encryption_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --ssl-mode and --ssl-ca, which give the parameter `encryption`: Encryption."""

    @wraps(command)
    def with_encryption(ssl_mode: SslMode | None, ssl_ca: str | None, **others: Any) -> None:
        command(encryption=Encryption(ssl_mode, ssl_ca), **others)

    ca, mode = f"{CA_HELP}  [default: {CA_DEFAULT}]", f"{MODE_HELP}  [default: {MODE_DEFAULT}]"
    with_ca = click.option("--ssl-ca", metavar="FILE", help=ca)(with_encryption)
    return click.option("--ssl-mode", metavar="MODE", callback=read_by(read_ssl_mode), help=mode)(with_ca)


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
