"""SELECT 1: the round trip and nothing else."""

from typing import Any

from poolsize.locust import PoolUser


class SelectOne(PoolUser):
    """What a statement costs before it does anything."""

    def transaction(self, cursor: Any) -> None:
        """One round trip."""
        cursor.execute("SELECT 1")
        cursor.fetchone()
