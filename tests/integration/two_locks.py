"""A workload whose plateau is 2 on every machine: each transaction has one of two locks for 0.1 s, and hardly a CPU."""

from typing import Any

from poolsize.locust import PoolUser


class TwoLocks(PoolUser):
    """Both locks are in use as soon as two connections are."""

    def transaction(self, cursor: Any) -> None:
        """Have the first lock, or wait for the second."""
        cursor.execute(
            "DO IF(GET_LOCK('poolsize_first', 0), SLEEP(0.1) + RELEASE_LOCK('poolsize_first'),"
            " GET_LOCK('poolsize_second', 60) + SLEEP(0.1) + RELEASE_LOCK('poolsize_second'))"
        )
