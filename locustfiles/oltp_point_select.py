"""sysbench's oltp_point_select: one row by its primary key."""

from typing import Any

from poolsize.locust.sysbench import OltpUser


class OltpPointSelect(OltpUser):
    """The shortest useful query."""

    def transaction(self, cursor: Any) -> None:
        """1 query, outside a transaction."""
        self.point_selects(cursor, 1)
