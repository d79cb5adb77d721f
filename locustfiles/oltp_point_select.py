"""sysbench's oltp_point_select: read one row by its primary key."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpPointSelect(OltpUser):
    """Reads one row, the shortest useful query."""

    def transaction(self, cursor: Any) -> None:
        """Execute 1 query, without BEGIN and COMMIT."""
        self.point_selects(cursor, 1)
