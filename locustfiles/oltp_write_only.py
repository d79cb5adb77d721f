"""sysbench's oltp_write_only: two updates, a delete and an insert in a transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpWriteOnly(OltpUser):
    """Writes only."""

    def transaction(self, cursor: Any) -> None:
        """6 queries: BEGIN, 4 writes, COMMIT."""
        cursor.execute("BEGIN")
        self.writes(cursor)
        cursor.execute("COMMIT")
