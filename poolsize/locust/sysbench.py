"""sysbench's OLTP transactions, statement by statement, for the workloads of the same names.

Source: sysbench 1.0, oltp_common.lua. By default 1 table of 10,000 rows; uniformly random keys; in a transaction, ten
point selects and each of the four ranges of 100 rows; a random table for each group of statements.
"""

import random
from typing import Any, ClassVar

from poolsize.locust import PoolUser

RANGE_ROWS = 100
POINT_SELECTS = 10
ROWS_A_STATEMENT = 1000


class OltpUser(PoolUser):
    """sysbench's tables and statements. tables: number of tables. table_rows: rows of each table."""

    abstract = True
    tables: ClassVar[int] = 1
    table_rows: ClassVar[int] = 10_000

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make and fill sbtest1, sbtest2, ..."""
        for table in range(1, cls.tables + 1):
            cursor.execute(
                f"CREATE TABLE sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT 0 NOT NULL, "
                "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
            )
            for first in range(1, cls.table_rows + 1, ROWS_A_STATEMENT):
                rows = range(first, min(first + ROWS_A_STATEMENT, cls.table_rows + 1))
                values = ",".join(f"({row},{cls.key()},'{digits(10)}','{digits(5)}')" for row in rows)
                cursor.execute(f"INSERT INTO sbtest{table} (id, k, c, pad) VALUES {values}")
            cursor.execute(f"CREATE INDEX k_{table} ON sbtest{table} (k)")

    @classmethod
    def key(cls) -> int:
        """Return the id of a uniformly random row."""
        return 1 + int(random.random() * cls.table_rows)  # in less than half of randint's time

    @classmethod
    def table(cls) -> str:
        """Return the name of a uniformly random table."""
        return f"sbtest{random.randint(1, cls.tables)}" if cls.tables > 1 else "sbtest1"

    def point_selects(self, cursor: Any, number: int = POINT_SELECTS) -> None:
        """Read single rows by id."""
        table = self.table()
        for _ in range(number):
            cursor.execute(f"SELECT c FROM {table} WHERE id={self.key()}")
            cursor.fetchall()

    def ranges(self, cursor: Any) -> None:
        """Read four ranges of 100 rows: plain, summed, ordered, and distinct."""
        for select in (
            "SELECT c FROM {table} WHERE {rows}",
            "SELECT SUM(k) FROM {table} WHERE {rows}",
            "SELECT c FROM {table} WHERE {rows} ORDER BY c",
            "SELECT DISTINCT c FROM {table} WHERE {rows} ORDER BY c",
        ):
            first = self.key()
            rows = f"id BETWEEN {first} AND {first + RANGE_ROWS - 1}"
            cursor.execute(select.format(table=self.table(), rows=rows))
            cursor.fetchall()

    def writes(self, cursor: Any) -> None:
        """Update an indexed and an unindexed column, delete a row and insert it again."""
        cursor.execute(f"UPDATE {self.table()} SET k=k+1 WHERE id={self.key()}")
        cursor.execute(f"UPDATE {self.table()} SET c='{digits(10)}' WHERE id={self.key()}")
        table, key = self.table(), self.key()
        cursor.execute(f"DELETE FROM {table} WHERE id={key}")
        cursor.execute(f"INSERT INTO {table} (id, k, c, pad) VALUES ({key},{self.key()},'{digits(10)}','{digits(5)}')")


def digits(groups: int) -> str:
    """Return random groups of eleven digits, joined by dashes. sysbench's column c has ten groups, pad has five."""
    text = str(random.randrange(10 ** (11 * groups))).zfill(11 * groups)
    return "-".join(text[place : place + 11] for place in range(0, 11 * groups, 11))
