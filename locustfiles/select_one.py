"""SELECT 1: the transaction is a round trip, and hardly anything else."""

from typing import Any

from poolsize.locust import PoolUser


class SelectOne(PoolUser):
    """Executes the smallest statement, which shows the cost of every statement."""

    def transaction(self, cursor: Any) -> None:
        """Execute SELECT 1 and fetch its row."""
        cursor.execute("SELECT 1")
        cursor.fetchone()
