"""Insert one task by a random, unique id: a commit, and so a write to the disk, for each."""

from secrets import token_hex
from typing import Any

from poolsize.locust import PoolUser


class Insert(PoolUser):
    """The task service of the Druid connection pool article; its table is emptied before each step."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the table of tasks."""
        cursor.execute(
            "CREATE TABLE task (id INT AUTO_INCREMENT PRIMARY KEY, task_id VARCHAR(256) NOT NULL UNIQUE, "
            "create_time DATETIME NOT NULL, update_time DATETIME NOT NULL)"
        )

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Empty it, so that every step inserts into the same table."""
        cursor.execute("TRUNCATE TABLE task")

    def transaction(self, cursor: Any) -> None:
        """Insert one task."""
        cursor.execute(f"INSERT INTO task (task_id, create_time, update_time) VALUES ('{token_hex(16)}', NOW(), NOW())")
