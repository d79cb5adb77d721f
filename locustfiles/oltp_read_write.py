"""sysbench's oltp_read_write: the reads and the writes in one transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpReadWrite(OltpUser):
    """The usual benchmark of a mixed load."""

    def transaction(self, cursor: Any) -> None:
        """20 queries: BEGIN, 14 reads, 4 writes, COMMIT."""
        cursor.execute("BEGIN")
        self.point_selects(cursor)
        self.ranges(cursor)
        self.writes(cursor)
        cursor.execute("COMMIT")
