"""A driver that does nothing, so that what remains is the pool."""

from typing import Any

from pymysql.err import Error, InterfaceError, InternalError, OperationalError

__all__ = ["Error", "InterfaceError", "InternalError", "OperationalError", "connect", "threadsafety"]

threadsafety = 1
"""Threads may share the module, but no connection: PEP 249."""


class MockConnection:
    """A connection to nothing, as PEP 249 has it."""

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def cursor(self) -> Any:
        """Return nothing: no statement is run."""
        return None


def connect() -> Any:
    """Return a new connection."""
    return MockConnection()
