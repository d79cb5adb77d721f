"""Short transactions of 75 % of the users, and long transactions of 25 %, through the same pool."""

import random
from typing import Any

from locust import constant

from poolsize.locust import PoolUser

ROWS = 10_000


class Lookup(PoolUser):
    """75 % of the users: they read a row at a time and pause, so that a single load generator is enough."""

    weight = 3
    wait_time = constant(0.02)

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Fill a table with 10,000 SHA-256 hashes."""
        cursor.execute("CREATE TABLE entry (id INT PRIMARY KEY, hash CHAR(64) NOT NULL)")
        values = ",".join(f"({row}, SHA2({row}, 256))" for row in range(ROWS))
        cursor.execute(f"INSERT INTO entry VALUES {values}")

    def transaction(self, cursor: Any) -> None:
        """Read a row by its primary key."""
        cursor.execute(f"SELECT hash FROM entry WHERE id = {random.randrange(ROWS)}")
        cursor.fetchone()


class Report(PoolUser):
    """A quarter of the users, who read the whole table."""

    weight = 1

    def transaction(self, cursor: Any) -> None:
        """Hash every row again and count those that begin with zeros."""
        cursor.execute("SELECT COUNT(*) FROM entry WHERE SHA2(REPEAT(hash, 20), 512) LIKE '00%'")
        cursor.fetchone()
