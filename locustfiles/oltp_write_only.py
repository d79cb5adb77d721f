"""sysbench's oltp_write_only: two updates, a delete and an insert in one transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpWriteOnly(OltpUser):
    """Writes rows, and reads nothing."""

    def transaction(self, cursor: Any) -> None:
        """Execute 6 queries: BEGIN, 4 writes, COMMIT."""
        cursor.execute("BEGIN")
        self.writes(cursor)
        cursor.execute("COMMIT")
