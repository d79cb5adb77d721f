"""Count hashed rows by their content: the server's CPU and nothing else."""

from typing import Any

from poolsize.locust import PoolUser

ROWS = 10_000


class Scan(PoolUser):
    """Its plateau is the number of cores that the server may use: one busy connection keeps one core busy."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Fill a table with 10,000 SHA-256 hashes."""
        cursor.execute("CREATE TABLE hashed (id INT PRIMARY KEY, hash CHAR(64) NOT NULL)")
        values = ",".join(f"({row}, SHA2({row}, 256))" for row in range(ROWS))
        cursor.execute(f"INSERT INTO hashed VALUES {values}")

    def transaction(self, cursor: Any) -> None:
        """Hash every row again and count those that begin with zeros."""
        cursor.execute("SELECT COUNT(*) FROM hashed WHERE SHA2(REPEAT(hash, 20), 512) LIKE '00%'")
        cursor.fetchone()
