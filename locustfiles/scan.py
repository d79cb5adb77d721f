"""Hash every row of a small table: the transaction needs the server's CPU, and hardly anything else."""

from typing import Any

from poolsize.locust import PoolUser

ROWS = 10_000


class Scan(PoolUser):
    """Keeps one core of the server busy per connection; the plateau starts at the number of its cores."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Fill a table with 10,000 SHA-256 hashes."""
        cursor.execute("CREATE TABLE hashed (id INT PRIMARY KEY, hash CHAR(64) NOT NULL)")
        values = ",".join(f"({row}, SHA2({row}, 256))" for row in range(ROWS))
        cursor.execute(f"INSERT INTO hashed VALUES {values}")

    def transaction(self, cursor: Any) -> None:
        """Hash every row again, and count the hashes that begin with two zeros."""
        cursor.execute("SELECT COUNT(*) FROM hashed WHERE SHA2(REPEAT(hash, 20), 512) LIKE '00%'")
        cursor.fetchone()
