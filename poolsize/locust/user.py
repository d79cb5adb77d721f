"""PoolUser: the base of every workload; a Locust user that calls the database through the pool."""

from typing import Any, ClassVar

from locust import User, constant, task

from poolsize.load.step_gate import StepGate
from poolsize.locust import session

__all__ = ["PoolUser"]

session.register()


class PoolUser(User):
    """One concurrent client of the database. A workload subclasses PoolUser and defines `transaction`.

    Connections commit by themselves; a workload that needs a transaction of several statements executes BEGIN and
    COMMIT. `cursor` is a PyMySQL cursor, its current schema is poolsize's own.
    """

    abstract = True
    wait_time = constant(0)
    step_gate: ClassVar[StepGate]

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the tables that the transaction needs, in an empty schema; called once a sweep."""

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Bring the tables into the state in which every step starts; does nothing by default."""

    def transaction(self, cursor: Any) -> None:
        """Do one unit of the application's work. Its duration is the connection's usage time."""
        raise NotImplementedError(f"{type(self).__name__} needs a method transaction(self, cursor)")

    @task
    def run_transactions(self) -> None:
        """Wait for the next step, and take part in it until it ends."""
        self.step_gate.take_part(self.transaction)
