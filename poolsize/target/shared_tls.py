"""PyMySQL's connection, at less CPU time where the URL leaves encryption to PyMySQL."""

from functools import cache
from typing import Any

from pymysql.connections import Connection


class SharedTlsConnection(Connection):  # type: ignore[misc]  # PyMySQL has no types
    """A PyMySQL connection that shares PyMySQL's own TLS context with all others of its process.

    PyMySQL 1.2 makes a context for each connection that names no other, on servers without TLS too. Each time it reads
    the system's certificate authorities, 50 ms of CPU time, and then verifies no certificate.
    """

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        return super()._create_ssl_ctx(sslp) if sslp else _own_context()


@cache
def _own_context() -> Any:
    return Connection._create_ssl_ctx(None, {})
