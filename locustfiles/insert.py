"""Insert one row with a random, unique id: each transaction commits, so the redo log is written to the disk."""

from secrets import token_hex
from typing import Any

from poolsize.locust import PoolUser


class Insert(PoolUser):
    """Inserts a task, as the service in the Druid connection pool article does."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the table of tasks."""
        cursor.execute(
            "CREATE TABLE task (id INT AUTO_INCREMENT PRIMARY KEY, task_id VARCHAR(256) NOT NULL UNIQUE, "
            "create_time DATETIME NOT NULL, update_time DATETIME NOT NULL)"
        )

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Empty the table, so that every step inserts into an equal table."""
        cursor.execute("TRUNCATE TABLE task")

    def transaction(self, cursor: Any) -> None:
        """Insert one task."""
        cursor.execute(f"INSERT INTO task (task_id, create_time, update_time) VALUES ('{token_hex(16)}', NOW(), NOW())")
