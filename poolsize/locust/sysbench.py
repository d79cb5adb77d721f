"""sysbench's OLTP transactions, statement by statement, for the workloads of the same names.

Source: sysbench 1.0, oltp_common.lua, with its defaults: 1 table of 10,000 rows; uniformly random keys; in a
transaction, ten point selects and each of the four ranges of 100 rows.
"""

import random
from typing import Any, ClassVar

from poolsize.locust import PoolUser

RANGE_ROWS = 100
POINT_SELECTS = 10
ROWS_A_STATEMENT = 1000


class OltpUser(PoolUser):
    """sysbench's table and statements. table_rows: rows of the table."""

    abstract = True
    table_rows: ClassVar[int] = 10_000

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make and fill the table."""
        cursor.execute(
            "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT 0 NOT NULL, "
            "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
        )
        for first in range(1, cls.table_rows + 1, ROWS_A_STATEMENT):
            rows = range(first, min(first + ROWS_A_STATEMENT, cls.table_rows + 1))
            values = ",".join(f"({row},{cls.key()},'{digits(10)}','{digits(5)}')" for row in rows)
            cursor.execute(f"INSERT INTO sbtest1 (id, k, c, pad) VALUES {values}")
        cursor.execute("CREATE INDEX k_1 ON sbtest1 (k)")

    @classmethod
    def key(cls) -> int:
        """Return the id of a uniformly random row."""
        return 1 + int(random.random() * cls.table_rows)  # in less than half of randint's time

    def point_selects(self, cursor: Any, number: int = POINT_SELECTS) -> None:
        """Read single rows by id."""
        for _ in range(number):
            cursor.execute(f"SELECT c FROM sbtest1 WHERE id={self.key()}")
            cursor.fetchall()

    def ranges(self, cursor: Any) -> None:
        """Read four ranges of 100 rows: plain, summed, ordered, and distinct."""
        for columns, order in (("c", ""), ("SUM(k)", ""), ("c", " ORDER BY c"), ("DISTINCT c", " ORDER BY c")):
            first = self.key()
            rows = f"id BETWEEN {first} AND {first + RANGE_ROWS - 1}"
            cursor.execute(f"SELECT {columns} FROM sbtest1 WHERE {rows}{order}")
            cursor.fetchall()

    def writes(self, cursor: Any) -> None:
        """Update an indexed and an unindexed column, delete a row and insert it again."""
        cursor.execute(f"UPDATE sbtest1 SET k=k+1 WHERE id={self.key()}")
        cursor.execute(f"UPDATE sbtest1 SET c='{digits(10)}' WHERE id={self.key()}")
        key = self.key()
        cursor.execute(f"DELETE FROM sbtest1 WHERE id={key}")
        cursor.execute(f"INSERT INTO sbtest1 (id, k, c, pad) VALUES ({key},{self.key()},'{digits(10)}','{digits(5)}')")


def digits(groups: int) -> str:
    """Return random groups of eleven digits, joined by dashes. sysbench's column c has ten groups, pad has five."""
    text = str(random.randrange(10 ** (11 * groups))).zfill(11 * groups)
    return "-".join(text[place : place + 11] for place in range(0, 11 * groups, 11))
