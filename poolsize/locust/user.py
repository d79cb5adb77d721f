"""PoolUser: the base class of every workload, a Locust user whose transactions go through the pool."""

from typing import Any, ClassVar

from locust import User, constant, task

from poolsize.load.step_gate import StepGate
from poolsize.locust import session

__all__ = ["PoolUser"]

session.register()


class PoolUser(User):
    """One user of the database. A workload is a subclass of PoolUser that defines `transaction`.

    Connections autocommit; a workload that needs a transaction of several statements executes BEGIN and COMMIT.
    Every `cursor` is a PyMySQL cursor in poolsize's own schema, or in the schema of the user's that the sweep names.
    step_gate: where this worker's users wait for a step.
    """

    abstract = True
    wait_time = constant(0)
    step_gate: ClassVar[StepGate]

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the tables that the transaction needs; called once a sweep, with an empty schema or the user's own.

        In the user's own schema, the sweep drops nothing that `prepare` makes.
        """

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Restore the tables to the state in which every step starts; does nothing by default.

        In the user's own schema it is also called after the last step, so that the tables end as they began.
        """

    def transaction(self, cursor: Any) -> None:
        """Run one transaction. Its duration is the connection's usage time."""
        raise NotImplementedError(f"{type(self).__name__} needs a method transaction(self, cursor)")

    @task
    def run_transactions(self) -> None:
        """Wait for the next step, and run this user's transactions until the step ends."""
        self.step_gate.take_part(self.transaction)
