"""sysbench's oltp_read_write: fourteen reads and four writes in one transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpReadWrite(OltpUser):
    """Reads and writes, the usual benchmark of a mixed load."""

    def transaction(self, cursor: Any) -> None:
        """Execute 20 queries: BEGIN, 14 reads, 4 writes, COMMIT."""
        cursor.execute("BEGIN")
        self.point_selects(cursor)
        self.ranges(cursor)
        self.writes(cursor)
        cursor.execute("COMMIT")
