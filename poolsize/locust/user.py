"""PoolUser: the base of every workload; a Locust user that calls the database through the pool."""

from typing import Any, ClassVar

from locust import User, constant, task

from poolsize.load.process import LoadProcess
from poolsize.locust import session

__all__ = ["PoolUser"]

session.register()


class PoolUser(User):
    """A caller. A workload subclasses it and says what to prepare and what one transaction is.

    Connections commit by themselves; a workload that wants a transaction of several statements executes
    BEGIN and COMMIT. `cursor` is PyMySQL's, its current schema is poolsize's own.
    """

    abstract = True
    wait_time = constant(0)
    load_process: ClassVar[LoadProcess]

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the tables that the transaction needs, once a sweep. The schema is empty before."""

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Bring the tables into the state that every step starts from; nothing by default."""

    def transaction(self, cursor: Any) -> None:
        """Do one unit of the application's work; what is timed. Its latency is the connection's usage."""
        raise NotImplementedError(f"{type(self).__name__} needs a method transaction(self, cursor)")

    @task
    def run_transactions(self) -> None:
        """Take part in the next step, for as long as it lasts."""
        self.load_process.take_part(self.transaction)
