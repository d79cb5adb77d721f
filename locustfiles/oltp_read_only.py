"""sysbench's oltp_read_only: ten point selects and four ranges in a transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpReadOnly(OltpUser):
    """Reads only."""

    def transaction(self, cursor: Any) -> None:
        """16 queries: BEGIN, 14 reads, COMMIT."""
        cursor.execute("BEGIN")
        self.point_selects(cursor)
        self.ranges(cursor)
        cursor.execute("COMMIT")
