"""Inspecting the server at a URL, for the commands that read facts from it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pymysql stays out of `poolsize recommend --cores 8`
    from poolsize.facts.inspection import Inspection


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
