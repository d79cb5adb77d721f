"""Take the next job from a queue in a table and complete it: workers that skip each other's locked rows."""

from typing import Any

from poolsize.locust import PoolUser

JOBS = 1_000


class JobQueue(PoolUser):
    """A worker. A completed job is due again behind all others, so that the queue never empties."""

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make a queue of 1,000 jobs."""
        cursor.execute(
            "CREATE TABLE job (id INT PRIMARY KEY, due DATETIME(6) NOT NULL, runs INT NOT NULL, KEY due (due))"
        )
        values = ",".join(f"({job}, NOW(6), 0)" for job in range(JOBS))
        cursor.execute(f"INSERT INTO job VALUES {values}")

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Put the jobs into their first order."""
        cursor.execute("UPDATE job SET due = '2000-01-01' + INTERVAL id SECOND, runs = 0")

    def transaction(self, cursor: Any) -> None:
        """Take a job, and complete it."""
        cursor.execute("BEGIN")
        cursor.execute("SELECT id FROM job ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED")
        (job,) = cursor.fetchone()
        cursor.execute(f"UPDATE job SET due = NOW(6), runs = runs + 1 WHERE id = {job}")
        cursor.execute("COMMIT")
