"""Read a row by its primary key from a table of 50 MB, which is larger than a small buffer pool."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class DiskReads(OltpUser):
    """Reads from the disk as far as the buffer pool is too small; as oltp_point_select where it is not."""

    table_rows = 200_000

    def transaction(self, cursor: Any) -> None:
        """1 query, outside a transaction."""
        self.point_selects(cursor, 1)
