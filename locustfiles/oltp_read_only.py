"""sysbench's oltp_read_only: ten point selects and four range selects in one transaction."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpReadOnly(OltpUser):
    """Reads rows and ranges of rows, and writes nothing."""

    def transaction(self, cursor: Any) -> None:
        """Execute 16 queries: BEGIN, 14 reads, COMMIT."""
        cursor.execute("BEGIN")
        self.point_selects(cursor)
        self.ranges(cursor)
        cursor.execute("COMMIT")
